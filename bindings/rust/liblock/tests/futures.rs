// SPDX-License-Identifier: MIT
//! Futures, under a runtime of one thread: what they end with, and that dropping them leaves nothing held.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use liblock::{AcquireOptions, CompletionKind, Context, Extend, Status, Target};

mod support;
use support::{block_on, block_on_for, idle_waker, poll_once, wait_until, Random};

fn open() -> Context {
    Context::open("local:").expect("a local context opens")
}

#[test]
fn a_free_key_is_granted_and_released_without_a_waiting_thread() {
    let context = open();
    let guard = block_on(context.lock_async("key")).unwrap();
    assert!(guard.token() > 0 && guard.is_held());
    block_on(guard.extend_async(Extend::Set(60_000))).unwrap();
    block_on(guard.update_async("value")).unwrap();
    block_on(guard.verify_async()).unwrap();
    assert_eq!(block_on(context.inspect_async("key")).unwrap().value(), b"value");
    block_on(guard.release_async()).unwrap();
    assert!(!context.is_locked("key").unwrap());
}

#[test]
fn a_future_is_woken_when_the_holder_releases() {
    let context = open();
    let held = context.acquire("key").unwrap().into_owned();
    let waiting = context.lock_async("key");
    let releases = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        drop(held);
    });
    let guard = block_on(waiting).unwrap();
    releases.join().unwrap();
    assert!(guard.is_held());
}

#[test]
fn places_in_the_queue_are_in_the_order_of_the_calls_not_of_the_polls() {
    let context = open();
    let held = context.acquire("key").unwrap();
    let first = context.lock_async("key");
    let mut second = context.lock_async("key");
    assert!(poll_once(&mut second, &idle_waker()).is_pending());
    drop(held);
    let guard = block_on(first).unwrap();
    assert!(poll_once(&mut second, &idle_waker()).is_pending());
    drop(guard);
    drop(block_on(second).unwrap());
}

#[test]
fn a_future_that_fails_tells_its_status() {
    let context = open();
    let _held = context.acquire("key").unwrap();
    let options = AcquireOptions::new().wait_ms(10);
    assert_eq!(block_on(context.acquire_async("key", &options)).unwrap_err().status(), Status::Timeout);
    let busy = AcquireOptions::new().wait_ms(0).busy_info(true);
    let error = block_on(context.acquire_async("key", &busy)).unwrap_err();
    assert_eq!(error.info().unwrap().key(), b"key");
    assert_eq!(block_on(context.lock_async("")).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn dropping_a_pending_future_takes_it_out_of_the_queue() {
    let context = open();
    let held = context.acquire("key").unwrap();
    let waiting = context.lock_async("key");
    wait_until(|| context.is_queued("key").unwrap());
    drop(waiting);
    wait_until(|| !context.is_queued("key").unwrap());
    drop(held);
    assert!(!context.is_locked("key").unwrap());
}

#[test]
fn dropping_a_granted_future_that_nobody_polled_releases_the_grant() {
    let context = open();
    let granted = context.lock_async("key");
    context.wait_held("key", 10_000).unwrap();
    drop(granted);
    wait_until(|| !context.is_locked("key").unwrap());
}

/// Grants race with drops at every point of the way: the seed moves the moment of the drop.
#[test]
fn dropping_or_panicking_at_every_point_of_an_acquire_leaves_no_held_lock() {
    let context = open();
    for seed in 1..=300 {
        let mut random = Random::new(seed * 0x9e37_79b9);
        let held = (random.below(2) == 0).then(|| context.acquire("key").unwrap().into_owned());
        let options = AcquireOptions::new().ttl_ms(60_000);
        let mut future = context.acquire_async("key", &options);
        let releases = std::thread::spawn(move || drop(held));
        for _ in 0..random.below(400) {
            std::hint::spin_loop();
        }
        let polled = match random.below(3) {
            0 => None,
            _ => Some(poll_once(&mut future, &idle_waker())),
        };
        let panics = random.below(2) == 0;
        let end = std::panic::AssertUnwindSafe(move || {
            let _owned = (future, polled);
            if panics {
                std::panic::resume_unwind(Box::new("at this point of an acquire"));
            }
        });
        assert_eq!(std::panic::catch_unwind(end).is_err(), panics);
        releases.join().unwrap();
        wait_until(|| !context.is_locked("key").unwrap() && !context.is_queued("key").unwrap());
    }
    let stats = context.stats().unwrap();
    assert_eq!((stats.locks_held, stats.waiters), (0, 0));
}

#[test]
fn a_future_keeps_its_context_and_an_abandoned_one_lets_it_go() {
    let context = Context::open("local:rust-futures-kept").unwrap();
    let other = Context::open("local:rust-futures-kept").unwrap();
    let held = other.acquire("key").unwrap();
    let waiting = context.lock_async("key");
    drop(context);
    drop(held);
    let guard = block_on(waiting).unwrap();
    drop(other.lock_async("key"));
    assert!(guard.is_held());
}

#[test]
fn lost_ends_as_lost_with_a_registered_notice_and_without_one() {
    let context = open();
    for options in [AcquireOptions::new(), AcquireOptions::new().on_lost(|_| {})] {
        let guard = context.acquire_with("key", &options).unwrap();
        let lost = guard.lost();
        context.force_release("key", false).unwrap();
        assert_eq!(block_on(lost).unwrap(), Status::Lost);
    }
}

#[test]
fn lost_ends_as_not_held_when_the_lock_is_released() {
    let context = open();
    for options in [AcquireOptions::new(), AcquireOptions::new().on_lost(|_| {})] {
        let guard = context.acquire_with("key", &options).unwrap();
        let lost = guard.lost();
        assert!(block_on_for(guard.lost(), Duration::from_millis(20)).is_none());
        drop(guard);
        assert_eq!(block_on(lost).unwrap(), Status::NotHeld);
    }
}

#[test]
fn waits_for_keys_end_with_what_others_do() {
    let context = open();
    let held = context.wait_held_async("key", 10_000);
    let guard = context.acquire("key").unwrap();
    block_on(held).unwrap();
    let released = context.wait_released_async("key", 10_000);
    assert_eq!(block_on(context.wait_released_async("key", 10)).unwrap_err().status(), Status::Timeout);
    drop(guard);
    block_on(released).unwrap();
    assert_eq!(block_on(context.wait_released_async("key", 10)).unwrap_err().status(), Status::NotHeld);
    assert_eq!(block_on(context.wait_held_async("key", 10)).unwrap_err().status(), Status::Timeout);
}

#[test]
fn closing_ends_pending_futures_as_closed_and_the_last_clone_may_go_in_a_waker() {
    let context = open();
    let _held = context.acquire("key").unwrap();
    let waiting = context.lock_async("key");
    block_on(context.close_async()).unwrap();
    assert_eq!(block_on(waiting).unwrap_err().status(), Status::Closed);
    block_on(open().ping_async()).unwrap();
}

#[test]
fn several_keys_and_the_global_lock_are_futures_too() {
    let context = open();
    let options = AcquireOptions::new();
    let many = block_on(context.acquire_many_async(&["a", "b"], &options)).unwrap();
    let mut global = context.acquire_global_async(&options);
    assert!(poll_once(&mut global, &idle_waker()).is_pending());
    drop(many);
    assert!(block_on(global).unwrap().is_held());
    let owner = context.owner("o").unwrap();
    let owned = block_on(context.acquire_async("a", &AcquireOptions::new().owner(&owner))).unwrap();
    block_on(owner.release_keys_async(&["a"])).unwrap();
    assert!(!owned.is_held());
    let taken = context.acquire("b").unwrap();
    block_on(context.force_release_async("b", true)).unwrap();
    assert!(!taken.is_held());
}

#[test]
fn ends_can_be_read_from_a_queue_whose_descriptor_polls() {
    let context = open();
    let queue = context.completions(16).unwrap();
    assert!(queue.fd().unwrap() >= 0);
    assert!(queue.next(0).unwrap().is_none());
    let (sender, losses) = channel();
    let sender = Mutex::new(sender);
    let told = move |loss: liblock::Loss| sender.lock().unwrap().send(loss.token).unwrap();
    let options = AcquireOptions::new().completions(&queue).on_lost(told);
    let request = context.submit_acquire(Target::Key(b"key"), &options, 17).unwrap();
    let end = queue.next(10_000).unwrap().unwrap();
    assert_eq!((end.kind, end.status, end.user_data), (CompletionKind::Acquire, Status::Ok, 17));
    assert_eq!(end.request, Some(request));
    assert_eq!(context.cancel(request).unwrap_err().status(), Status::InvalidHandle);
    context.force_release("key", false).unwrap();
    assert_eq!(losses.recv_timeout(support::LIMIT).unwrap(), end.token);
    let plain = AcquireOptions::new();
    let refused = context.submit_acquire(Target::Key(b"key"), &plain, 0).unwrap_err();
    assert_eq!(refused.status(), Status::InvalidArgument);
    assert_eq!(block_on(context.acquire_async("key", &options)).unwrap_err().status(), Status::InvalidArgument);
    queue.close().unwrap();
}

#[test]
fn a_future_is_polled_by_the_waker_of_its_last_poll() {
    let context = open();
    let held = context.acquire("key").unwrap();
    let woken = Arc::new(Mutex::new(Vec::new()));
    struct Note(Arc<Mutex<Vec<u8>>>, u8);
    impl std::task::Wake for Note {
        fn wake(self: Arc<Self>) {
            self.0.lock().unwrap().push(self.1);
        }
    }
    let mut future = context.lock_async("key");
    for name in [1, 2] {
        let waker = Arc::new(Note(woken.clone(), name)).into();
        assert!(matches!(poll_once(&mut future, &waker), Poll::Pending));
    }
    drop(held);
    wait_until(|| !woken.lock().unwrap().is_empty());
    assert_eq!(*woken.lock().unwrap(), [2]);
    assert!(block_on(future).is_ok());
}

#[test]
fn a_server_that_is_not_there_is_named_by_a_future_as_by_a_blocking_call() {
    let context = Context::open("redis://127.0.0.1:1").unwrap(); // nobody listens there
    let blocking = context.ping().unwrap_err();
    assert!(blocking.message().starts_with("redis://127.0.0.1:1/0: "), "{}", blocking);
    let ends = [block_on(context.ping_async()).unwrap_err(), block_on(context.lock_async("key")).unwrap_err()];
    for error in &ends {
        assert_eq!((error.status(), error.message()), (Status::Connect, blocking.message()));
    }
}
