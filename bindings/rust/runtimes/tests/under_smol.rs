// SPDX-License-Identifier: MIT
//! The futures of the crate under smol.

use std::time::Duration;

use futures_lite::future;
use liblock::{AcquireOptions, Context, Status};

fn open() -> Context {
    Context::open("local:").expect("a local context opens")
}

#[test]
fn tasks_are_granted_the_key_in_the_order_of_their_requests() {
    smol::block_on(async {
        let context = open();
        let held = context.acquire("key").unwrap();
        let requests: Vec<_> = (0..20).map(|_| context.lock_async("key")).collect();
        let tasks: Vec<_> =
            requests.into_iter().map(|request| smol::spawn(async move { request.await.unwrap().token() })).collect();
        drop(held);
        let mut last = 0;
        for task in tasks {
            let token = task.await;
            assert!(token > last);
            last = token;
        }
    });
}

#[test]
fn whoever_loses_a_race_against_time_leaves_the_queue() {
    smol::block_on(async {
        let context = open();
        let held = context.acquire("key").unwrap();
        let late = async {
            smol::Timer::after(Duration::from_millis(30)).await;
            None
        };
        let waiting = async { Some(context.lock_async("key").await) };
        assert!(future::or(waiting, late).await.is_none());
        drop(held);
        let options = AcquireOptions::new().wait_ms(5_000);
        context.acquire_async("key", &options).await.unwrap().release_async().await.unwrap();
        assert!(!context.is_locked("key").unwrap());
    });
}

#[test]
fn a_canceled_task_leaves_the_key_free() {
    smol::block_on(async {
        let context = open();
        for _ in 0..100 {
            let theirs = context.clone();
            let task = smol::spawn(async move {
                let _guard = theirs.lock_async("key").await.unwrap();
                future::pending::<()>().await;
            });
            future::yield_now().await;
            task.cancel().await;
            let options = AcquireOptions::new().wait_ms(5_000);
            context.acquire_async("key", &options).await.unwrap().release().unwrap();
        }
    });
}

#[test]
fn closing_ends_what_still_waits() {
    smol::block_on(async {
        let context = open();
        let _held = context.acquire("key").unwrap();
        let waiting = smol::spawn(context.lock_async("key"));
        context.close_async().await.unwrap();
        assert_eq!(waiting.await.unwrap_err().status(), Status::Closed);
    });
}
