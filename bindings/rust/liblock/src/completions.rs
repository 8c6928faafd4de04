// SPDX-License-Identifier: MIT
//! Completion queues: ends of requests, and notices of losses, to be read instead of being called back.

use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

use crate::completion::Completion;
use crate::context::Context;
use crate::error::{call, check, Error, Result};
use crate::kinds::CompletionKind;
use crate::status::Status;
use liblock_sys as sys;

struct Inner {
    raw: *mut sys::liblock_completions,
    context: Context,
}

// The library's queues may be used by any number of threads at once.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody will read the ends of its requests any more, which would have let go of their closures. Found by its
        // address, which may be another queue's once it is free.
        let kept = self.context.inner.take_submitted_to(self.raw as usize);
        unsafe { sys::liblock_completions_free(self.raw) };
        drop(kept); // no request refers to them any more
    }
}

/// A queue where the ends of [`Context::submit_acquire`] are read, for those who have a loop of their own: its
/// descriptor polls readable while there is something. Clones are the same queue; the last one frees it, and locks
/// that were granted to it unread are released.
#[derive(Clone)]
pub struct Completions {
    inner: Arc<Inner>,
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions").field("fd", &self.fd().ok()).finish()
    }
}

impl Context {
    /// Opens a queue of 1 to 1,048,576 entries. A request reserves its place when it is made; notices that find the
    /// queue full are dropped and counted.
    ///
    /// # Errors
    /// `InvalidArgument`, `Closed`; `Internal`: the process has no descriptors left.
    pub fn completions(&self, capacity: usize) -> Result<Completions> {
        let mut raw = null_mut();
        call(|result| unsafe { sys::liblock_completions_open(self.raw(), capacity, &mut raw, result) })?;
        Ok(Completions { inner: Arc::new(Inner { raw, context: self.clone() }) })
    }
}

impl Completions {
    pub(crate) fn raw(&self) -> *mut sys::liblock_completions {
        self.inner.raw
    }

    /// A descriptor that polls readable while the queue is not empty. Never read or close it.
    ///
    /// # Errors
    /// `Forked` alone.
    pub fn fd(&self) -> Result<i32> {
        let mut fd = -1;
        check(unsafe { sys::liblock_completions_fd(self.raw(), &mut fd) })?;
        Ok(fd)
    }

    /// Takes the next entry, waiting up to `wait_ms` (-1 = for ever, 0 = not at all); `None` = nothing came.
    ///
    /// # Errors
    /// `Closed`: closed and empty; `WouldDeadlock`.
    pub fn next(&self, wait_ms: i64) -> Result<Option<Completion>> {
        let mut storage = MaybeUninit::<sys::liblock_completion>::zeroed();
        let status = unsafe {
            (*storage.as_mut_ptr()).struct_size = std::mem::size_of::<sys::liblock_completion>();
            sys::liblock_completions_next(self.raw(), wait_ms, storage.as_mut_ptr())
        };
        match status {
            sys::LIBLOCK_OK => {
                let mut completion = unsafe { Completion::take(storage.assume_init_ref()) };
                self.settle(&mut completion);
                Ok(Some(completion))
            }
            sys::LIBLOCK_TIMEOUT => Ok(None),
            other => Err(Error::of(Status::from_raw(other))),
        }
    }

    /// Lets go of the closures of an acquire that has ended; its loss may still be told.
    fn settle(&self, completion: &mut Completion) {
        if completion.kind != CompletionKind::Acquire {
            return;
        }
        let inner = &self.inner.context.inner;
        if let Some(submitted) = inner.take_submitted(completion.user_data as usize) {
            completion.user_data = submitted.user_data;
            if let (Some(lock), Some(watched)) = (completion.lock, submitted.kept.watched) {
                inner.watch(lock.0, watched, completion.token);
            }
        }
    }

    /// No new requests; what is pending still arrives and can be read. Wakes those who wait.
    ///
    /// # Errors
    /// None that a correct program meets.
    pub fn close(&self) -> Result<()> {
        check(unsafe { sys::liblock_completions_close(self.raw()) })
    }
}
