// SPDX-License-Identifier: MIT
//! Verbs that drive the scenario rather than the library: awaiting ends and notices, passing time, ending threads. Each
//! waits for a condition with a generous limit; only `sleep` waits for nothing but time.

use std::time::{Duration, Instant};

use crate::base::LIMIT_MS;
use crate::call::Call;
use crate::ends;
use crate::expect::expect_match;
use crate::json::Json;
use crate::world::World;
use liblock::Status;

fn end_named(expected: &Json, end: &Json) -> bool {
    let name = ["request", "lock"].into_iter().find(|name| expected.get(name).is_some());
    name.map_or(false, |name| expected.get(name) == end.get(name))
}

fn await_one(world: &mut World, call: &Call, left: &mut Vec<Json>) -> Result<(), String> {
    let end = ends::read(world, &call.context_name, LIMIT_MS)?;
    let end = end.ok_or_else(|| format!("expected the end {}, got none", left[0]))?;
    // In order: the next expectation must be the one. In any order: whichever names this end.
    let at = if call.step.flag("any_order") { left.iter().position(|item| end_named(item, &end)) } else { Some(0) };
    match at {
        Some(at) if end_named(&left[at], &end) => expect_match(world, &left.remove(at), &end),
        Some(at) => Err(format!("expected the end {}, got {}", left[at], end)),
        None => Err(format!("expected the end {}, got {}", Json::List(left.clone()), end)),
    }
}

pub fn await_ends(world: &mut World, call: &mut Call) {
    let mut left = call.step.get("ends").map_or_else(Vec::new, |ends| ends.items().to_vec());
    while !left.is_empty() && !call.fault.is_set() && !world.fault.is_set() {
        let ended = await_one(world, call, &mut left);
        call.fault.note(ended);
    }
}

pub fn idle(world: &mut World, call: &mut Call) {
    let none = ends::none(world);
    call.fault.note(none);
}

/// Until the queue has as many waiters as the step says; inspect_queue is asked, as a waiter on a named thread gives no
/// other sign of itself.
pub fn await_queue(_world: &mut World, call: &mut Call) {
    let wanted = call.step.int("waiters").and_then(|waiters| usize::try_from(waiters).ok()).unwrap_or(usize::MAX);
    let limit = Instant::now() + Duration::from_millis(LIMIT_MS as u64);
    loop {
        let waiters = match call.context().inspect_queue(call.key()) {
            Ok(info) => info.waiter_count(),
            Err(error) if error.status() == Status::NotHeld => 0,
            Err(error) => return call.fault.blame(format!("inspect_queue answered {}", error.status())),
        };
        if waiters == wanted {
            return;
        }
        if Instant::now() > limit {
            return call.fault.blame(format!("expected {} waiters, got {}", wanted, waiters));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn await_notice(world: &mut World, call: &mut Call) {
    let name = call.step.text("lock").unwrap_or("").to_string();
    let awaited = match world.hold(&name) {
        Some(hold) => {
            hold.notices_awaited += 1;
            hold.notices_awaited
        }
        None => return call.fault.blame(format!("nothing is named \"{}\"", name)),
    };
    let notices = world.notices.wait(&name, awaited);
    if notices != awaited {
        call.fault.blame(format!("expected {} calls of on_lost of \"{}\", got {}", awaited, name, notices));
    }
}

pub fn sleep(_world: &mut World, call: &mut Call) {
    std::thread::sleep(Duration::from_millis(call.number_ms.max(0) as u64));
}

pub fn finish(world: &mut World, call: &mut Call) {
    match world.actors.finish(call.step.text("of").unwrap_or("")) {
        Ok(over) => over.settle(world),
        Err(cause) => call.fault.blame(cause),
    }
}

pub fn end_thread(world: &mut World, call: &mut Call) {
    let ended = world.actors.end(call.step.text("of").unwrap_or(""));
    call.fault.note(ended);
}
