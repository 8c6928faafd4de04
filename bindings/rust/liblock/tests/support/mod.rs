// SPDX-License-Identifier: MIT
//! What the tests share: a runtime of one thread in twenty lines, and waiting for a condition.
#![allow(dead_code)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

pub mod secrets;

/// Far above any scheduling delay.
pub const LIMIT: Duration = Duration::from_secs(10);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls until the future ends; fails when nothing wakes it within the limit.
pub fn block_on<F: Future + Unpin>(future: F) -> F::Output {
    block_on_for(future, LIMIT).expect("the future ends within the limit")
}

/// `None` when the future does not end in time; it is dropped then.
pub fn block_on_for<F: Future + Unpin>(mut future: F, limit: Duration) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let end = Instant::now() + limit;
    loop {
        if let Poll::Ready(output) = poll_once(&mut future, &waker) {
            return Some(output);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        std::thread::park_timeout(left);
    }
}

pub fn poll_once<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// A waker that is never of use: for polls whose result is looked at directly.
pub fn idle_waker() -> Waker {
    struct Idle;
    impl Wake for Idle {
        fn wake(self: Arc<Self>) {}
    }
    Waker::from(Arc::new(Idle))
}

pub fn wait_until(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "the condition did not come true within the limit");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Small, and the same on every machine: xorshift.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
