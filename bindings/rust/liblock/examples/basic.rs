// SPDX-License-Identifier: MIT
//! A lock, and what is known of it. `cargo run --example basic [URL]`

use liblock::{Context, Result, Status};

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "local:".to_string());
    let context = Context::open(&url)?;
    println!("liblock {} on {}", liblock::version(), url.split(':').next().unwrap_or(""));

    let guard = context.acquire("invoice/17")?;
    println!("held with token {}", guard.token());
    match context.try_acquire("invoice/17") {
        Err(error) if error.status() == Status::Busy => println!("a second attempt: {}", error),
        Err(error) => return Err(error),
        Ok(_) => unreachable!("two hold the same key"),
    }
    guard.release()?;

    {
        let guard = context.acquire("invoice/17")?;
        println!("held again with the larger token {}", guard.token());
    } // Dropping a guard gives the lock back: here at once, on a server in the background.
    context.acquire("invoice/17")?.release()?;
    println!("free again");
    Ok(())
}
