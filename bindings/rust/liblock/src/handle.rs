// SPDX-License-Identifier: MIT
//! Locks as plain handles: numbers with a generation, which may be copied, sent and used late without harm, since the
//! library knows what each stands for. [`Guard`](crate::Guard) is built of these calls.

use std::ptr::null_mut;

use crate::bytes::data;
use crate::context::Context;
use crate::error::{call, check, Error, Outcome, Result};
use crate::future::{Op, Role};
use crate::guard::Guard;
use crate::status::Status;
use liblock_sys as sys;

/// A granted hold by its handle. Nothing is released by itself when it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lock(pub(crate) u64);

impl Lock {
    /// The number that the C API has for it.
    pub fn raw(self) -> u64 {
        self.0
    }

    /// A handle of the C API. One that never was answers `InvalidHandle`.
    pub fn from_raw(number: u64) -> Lock {
        Lock(number)
    }
}

/// A pending request whose end goes to a completion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request(pub(crate) u64);

impl Request {
    /// The number that the C API has for it.
    pub fn raw(self) -> u64 {
        self.0
    }
}

/// What becomes of a lease that is extended, in ms; [`TTL_AUTO`](crate::TTL_AUTO) and
/// [`TTL_NONE`](crate::TTL_NONE) can be set too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extend {
    /// It ends so long from now.
    Set(i64),
    /// So much is added to what remains.
    Add(i64),
}

impl Extend {
    pub(crate) fn raw(self) -> (i64, i32) {
        match self {
            Extend::Set(ttl_ms) => (ttl_ms, sys::LIBLOCK_EXTEND_SET),
            Extend::Add(ttl_ms) => (ttl_ms, sys::LIBLOCK_EXTEND_ADD),
        }
    }
}

impl Context {
    /// A guard of a handle: it releases the lock when it is dropped.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`, `InvalidHandle`.
    pub fn guard(&self, lock: Lock) -> Result<Guard<'static>> {
        let token = self.fencing_token(lock)?;
        Ok(Guard::owned(self.clone(), lock, token))
    }

    /// Gives a lock back; see [`Guard::release`]. Tells the outcome, too.
    ///
    /// # Errors
    /// As [`Guard::release`]; `InvalidHandle`.
    pub fn release(&self, lock: Lock) -> Result<Outcome> {
        let released = call(|result| unsafe { sys::liblock_release(self.raw(), lock.0, result) });
        let status = released.as_ref().map_or_else(Error::status, |_| Status::Ok);
        self.inner.released(lock.0, status.raw());
        released
    }

    /// [`Context::release`] without a waiting thread.
    pub fn release_async(&self, lock: Lock) -> Op<()> {
        Op::start_as(
            Role::release(self, lock.0),
            self,
            |_, end| end.into_unit(),
            |callback, user_data, request| unsafe {
                sys::liblock_release_async(self.raw(), lock.0, null_mut(), callback, user_data, request)
            },
        )
    }

    /// Sets the lease of all keys of the lock. A lock that is renewed still is. Handles that share the hold share the
    /// lease.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`, `InvalidHandle`.
    pub fn extend(&self, lock: Lock, extend: Extend) -> Result<Outcome> {
        let (ttl_ms, flags) = extend.raw();
        call(|result| unsafe { sys::liblock_extend(self.raw(), lock.0, ttl_ms, flags, result) })
    }

    /// [`Context::extend`] without a waiting thread.
    pub fn extend_async(&self, lock: Lock, extend: Extend) -> Op<()> {
        let (ttl, flags) = extend.raw();
        Op::start(
            self,
            |_, end| end.into_unit(),
            |callback, user_data, request| unsafe {
                sys::liblock_extend_async(self.raw(), lock.0, ttl, flags, null_mut(), callback, user_data, request)
            },
        )
    }

    /// Replaces the value that the lock carries, 0 to 4,096 bytes.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`, `InvalidHandle`.
    pub fn update(&self, lock: Lock, value: &[u8]) -> Result<Outcome> {
        let (bytes, size) = (data(value), value.len());
        call(|result| unsafe { sys::liblock_update(self.raw(), lock.0, bytes, size, result) })
    }

    /// [`Context::update`] without a waiting thread.
    pub fn update_async(&self, lock: Lock, value: &[u8]) -> Op<()> {
        let (bytes, size) = (data(value), value.len());
        Op::start(
            self,
            |_, end| end.into_unit(),
            |callback, user_data, request| unsafe {
                sys::liblock_update_async(self.raw(), lock.0, bytes, size, null_mut(), callback, user_data, request)
            },
        )
    }

    /// Held right now? Answered from memory: `Ok` when it is.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`, `InvalidHandle`.
    pub fn is_held(&self, lock: Lock) -> Result<()> {
        check(unsafe { sys::liblock_is_held(self.raw(), lock.0) })
    }

    /// What is left of the lease in ms; -1 = no expiry.
    ///
    /// # Errors
    /// As [`Context::is_held`].
    pub fn remaining_ms(&self, lock: Lock) -> Result<i64> {
        let mut remaining_ms = i64::MIN;
        check(unsafe { sys::liblock_remaining_ms(self.raw(), lock.0, &mut remaining_ms) })?;
        Ok(remaining_ms)
    }

    /// The fencing token.
    ///
    /// # Errors
    /// As [`Context::is_held`].
    pub fn fencing_token(&self, lock: Lock) -> Result<u64> {
        let mut token = 0;
        check(unsafe { sys::liblock_fencing_token(self.raw(), lock.0, &mut token) })?;
        Ok(token)
    }

    /// Handles that share the hold of the lock's first key.
    ///
    /// # Errors
    /// As [`Context::is_held`].
    pub fn hold_count(&self, lock: Lock) -> Result<u32> {
        let mut count = u32::MAX;
        check(unsafe { sys::liblock_hold_count(self.raw(), lock.0, &mut count) })?;
        Ok(count)
    }

    /// Asks the backend itself whether the lock is held.
    ///
    /// # Errors
    /// As [`Context::is_held`]; `InDoubt` and the like.
    pub fn verify(&self, lock: Lock) -> Result<Outcome> {
        call(|result| unsafe { sys::liblock_verify(self.raw(), lock.0, result) })
    }

    /// [`Context::verify`] without a waiting thread.
    pub fn verify_async(&self, lock: Lock) -> Op<()> {
        Op::start(
            self,
            |_, end| end.into_unit(),
            |callback, user_data, request| unsafe {
                sys::liblock_verify_async(self.raw(), lock.0, null_mut(), callback, user_data, request)
            },
        )
    }

    /// Waits until the lock is no longer held; see [`Guard::wait_lost`].
    ///
    /// # Errors
    /// `Timeout`, `InvalidHandle`, `WouldDeadlock`.
    pub fn wait_lost(&self, lock: Lock, wait_ms: i64) -> Result<Status> {
        match self.wait_lost_told(lock, wait_ms) {
            Ok(_) => Ok(Status::Ok),
            Err(error) if matches!(error.status(), Status::Lost | Status::NotHeld) => Ok(error.status()),
            Err(error) => Err(error),
        }
    }

    /// The same as the library answers it: with an error, as it can have no success.
    ///
    /// # Errors
    /// `Lost`, `NotHeld`, and those of [`Context::wait_lost`].
    pub fn wait_lost_told(&self, lock: Lock, wait_ms: i64) -> Result<Outcome> {
        call(|result| unsafe { sys::liblock_wait_lost(self.raw(), lock.0, wait_ms, result) })
    }

    /// A future that ends when the lock is no longer held; see [`Guard::lost`].
    pub fn lost(&self, lock: Lock) -> Op<Status> {
        let finish = |_: &Context, end: crate::Completion| match end.status {
            Status::Lost | Status::NotHeld => Ok(end.status),
            _ => end.into_ok().map(|end| end.status),
        };
        Op::start(self, finish, |callback, user_data, request| unsafe {
            sys::liblock_wait_lost_async(self.raw(), lock.0, -1, null_mut(), callback, user_data, request)
        })
    }

    /// Hands a lock to another process; see [`Guard::export`].
    ///
    /// # Errors
    /// As [`Guard::export`].
    pub fn export(&self, lock: Lock) -> Result<Vec<u8>> {
        let mut exported = vec![0_u8; 1024];
        loop {
            let mut needed = 0;
            let (buffer, size) = (exported.as_mut_ptr().cast(), exported.len());
            let status = unsafe { sys::liblock_export(self.raw(), lock.0, buffer, size, &mut needed) };
            let too_small = status == sys::LIBLOCK_INVALID_ARGUMENT && needed > exported.len();
            if !too_small {
                check(status)?;
                exported.truncate(needed);
                return Ok(exported);
            }
            exported.resize(needed, 0);
        }
    }
}
