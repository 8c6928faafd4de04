// SPDX-License-Identifier: MIT
//! Verbs that only look: is_locked, inspect, lists, waits on a key, statistics.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::bytes_write;
use crate::call::Call;
use crate::json::Json;
use crate::options::order_name;
use liblock::{Error, Info, List, ListOptions, Outcome, Waiter};

pub const COUNTERS: &str = "locks_held waiters acquired released contended handed_off expired taken_away taken_over \
                            timeouts canceled deadlocks deadlock_searches renewals sweeps sweep_entries \
                            sweep_entries_per_hold_max dropped_notices passed_on";

pub fn is_locked(call: &mut Call) {
    let ended = call.context().is_locked(call.key());
    call.tell_end(&ended);
    if let Ok(locked) = ended {
        call.tell("locked", Json::Bool(locked));
    }
}

pub fn is_queued(call: &mut Call) {
    let ended = call.context().is_queued(call.key());
    call.tell_end(&ended);
    if let Ok(queued) = ended {
        call.tell("queued", Json::Bool(queued));
    }
}

fn metadata_write(info: &Info) -> Json {
    let entries = info.metadata().into_iter();
    Json::Object(
        entries.map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), bytes_write(value))).collect(),
    )
}

fn waiter_write(waiter: &Waiter) -> Json {
    let mut told = Json::Object(Vec::new());
    if let Some(owner) = &waiter.owner {
        told.set("owner", bytes_write(owner.as_bytes()));
    }
    if let Some(instance) = &waiter.instance {
        told.set("instance", bytes_write(instance.as_bytes()));
    }
    told.set("waited_ms", Json::Int(waiter.waited_ms));
    told.set("priority", Json::Int(waiter.priority.into()));
    told.set("order", Json::from(order_name(waiter.order)));
    told
}

/// -1 where that is not known.
fn held_for_ms(info: &Info) -> i64 {
    let now_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    if info.since_us() == 0 {
        return -1;
    }
    (now_us - info.since_us()) / 1000
}

fn inspected(call: &mut Call, ended: Result<(Option<Info>, Outcome), Error>) {
    let (info, outcome) = match ended {
        Ok(told) => told,
        Err(error) => return call.tell_result(Err(&error)),
    };
    call.tell_result(Ok(&outcome));
    let info = match info {
        Some(info) => info,
        None => return call.fault.blame("OK without an info"),
    };
    call.tell("key", bytes_write(info.key()));
    call.tell("held", Json::Bool(info.is_held()));
    call.tell("global", Json::Bool(info.is_global()));
    call.tell("zombie", Json::Bool(info.is_zombie()));
    if let Some(owner) = info.owner() {
        call.tell("owner", bytes_write(owner.as_bytes()));
    }
    if let Some(instance) = info.instance() {
        call.tell("instance", bytes_write(instance.as_bytes()));
    }
    call.tell("value", bytes_write(info.value()));
    call.tell("token", Json::Int(info.token() as i64));
    call.tell_int("held_for_ms", held_for_ms(&info));
    call.tell_int("initial_ttl_ms", info.initial_ttl_ms());
    call.tell_int("remaining_ms", info.remaining_ms());
    call.tell_int("hold_count", info.hold_count());
    call.tell("metadata", metadata_write(&info));
    call.tell_int("waiter_count", info.waiter_count() as i64);
    let waiters: Vec<Waiter> = info.waiters().collect();
    call.tell("queue", Json::List(waiters.iter().map(waiter_write).collect()));
}

pub fn inspect(call: &mut Call) {
    let ended = call.context().inspect_told(call.key());
    inspected(call, ended);
}

pub fn inspect_queue(call: &mut Call) {
    let ended = call.context().inspect_queue_told(call.key());
    inspected(call, ended);
}

/// The global lock has no key, so it is counted apart from the keys.
pub fn list(call: &mut Call) {
    let what = match call.verb.name {
        "list_locks" => List::Locks,
        "list_queues" => List::Queues,
        _ => List::Keys,
    };
    let mut options = ListOptions::new().prefix(&call.value);
    let batch = call.step.int("batch_size");
    if let Some(batch_size) = batch {
        options = options.batch_size(batch_size);
    }
    let given = (batch.is_some() || call.step.get("prefix").is_some()).then_some(&options);
    let (cursor, outcome) = match call.context().list(what, given) {
        Ok(told) => told,
        Err(error) => return call.tell_result(Err(&error)),
    };
    call.tell_result(Ok(&outcome));
    let (mut keys, mut globals) = (Vec::new(), 0);
    for info in cursor {
        match info {
            Ok(info) if info.is_global() => globals += 1,
            Ok(info) => keys.push(bytes_write(info.key())),
            Err(error) => return call.fault.blame(format!("cursor_next answered {}", error.status())),
        }
    }
    call.tell_int("count", keys.len() as i64);
    call.tell("keys", Json::List(keys));
    call.tell_int("globals", globals);
}

pub fn wait_held(call: &mut Call) {
    let ended = call.context().wait_held(call.key(), call.number_ms);
    call.tell_result(ended.as_ref());
}

pub fn wait_released(call: &mut Call) {
    let ended = call.context().wait_released(call.key(), call.number_ms);
    call.tell_result(ended.as_ref());
}

pub fn stats(call: &mut Call) {
    let ended = call.context().stats();
    call.tell_end(&ended);
    let stats = match ended {
        Ok(stats) => stats,
        Err(_) => return,
    };
    macro_rules! tell {
        ($($name:ident)*) => { $(call.tell(stringify!($name), Json::Int(stats.$name as i64));)* };
    }
    tell! {
        locks_held waiters acquired released contended handed_off expired taken_away taken_over timeouts canceled
        deadlocks deadlock_searches renewals sweeps sweep_entries sweep_entries_per_hold_max dropped_notices
        passed_on
    }
}
