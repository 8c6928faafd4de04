// SPDX-License-Identifier: MIT
//! Hearing of the loss of a lock by a closure. Futures of it are waits of the library's own.
//!
//! Invariant: the closure is called once at most, by the library's notice or behind the release that answered LOST,
//! whichever comes first; and no registration outlives that release.

use std::os::raw::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

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

/// Where the loss of one lock is noted.
pub(crate) struct LossSlot {
    callback: Arc<LossFn>,
    is_told: AtomicBool,
}

impl LossSlot {
    pub(crate) fn new(callback: Arc<LossFn>) -> Arc<LossSlot> {
        Arc::new(LossSlot { callback, is_told: AtomicBool::new(false) })
    }

    fn tell(&self, loss: Loss) {
        if !self.is_told.swap(true, Ordering::AcqRel) {
            (self.callback)(loss);
        }
    }

    /// Of a loss that a release has answered: the library may have no notice of its own for it. The closure must not
    /// run within the release.
    fn tell_on_thread(self: Arc<LossSlot>, loss: Loss) {
        let work = move || caught((), || self.tell(loss));
        drop(std::thread::Builder::new().name("liblock-lost".to_string()).spawn(work));
    }
}

/// The registration of one lock's loss, as its context keeps it until the lock is released.
pub(crate) struct Watched {
    pub(crate) slot: Arc<LossSlot>,
    pub(crate) registration: Registration,
    token: u64,
}

impl Watched {
    pub(crate) fn new(callback: Arc<LossFn>) -> Watched {
        let slot = LossSlot::new(callback);
        let registration = Registration::new(Hook::Lost(slot.clone()));
        Watched { slot, registration, token: 0 }
    }
}

impl Inner {
    pub(crate) fn watch(&self, lock: u64, mut watched: Watched, token: u64) {
        watched.token = token;
        let mut losses = self.losses.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let former = losses.insert(lock, watched);
        self.loss_count.store(losses.len(), Ordering::Release);
        drop(losses);
        drop(former);
    }

    pub(crate) fn is_watched(&self, lock: u64) -> bool {
        if self.loss_count.load(Ordering::Acquire) == 0 {
            return false;
        }
        self.losses.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).contains_key(&lock)
    }

    /// A closed context tells of no loss: whoever waits for one learns that, and all closures are let go, which may own
    /// the context.
    pub(crate) fn let_go(&self) {
        let mut losses = self.losses.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let watched = std::mem::take(&mut *losses);
        self.loss_count.store(0, Ordering::Release);
        drop(losses);
        drop(watched);
        self.let_go_submitted();
        let mut hooks = self.hooks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let former = std::mem::take(&mut *hooks);
        drop(hooks);
        drop(former);
    }

    /// What a release answered says how the lock ended for whoever waits for its loss.
    #[inline]
    pub(crate) fn released(&self, lock: u64, status: sys::liblock_status) {
        match status {
            sys::LIBLOCK_LOST => self.forget(lock, Status::Lost),
            // Refused: the lock is as it was.
            sys::LIBLOCK_WOULD_DEADLOCK | sys::LIBLOCK_LIMIT | sys::LIBLOCK_NO_MEMORY | sys::LIBLOCK_FORKED => {}
            _ => self.forget(lock, Status::NotHeld),
        }
    }

    /// Locks that nobody watches, which are most, cost one load.
    #[inline]
    pub(crate) fn forget(&self, lock: u64, status: Status) {
        if self.loss_count.load(Ordering::Acquire) != 0 {
            self.forget_watched(lock, status);
        }
    }

    #[cold]
    fn forget_watched(&self, lock: u64, status: Status) {
        let mut losses = self.losses.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let watched = losses.remove(&lock);
        self.loss_count.store(losses.len(), Ordering::Release);
        drop(losses);
        if let Some(Watched { slot, registration, token }) = watched {
            if status == Status::Lost {
                slot.tell_on_thread(Loss { lock: crate::Lock(lock), token, status });
            }
            drop(registration);
        }
    }
}

pub(crate) unsafe extern "C" fn lost(completion: *const sys::liblock_completion, user_data: *mut c_void) {
    let told = &*completion;
    let loss = Loss { lock: crate::Lock(told.lock), token: told.token, status: Status::from_raw(told.status) };
    caught((), || {
        if let Some(Hook::Lost(slot)) = find(user_data) {
            slot.tell(loss);
        }
    });
}
