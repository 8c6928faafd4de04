// SPDX-License-Identifier: MIT
//! Nanoseconds per pair of an uncontended acquire and its release: the median of several rounds.
//! `cargo run --release --example pair [URL] [PAIRS]`

use std::time::Instant;

use liblock::{Context, Result};

const ROUNDS: usize = 9;

fn round(context: &Context, pairs: u64) -> Result<f64> {
    let began = Instant::now();
    for _ in 0..pairs {
        context.acquire("key")?.release()?;
    }
    Ok(began.elapsed().as_nanos() as f64 / pairs as f64)
}

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "local:".to_string());
    let pairs = std::env::args().nth(2).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let context = Context::open(&url)?;
    round(&context, pairs / 10 + 1)?;
    let mut rounds = (0..ROUNDS).map(|_| round(&context, pairs)).collect::<Result<Vec<_>>>()?;
    rounds.sort_by(f64::total_cmp);
    println!("{:.1} ns per pair", rounds[ROUNDS / 2]);
    Ok(())
}
