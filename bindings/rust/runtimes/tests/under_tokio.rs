// SPDX-License-Identifier: MIT
//! The futures of the crate under tokio, with one thread and with several.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use liblock::{AcquireOptions, Context, Status};

fn open() -> Context {
    Context::open("local:").expect("a local context opens")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_never_hold_the_same_key_at_once() {
    let context = open();
    let inside = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for _ in 0..50 {
        let (context, inside) = (context.clone(), inside.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..20 {
                let guard = context.lock_async("key").await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                guard.release_async().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let stats = context.stats().unwrap();
    assert_eq!((stats.acquired, stats.released, stats.locks_held), (1_000, 1_000, 0));
}

#[tokio::test]
async fn a_timeout_of_the_runtime_drops_the_future_and_with_it_the_place_in_the_queue() {
    let context = open();
    let held = context.acquire("key").unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(30), context.lock_async("key"));
    assert!(waiting.await.is_err());
    drop(held);
    let once = AcquireOptions::new().wait_ms(5_000);
    let guard = context.acquire_async("key", &once).await.unwrap();
    assert!(guard.is_held());
}

#[test]
fn a_runtime_that_shuts_down_leaves_neither_places_in_the_queue_nor_locks() {
    let context = open();
    let held = context.acquire("key").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for number in 0..50 {
        let (key, theirs) = (if number == 0 { "other" } else { "key" }, context.clone());
        runtime.spawn(async move {
            let _guard = theirs.lock_async(key).await;
            std::future::pending::<()>().await;
        });
    }
    let until = |holds: &dyn Fn(u64, u64) -> bool| {
        let end = std::time::Instant::now() + Duration::from_secs(10);
        while !context.stats().map_or(false, |stats| holds(stats.locks_held, stats.waiters)) {
            assert!(std::time::Instant::now() < end, "{:?}", context.stats());
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    until(&|held, waiters| (held, waiters) == (2, 49));
    drop(runtime);
    until(&|held, waiters| (held, waiters) == (1, 0));
    drop(held);
    until(&|held, _| held == 0);
}

#[tokio::test]
async fn an_aborted_task_leaves_the_key_free() {
    let context = open();
    for _ in 0..100 {
        let theirs = context.clone();
        let task = tokio::spawn(async move {
            let _guard = theirs.lock_async("key").await.unwrap();
            std::future::pending::<()>().await;
        });
        tokio::task::yield_now().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        let guard = context.acquire_async("key", &AcquireOptions::new().wait_ms(5_000)).await.unwrap();
        guard.release_async().await.unwrap();
    }
}

#[tokio::test]
async fn work_under_a_lock_stops_when_the_lock_is_lost() {
    let context = open();
    let options = AcquireOptions::new();
    let guard = context.acquire_async("key", &options).await.unwrap();
    let administrator = context.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        administrator.force_release_async("key", false).await.unwrap();
    });
    let status = tokio::select! {
        status = guard.lost() => status.unwrap(),
        () = tokio::time::sleep(Duration::from_secs(10)) => Status::Ok,
    };
    assert_eq!(status, Status::Lost);
}
