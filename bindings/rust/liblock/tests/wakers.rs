// SPDX-License-Identifier: MIT
//! Futures that are polled by ever new wakers, on other threads, once and never again; and wakers that do odd things.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

use liblock::{AcquireOptions, Context, Guard, Op, Status};

mod support;
use support::{block_on, block_on_for, idle_waker, poll_once, wait_until};

fn open() -> Context {
    Context::open("local:").expect("a local context opens")
}

#[derive(Default)]
struct Counts {
    woken: AtomicUsize,
    alive: AtomicUsize,
}

struct Counted(Arc<Counts>);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.woken.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

fn counted(counts: &Arc<Counts>) -> Waker {
    counts.alive.fetch_add(1, Ordering::SeqCst);
    Arc::new(Counted(counts.clone())).into()
}

#[test]
fn only_the_waker_of_the_last_poll_is_kept_and_woken() {
    let context = open();
    let held = context.acquire("key").unwrap().into_owned();
    let watched = context.acquire_with("watched", &AcquireOptions::new()).unwrap();
    let (granted, lost) = (Arc::new(Counts::default()), Arc::new(Counts::default()));
    let (mut waiting, mut loss) = (context.lock_async("key"), watched.lost());
    for _ in 0..100 {
        assert!(poll_once(&mut waiting, &counted(&granted)).is_pending());
        assert!(poll_once(&mut loss, &counted(&lost)).is_pending());
    }
    let alive = (granted.alive.load(Ordering::SeqCst), lost.alive.load(Ordering::SeqCst));
    assert_eq!(alive, (1, 1), "wakers of former polls are kept");
    drop(held);
    context.force_release("watched", false).unwrap();
    wait_until(|| granted.woken.load(Ordering::SeqCst) == 1 && lost.woken.load(Ordering::SeqCst) == 1);
    assert!(block_on(waiting).is_ok());
    assert_eq!(block_on(loss).unwrap(), Status::Lost);
}

#[test]
fn a_dropped_wait_for_a_loss_leaves_no_waker_behind() {
    let context = open();
    let guard = context.acquire_with("key", &AcquireOptions::new()).unwrap();
    let counts = Arc::new(Counts::default());
    for _ in 0..100 {
        assert!(poll_once(&mut guard.lost(), &counted(&counts)).is_pending());
    }
    assert_eq!(counts.alive.load(Ordering::SeqCst), 0);
    let (mut one, mut two) = (guard.lost(), guard.lost());
    for op in [&mut one, &mut two] {
        assert!(poll_once(op, &counted(&counts)).is_pending());
    }
    context.force_release("key", false).unwrap();
    wait_until(|| counts.woken.load(Ordering::SeqCst) == 2);
}

/// A waker that owns a future, and drops it with itself: as the last reference to a task does.
struct Owns(Mutex<Option<Op<Guard<'static>>>>, Context);

impl Wake for Owns {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Owns {
    fn drop(&mut self) {
        drop(self.0.lock().unwrap().take());
        assert!(self.1.is_locked("key").is_ok());
    }
}

#[test]
fn a_waker_may_own_futures_and_be_the_last_to_hold_them() {
    let context = open();
    let held = context.acquire("key").unwrap();
    let mut first = context.lock_async("key");
    for _ in 0..3 {
        let owned = Mutex::new(Some(context.lock_async("key")));
        let waker = Arc::new(Owns(owned, context.clone())).into();
        assert!(poll_once(&mut first, &waker).is_pending());
    }
    drop(held);
    assert!(block_on(first).unwrap().is_held());
}

/// A waker that panics when it is cloned, woken or dropped, as the number says.
struct Panics(u8);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        if self.0 == 1 {
            std::panic::resume_unwind(Box::new("woken"));
        }
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        if self.0 == 2 && !std::thread::panicking() {
            std::panic::resume_unwind(Box::new("dropped"));
        }
    }
}

#[test]
fn wakers_that_panic_break_nothing_of_the_library() {
    let context = open();
    for when in [1, 2] {
        let held = context.acquire("key").unwrap();
        let mut waiting = context.lock_async("key");
        assert!(poll_once(&mut waiting, &Arc::new(Panics(when)).into()).is_pending());
        drop(held);
        wait_until(|| context.stats().unwrap().waiters == 0);
        drop(waiting);
        wait_until(|| !context.is_locked("key").unwrap());
    }
    block_on(context.lock_async("key")).unwrap().release().unwrap();
}

#[test]
fn a_future_is_polled_on_one_thread_and_finished_on_another() {
    let context = open();
    for _ in 0..50 {
        let held = context.acquire("key").unwrap().into_owned();
        let mut waiting = context.lock_async("key");
        assert!(poll_once(&mut waiting, &idle_waker()).is_pending());
        let elsewhere = std::thread::spawn(move || block_on(waiting));
        drop(held);
        let guard = elsewhere.join().unwrap().unwrap();
        std::thread::spawn(move || drop(guard)).join().unwrap();
    }
    assert_eq!(context.stats().unwrap().locks_held, 0);
}

#[test]
fn a_forgotten_future_keeps_its_place_and_nothing_of_others() {
    let context = open();
    let held = context.acquire("key").unwrap();
    let mut polled = context.lock_async("key");
    assert!(poll_once(&mut polled, &idle_waker()).is_pending());
    std::mem::forget(polled);
    drop(held);
    wait_until(|| context.is_locked("key").unwrap() && context.stats().unwrap().waiters == 0);
    std::mem::forget(context.acquire("forgotten").unwrap());
    assert_eq!(context.try_acquire("key").unwrap_err().status(), Status::Busy);
    context.force_release("key", false).unwrap();
    context.acquire("key").unwrap().release().unwrap();
    context.close().unwrap();
}

#[test]
fn closing_ends_every_wait_for_a_loss() {
    let unwatched = AcquireOptions::new();
    for options in [unwatched.clone(), unwatched.on_lost(|_| {})] {
        let context = open();
        let guard = context.acquire_with("key", &options).unwrap();
        let (early, late) = (guard.lost(), guard.lost());
        context.close().unwrap();
        for lost in [early, late, guard.lost()] {
            let ended = block_on_for(lost, Duration::from_secs(5)).expect("a wait outlives its context");
            assert!(matches!(ended, Err(ref error) if error.status() == Status::Closed), "{:?}", ended);
        }
    }
}

#[test]
fn every_lock_that_shares_a_hold_hears_of_its_loss() {
    let context = open();
    let owner = context.owner("o").unwrap();
    let options = AcquireOptions::new().owner(&owner);
    let outer = context.acquire_with("key", &options).unwrap();
    let inner = context.acquire_with("key", &options).unwrap();
    let later = block_on(context.acquire_async("key", &options)).unwrap();
    let lost = [outer.lost(), inner.lost(), later.lost()];
    drop(outer); // what is told of the loss to all of them goes with it
    context.force_release("key", false).unwrap();
    let [first, second, third] = lost;
    assert_eq!(block_on(first).unwrap(), Status::NotHeld);
    for op in [second, third] {
        assert_eq!(block_on(op).unwrap(), Status::Lost);
    }
}

#[test]
fn a_loss_is_told_also_behind_a_release_or_a_drop() {
    let context = open();
    type Release = fn(Guard<'_>);
    let ways: [Release; 3] = [
        |guard| assert_eq!(guard.release().unwrap_err().status(), Status::Lost),
        |guard| assert_eq!(block_on(guard.release_async()).unwrap_err().status(), Status::Lost),
        |guard| drop(guard),
    ];
    for release in ways {
        let (inside, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (theirs, until) = (inside.clone(), end.clone());
        let blocks = AcquireOptions::new().on_lost(move |_| {
            theirs.store(1, Ordering::SeqCst);
            wait_until(|| until.load(Ordering::SeqCst) == 1);
        });
        let _first = context.acquire_with("first", &blocks).unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let theirs = told.clone();
        let tells = AcquireOptions::new().on_lost(move |_| {
            theirs.fetch_add(1, Ordering::SeqCst);
        });
        let guard = context.acquire_with("key", &tells).unwrap();
        let lost = guard.lost();
        context.force_release("first", false).unwrap();
        wait_until(|| inside.load(Ordering::SeqCst) == 1); // the callback thread is busy: notices wait
        context.force_release("key", false).unwrap();
        let released = std::thread::scope(|threads| {
            // The end of an asynchronous release comes by the same thread, behind the notice.
            let release = threads.spawn(move || release(guard));
            std::thread::sleep(Duration::from_millis(20));
            end.store(1, Ordering::SeqCst);
            release.join()
        });
        released.unwrap();
        assert_eq!(block_on(lost).unwrap(), Status::Lost);
        wait_until(|| told.load(Ordering::SeqCst) == 1);
    }
}

#[test]
fn a_guard_may_be_dropped_anywhere() {
    let context = open();
    let panicked = std::thread::spawn({
        let context = context.clone();
        move || {
            let _guard = context.acquire("key").unwrap();
            std::panic::resume_unwind(Box::new("with a lock"));
        }
    });
    assert!(panicked.join().is_err());
    assert!(!context.is_locked("key").unwrap());
    let slot = Mutex::new(Some(context.acquire("inner").unwrap().into_owned()));
    let options = AcquireOptions::new().on_lost(move |_| drop(slot.lock().unwrap().take()));
    let _outer = context.acquire_with("outer", &options).unwrap();
    context.force_release("outer", false).unwrap();
    wait_until(|| !context.is_locked("inner").unwrap());
    let late = context.acquire("late").unwrap();
    context.close().unwrap();
    drop(late);
    let future = open().lock_async("key");
    let mut boxed: Pin<Box<dyn Future<Output = liblock::Result<Guard<'static>>> + Send>> = Box::pin(future);
    wait_until(|| poll_once(&mut boxed, &idle_waker()).is_ready());
}

#[test]
fn a_thousand_futures_end_when_their_context_closes() {
    let context = open();
    let _held = context.acquire("key").unwrap();
    let waiting: Vec<_> = (0..1_000).map(|_| context.lock_async("key")).collect();
    context.close().unwrap();
    for future in waiting {
        assert_eq!(block_on(future).unwrap_err().status(), Status::Closed);
    }
}
