// SPDX-License-Identifier: MIT
//! What does not fit: times that mean nothing, bytes of every kind, objects of another context, closures that panic.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use liblock::{AcquireOptions, Clear, Context, List, Status, Target};

mod support;
use support::{block_on, block_on_for, wait_until};

fn open() -> Context {
    Context::open("local:").expect("a local context opens")
}

#[test]
fn a_short_wait_is_never_none() {
    let context = open();
    let _held = context.acquire("key").unwrap();
    for wait in [Duration::from_nanos(1), Duration::from_micros(999), Duration::from_micros(1_001)] {
        let error = context.acquire_with("key", &AcquireOptions::new().wait(wait)).unwrap_err();
        assert_eq!(error.status(), Status::Timeout, "{:?}", wait);
    }
    let once = AcquireOptions::new().wait(Duration::ZERO);
    assert_eq!(context.acquire_with("key", &once).unwrap_err().status(), Status::Busy);
    let shortest = AcquireOptions::new().ttl(Duration::from_nanos(1));
    assert!(context.acquire_with("other", &shortest).is_ok());
    let longest = AcquireOptions::new().ttl(Duration::MAX).wait(Duration::MAX);
    context.acquire_with("other", &longest).unwrap().release().unwrap();
}

#[test]
fn limits_that_mean_nothing_are_refused_by_futures_too() {
    let context = open();
    let guard = context.acquire("key").unwrap();
    for wait_ms in [-2, -1_000, i64::MIN] {
        let soon = Duration::from_millis(500);
        assert_eq!(context.wait_held("other", wait_ms).unwrap_err().status(), Status::InvalidArgument);
        for wait in [context.wait_held_async("other", wait_ms), context.wait_released_async("key", wait_ms)] {
            let end = block_on_for(wait, soon).expect("it is waited for");
            assert_eq!(end.unwrap_err().status(), Status::InvalidArgument, "{}", wait_ms);
        }
    }
    block_on(context.wait_held_async("key", i64::MAX)).unwrap();
    drop(guard);
}

#[test]
fn bytes_of_any_kind_are_keys_values_and_names() {
    let context = open();
    let odd: &[u8] = b"\0\xff\xfe key";
    let owner = context.owner(odd).unwrap();
    let options = AcquireOptions::new().owner(&owner).value(odd).metadata(odd, odd).metadata("empty", "");
    let guard = context.acquire_with(odd, &options).unwrap();
    let info = context.inspect(odd).unwrap();
    assert_eq!((info.key(), info.value()), (odd, odd));
    assert_eq!(info.metadata().len(), 2);
    let id = owner.id_bytes().unwrap();
    assert!(id.ends_with(odd), "{:?}", id);
    assert!(owner.id().unwrap().ends_with(" key"));
    assert_eq!(info.owner_bytes(), Some(&id[..]));
    let (report, outcome) = context.clear(Clear::Owner(&id), None);
    outcome.unwrap();
    assert_eq!(report.locks, 1);
    assert_eq!(guard.release().unwrap_err().status(), Status::Lost);
}

#[test]
fn what_is_too_large_or_empty_is_refused() {
    let context = open();
    let plain = AcquireOptions::new();
    let many = (0..65).fold(plain.clone(), |options, number| options.metadata(format!("n{}", number), ""));
    let none: [&[u8]; 0] = [];
    let refused = [
        context.acquire("").unwrap_err(),
        context.acquire(vec![b'k'; 513]).unwrap_err(),
        context.acquire_many(&none, &plain).unwrap_err(),
        context.acquire_many(&["a", ""], &plain).unwrap_err(),
        context.acquire_with("a", &plain.clone().value(vec![0; 4_097])).unwrap_err(),
        context.acquire_with("a", &plain.clone().metadata("n", vec![0; 1 << 20])).unwrap_err(),
        context.acquire_with("a", &many).unwrap_err(),
        context.owner(vec![b'o'; 256]).unwrap_err(),
        context.completions(0).unwrap_err(),
        block_on(context.acquire_many_async(&none, &plain)).unwrap_err(),
        block_on(context.lock_async(vec![b'k'; 513])).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
    }
    assert_eq!(context.stats().unwrap().locks_held, 0);
}

#[test]
fn a_text_with_a_nul_in_it_is_refused_instead_of_cut_off() {
    let refused = [
        Context::open("local:x\0y").unwrap_err(),
        Context::builder().password("x\0y").open("redis://localhost").unwrap_err(),
        Context::builder().tls_ca_file("x\0y").open("rediss://localhost").unwrap_err(),
        Context::builder().servers(&["redis://a", "redis://b\0"]).open_quorum().unwrap_err(),
        open().quorum_set_nodes(&["x\0y"], &[], 0).unwrap_err(),
        open().acquire_with("a", &AcquireOptions::new().nodes(&["x\0y"])).unwrap_err(),
    ];
    for error in refused {
        assert!(error.status() == Status::InvalidArgument && error.message().contains("NUL"), "{}", error);
    }
}

#[test]
fn owners_and_queues_of_another_context_are_refused() {
    let (context, other) = (open(), open());
    let owner = other.owner("o").unwrap();
    let queue = other.completions(4).unwrap();
    let owned = AcquireOptions::new().owner(&owner);
    let noticed = AcquireOptions::new().completions(&queue);
    assert_eq!(context.acquire_with("a", &owned).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(context.acquire_with("a", &noticed).unwrap_err().status(), Status::InvalidArgument);
    let submitted = context.submit_acquire(Target::Key(b"a"), &noticed, 0);
    assert_eq!(submitted.unwrap_err().status(), Status::InvalidArgument);
    assert!(!context.is_locked("a").unwrap());
}

#[test]
fn a_panic_in_what_a_list_is_shown_to_goes_on_in_whoever_lists() {
    let context = open();
    let _held = context.acquire("key").unwrap();
    let shown = std::panic::AssertUnwindSafe(|| {
        let _ = context.list_each(List::Locks, None, |_| std::panic::resume_unwind(Box::new("shown")));
    });
    let panic = std::panic::catch_unwind(shown).expect_err("the panic was swallowed");
    assert_eq!(panic.downcast_ref(), Some(&"shown"));
    assert_eq!(context.list_each(List::Locks, None, |_| std::ops::ControlFlow::Continue(())).unwrap().locks, 1);
}

/// Makes a closure own both.
fn uses<A, B>(_: &A, _: &B) {}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_context_that_was_closed_lets_go_of_closures_that_own_it() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let note = || Dropped(dropped.clone());
    let context = open();
    let (theirs, mine) = (context.clone(), note());
    context.on_event(liblock::ALL_EVENTS, move |_| uses(&theirs, &mine)).unwrap();
    let (theirs, mine) = (context.clone(), note());
    context.on_log(liblock::LogLevel::Debug, move |_| uses(&theirs, &mine)).unwrap();
    let (theirs, mine) = (context.clone(), note());
    let options = AcquireOptions::new().on_lost(move |_| uses(&theirs, &mine));
    let lock = context.acquire_with("key", &options).unwrap().into_lock();
    drop(options);
    assert!(context.is_held(lock).is_ok());
    let queue = context.completions(4).unwrap();
    let (theirs, mine) = (context.clone(), note());
    let waits = AcquireOptions::new().completions(&queue).backoff_fn(move |_| {
        uses(&theirs, &mine);
        1
    });
    context.submit_acquire(Target::Key(b"key"), &waits, 0).unwrap();
    drop(waits);
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    context.close().unwrap();
    drop(queue);
    wait_until(|| dropped.load(Ordering::SeqCst) == 4);
}

#[test]
fn a_queue_that_is_dropped_lets_go_of_the_closures_of_its_requests() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let context = open();
    let held = context.acquire("key").unwrap();
    let queue = context.completions(4).unwrap();
    let mine = Dropped(dropped.clone());
    let options = AcquireOptions::new().completions(&queue).on_lost(move |_| uses(&mine, &mine));
    context.submit_acquire(Target::Key(b"key"), &options, 0).unwrap();
    context.submit_acquire(Target::Key(b"free"), &options, 0).unwrap();
    drop((options, queue));
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    drop(held);
    wait_until(|| context.stats().unwrap().locks_held == 0);
}
