// SPDX-License-Identifier: MIT
//! What the child of a bare fork finds, and what it leaves its parent. Such a child must do little: of the threads of
//! its parent only the one that forked is there.

use liblock::{AcquireOptions, Context, List, Status};

mod support;
use support::block_on;

extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn _exit(status: i32) -> !;
}

/// Ends as 0, or as the line that found something else.
fn in_child(check: impl FnOnce()) -> i32 {
    match unsafe { fork() } {
        0 => {
            unsafe { alarm(20) };
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
            unsafe { _exit(if done.is_ok() { 0 } else { 1 }) }
        }
        child => {
            let mut status = -1;
            assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
            status
        }
    }
}

fn everything_answers_forked_and_nothing_is_lost(url: &str) {
    let context = Context::builder().prefix("rust-fork:").open(url).unwrap();
    let options = AcquireOptions::new().ttl_ms(60_000);
    let guard = context.acquire_with("key", &options).unwrap().into_owned();
    let owner = context.owner("o").unwrap();
    let queue = context.completions(4).unwrap();
    let (mut cursor, _) = context.list(List::Locks, None).unwrap();
    let waiting = context.lock_async("key");
    support::wait_until(|| context.is_queued("key").unwrap());
    let status = in_child(|| {
        let forked = |status: Status| assert_eq!(status, Status::Forked);
        forked(context.acquire("other").unwrap_err().status());
        forked(context.try_acquire("other").unwrap_err().status());
        forked(block_on(context.lock_async("other")).unwrap_err().status());
        forked(context.is_held(guard.lock()).unwrap_err().status());
        forked(guard.verify().unwrap_err().status());
        forked(block_on(guard.verify_async()).unwrap_err().status());
        forked(context.release(guard.lock()).unwrap_err().status());
        forked(context.inspect("key").unwrap_err().status());
        forked(context.is_locked("key").unwrap_err().status());
        forked(context.ping().unwrap_err().status());
        forked(context.stats().unwrap_err().status());
        forked(context.owner("p").unwrap_err().status());
        forked(context.completions(1).unwrap_err().status());
        forked(owner.id().unwrap_err().status());
        forked(queue.next(0).unwrap_err().status());
        forked(block_on(context.close_async()).unwrap_err().status());
        for entry in cursor.by_ref() {
            forked(entry.unwrap_err().status());
        }
        owner.close().unwrap();
        queue.close().unwrap();
        context.close().unwrap();
        drop((waiting, owner, queue, cursor, guard));
        drop(context);
        let own = Context::open("local:").unwrap();
        own.acquire("key").unwrap().release().unwrap();
        block_on(own.lock_async("key")).unwrap().release().unwrap();
        own.close().unwrap();
    });
    assert_eq!(status, 0, "the child found something else");
}

/// The child's copies are the parent's objects no more; these are as they were.
fn the_parent_goes_on(url: &str) {
    let context = Context::builder().prefix("rust-fork:").open(url).unwrap();
    let guard = context.acquire_with("key", &AcquireOptions::new().ttl_ms(60_000)).unwrap();
    let waiting = context.lock_async("key");
    support::wait_until(|| context.is_queued("key").unwrap());
    let status = in_child(|| {
        context.close().unwrap();
        assert_eq!(guard.verify().unwrap_err().status(), Status::Forked);
    });
    assert_eq!(status, 0);
    guard.verify().unwrap();
    guard.release().unwrap();
    block_on(waiting).unwrap().release().unwrap();
    context.close().unwrap();
}

#[test]
fn a_child_is_told_forked_and_its_parent_keeps_all() {
    everything_answers_forked_and_nothing_is_lost("local:");
    the_parent_goes_on("local:");
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn a_child_leaves_connections_to_its_parent() {
    let url = std::env::var("LIBLOCK_TEST_URL").expect("LIBLOCK_TEST_URL has the url of a server or a quorum");
    everything_answers_forked_and_nothing_is_lost(&url);
    the_parent_goes_on(&url);
}
