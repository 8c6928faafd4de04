// SPDX-License-Identifier: MIT
//! Owners: reentry, several keys at once, and a deadlock that is found. `cargo run --example many_owners [URL]`

use std::time::Duration;

use liblock::{AcquireOptions, Context, OnDeadlock, Owner, Result, Status};

/// Of a cycle of owners, the wait that began last gives way, whoever finds it.
fn holder(owner: &Owner) -> Result<AcquireOptions> {
    println!("owner {}", owner.id()?);
    Ok(AcquireOptions::new().owner(owner).on_deadlock(OnDeadlock::FailYoungest))
}

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "local:".to_string());
    let context = Context::open(&url)?;
    let (anna, ben) = (context.owner("anna")?, context.owner("ben")?);
    let (for_anna, for_ben) = (holder(&anna)?.wait_ms(2_000), holder(&ben)?);

    let outer = context.acquire_with("a", &for_anna)?;
    let inner = context.acquire_with("a", &for_anna)?;
    println!("anna holds a {} times", inner.hold_count()?);
    drop(inner);

    let account = context.acquire_with("b", &for_ben)?;
    let waits = std::thread::spawn({
        let (context, for_ben) = (context.clone(), for_ben.clone());
        move || context.acquire_with("a", &for_ben).map(|guard| guard.into_owned())
    });
    while !context.is_queued("a")? {
        std::thread::sleep(Duration::from_millis(1));
    }
    match context.acquire_with("b", &for_anna) {
        Err(error) if error.status() == Status::Deadlock => println!("anna wants b: {}", error),
        // Over a quorum nobody looks for cycles: a bound on the wait is what ends them.
        Err(error) if error.status() == Status::Timeout => println!("anna wanted b for long enough: {}", error),
        Err(error) => return Err(error),
        Ok(_) => unreachable!("ben holds b and waits for anna"),
    }
    outer.release()?;
    let of_ben = waits.join().expect("the waiting thread does not panic")?;
    println!("anna gave way, and ben holds a");
    of_ben.release()?;
    account.release()?;

    let both = context.acquire_many(&["a", "b"], &for_anna)?;
    println!("anna holds a and b as one lock with token {}", both.token());
    anna.release_keys(&["a", "b"])?;
    println!("given back by key; still held: {}", both.is_held());
    Ok(())
}
