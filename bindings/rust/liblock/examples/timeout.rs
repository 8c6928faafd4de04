// SPDX-License-Identifier: MIT
//! Waiting for so long and no longer, and a wait that is given up. `cargo run --example timeout [URL]`

use std::time::{Duration, Instant};

use liblock::{AcquireOptions, Context, Result, Status};

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "local:".to_string());
    let context = Context::open(&url)?;
    let held = context.acquire("report")?;

    let patient = AcquireOptions::new().wait(Duration::from_millis(200)).busy_info(true);
    let began = Instant::now();
    match context.acquire_with("report", &patient) {
        Err(error) if error.status() == Status::Timeout => {
            println!("gave up after {} ms: {}", began.elapsed().as_millis(), error);
            if let Some(info) = error.info() {
                println!("in the way: instance {}", info.instance().unwrap_or_default());
            }
        }
        Err(error) => return Err(error),
        Ok(_) => unreachable!("two hold the same key"),
    }

    // A pending acquire is a future: dropping it takes it out of the queue.
    let waiting = context.lock_async("report");
    drop(waiting);
    println!("a wait was given up");

    let waits = std::thread::spawn({
        let context = context.clone();
        move || context.acquire("report")?.release()
    });
    std::thread::sleep(Duration::from_millis(50));
    held.release()?;
    waits.join().expect("the waiting thread does not panic")?;
    println!("a waiter was handed the lock by the release");
    Ok(())
}
