// SPDX-License-Identifier: MIT
//! Acquires whose ends go to a completion queue, and their closures.
//!
//! Invariant: they are noted before the call that makes the request, since its end may be read before that returns, and
//! no lock is held over it: it writes to the log, and a closure that is written to may make requests and read ends.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::acquire_options::Kept;
use crate::context::Inner;

/// The library is given a number for it, instead of what the caller gave: the request has none before it is made.
pub(crate) struct Submitted {
    /// The address of the queue.
    pub(crate) queue: usize,
    /// The caller's.
    pub(crate) user_data: u64,
    pub(crate) kept: Kept,
}

static NEXT: AtomicUsize = AtomicUsize::new(1);

impl Inner {
    pub(crate) fn put_submitted(&self, request: Submitted) -> usize {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.submitted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(number, request);
        number
    }

    pub(crate) fn take_submitted(&self, number: usize) -> Option<Submitted> {
        self.submitted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&number)
    }

    pub(crate) fn take_submitted_to(&self, queue: usize) -> Vec<Submitted> {
        let mut submitted = self.submitted.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let numbers: Vec<usize> =
            submitted.iter().filter(|(_, request)| request.queue == queue).map(|(number, _)| *number).collect();
        numbers.iter().filter_map(|number| submitted.remove(number)).collect()
    }

    /// The closures alone: what the callers gave comes back with the ends, which can still be read.
    pub(crate) fn let_go_submitted(&self) {
        let mut submitted = self.submitted.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let kept: Vec<Kept> = submitted.values_mut().map(|request| std::mem::take(&mut request.kept)).collect();
        drop(submitted);
        drop(kept);
    }
}
