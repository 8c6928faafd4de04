// SPDX-License-Identifier: MIT
//! A lease that is renewed for as long as the work takes, and hearing of its loss.
//! `cargo run --example renewal_and_loss [URL]`

use std::sync::mpsc::channel;
use std::sync::Mutex;
use std::time::Duration;

use liblock::{AcquireOptions, Context, Result, Status};

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "local:".to_string());
    let context = Context::open(&url)?;
    let (sender, losses) = channel();
    let sender = Mutex::new(sender);
    let options = AcquireOptions::new().ttl_ms(300).renew(1).on_lost(move |loss| {
        // On the library's thread: say it to whoever works, and return.
        if let Ok(sender) = sender.lock() {
            sender.send(loss.token).ok();
        }
    });

    let guard = context.acquire_with("job", &options)?;
    println!("held with a lease of 300 ms that is renewed");
    std::thread::sleep(Duration::from_millis(700));
    println!("held after 700 ms: {}, left of the lease: {:?}", guard.is_held(), guard.remaining()?);

    context.force_release("job", false)?;
    println!("an administrator takes it away");
    let token = losses.recv_timeout(Duration::from_secs(10)).expect("the loss is told");
    println!("told that the lock with token {} is lost; the work must stop", token);
    println!("held now: {}", guard.is_held());
    match guard.release() {
        Err(error) if error.status() == Status::Lost => println!("the release says so, too: {}", error),
        other => other?,
    }
    Ok(())
}
