// SPDX-License-Identifier: MIT
//! Ends of requests and notices of losses, as completion queues deliver them.
//!
//! Invariant: whoever reads an end also binds what it granted, so that no grant is ever forgotten; an end that belongs
//! to no pending request is a fault wherever it is found.

use std::time::{Duration, Instant};

use crate::base::LIMIT_MS;
use crate::json::Json;
use crate::world::World;
use liblock::{Completion, CompletionKind, Status};

fn told(fields: &[(&str, Json)]) -> Json {
    Json::Object(fields.iter().map(|(name, value)| (name.to_string(), value.clone())).collect())
}

fn request_ended(world: &mut World, context: &str, end: &Completion) -> Result<Json, String> {
    let index = world.holds.iter().position(|hold| {
        hold.context == context && hold.is_pending && hold.request == end.request && end.request.is_some()
    });
    let index =
        index.ok_or_else(|| format!("an end ({}) of no pending request, or a second one", end.status.name()))?;
    if let Some(slot) = world.context(context) {
        slot.pending -= 1;
    }
    let hold = &mut world.holds[index];
    hold.is_pending = false;
    hold.lock = end.lock;
    hold.token = end.token;
    let name = hold.name.clone();
    let granted = end.status == Status::Ok;
    if granted {
        world.granted(&name, false);
    }
    if end.user_data != index as u64 + 1 {
        return Err(format!("the end of \"{}\" came with another user_data", name));
    }
    if granted != end.lock.is_some() || granted != (end.token != 0) {
        let what = format!("{} with lock {:?} and token {}", end.status.name(), end.lock, end.token);
        return Err(format!("the end of \"{}\" is {}", name, what));
    }
    Ok(told(&[
        ("kind", Json::from("ACQUIRE")),
        ("request", Json::Text(name)),
        ("status", Json::from(end.status.name())),
        ("token", Json::Int(end.token as i64)),
        ("remaining_ms", Json::Int(end.remaining_ms)),
        ("waited_ms", Json::Int(end.waited_ms)),
    ]))
}

fn lock_lost(world: &World, context: &str, end: &Completion) -> Result<Json, String> {
    let hold = world.holds.iter().find(|hold| hold.context == context && hold.lock == end.lock && end.lock.is_some());
    let hold = hold.ok_or("a notice that an unknown lock was lost")?;
    if end.request.is_some() {
        return Err(format!("the notice of \"{}\" names a request", hold.name));
    }
    Ok(told(&[
        ("kind", Json::from("LOST")),
        ("lock", Json::Text(hold.name.clone())),
        ("status", Json::from(end.status.name())),
        ("token", Json::Int(end.token as i64)),
    ]))
}

/// Reads one end or notice; `None` when none came within `wait_ms`. Binds what was granted.
pub fn read(world: &mut World, context: &str, wait_ms: i64) -> Result<Option<Json>, String> {
    let completions = match world.context(context).and_then(|slot| slot.completions.clone()) {
        Some(completions) => completions,
        None => return Ok(None),
    };
    let end = match completions.next(wait_ms) {
        Ok(Some(end)) => end,
        Ok(None) => return Ok(None),
        Err(error) if error.status() == Status::Closed => return Ok(None),
        Err(error) => return Err(format!("completions_next answered {}", error.status())),
    };
    match end.kind {
        CompletionKind::Acquire => request_ended(world, context, &end).map(Some),
        CompletionKind::Lost => lock_lost(world, context, &end).map(Some),
        other => Err(format!("a completion of kind {:?}", other)),
    }
}

fn names(world: &World) -> Vec<String> {
    world.contexts.iter().map(|slot| slot.name.clone()).collect()
}

/// Fails when any context has an end that no step has read.
pub fn none(world: &mut World) -> Result<(), String> {
    for name in names(world) {
        if let Some(end) = read(world, &name, 0)? {
            return Err(format!("an end that no step awaits: {}", end));
        }
    }
    Ok(())
}

/// After the contexts were closed: every request still pending must end as CLOSED, once.
pub fn closed(world: &mut World) -> Result<(), String> {
    for name in names(world) {
        let limit = Instant::now() + Duration::from_millis(LIMIT_MS as u64);
        while world.context(&name).map_or(0, |slot| slot.pending) > 0 && Instant::now() < limit {
            match read(world, &name, 100)? {
                Some(end) if end.text("status") != Some("CLOSED") => {
                    return Err(format!("at the end: close ended a pending request as {}", end));
                }
                _ => {}
            }
        }
        let left = world.context(&name).map_or(0, |slot| slot.pending);
        if left > 0 {
            return Err(format!("at the end: {} requests of \"{}\" never ended after close", left, name));
        }
    }
    none(world)
}
