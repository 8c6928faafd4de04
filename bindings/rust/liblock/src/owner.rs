// SPDX-License-Identifier: MIT
//! Owners: identities that hold and wait.

use std::fmt;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use crate::bytes::{bytes_of, data, raw, text, text_of};
use crate::context::Context;
use crate::error::{call, check, Outcome, Result};
use crate::future::Op;
use liblock_sys as sys;

struct Inner {
    raw: *mut sys::liblock_owner,
    /// Keeps the context until the owner is gone, as the library wants it.
    context: Context,
}

// The library's owners may be used by any number of threads at once.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        unsafe { sys::liblock_owner_free(self.raw) }
    }
}

/// An identity that may hold a key several times, takes part in deadlock detection, and can release by key.
///
/// Clones are the same owner. The last one closes it when it is dropped, which releases all its locks, also those
/// whose guards are alive, and ends its waits as `Closed`; on a server that waits for the answer.
///
/// ```
/// # fn main() -> liblock::Result<()> {
/// use liblock::{AcquireOptions, Context};
///
/// let context = Context::open("local:")?;
/// let owner = context.owner("importer")?;
/// let options = AcquireOptions::new().owner(&owner);
/// let outer = context.acquire_with("key", &options)?;
/// let inner = context.acquire_with("key", &options)?;
/// assert_eq!(inner.hold_count()?, 2);
/// assert_eq!(inner.token(), outer.token());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Owner {
    inner: Arc<Inner>,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(&self.id().unwrap_or_default()).finish()
    }
}

impl Context {
    /// Opens an owner. `name` (0 to 255 bytes) is shown in listings; it need not be unique.
    ///
    /// # Errors
    /// `Limit`, `Closed`.
    pub fn owner(&self, name: impl AsRef<[u8]>) -> Result<Owner> {
        self.owner_told(name).map(|(owner, _)| owner)
    }

    /// Opens an owner, and tells the outcome of the call.
    ///
    /// # Errors
    /// As [`Context::owner`].
    pub fn owner_told(&self, name: impl AsRef<[u8]>) -> Result<(Owner, Outcome)> {
        let name = name.as_ref();
        let mut raw = null_mut();
        let outcome =
            call(|result| unsafe { sys::liblock_owner_open(self.raw(), data(name), name.len(), &mut raw, result) })?;
        Ok((Owner { inner: Arc::new(Inner { raw, context: self.clone() }) }, outcome))
    }

    /// The identity of the calling thread as an owner, as shown in listings.
    ///
    /// # Errors
    /// `Closed`.
    pub fn thread_owner_id(&self) -> Result<String> {
        text_of(|buffer, size, needed| unsafe {
            sys::liblock_owner_id(self.raw(), sys::LIBLOCK_OWNER_THREAD, buffer, size, needed)
        })
    }

    /// Gives back keys that the calling thread holds as an owner; see [`Owner::release_keys`].
    ///
    /// # Errors
    /// As [`Owner::release_keys`].
    pub fn release_thread_keys<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Outcome> {
        release_keys(self, sys::LIBLOCK_OWNER_THREAD, keys)
    }
}

impl Owner {
    pub(crate) fn raw(&self) -> *mut sys::liblock_owner {
        self.inner.raw
    }

    /// Releases all its locks, ends its waits as `Closed` and lets the next waiters run. A second call is fine. In a
    /// closure that the library calls, where nobody may wait, a server is not waited for: that happens a moment later.
    ///
    /// # Errors
    /// `NoMemory`: call it again to end the rest.
    pub fn close(&self) -> Result<()> {
        check(unsafe { sys::liblock_owner_close(self.raw()) })
    }

    /// The identity as shown in listings: `instance/number/name`. What is not UTF-8 in the name is shown as U+FFFD.
    ///
    /// # Errors
    /// `Closed`.
    pub fn id(&self) -> Result<String> {
        self.id_bytes().map(|id| text(&id))
    }

    /// The identity as it is, for [`Clear::Owner`](crate::Clear::Owner).
    ///
    /// # Errors
    /// `Closed`.
    pub fn id_bytes(&self) -> Result<Vec<u8>> {
        bytes_of(|buffer, size, needed| unsafe {
            sys::liblock_owner_id(self.inner.context.raw(), self.raw(), buffer, size, needed)
        })
    }

    /// Gives back keys of this owner, each once, also a part of a lock on several keys; of several handles on one key
    /// the youngest gives. All or nothing.
    ///
    /// # Errors
    /// `NotHeld` when one key is not held by this owner; those of a release.
    pub fn release_keys<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Outcome> {
        release_keys(&self.inner.context, self.raw(), keys)
    }

    /// [`Owner::release_keys`] without a waiting thread.
    pub fn release_keys_async<K: AsRef<[u8]>>(&self, keys: &[K]) -> Op<()> {
        let keys: Vec<_> = keys.iter().map(|key| raw(key.as_ref())).collect();
        let context = &self.inner.context;
        Op::start(
            context,
            |_, completion| completion.into_unit(),
            |callback, user_data, request| unsafe {
                let count = keys.len();
                let keys = if keys.is_empty() { null() } else { keys.as_ptr() };
                let none = null_mut();
                sys::liblock_release_keys_async(
                    context.raw(),
                    self.raw(),
                    keys,
                    count,
                    none,
                    callback,
                    user_data,
                    request,
                )
            },
        )
    }
}

fn release_keys<K: AsRef<[u8]>>(context: &Context, owner: *mut sys::liblock_owner, keys: &[K]) -> Result<Outcome> {
    let keys: Vec<_> = keys.iter().map(|key| raw(key.as_ref())).collect();
    call(|result| unsafe { sys::liblock_release_keys(context.raw(), owner, keys.as_ptr(), keys.len(), result) })
}
