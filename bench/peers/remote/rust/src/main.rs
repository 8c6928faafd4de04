// SPDX-License-Identifier: MIT

//! rslock as a peer, over one server or several, on tokio's threads. See ../../README.md.
use rslock::{Lock, LockManager};
use std::io::Write;
use std::time::{Duration, Instant};

const EXPIRY: Duration = Duration::from_secs(10);
const DEFAULT_RANGE_MS: u64 = 200;

#[derive(Clone)]
struct Contest {
    key: String,
    threads: usize,
    sections: usize,
    run: Duration,
    hold: Duration,
    pause: Duration,
    counter: String,
}

struct Moments {
    asked: i64,
    had: i64,
    letting: i64,
    let_: i64,
}

/// The monotonic clock as a number that other processes can compare with; `Instant` has none.
fn now_ns() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

async fn rest(span: Duration) {
    if !span.is_zero() {
        tokio::time::sleep(span).await;
    }
}

fn count_in(path: &str) {
    let text = std::fs::read_to_string(path).expect("the counter can be read");
    let value: u64 = text.trim().parse().expect("the counter is a number");
    std::fs::write(path, format!("{}\n", value + 1)).expect("the counter can be written");
}

async fn acquire(manager: &LockManager, key: &str) -> Lock {
    manager.lock(key, EXPIRY).await.expect("the lock is had in the end")
}

async fn section(c: &Contest, manager: &LockManager) -> Moments {
    let asked = now_ns();
    let lock = acquire(manager, &c.key).await;
    let had = now_ns();
    if c.counter != "-" {
        count_in(&c.counter);
    }
    rest(c.hold).await;
    let letting = now_ns();
    manager.unlock(&lock).await;
    let let_ = now_ns();
    rest(c.pause).await;
    Moments { asked, had, letting, let_ }
}

async fn take_part(c: Contest, manager: LockManager) -> Vec<Moments> {
    let begun = Instant::now();
    let mut records = Vec::new();
    while (c.sections == 0 || records.len() < c.sections) && (c.run.is_zero() || begun.elapsed() < c.run) {
        records.push(section(&c, &manager).await);
    }
    records
}

async fn hold(c: Contest, manager: LockManager) {
    let first = acquire(&manager, &c.key).await;
    manager.unlock(&first).await;
    println!("ready");
    let mut line = String::new();
    assert!(std::io::stdin().read_line(&mut line).expect("stdin can be read") > 0, "nobody said go");
    let running: Vec<_> = (0..c.threads).map(|_| tokio::spawn(take_part(c.clone(), manager.clone()))).collect();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (nth, task) in running.into_iter().enumerate() {
        for at in task.await.expect("the task comes to its end") {
            writeln!(out, "{nth} {} {} {} {}", at.asked, at.had, at.letting, at.let_).expect("stdout takes it");
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |nth: usize| -> i64 { words[nth].parse().expect("a number") };
    let c = Contest {
        key: words[1].clone(),
        threads: number(2) as usize,
        sections: number(3) as usize,
        run: Duration::from_millis(number(4) as u64),
        hold: Duration::from_micros(number(5) as u64),
        pause: Duration::from_micros(number(6) as u64),
        counter: words[8].clone(),
    };
    let servers: Vec<String> = words[0].split(',').map(|port| format!("redis://127.0.0.1:{port}/")).collect();
    let mut manager = LockManager::new(servers);
    // Its 3 tries are raised, since a contest has no use for giving up; its delay between them is not. What it is told
    // is the end of a range from 0 on, so that 1 ms in the mean is 2.
    let range_ms = if number(7) < 0 { DEFAULT_RANGE_MS } else { 2 * number(7) as u64 };
    manager.set_retry(u32::MAX, Duration::from_millis(range_ms));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(hold(c, manager));
}
