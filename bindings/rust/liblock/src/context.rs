// SPDX-License-Identifier: MIT
//! A context: a namespace of keys on one backend. Cheap to clone; all clones are the same context, which closes with
//! the last of them.

use std::collections::HashMap;
use std::fmt;
use std::os::raw::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use crate::bytes::{c_text, text_of};
use crate::context_options::ContextBuilder;
use crate::error::{call, check, Outcome, Result};
use crate::future::{Op, Role};
use crate::loss::Watched;
use crate::registry::Registration;
use crate::submitted::Submitted;
use liblock_sys as sys;

pub(crate) struct Inner {
    pub(crate) raw: *mut sys::liblock_context,
    /// Of a local context a release cannot block.
    pub(crate) is_local: bool,
    pub(crate) losses: Mutex<HashMap<u64, Watched>>,
    pub(crate) loss_count: AtomicUsize,
    /// Closures of events, log and sampling, until they are replaced or the context is closed.
    pub(crate) hooks: Mutex<Hooks>,
    /// Acquires whose ends go to a completion queue, until that is read, by the number that the library has of each.
    pub(crate) submitted: Mutex<HashMap<usize, Submitted>>,
}

#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) events: Option<Registration>,
    pub(crate) log: Option<Registration>,
    pub(crate) samplers: Vec<Registration>,
}

// The library's contexts may be used by any number of threads at once; all else here is behind locks.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // Closes where that was forgotten. In a callback it does not wait for the end of the closing.
        unsafe { sys::liblock_context_free(self.raw) }
    }
}

/// A namespace of keys on one backend: the threads of this process, the clients of one Redis or Valkey server, or the
/// clients of a quorum of servers.
///
/// Any number of threads may use it at once. Clones are the same context; the last one closes it when it is dropped,
/// which releases its locks (or leaves them, as [`ContextBuilder::on_close`] says) and may wait for the server. From
/// asynchronous code use [`Context::close_async`] first.
///
/// ```
/// # fn main() -> liblock::Result<()> {
/// let context = liblock::Context::open("local:")?;
/// let guard = context.acquire("orders/17")?;
/// assert!(context.is_locked("orders/17")?);
/// guard.release()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("instance", &self.instance_id().unwrap_or_default()).finish()
    }
}

impl Context {
    /// Opens a context with all defaults. `url` is `local:NAME` (the same table for everyone in the process who opens
    /// this name), `local:` (a table of its own), `redis://…`, `rediss://…`, `unix:///path`, or `quorum:URL,URL,…`.
    ///
    /// Connecting begins with the first call that needs the server: [`Context::ping`] tells whether it is there.
    ///
    /// # Errors
    /// `InvalidArgument` or `Unsupported` for a url that is not understood, `OptionsMismatch` for a table that is open
    /// with other options.
    pub fn open(url: &str) -> Result<Context> {
        ContextBuilder::new().open(url)
    }

    /// Options for a context that is to be opened.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::new()
    }

    pub(crate) fn open_raw(
        url: Option<&str>,
        options: *const sys::liblock_context_options,
    ) -> Result<(Context, Outcome)> {
        let text = url.map(c_text).transpose()?;
        let mut raw = null_mut();
        let pointer = text.as_ref().map_or(null(), |text| text.as_ptr());
        let outcome = call(|result| unsafe { sys::liblock_open(pointer, options, &mut raw, result) })?;
        let inner = Inner {
            raw,
            is_local: url.map_or(false, |url| url.starts_with("local:")),
            losses: Mutex::default(),
            loss_count: AtomicUsize::new(0),
            hooks: Mutex::default(),
            submitted: Mutex::default(),
        };
        Ok((Context { inner: Arc::new(inner) }, outcome))
    }

    pub(crate) fn raw(&self) -> *mut sys::liblock_context {
        self.inner.raw
    }

    /// Ends everything the context does, for all its clones: pending waits and requests end as `Closed`, locks are
    /// released or left, owners are closed. Returns when no other thread is inside a wait of this context. A second
    /// call is fine.
    ///
    /// # Errors
    /// `WouldDeadlock` from inside a callback of the library.
    pub fn close(&self) -> Result<()> {
        check(unsafe { sys::liblock_close(self.raw()) })?;
        self.inner.let_go();
        Ok(())
    }

    /// The same without waiting. The future ends when the context has closed; dropping it changes nothing.
    pub fn close_async(&self) -> Op<()> {
        Op::start_as(
            Role::close(self),
            self,
            |_, completion| completion.into_unit(),
            |callback, user_data, _| unsafe { sys::liblock_close_async(self.raw(), callback, user_data) },
        )
    }

    /// Is the backend there? Local contexts: while they are open.
    ///
    /// # Errors
    /// `Connect`, `Auth`, `Server`, `Closed` and the like.
    pub fn ping(&self) -> Result<Outcome> {
        call(|result| unsafe { sys::liblock_ping(self.raw(), result) })
    }

    /// [`Context::ping`] without a waiting thread.
    pub fn ping_async(&self) -> Op<()> {
        Op::start(
            self,
            |_, completion| completion.into_unit(),
            |callback, user_data, request| unsafe {
                sys::liblock_ping_async(self.raw(), null_mut(), callback, user_data, request)
            },
        )
    }

    /// The identity of this context among all instances: `process-random@host`.
    ///
    /// # Errors
    /// `Closed`.
    pub fn instance_id(&self) -> Result<String> {
        text_of(|buffer, size, needed| unsafe { sys::liblock_instance_id(self.raw(), buffer, size, needed) })
    }
}

/// The version of the loaded library, such as `"0.1.0"`.
pub fn version() -> &'static str {
    crate::status::static_text(unsafe { sys::liblock_version_string() })
}

/// The same as a number: major * 1,000,000 + minor * 1,000 + patch.
pub fn version_number() -> u32 {
    unsafe { sys::liblock_version_number() }
}

pub(crate) fn void<T>(pointer: *const T) -> *mut c_void {
    pointer as *mut c_void
}
