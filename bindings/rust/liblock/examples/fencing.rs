// SPDX-License-Identifier: MIT
//! A holder that was too slow, and a store that refuses it by its token. `cargo run --example fencing [URL]`

use std::time::Duration;

use liblock::{AcquireOptions, Context, Result, Status};

/// What the lock protects. It remembers the largest token that it has seen, and refuses smaller ones: this is what
/// makes a lost lock harmless, as no lock can stop a holder that does not know yet that it has lost it.
#[derive(Default)]
struct Store {
    token: u64,
    text: String,
}

impl Store {
    fn write(&mut self, token: u64, text: &str) -> bool {
        if token < self.token {
            return false;
        }
        self.token = token;
        self.text = text.to_string();
        true
    }
}

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "local:".to_string());
    let context = Context::open(&url)?;
    let mut store = Store::default();

    let slow = context.acquire_with("store", &AcquireOptions::new().ttl_ms(100))?;
    println!("the slow holder has token {}", slow.token());
    std::thread::sleep(Duration::from_millis(150)); // A pause that it does not notice, longer than its lease.

    let next = context.acquire("store")?;
    println!("the next holder has token {}", next.token());
    assert!(store.write(next.token(), "of the next holder"));
    println!("the slow holder writes: accepted is {}", store.write(slow.token(), "of the slow holder"));
    println!("the store has the text {}", store.text);

    match slow.release() {
        Err(error) if error.status() == Status::Lost => println!("the slow holder is told: {}", error),
        other => other?,
    }
    next.release()?;
    Ok(())
}
