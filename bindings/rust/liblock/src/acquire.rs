// SPDX-License-Identifier: MIT
//! The ways to acquire: blocking, once, several keys, the global lock, as a future, and into a completion queue.

use std::ptr::null;

use crate::acquire_options::{AcquireOptions, Kept};
use crate::bytes::{data, raw};
use crate::context::Context;
use crate::error::{call, call_for_token, check, Error, Outcome, Result};
use crate::future::Op;
use crate::guard::Guard;
use crate::submitted::Submitted;
use crate::{Lock, Request};
use liblock_sys as sys;

/// What an acquire is of.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// One key, 1 to 512 bytes.
    Key(&'a [u8]),
    /// 1 to 1,024 keys as one all-or-nothing lock; duplicates are folded.
    Keys(&'a [&'a [u8]]),
    /// Every other lock of the table. Local contexts only.
    Global,
}

type Answer = Result<(Lock, Outcome)>;

impl Context {
    /// Acquires one key with all defaults: waits for ever, and holds until the guard is released or dropped.
    ///
    /// # Errors
    /// Those of [`Context::acquire_with`].
    #[inline]
    pub fn acquire(&self, key: impl AsRef<[u8]>) -> Result<Guard<'_>> {
        self.acquire_plain(key.as_ref(), sys::liblock_acquire)
    }

    /// Acquires one key, waiting as the options say.
    ///
    /// # Errors
    /// `Busy`, `Timeout`, `RetriesExhausted`, `Deadlock`, `AlreadyHeld`, `Dequeued`, `TooLate`, `Limit`,
    /// `WouldDeadlock`; over a quorum also `NoQuorum`, `Quarantined`, `NodesMismatch`, `InDoubt`.
    pub fn acquire_with(&self, key: impl AsRef<[u8]>, options: &AcquireOptions) -> Result<Guard<'_>> {
        let (lock, outcome) = self.acquire_lock(Target::Key(key.as_ref()), Some(options))?;
        Ok(Guard::borrowed(self, lock, outcome.token))
    }

    /// One attempt at one key: never waits for a holder.
    ///
    /// # Errors
    /// `Busy`, and those of [`Context::acquire_with`].
    #[inline]
    pub fn try_acquire(&self, key: impl AsRef<[u8]>) -> Result<Guard<'_>> {
        self.acquire_plain(key.as_ref(), sys::liblock_try_acquire)
    }

    /// One attempt with options, whose `wait_ms` and `retries` count as 0.
    ///
    /// # Errors
    /// As [`Context::try_acquire`].
    pub fn try_acquire_with(&self, key: impl AsRef<[u8]>, options: &AcquireOptions) -> Result<Guard<'_>> {
        let (lock, outcome) = self.try_acquire_lock(key.as_ref(), Some(options))?;
        Ok(Guard::borrowed(self, lock, outcome.token))
    }

    /// Acquires 1 to 1,024 keys as one lock, all or nothing, with one guard and one token.
    ///
    /// # Errors
    /// As [`Context::acquire_with`].
    pub fn acquire_many<K: AsRef<[u8]>>(&self, keys: &[K], options: &AcquireOptions) -> Result<Guard<'_>> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let (lock, outcome) = self.acquire_lock(Target::Keys(&keys), Some(options))?;
        Ok(Guard::borrowed(self, lock, outcome.token))
    }

    /// Excludes every other lock of the context's table; see `liblock_acquire_global` for what it means to hold a key
    /// meanwhile. Local contexts only.
    ///
    /// # Errors
    /// `Unsupported` on servers, and those of [`Context::acquire_with`].
    pub fn acquire_global(&self, options: &AcquireOptions) -> Result<Guard<'_>> {
        let (lock, outcome) = self.acquire_lock(Target::Global, Some(options))?;
        Ok(Guard::borrowed(self, lock, outcome.token))
    }

    /// A future of [`Context::acquire`].
    ///
    /// The request is made now, so that its place in the queue is. Dropping the future cancels it; a grant that
    /// crosses is released. Needs no particular runtime.
    pub fn lock_async(&self, key: impl AsRef<[u8]>) -> Op<Guard<'static>> {
        self.acquire_target_async(Target::Key(key.as_ref()), &AcquireOptions::new())
    }

    /// A future of [`Context::acquire_with`].
    pub fn acquire_async(&self, key: impl AsRef<[u8]>, options: &AcquireOptions) -> Op<Guard<'static>> {
        self.acquire_target_async(Target::Key(key.as_ref()), options)
    }

    /// A future of [`Context::acquire_many`].
    pub fn acquire_many_async<K: AsRef<[u8]>>(&self, keys: &[K], options: &AcquireOptions) -> Op<Guard<'static>> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        self.acquire_target_async(Target::Keys(&keys), options)
    }

    /// A future of [`Context::acquire_global`].
    pub fn acquire_global_async(&self, options: &AcquireOptions) -> Op<Guard<'static>> {
        self.acquire_target_async(Target::Global, options)
    }

    fn acquire_target_async(&self, target: Target<'_>, options: &AcquireOptions) -> Op<Guard<'static>> {
        if options.completions.is_some() {
            let cause = "the end of a future cannot go to a completion queue: use submit_acquire";
            return Op::refused(self, Error::invalid(cause));
        }
        if let Err(error) = options.refuse() {
            return Op::refused(self, error);
        }
        self.start_async(target, options)
    }

    fn start_async(&self, target: Target<'_>, options: &AcquireOptions) -> Op<Guard<'static>> {
        let watched = std::sync::Arc::new(std::sync::Mutex::new(None));
        let mut hooks = Vec::new();
        let theirs = watched.clone();
        let finish = move |context: &Context, completion: crate::Completion| {
            let completion = completion.into_ok()?;
            let lock = completion.lock.ok_or_else(|| Error::of(crate::Status::Internal))?;
            let watched = theirs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
            if let Some(watched) = watched {
                context.inner.watch(lock.0, watched, completion.token);
            }
            Ok(Guard::owned(context.clone(), lock, completion.token))
        };
        let hooks_out = &mut hooks;
        let mut op = Op::start_acquire(self, finish, |callback, user_data, request| {
            let made = options.with_raw(|raw| self.submit_raw(target, raw, callback, user_data, request));
            match made {
                Ok((status, Kept { watched: mine, hooks })) => {
                    *watched.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = mine;
                    *hooks_out = hooks;
                    status
                }
                Err(_) => sys::LIBLOCK_INVALID_ARGUMENT,
            }
        });
        op.keep(hooks);
        op.explained(|refused| self.why_refused(target, options, refused))
    }

    /// The words for a request that was refused, which come with a result only: one blocking attempt is refused in the
    /// same ones.
    fn why_refused(&self, target: Target<'_>, options: &AcquireOptions, refused: Error) -> Error {
        if !matches!(refused.status(), crate::Status::InvalidArgument | crate::Status::Unsupported) {
            return refused;
        }
        match self.acquire_lock(target, Some(&options.once())) {
            Err(error) if error.status() == refused.status() => error,
            Err(_) => refused,
            Ok((lock, _)) => {
                let _ = self.release(lock);
                refused
            }
        }
    }

    fn submit_raw(
        &self,
        target: Target<'_>,
        options: *const sys::liblock_acquire_options,
        callback: sys::liblock_callback,
        user_data: *mut std::os::raw::c_void,
        request: *mut u64,
    ) -> sys::liblock_status {
        let raw_context = self.raw();
        match target {
            Target::Key(key) => unsafe {
                let (bytes, size) = (data(key), key.len());
                sys::liblock_acquire_async(raw_context, bytes, size, options, callback, user_data, request)
            },
            Target::Keys(keys) => unsafe {
                let keys: Vec<_> = keys.iter().map(|key| raw(key)).collect();
                let (first, count) = (keys.as_ptr(), keys.len());
                sys::liblock_acquire_many_async(raw_context, first, count, options, callback, user_data, request)
            },
            Target::Global => unsafe {
                sys::liblock_acquire_global_async(raw_context, options, callback, user_data, request)
            },
        }
    }

    /// Makes a request whose end is read from [`AcquireOptions::completions`], which must be set; `user_data` comes
    /// back in it. A grant that is read is the reader's to release.
    ///
    /// # Errors
    /// `Limit`, `InvalidArgument`, `Closed`: there is no request then.
    pub fn submit_acquire(&self, target: Target<'_>, options: &AcquireOptions, user_data: u64) -> Result<Request> {
        if options.completions.is_none() {
            return Err(Error::invalid("a request needs a completion queue"));
        }
        if options.tells_place() {
            return Err(Error::invalid("on_queued tells an acquire that is waited for, and no completion queue"));
        }
        let (mut request, mut number) = (0, 0);
        let queue = options.completions.as_ref().map_or(0, |queue| queue.raw() as usize);
        let status = options.with_kept(|raw, kept| {
            number = self.inner.put_submitted(Submitted { queue, user_data, kept });
            self.submit_raw(target, raw, None, number as *mut std::os::raw::c_void, &mut request)
        })?;
        check(status).map_err(|refused| {
            drop(self.inner.take_submitted(number));
            self.why_refused(target, options, refused)
        })?;
        Ok(Request(request))
    }

    /// Asks a pending request to end. Its completion still comes: `Canceled`, or whatever ended it before.
    ///
    /// # Errors
    /// `InvalidHandle` when the request has ended already or never was.
    pub fn cancel(&self, request: Request) -> Result<()> {
        check(unsafe { sys::liblock_cancel(self.raw(), request.0) })
    }

    /// Acquires as a handle, which nothing releases by itself; with the outcome. `None` are all defaults.
    ///
    /// # Errors
    /// As [`Context::acquire_with`].
    pub fn acquire_lock(&self, target: Target<'_>, options: Option<&AcquireOptions>) -> Answer {
        self.granted(options, |raw_options, lock, result| unsafe {
            match target {
                Target::Key(key) => sys::liblock_acquire(self.raw(), data(key), key.len(), raw_options, lock, result),
                Target::Keys(keys) => {
                    let keys: Vec<_> = keys.iter().map(|key| raw(key)).collect();
                    sys::liblock_acquire_many(self.raw(), keys.as_ptr(), keys.len(), raw_options, lock, result)
                }
                Target::Global => sys::liblock_acquire_global(self.raw(), raw_options, lock, result),
            }
        })
    }

    /// One attempt, as a handle; see [`Context::acquire_lock`].
    ///
    /// # Errors
    /// As [`Context::try_acquire`].
    pub fn try_acquire_lock(&self, key: &[u8], options: Option<&AcquireOptions>) -> Answer {
        self.granted(options, |raw_options, lock, result| unsafe {
            sys::liblock_try_acquire(self.raw(), data(key), key.len(), raw_options, lock, result)
        })
    }

    /// Takes over a lock that was exported from a context with the same prefix on the same server. Of the options
    /// count owner, ttl, renewal, `max_hold_ms`, and who is told of its loss.
    ///
    /// # Errors
    /// `Lost`: it has ended meanwhile, or was adopted and released; `Unsupported`: a local context.
    pub fn adopt(&self, exported: &[u8], options: &AcquireOptions) -> Result<Guard<'_>> {
        let (lock, outcome) = self.granted(Some(options), |raw_options, lock, result| unsafe {
            sys::liblock_adopt(self.raw(), data(exported), exported.len(), raw_options, lock, result)
        })?;
        Ok(Guard::borrowed(self, lock, outcome.token))
    }

    /// The shortest way: no options, nothing registered.
    #[inline(always)]
    fn acquire_plain(&self, key: &[u8], acquire: AcquireFn) -> Result<Guard<'_>> {
        let mut lock = UNWRITTEN;
        let (bytes, size) = (data(key), key.len());
        let token = call_for_token(|result| unsafe { acquire(self.raw(), bytes, size, null(), &mut lock, result) });
        let (lock, token) = answer(lock, token)?;
        Ok(Guard::borrowed(self, lock, token))
    }

    fn granted(
        &self,
        options: Option<&AcquireOptions>,
        acquire: impl FnOnce(*const sys::liblock_acquire_options, *mut u64, *mut sys::liblock_result) -> i32,
    ) -> Answer {
        let mut lock = UNWRITTEN;
        let (outcome, kept) = match options {
            None => (call(|result| acquire(null(), &mut lock, result)), Kept::default()),
            Some(options) => options.with_raw(|raw| call(|result| acquire(raw, &mut lock, result)))?,
        };
        let granted = answer(lock, outcome)?;
        if let Some(watched) = kept.watched {
            self.inner.watch(lock, watched, granted.1.token);
        }
        Ok(granted)
    }
}

/// Handed in where the library writes a handle, so that one it left unwritten would show.
const UNWRITTEN: u64 = 0x5a5a_5a5a_5a5a_5a5a;

/// A grant has a handle, a failure has none; a library that says otherwise has broken its contract.
#[inline]
fn answer<T>(lock: u64, outcome: Result<T>) -> Result<(Lock, T)> {
    let has_lock = lock != 0 && lock != UNWRITTEN;
    match outcome {
        Ok(outcome) if has_lock => Ok((Lock(lock), outcome)),
        Err(error) if lock == 0 => Err(error),
        Ok(_) => Err(Error::told(crate::Status::Internal, "a grant came without a handle")),
        Err(error) => {
            let message = format!("{} came with the handle {:#x}", error.status(), lock);
            Err(Error::told(crate::Status::Internal, &message))
        }
    }
}

type AcquireFn = unsafe extern "C" fn(
    *mut sys::liblock_context,
    *const std::os::raw::c_void,
    usize,
    *const sys::liblock_acquire_options,
    *mut u64,
    *mut sys::liblock_result,
) -> i32;
