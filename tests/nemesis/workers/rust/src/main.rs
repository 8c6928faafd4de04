// SPDX-License-Identifier: MIT
//! tests/integration/client.c, the careful one, in Rust: locks, works at the resource, writes down what it does. The
//! same words, and files in the format of client_record.c.

mod record;

use std::io::Result;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use liblock::{AcquireOptions, Context, Error, Guard, Order};

use record::{now_ns, Record};

/// A generator of its own, so that no crate is needed.
struct Dice(u64);

impl Dice {
    /// Below the limit.
    fn throw(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

struct Worker {
    locks: Context,
    record: Record,
    dice: Dice,
    keys: u64,
    max_ttl_ms: u64,
    hold_ms: u64,
}

impl Worker {
    fn options(&mut self) -> AcquireOptions {
        let wait_ms = if self.dice.throw(4) > 0 { 100 + self.dice.throw(1500) } else { 0 };
        let mut options = AcquireOptions::new().wait_ms(wait_ms as i64);
        if self.dice.throw(3) == 0 {
            let ttl_ms = 100 + self.dice.throw(self.max_ttl_ms - 100);
            options = options.ttl_ms(ttl_ms as i64).renew(self.dice.throw(2) as i32);
        }
        if self.dice.throw(8) == 0 {
            options = options.order(Order::Any);
        }
        options
    }

    fn work(&mut self, lock: &Guard<'_>, key: u64) -> Result<()> {
        if !still_holds(&mut self.record, lock)? {
            return Ok(());
        }
        let (value, is_allowed) = self.record.visit(key, lock.token(), None)?;
        let most_ms = if self.dice.throw(4) == 0 { 30 * self.hold_ms } else { self.hold_ms };
        let end = Instant::now() + Duration::from_micros(self.dice.throw(most_ms * 1000 + 1));
        let mut holds = true;
        while holds && Instant::now() < end {
            sleep(Duration::from_micros(200 + self.dice.throw(800)));
            holds = still_holds(&mut self.record, lock)?;
        }
        if holds && is_allowed {
            self.record.visit(key, lock.token(), Some(value + 1))?;
        }
        still_holds(&mut self.record, lock)?;
        Ok(())
    }

    fn lock_once(&mut self) -> Result<()> {
        let key = self.dice.throw(self.keys);
        let options = self.options();
        self.record.asking(key)?;
        let locks = self.locks.clone();
        let status = match locks.acquire_with(format!("k{}", key), &options) {
            Ok(lock) => {
                self.record.holding(lock.token())?;
                self.work(&lock, key)?;
                self.record.releasing()?;
                lock.release().map_or_else(|error| status_of(&error), |()| 0)
            }
            Err(error) => status_of(&error),
        };
        self.record.ended(status)
    }
}

fn status_of(error: &Error) -> i32 {
    error.status().raw()
}

/// Notes the moment before the look when the look confirms it.
fn still_holds(record: &mut Record, lock: &Guard<'_>) -> Result<bool> {
    let now = now_ns();
    let holds = lock.is_held();
    if holds {
        record.until(now)?;
    }
    Ok(holds)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    assert!(words.len() == 10 && words[6] == "careful", "usage: as tests/integration/client.c, careful");
    let number = |at: usize| words[at].parse::<u64>().expect("a number");
    let directory = Path::new(&words[2]);
    let stop = directory.join("stop");
    let record = Record::open(directory, &words[1])?;
    let mut options = Context::builder();
    options = options.max_ttl_ms(number(4) as i64).client_name(&words[1]).alive_ms(600).votes(number(8) as i32);
    if number(9) > 0 {
        options = options.connect_timeout_ms(number(9) as i64).command_timeout_ms(number(9) as i64);
    }
    let locks = loop {
        match options.open(&words[0]) {
            Ok(locks) => break locks,
            Err(_) if stop.exists() => return Ok(()),
            Err(_) => sleep(Duration::from_millis(50)),
        }
    };
    let dice = Dice(number(7));
    let mut worker = Worker { locks, record, dice, keys: number(3), max_ttl_ms: number(4), hold_ms: number(5) };
    while !stop.exists() {
        worker.lock_once()?;
        sleep(Duration::from_micros(worker.dice.throw(5000)));
    }
    worker.locks.close().expect("closed");
    Ok(())
}
