// SPDX-License-Identifier: MIT
//! Closures that the library calls. C is given a number instead of a pointer: a call that comes late, or twice, finds
//! that the number is gone and does nothing, so that no closure can be used after it was dropped.
//!
//! A panic in a closure ends at the border: it is caught, and its message was printed by the panic hook.

use std::collections::HashMap;
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use crate::events::{Event, LogEntry};
use crate::loss::LossSlot;

/// One closure, in the shape in which the library will call it.
#[derive(Clone)]
pub(crate) enum Hook {
    Lost(Arc<LossSlot>),
    Queued(Arc<dyn Fn(i64, i64) + Send + Sync>),
    Backoff(Arc<dyn Fn(u32) -> i64 + Send + Sync>),
    Event(Arc<dyn Fn(&Event<'_>) + Send + Sync>),
    Log(Arc<dyn Fn(&LogEntry<'_>) + Send + Sync>),
    Sampler(Arc<SamplerFn>),
}

/// Percent, first key (none for the global lock), event tag: shall this acquire be told about?
pub(crate) type SamplerFn = dyn Fn(i32, Option<&[u8]>, u64) -> bool + Send + Sync;

static HOOKS: RwLock<Option<HashMap<usize, Hook>>> = RwLock::new(None);
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Keeps a closure reachable for as long as it lives.
pub(crate) struct Registration {
    number: usize,
}

impl Registration {
    pub(crate) fn new(hook: Hook) -> Registration {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut hooks = HOOKS.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        hooks.get_or_insert_with(HashMap::new).insert(number, hook);
        Registration { number }
    }

    pub(crate) fn user_data(&self) -> *mut c_void {
        self.number as *mut c_void
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut hooks = HOOKS.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let removed = hooks.as_mut().and_then(|hooks| hooks.remove(&self.number));
        // Dropped after the lock: a closure may own what registers and forgets closures itself.
        drop(hooks);
        drop(removed);
    }
}

/// The closure of a number, cloned, so that it runs without the registry's lock.
pub(crate) fn find(user_data: *mut c_void) -> Option<Hook> {
    let hooks = HOOKS.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    hooks.as_ref()?.get(&(user_data as usize)).cloned()
}

/// Runs a closure at the border: a panic answers `otherwise`.
pub(crate) fn caught<T>(otherwise: T, run: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(answer) => answer,
        Err(panic) => {
            // What was thrown may panic again when it is dropped; what that throws is left alone.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(again);
            }
            otherwise
        }
    }
}
