// SPDX-License-Identifier: MIT
//! Futures without a runtime: the library's callback thread puts the end of a request into a slot and wakes whoever
//! polled last.
//!
//! Invariants: the library has one reference to the slot until its callback, which comes exactly once. A grant that
//! comes into an abandoned slot, or lies in it when the future is dropped, is released: nobody else knows of it. No
//! waker is run, cloned or dropped, and nothing is released, under the slot's lock.

use std::future::Future;
use std::os::raw::c_void;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Poll, Waker};

use crate::completion::Completion;
use crate::context::{Context, Inner};
use crate::error::{Error, Result};
use crate::kinds::CompletionKind;
use crate::registry::{caught, Registration};
use crate::status::Status;
use liblock_sys as sys;

enum State {
    Waiting(Option<Waker>),
    Ended(Completion),
    /// The future was dropped, or has taken the end.
    Gone,
}

pub(crate) struct Slot {
    state: Mutex<State>,
    role: Role,
}

/// What the end of a call means beyond the answer, also when nobody waits for it any more.
pub(crate) enum Role {
    Plain,
    /// Keeps the context until the end, since a grant that nobody waits for must be given back.
    Acquire(Context),
    /// Whoever waits for the loss of this lock is told how it ended.
    Release(Weak<Inner>, u64),
    Close(Weak<Inner>),
}

impl Role {
    pub(crate) fn release(context: &Context, lock: u64) -> Role {
        if context.inner.is_watched(lock) {
            Role::Release(Arc::downgrade(&context.inner), lock)
        } else {
            Role::Plain
        }
    }

    pub(crate) fn close(context: &Context) -> Role {
        Role::Close(Arc::downgrade(&context.inner))
    }
}

impl Slot {
    fn new(role: Role) -> Arc<Slot> {
        Arc::new(Slot { state: Mutex::new(State::Waiting(None)), role })
    }

    /// Before the end can be read.
    fn settle(&self, completion: &Completion) {
        match &self.role {
            Role::Release(inner, lock) => {
                if let Some(inner) = inner.upgrade() {
                    inner.released(*lock, completion.status.raw());
                }
            }
            Role::Close(inner) => {
                if let Some(inner) = inner.upgrade() {
                    inner.let_go();
                }
            }
            Role::Plain | Role::Acquire(_) => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn end(&self, completion: Completion) {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Gone) {
            State::Waiting(waker) => {
                *state = State::Ended(completion);
                drop(state);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            _ => {
                drop(state);
                self.undo(&completion);
            }
        }
    }

    fn undo(&self, completion: &Completion) {
        if let (Role::Acquire(context), Some(lock)) = (&self.role, completion.lock) {
            if completion.kind == CompletionKind::Acquire {
                context.inner.release_quietly(lock.0);
            }
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<Completion> {
        if let Some(end) = self.look(|known| known.as_ref().map_or(false, |known| known.will_wake(waker))) {
            return end;
        }
        let mut waker = Some(waker.clone());
        let end = self.look(|known| {
            std::mem::swap(known, &mut waker);
            true
        });
        drop(waker); // that of the poll before
        end.unwrap_or(Poll::Pending)
    }

    /// None where there is no end yet and the waker that is known will not do.
    fn look(&self, will_do: impl FnOnce(&mut Option<Waker>) -> bool) -> Option<Poll<Completion>> {
        let mut state = self.state();
        if let State::Waiting(known) = &mut *state {
            return will_do(known).then_some(Poll::Pending);
        }
        let end = std::mem::replace(&mut *state, State::Gone);
        drop(state);
        match end {
            State::Ended(completion) => Some(Poll::Ready(completion)),
            _ => panic!("a future of liblock was polled after its end"),
        }
    }

    /// Answers whether the request was still pending.
    fn abandon(&self) -> bool {
        let former = std::mem::replace(&mut *self.state(), State::Gone);
        let was_pending = matches!(former, State::Waiting(_));
        caught((), || match former {
            State::Ended(completion) => self.undo(&completion),
            other => drop(other),
        });
        was_pending
    }
}

unsafe extern "C" fn ended(completion: *const sys::liblock_completion, user_data: *mut c_void) {
    let slot = Arc::from_raw(user_data as *const Slot);
    let completion = Completion::take(&*completion);
    caught((), move || {
        caught((), || slot.settle(&completion));
        slot.end(completion);
    });
}

enum Stage {
    Refused(Option<Error>),
    Pending { slot: Arc<Slot>, request: u64 },
    Over,
}

/// A call under way: a future that needs no particular runtime, as the library's callback thread wakes it.
///
/// The request was made by the call that returned it, not by the first poll: places in queues are in the order of the
/// calls. Dropping a pending acquire or wait cancels it; a grant that crosses the cancellation is released. Dropping
/// any other pending call lets it go on by itself.
#[must_use = "a future does not tell how it ended until it is awaited"]
pub struct Op<T> {
    stage: Stage,
    context: Context,
    finish: Option<Finish<T>>,
    /// Closures that the library may call until the end.
    hooks: Vec<Registration>,
}

type Finish<T> = Box<dyn FnOnce(&Context, Completion) -> Result<T> + Send>;

impl<T> Unpin for Op<T> {}

impl<T> Op<T> {
    /// Starts a call. `start` is given the callback, what goes with it, and where the request is written.
    pub(crate) fn start(
        context: &Context,
        finish: impl FnOnce(&Context, Completion) -> Result<T> + Send + 'static,
        start: impl FnOnce(sys::liblock_callback, *mut c_void, *mut u64) -> sys::liblock_status,
    ) -> Op<T> {
        Op::start_as(Role::Plain, context, finish, start)
    }

    /// A call whose end means something beyond its answer.
    pub(crate) fn start_as(
        role: Role,
        context: &Context,
        finish: impl FnOnce(&Context, Completion) -> Result<T> + Send + 'static,
        start: impl FnOnce(sys::liblock_callback, *mut c_void, *mut u64) -> sys::liblock_status,
    ) -> Op<T> {
        Op::begin(context, Box::new(finish), role, start)
    }

    /// An acquire: it is canceled when the future is dropped.
    pub(crate) fn start_acquire(
        context: &Context,
        finish: impl FnOnce(&Context, Completion) -> Result<T> + Send + 'static,
        start: impl FnOnce(sys::liblock_callback, *mut c_void, *mut u64) -> sys::liblock_status,
    ) -> Op<T> {
        Op::begin(context, Box::new(finish), Role::Acquire(context.clone()), start)
    }

    fn begin(
        context: &Context,
        finish: Finish<T>,
        role: Role,
        start: impl FnOnce(sys::liblock_callback, *mut c_void, *mut u64) -> sys::liblock_status,
    ) -> Op<T> {
        let slot = Slot::new(role);
        let lent = Arc::into_raw(slot.clone());
        let mut request = 0;
        let status = start(Some(ended), lent as *mut c_void, &mut request);
        let stage = if status == sys::LIBLOCK_OK {
            Stage::Pending { slot, request }
        } else {
            // Without a request there is no callback: what was lent comes back.
            drop(unsafe { Arc::from_raw(lent) });
            Stage::Refused(Some(Error::of(Status::from_raw(status))))
        };
        Op { stage, context: context.clone(), finish: Some(finish), hooks: Vec::new() }
    }

    /// What it was refused with, in other words.
    pub(crate) fn explained(mut self, words: impl FnOnce(Error) -> Error) -> Op<T> {
        if let Stage::Refused(error) = &mut self.stage {
            *error = error.take().map(words);
        }
        self
    }

    /// No request could be made, which a blocking call can do without.
    pub(crate) fn found_no_room(&self) -> bool {
        match &self.stage {
            Stage::Refused(Some(error)) => matches!(error.status(), Status::Limit | Status::NoMemory),
            _ => false,
        }
    }

    /// Keeps closures reachable until the end.
    pub(crate) fn keep(&mut self, hooks: Vec<Registration>) {
        self.hooks = hooks;
    }

    pub(crate) fn refused(context: &Context, error: Error) -> Op<T> {
        Op { stage: Stage::Refused(Some(error)), context: context.clone(), finish: None, hooks: Vec::new() }
    }
}

impl<T> Future for Op<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Result<T>> {
        let polled = match &mut self.stage {
            Stage::Refused(error) => match error.take() {
                Some(error) => return Poll::Ready(Err(error)),
                None => panic!("a future of liblock was polled after its end"),
            },
            Stage::Pending { slot, .. } => slot.poll(cx.waker()),
            Stage::Over => panic!("a future of liblock was polled after its end"),
        };
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(completion) => {
                self.stage = Stage::Over;
                self.hooks.clear();
                let finish = self.finish.take();
                let context = self.context.clone();
                Poll::Ready(match finish {
                    Some(finish) => finish(&context, completion),
                    None => Err(Error::of(Status::Internal)),
                })
            }
        }
    }
}

impl<T> Drop for Op<T> {
    fn drop(&mut self) {
        match &self.stage {
            Stage::Pending { slot, request } => {
                if slot.abandon() {
                    // What is neither acquire nor wait goes on. INVALID_HANDLE says that it has just ended: then its
                    // callback finds the slot abandoned.
                    unsafe { sys::liblock_cancel(self.context.raw(), *request) };
                }
            }
            Stage::Refused(_) | Stage::Over => {}
        }
    }
}
