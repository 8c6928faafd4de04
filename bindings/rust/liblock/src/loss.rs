// SPDX-License-Identifier: MIT
//! Hearing of the loss of a lock: by a closure, by a future, or by both.
//!
//! Invariant: a slot ends once, as lost or as released, whichever comes first; wakers run without its lock.

use std::os::raw::c_void;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use crate::context::Inner;
use crate::registry::{caught, find, Hook, Registration};
use crate::status::Status;
use liblock_sys as sys;

/// What an `on_lost` closure is told. A notice only: [`Guard::is_held`](crate::Guard::is_held) is the authority.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// Which lock.
    pub lock: crate::Lock,
    /// Its fencing token.
    pub token: u64,
    /// [`Status::Lost`].
    pub status: Status,
}

pub(crate) type LossFn = dyn Fn(Loss) + Send + Sync;

#[derive(Default)]
struct State {
    ended: Option<Status>,
    wakers: Vec<Waker>,
    told: bool,
    /// Of a lock whose release answered LOST before the closure was called: it still will be.
    late: Option<Registration>,
}

/// Where the loss of one lock is noted.
pub(crate) struct LossSlot {
    callback: Option<Arc<LossFn>>,
    state: Mutex<State>,
}

impl LossSlot {
    pub(crate) fn new(callback: Option<Arc<LossFn>>) -> Arc<LossSlot> {
        Arc::new(LossSlot { callback, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// `NotHeld` where it was released.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Status> {
        let mut state = self.state();
        if let Some(status) = state.ended {
            return Poll::Ready(status);
        }
        if !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        Poll::Pending
    }

    fn keep(&self, registration: Registration) {
        let mut state = self.state();
        if !state.told {
            state.late = Some(registration);
        }
    }

    fn tell(&self, loss: Loss) {
        let mut state = self.state();
        state.told = true;
        let late = state.late.take();
        drop(state);
        drop(late);
        if let Some(callback) = &self.callback {
            caught((), || callback(loss));
        }
    }

    pub(crate) fn end(&self, status: Status) {
        let mut state = self.state();
        if state.ended.is_some() {
            return;
        }
        state.ended = Some(status);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        for waker in wakers {
            waker.wake();
        }
    }
}

/// The registration of one lock's loss, as its context keeps it until the lock is released.
pub(crate) struct Watched {
    pub(crate) slot: Arc<LossSlot>,
    pub(crate) registration: Registration,
}

impl Watched {
    pub(crate) fn new(callback: Option<Arc<LossFn>>) -> Watched {
        let slot = LossSlot::new(callback);
        let registration = Registration::new(Hook::Lost(slot.clone()));
        Watched { slot, registration }
    }
}

impl Inner {
    pub(crate) fn watch(&self, lock: u64, watched: Watched) {
        let mut losses = self.losses.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let former = losses.insert(lock, watched);
        self.loss_count.store(losses.len(), std::sync::atomic::Ordering::Release);
        drop(losses);
        drop(former);
    }

    pub(crate) fn watched(&self, lock: u64) -> Option<Arc<LossSlot>> {
        if self.loss_count.load(std::sync::atomic::Ordering::Acquire) == 0 {
            return None;
        }
        let losses = self.losses.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        losses.get(&lock).map(|watched| watched.slot.clone())
    }

    /// What a release answered says how the lock ended for whoever waits for its loss.
    #[inline]
    pub(crate) fn released(&self, lock: u64, status: sys::liblock_status) {
        match status {
            sys::LIBLOCK_LOST => self.forget(lock, Status::Lost),
            sys::LIBLOCK_WOULD_DEADLOCK => {}
            _ => self.forget(lock, Status::NotHeld),
        }
    }

    /// Locks that nobody watches, which are most, cost one load.
    #[inline]
    pub(crate) fn forget(&self, lock: u64, status: Status) {
        if self.loss_count.load(std::sync::atomic::Ordering::Acquire) != 0 {
            self.forget_watched(lock, status);
        }
    }

    #[cold]
    fn forget_watched(&self, lock: u64, status: Status) {
        let mut losses = self.losses.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let watched = losses.remove(&lock);
        self.loss_count.store(losses.len(), std::sync::atomic::Ordering::Release);
        drop(losses);
        if let Some(Watched { slot, registration }) = watched {
            if status == Status::Lost {
                slot.keep(registration);
            }
            slot.end(status);
        }
    }
}

pub(crate) unsafe extern "C" fn lost(completion: *const sys::liblock_completion, user_data: *mut c_void) {
    if let Some(Hook::Lost(slot)) = find(user_data) {
        let told = &*completion;
        let loss = Loss { lock: crate::Lock(told.lock), token: told.token, status: Status::from_raw(told.status) };
        slot.tell(loss);
        caught((), || slot.end(Status::Lost));
    }
}
