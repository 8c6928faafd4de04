// SPDX-License-Identifier: MIT
//! A guard: a lock that is released when it goes out of scope.

use std::fmt;
use std::time::Duration;

use crate::context::{Context, Inner};
use crate::error::{call, check, Error, Outcome, Result};
use crate::future::Op;
use crate::handle::Extend;
use crate::status::Status;
use crate::Lock;
use liblock_sys as sys;

enum Holder<'c> {
    Borrowed(&'c Context),
    Owned(Context),
}

impl Holder<'_> {
    fn context(&self) -> &Context {
        match self {
            Holder::Borrowed(context) => context,
            Holder::Owned(context) => context,
        }
    }
}

/// A granted lock, which dropping gives back.
///
/// The drop never blocks and never panics: in a local context it releases at once, on servers in the background.
/// [`Guard::release`] is for those who want the answer: whether the lock was held until then, above all. A guard may
/// be moved to other threads and dropped there.
///
/// ```
/// # fn main() -> liblock::Result<()> {
/// let context = liblock::Context::open("local:")?;
/// {
///     let _guard = context.acquire("key")?;
///     assert!(context.is_locked("key")?);
/// }
/// assert!(!context.is_locked("key")?);
/// # Ok(())
/// # }
/// ```
#[must_use = "a lock is released when its guard is dropped, which is at once if nothing keeps it"]
pub struct Guard<'c> {
    holder: Holder<'c>,
    lock: Lock,
    token: u64,
    is_over: bool,
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("lock", &self.lock).field("token", &self.token).finish()
    }
}

impl<'c> Guard<'c> {
    #[inline]
    pub(crate) fn borrowed(context: &'c Context, lock: Lock, token: u64) -> Guard<'c> {
        Guard { holder: Holder::Borrowed(context), lock, token, is_over: false }
    }

    pub(crate) fn owned(context: Context, lock: Lock, token: u64) -> Guard<'static> {
        Guard { holder: Holder::Owned(context), lock, token, is_over: false }
    }

    /// The same guard, with a clone of the context in it: it may outlive the context it was acquired from.
    pub fn into_owned(mut self) -> Guard<'static> {
        self.is_over = true;
        Guard::owned(self.context().clone(), self.lock, self.token)
    }

    /// The handle alone, which nothing releases by itself any more.
    pub fn into_lock(mut self) -> Lock {
        self.is_over = true;
        self.lock
    }

    /// Its handle, for the calls of [`Context`] that take one.
    pub fn lock(&self) -> Lock {
        self.lock
    }

    /// The context that it was acquired in.
    pub fn context(&self) -> &Context {
        self.holder.context()
    }

    /// The fencing token: strictly increasing per key over all grants. Give it to what the lock protects, which can
    /// then refuse whoever comes with a smaller one.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Gives the lock back; the next waiter has it, or has been woken, when this returns.
    ///
    /// # Errors
    /// `Lost`: the lease had ended or the lock was taken away before: what was done under it was not protected.
    /// `NotHeld`: released before by other means. `InDoubt`, `Partial`: no answer, the library goes on.
    /// `WouldDeadlock`: in a callback, on a server; the lock is given back in the background then.
    #[inline]
    pub fn release(self) -> Result<()> {
        match self.holder {
            Holder::Borrowed(context) if context.inner.is_local => {
                // Nothing is left for the drop, which would cost as much as the rest of this: no wait can be refused
                // here, and the context is a reference. What a release tells besides its status, a guard asks not.
                let lock = std::mem::ManuallyDrop::new(self).lock.0;
                let status = unsafe { sys::liblock_release(context.raw(), lock, std::ptr::null_mut()) };
                context.inner.released(lock, status);
                check(status)
            }
            _ => self.release_asking(),
        }
    }

    fn release_asking(mut self) -> Result<()> {
        let context = self.context();
        let released = call(|result| unsafe { sys::liblock_release(context.raw(), self.lock.0, result) }).map(drop);
        let status = released.as_ref().map_or_else(Error::status, |_| Status::Ok).raw();
        context.inner.released(self.lock.0, status);
        self.is_over = status != sys::LIBLOCK_WOULD_DEADLOCK && status != sys::LIBLOCK_NO_MEMORY;
        released
    }

    /// [`Guard::release`] without a waiting thread. Dropping the future changes nothing: the release goes on.
    pub fn release_async(mut self) -> Op<()> {
        self.is_over = true;
        let op = self.context().release_async(self.lock);
        if op.found_no_room() {
            self.context().inner.release_quietly(self.lock.0);
        }
        op
    }

    /// Held right now? Answered from memory.
    pub fn is_held(&self) -> bool {
        self.context().is_held(self.lock).is_ok()
    }

    /// What is left of the lease; `None` = no expiry.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`.
    pub fn remaining(&self) -> Result<Option<Duration>> {
        let remaining_ms = self.context().remaining_ms(self.lock)?;
        Ok(u64::try_from(remaining_ms).ok().map(Duration::from_millis))
    }

    /// Handles that share the hold of the lock's first key.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`.
    pub fn hold_count(&self) -> Result<u32> {
        self.context().hold_count(self.lock)
    }

    /// Asks the backend itself whether the lock is held.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`, `InDoubt` and the like.
    pub fn verify(&self) -> Result<Outcome> {
        self.context().verify(self.lock)
    }

    /// [`Guard::verify`] without a waiting thread.
    pub fn verify_async(&self) -> Op<()> {
        self.context().verify_async(self.lock)
    }

    /// Sets the lease of all keys of the lock; see [`Context::extend`].
    ///
    /// # Errors
    /// `Lost`, `NotHeld`.
    pub fn extend(&self, extend: Extend) -> Result<Outcome> {
        self.context().extend(self.lock, extend)
    }

    /// [`Guard::extend`] without a waiting thread.
    pub fn extend_async(&self, extend: Extend) -> Op<()> {
        self.context().extend_async(self.lock, extend)
    }

    /// Replaces the value that the lock carries, 0 to 4,096 bytes.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`.
    pub fn update(&self, value: impl AsRef<[u8]>) -> Result<Outcome> {
        self.context().update(self.lock, value.as_ref())
    }

    /// [`Guard::update`] without a waiting thread.
    pub fn update_async(&self, value: impl AsRef<[u8]>) -> Op<()> {
        self.context().update_async(self.lock, value.as_ref())
    }

    /// Waits until the lock is no longer held: [`Status::Lost`], or [`Status::NotHeld`] where it was released by
    /// other means. -1 = for ever.
    ///
    /// # Errors
    /// `Timeout`: still held after `wait_ms`.
    pub fn wait_lost(&self, wait_ms: i64) -> Result<Status> {
        self.context().wait_lost(self.lock, wait_ms)
    }

    /// A future that ends when the lock is no longer held: with [`Status::Lost`], or with [`Status::NotHeld`] where it
    /// was released. Dropping it ends the wait.
    pub fn lost(&self) -> Op<Status> {
        self.context().lost(self.lock)
    }

    /// Hands the lock to another process: the bytes are for [`Context::adopt`] there. Renewal stops, and this guard
    /// holds nothing any more. Whoever has the bytes, has the lock.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`, `Unsupported`: a local context, or other handles share the hold.
    pub fn export(&mut self) -> Result<Vec<u8>> {
        let exported = self.context().export(self.lock)?;
        self.context().inner.forget(self.lock.0, Status::NotHeld);
        self.is_over = true;
        Ok(exported)
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_over {
            self.context().inner.release_quietly(self.lock.0);
        }
    }
}

impl Inner {
    /// Gives a lock back without waiting for anything; how that ended, nobody learns.
    pub(crate) fn release_quietly(self: &std::sync::Arc<Inner>, lock: u64) {
        let null = std::ptr::null_mut();
        if self.is_local {
            let status = unsafe { sys::liblock_release(self.raw, lock, null) };
            self.released(lock, status);
            return;
        }
        let finds_no_room = if self.is_watched(lock) {
            Context { inner: self.clone() }.release_async(Lock(lock)).found_no_room()
        } else {
            let (queue, user_data) = (std::ptr::null_mut(), std::ptr::null_mut());
            let status =
                unsafe { sys::liblock_release_async(self.raw, lock, queue, None, user_data, std::ptr::null_mut()) };
            status == sys::LIBLOCK_LIMIT || status == sys::LIBLOCK_NO_MEMORY
        };
        if finds_no_room {
            self.release_on_thread(lock);
        }
    }

    /// No request can be made: a thread makes the call. Where none can be started, the lease must end by itself.
    fn release_on_thread(self: &std::sync::Arc<Inner>, lock: u64) {
        let inner = self.clone();
        let work = move || {
            let status = unsafe { sys::liblock_release(inner.raw, lock, std::ptr::null_mut()) };
            inner.released(lock, status);
        };
        drop(std::thread::Builder::new().name("liblock-release".to_string()).spawn(work));
    }
}
