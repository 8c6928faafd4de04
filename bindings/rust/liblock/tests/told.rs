// SPDX-License-Identifier: MIT
//! What the library tells and shows: closures, their panics, lists, administration, statistics.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};

use liblock::{
    AcquireOptions, Clear, ClearOptions, Context, EntryKind, EventKind, Field, Instruments, List, ListOptions,
    LogLevel, Measured, OnClose, Order, Status, Target, ALL_EVENTS,
};

mod support;
use support::{wait_until, LIMIT};

fn open() -> Context {
    Context::open("local:").expect("a local context opens")
}

fn shared<T: Send + 'static>() -> (Arc<Mutex<Sender<T>>>, Receiver<T>) {
    let (sender, receiver) = channel();
    (Arc::new(Mutex::new(sender)), receiver)
}

#[test]
fn on_lost_is_called_once_for_a_lost_lock_and_never_for_a_released_one() {
    let context = open();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let (sender, losses) = shared();
    let options = AcquireOptions::new().on_lost(move |loss| {
        counted.fetch_add(1, Ordering::SeqCst);
        sender.lock().unwrap().send((loss.lock, loss.token, loss.status)).unwrap();
    });
    let guard = context.acquire_with("key", &options).unwrap();
    context.force_release("key", false).unwrap();
    assert_eq!(losses.recv_timeout(LIMIT).unwrap(), (guard.lock(), guard.token(), Status::Lost));
    drop(guard);
    context.acquire_with("key", &options).unwrap().release().unwrap();
    context.close().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn a_loss_is_told_also_when_the_release_was_told_first() {
    let context = open();
    for _ in 0..100 {
        let (sender, losses) = shared();
        let options = AcquireOptions::new().on_lost(move |loss| sender.lock().unwrap().send(loss.token).unwrap());
        let guard = context.acquire_with("key", &options).unwrap();
        let token = guard.token();
        context.force_release("key", false).unwrap();
        assert_eq!(guard.release().unwrap_err().status(), Status::Lost);
        assert_eq!(losses.recv_timeout(LIMIT).unwrap(), token);
    }
}

/// A release that comes between the end of a lease and the timer of that is the only one to learn of it.
#[test]
fn a_loss_is_told_also_where_the_release_is_the_first_to_see_it() {
    let context = open();
    for _ in 0..300 {
        let (sender, losses) = shared();
        let captured = Arc::new(());
        let kept = captured.clone();
        let options = AcquireOptions::new().ttl_ms(2).on_lost(move |loss| {
            let _alive = &kept;
            sender.lock().unwrap().send(loss.token).unwrap();
        });
        let guard = context.acquire_with("key", &options).unwrap();
        drop(options);
        let token = guard.token();
        while guard.is_held() {
            std::hint::spin_loop();
        }
        assert_eq!(guard.release().unwrap_err().status(), Status::Lost);
        assert_eq!(losses.recv_timeout(LIMIT).unwrap(), token);
        while Arc::strong_count(&captured) > 1 {
            std::thread::yield_now();
        }
    }
}

/// Nobody is woken: both go on within less than a call takes.
fn meet(arrived: &AtomicUsize, all: usize) {
    arrived.fetch_add(1, Ordering::SeqCst);
    while arrived.load(Ordering::SeqCst) < all {
        std::thread::yield_now();
    }
}

#[test]
fn of_closures_that_two_threads_set_at_once_one_is_called() {
    const ROUNDS: usize = 40_000;
    let context = open();
    let (sender, events) = shared();
    let arrived = AtomicUsize::new(0);
    let set = |round: usize| {
        let sender = sender.clone();
        let tell = move |_: &liblock::Event<'_>| drop(sender.lock().map(|sender| sender.send(round)));
        meet(&arrived, 4 * round + 2);
        let is_set = context.on_event(EventKind::Obtained.bit(), tell).is_ok();
        meet(&arrived, 4 * round + 4);
        is_set
    };
    let (mut set_by_one, mut heard) = (true, true);
    let set_by_other = std::thread::scope(|scope| {
        let other = scope.spawn(|| (0..ROUNDS).filter(|round| set(*round)).count() == ROUNDS);
        for round in 0..ROUNDS {
            set_by_one = set(round) && set_by_one;
            let is_told = context.acquire("key").and_then(|guard| guard.release()).is_ok();
            heard = heard && is_told && events.recv_timeout(LIMIT) == Ok(round);
        }
        other.join().unwrap()
    });
    assert!(set_by_one && set_by_other && heard);
}

#[test]
fn of_samplers_that_two_threads_set_at_once_one_decides() {
    const ROUNDS: usize = 1_000;
    let contexts: Vec<_> = (0..32).map(|_| open()).collect();
    contexts.iter().for_each(|context| context.on_log(LogLevel::Debug, |_| {}).unwrap());
    let (arrived, asked) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let set = |round: usize| {
        let asked = asked.clone();
        let instruments = Instruments::new().log_sampler(move |_, _, _| asked.fetch_add(1, Ordering::SeqCst) > 0);
        meet(&arrived, 4 * round + 2);
        let is_set = contexts.iter().all(|context| context.set_instruments(Some(&instruments)).is_ok());
        meet(&arrived, 4 * round + 4);
        is_set
    };
    let is_acquired = || contexts.iter().all(|context| context.acquire("key").is_ok());
    let (set_by_one, set_by_other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| (0..ROUNDS).filter(|round| set(*round)).count());
        let one = (0..ROUNDS).filter(|round| set(*round) && is_acquired()).count();
        (one, other.join().unwrap())
    });
    assert_eq!((set_by_one, set_by_other), (ROUNDS, ROUNDS));
    assert_eq!(asked.load(Ordering::SeqCst), ROUNDS * contexts.len());
}

/// On a thread of its own, so that the test ends also where the closure never does.
#[test]
fn a_log_closure_may_read_ends_and_make_requests_while_one_is_made() {
    let (done, ends) = channel();
    std::thread::spawn(move || {
        let context = open();
        let queue = context.completions(64).unwrap();
        let to_queue = AcquireOptions::new().completions(&queue).on_lost(|_| {});
        let (theirs, theirs_to, theirs_queue) = (context.clone(), to_queue.clone(), queue.clone());
        let (sender, seen) = shared();
        let makes = std::thread::current().id();
        context
            .on_log(LogLevel::Debug, move |_| {
                if std::thread::current().id() == makes {
                    theirs.submit_acquire(Target::Key(b"theirs"), &theirs_to, 2).unwrap();
                    let end = theirs_queue.next(0).unwrap().map(|end| end.user_data);
                    sender.lock().unwrap().send(end).unwrap();
                }
            })
            .unwrap();
        context.submit_acquire(Target::Key(b"mine"), &to_queue, 1).unwrap();
        context.no_log().unwrap();
        let mut read: Vec<_> = seen.try_iter().collect();
        while let Ok(Some(end)) = queue.next(0) {
            read.push(Some(end.user_data));
        }
        context.close().unwrap();
        done.send(read).unwrap();
    });
    let read = ends.recv_timeout(LIMIT).expect("the closure's calls come back");
    let count = |user_data| read.iter().filter(|read| **read == Some(user_data)).count();
    assert!(count(1) == 1 && count(2) >= 1, "{:?}", read);
}

#[test]
fn an_owner_that_is_closed_in_a_closure_lets_go_of_what_it_holds() {
    let context = open();
    let owner = context.owner("o").unwrap();
    let (sender, answers) = shared();
    let theirs = owner.clone();
    let options = AcquireOptions::new().on_lost(move |_| sender.lock().unwrap().send(theirs.close()).unwrap());
    let guard = context.acquire_with("key", &AcquireOptions::new().owner(&owner)).unwrap();
    let _taken = context.acquire_with("other", &options).unwrap();
    context.force_release("other", false).unwrap();
    assert!(answers.recv_timeout(LIMIT).unwrap().is_ok());
    wait_until(|| !guard.is_held());
}

#[test]
fn a_panic_in_a_closure_ends_at_the_border_and_the_next_call_comes_all_the_same() {
    std::panic::set_hook(Box::new(|_| {}));
    let context = open();
    let (sender, events) = shared();
    context
        .on_event(EventKind::Obtained.bit(), move |event| {
            sender.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).send(event.key().to_vec()).unwrap();
            panic!("in a closure");
        })
        .unwrap();
    context.on_log(LogLevel::Debug, |_| panic!("in a closure")).unwrap();
    let panics = AcquireOptions::new().on_lost(|_| panic!("in a closure"));
    for key in ["a", "b"] {
        let guard = context.acquire_with(key, &panics).unwrap();
        context.force_release(key, false).unwrap();
        assert_eq!(guard.release().unwrap_err().status(), Status::Lost);
        assert_eq!(events.recv_timeout(LIMIT).unwrap(), key.as_bytes());
    }
    let _held = context.acquire("c").unwrap();
    let bad = AcquireOptions::new().wait_ms(1_000).backoff_fn(|_| panic!("in a closure"));
    assert_eq!(context.acquire_with("c", &bad).unwrap_err().status(), Status::InvalidArgument);
    drop(std::panic::take_hook());
}

#[test]
fn what_a_closure_throws_may_throw_again_when_it_is_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("again"));
        }
    }
    let context = open();
    let _held = context.acquire("key").unwrap();
    let throws = AcquireOptions::new().wait_ms(1_000).backoff_fn(|_| std::panic::resume_unwind(Box::new(Bomb)));
    assert_eq!(context.acquire_with("key", &throws).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn a_closure_that_calls_what_could_wait_is_told_that_it_would_deadlock() {
    let context = open();
    let (sender, answers) = shared();
    let theirs = context.clone();
    let _held = context.acquire("held").unwrap();
    let options = AcquireOptions::new().on_lost(move |_| {
        let status = theirs.acquire("held").unwrap_err().status();
        sender.lock().unwrap().send((status, theirs.close().unwrap_err().status())).unwrap();
    });
    let _guard = context.acquire_with("key", &options).unwrap();
    context.force_release("key", false).unwrap();
    assert_eq!(answers.recv_timeout(LIMIT).unwrap(), (Status::WouldDeadlock, Status::WouldDeadlock));
}

#[test]
fn the_last_clone_of_a_context_may_be_dropped_in_a_closure() {
    let context = Context::open("local:rust-told-last").unwrap();
    let slot = Arc::new(Mutex::new(None::<Context>));
    let (sender, done) = shared();
    let theirs = slot.clone();
    let options = AcquireOptions::new().on_lost(move |_| {
        drop(theirs.lock().unwrap().take());
        sender.lock().unwrap().send(()).unwrap();
    });
    let lock = context.acquire_with("key", &options).unwrap().into_lock();
    *slot.lock().unwrap() = Some(context.clone());
    drop(options);
    let administrator = Context::open("local:rust-told-last").unwrap();
    drop(context);
    administrator.force_release("key", false).unwrap();
    done.recv_timeout(LIMIT).unwrap();
    assert!(slot.lock().unwrap().is_none() && lock.raw() != 0);
}

#[test]
fn a_waiter_is_told_its_place() {
    let context = open();
    let held = context.acquire("key").unwrap().into_owned();
    let (sender, places) = shared();
    let told = move |position, length| sender.lock().unwrap().send((position, length)).unwrap();
    let options = AcquireOptions::new().on_queued(told);
    let waits = std::thread::spawn({
        let context = context.clone();
        move || context.acquire_with("key", &options).unwrap().release().unwrap()
    });
    assert_eq!(places.recv_timeout(LIMIT).unwrap(), (0, 1));
    drop(held);
    waits.join().unwrap();
}

#[test]
fn the_log_has_names_levels_and_fields() {
    let context = open();
    let (sender, entries) = shared();
    context
        .on_log(LogLevel::Debug, move |entry| {
            let keys = entry.fields().filter_map(|(name, value)| match value {
                Field::Text(text) if name == "key" => Some(text.to_vec()),
                _ => None,
            });
            let told = (entry.kind(), entry.name(), entry.tag(), keys.collect::<Vec<_>>());
            sender.lock().unwrap().send(told).unwrap();
        })
        .unwrap();
    context.acquire_with("key", &AcquireOptions::new().event_tag(7)).unwrap().release().unwrap();
    context.no_log().unwrap();
    context.acquire("unheard").unwrap().release().unwrap();
    let told: Vec<_> = entries.try_iter().collect();
    let obtained = told.iter().find(|entry| entry.0 == EntryKind::Obtained).expect("the grant is logged");
    assert_eq!((obtained.1, obtained.2, &obtained.3[..]), ("obtained", 7, &[b"key".to_vec()][..]));
    assert!(told.iter().all(|entry| entry.3 != [b"unheard".to_vec()]));
}

#[test]
fn events_of_one_lock_come_in_their_order_and_end_with_no_events() {
    let context = open();
    let (sender, events) = shared();
    context.on_event(ALL_EVENTS, move |event| sender.lock().unwrap().send(event.kind()).unwrap()).unwrap();
    context.acquire("key").unwrap().release().unwrap();
    assert_eq!(events.recv_timeout(LIMIT).unwrap(), EventKind::Obtained);
    assert_eq!(events.recv_timeout(LIMIT).unwrap(), EventKind::HoldAndRelease);
    context.no_events().unwrap();
    context.acquire("key").unwrap().release().unwrap();
    assert!(events.recv_timeout(std::time::Duration::from_millis(50)).is_err());
    assert_eq!((EventKind::Obtained.name(), EventKind::from_raw(99).name()), ("OBTAINED", "UNKNOWN"));
}

#[test]
fn a_sampler_decides_what_is_told_and_histograms_measure_all() {
    let context = open();
    let (sender, events) = shared();
    context.on_event(ALL_EVENTS, move |event| sender.lock().unwrap().send(event.key().to_vec()).unwrap()).unwrap();
    let instruments = Instruments::new().histograms(true).events_sampler(|_, key, _| key == Some(b"told"));
    context.set_instruments(Some(&instruments)).unwrap();
    context.acquire("silent").unwrap().release().unwrap();
    context.acquire("told").unwrap().release().unwrap();
    assert_eq!(events.recv_timeout(LIMIT).unwrap(), b"told");
    let histogram = context.histogram(Measured::Acquire).unwrap();
    assert_eq!((histogram.count, histogram.buckets.iter().sum::<u64>()), (2, 2));
    assert_eq!(context.histogram(Measured::Hold).unwrap().count, 2);
    let wrong = Instruments::new().events_percent(101);
    assert_eq!(context.set_instruments(Some(&wrong)).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn lists_show_what_is_held_and_waited_for_and_closures_can_end_them() {
    let context = open();
    let guards: Vec<_> = (0..20).map(|n| context.acquire(format!("a{:02}", n)).unwrap()).collect();
    let _other = context.acquire("b").unwrap();
    let _waiting = context.lock_async("b");
    let options = ListOptions::new().prefix("a").batch_size(3);
    let (cursor, _) = context.list(List::Locks, Some(&options)).unwrap();
    let mut keys: Vec<_> = cursor.map(|info| info.unwrap().key().to_vec()).collect();
    keys.sort();
    assert_eq!(keys, (0..20).map(|n| format!("a{:02}", n).into_bytes()).collect::<Vec<_>>());
    let mut queues = context.list_queues().unwrap();
    assert_eq!(queues.next().unwrap().unwrap().waiter_count(), 1);
    assert!(queues.next().is_none() && queues.next().is_none());
    assert_eq!(queues.report().unwrap().queues, 1);
    assert_eq!(context.list_keys().unwrap().count(), 21);
    let mut shown = 0;
    let show = |_: &liblock::Info| {
        shown += 1;
        if shown == 5 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    context.list_each(List::Locks, None, show).unwrap();
    assert_eq!((shown, guards.len()), (5, 20));
}

#[test]
fn a_queue_is_shown_in_the_order_of_service() {
    let context = open();
    let (first, second) = (context.owner("first").unwrap(), context.owner("second").unwrap());
    let _held = context.acquire("key").unwrap();
    let options = AcquireOptions::new().owner(&second).order(Order::Priority).priority(3);
    let _second = context.acquire_async("key", &options);
    let options = AcquireOptions::new().owner(&first).order(Order::Priority).priority(900_000);
    let _first = context.acquire_async("key", &options);
    let waiters: Vec<_> = context.inspect_queue("key").unwrap().waiters().collect();
    let owners: Vec<_> = waiters.iter().map(|waiter| waiter.owner.clone().unwrap()).collect();
    assert_eq!(owners, [first.id().unwrap(), second.id().unwrap()]);
    assert_eq!((waiters[1].priority, waiters[1].order), (3, Order::Priority));
    assert!(context.inspect_queue("key").unwrap().waiter(2).is_none());
}

#[test]
fn clearing_takes_away_what_it_names_and_counts_it() {
    let context = open();
    let owner = context.owner("o").unwrap();
    let theirs = context.acquire_with("a", &AcquireOptions::new().owner(&owner)).unwrap();
    let other = context.acquire("b").unwrap();
    let (report, outcome) = context.clear(Clear::Owner(&owner.id_bytes().unwrap()), None);
    outcome.unwrap();
    assert_eq!((report.locks, theirs.is_held(), other.is_held()), (1, false, true));
    let (report, outcome) = context.clear(Clear::All, Some(&ClearOptions::new().batch_size(1)));
    outcome.unwrap();
    assert_eq!((report.locks, other.is_held()), (1, false));
    let (_, outcome) = context.clear(Clear::All, Some(&ClearOptions::new().batch_size(0)));
    assert_eq!(outcome.unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn locks_that_a_context_left_behind_are_zombies_until_they_are_cleared() {
    let context = Context::open("local:rust-told-zombies").unwrap();
    let leaving = Context::builder().on_close(OnClose::Leave).open("local:rust-told-zombies").unwrap();
    let id = leaving.instance_id().unwrap();
    leaving.acquire("key").unwrap().into_lock();
    leaving.close().unwrap();
    assert!(context.inspect("key").unwrap().is_zombie());
    let zombies = context.instances(true).unwrap();
    assert_eq!((zombies.len(), &zombies[0].id, zombies[0].is_self), (1, &id, false));
    assert!(context.instances(false).unwrap().iter().any(|instance| instance.is_self));
    let (report, outcome) = context.clear(Clear::Dead, None);
    outcome.unwrap();
    assert_eq!(report.locks, 1);
    assert_eq!(context.zombies_status().unwrap().enabled, 0);
}

#[test]
fn statistics_count_and_a_sweep_ends_what_is_overdue() {
    let context = open();
    let guard = context.acquire_with("key", &AcquireOptions::new().ttl_ms(1)).unwrap();
    wait_until(|| context.sweep().unwrap().0 == 1 || !guard.is_held());
    context.acquire("key").unwrap().release().unwrap();
    let stats = context.stats().unwrap();
    assert_eq!((stats.acquired, stats.released, stats.locks_held), (2, 1, 0));
    let text = context.prometheus().unwrap();
    assert!(text.contains("liblock_") && text.contains(&context.instance_id().unwrap()), "{}", text);
}

#[test]
fn what_needs_a_server_or_a_quorum_is_unsupported_in_a_local_context() {
    let context = open();
    let mut guard = context.acquire("key").unwrap();
    let unsupported = |status: Status| assert_eq!(status, Status::Unsupported);
    unsupported(guard.export().unwrap_err().status());
    assert!(guard.is_held());
    unsupported(context.adopt(b"exported", &AcquireOptions::new()).unwrap_err().status());
    unsupported(context.read("key", liblock::Read::Nearest).unwrap_err().status());
    unsupported(support::block_on(context.read_async("key", liblock::Read::Quorum)).unwrap_err().status());
    unsupported(context.wait_held_on("key", Some("node"), 0).unwrap_err().status());
    unsupported(support::block_on(context.wait_held_on_async("key", Some("node"), 0)).unwrap_err().status());
    unsupported(context.quorum_init(false).unwrap_err().status());
    unsupported(support::block_on(context.quorum_init_async(false)).unwrap_err().status());
    unsupported(context.quorum_set_nodes(&[], &[], 1).unwrap_err().status());
    unsupported(support::block_on(context.quorum_set_nodes_async(&[], &[], 1)).unwrap_err().status());
    unsupported(context.quorum_status().unwrap_err().status());
}
