// SPDX-License-Identifier: MIT
//! Compares what a step expects with what the call told. Each expectation has one type wherever it appears; the type
//! says how it is written and compared.
//!
//! Invariant: an expectation that cannot be compared is a fault; none is passed over.

use crate::base::{bytes_read, bytes_write, word_in};
use crate::json::Json;
use crate::world::World;
use liblock::Status;

#[derive(Clone, Copy)]
enum Type {
    Number,
    Status,
    Truth,
    Flags,
    Bytes,
    BytesList,
    Owner,
    Instance,
    Metadata,
    Waiters,
    Name,
}

const TYPES: [(Type, &str); 12] = [
    (
        Type::Number,
        "token attempts waited_ms remaining_ms queue_position queue_length hold_count votes nodes count \
         waiter_count priority on_open_calls globals queues cleared_keys dequeued held_for_ms initial_ttl_ms",
    ),
    (
        Type::Number,
        "locks_held waiters acquired released contended handed_off expired taken_away taken_over timeouts \
         canceled deadlocks deadlock_searches renewals sweeps sweep_entries sweep_entries_per_hold_max \
         dropped_notices passed_on",
    ),
    (Type::Status, "status"),
    (Type::Truth, "locked queued held global zombie"),
    (Type::Flags, "flags"),
    (Type::Bytes, "key value"),
    (Type::BytesList, "keys"),
    (Type::Owner, "owner"),
    (Type::Instance, "instance"),
    (Type::Metadata, "metadata"),
    (Type::Waiters, "queue"),
    (Type::Name, "request lock kind order"),
];
const FLAGS: &str = "REENTERED WAITED TOOK_OVER HAD_LOCK HAD_QUEUE";
const WAITER: &str = "owner instance order priority waited_ms";

fn type_of(name: &str) -> Option<Type> {
    TYPES.iter().find(|(_, words)| word_in(words, name)).map(|found| found.0)
}

/// All names that the library has: its numbers have gaps, and end below 100.
fn is_status(name: &str) -> bool {
    (0..100).map(Status::from_raw).any(|status| !matches!(status, Status::Unknown(_)) && status.name() == name)
}

fn is_words(list: &Json, words: &str) -> bool {
    list.is_list() && list.items().iter().all(|word| word.as_text().map_or(false, |word| word_in(words, word)))
}

fn number_is_written(expect: &Json) -> bool {
    let comparison = |(name, operand): &(String, Json)| {
        word_in("eq ne gt ge lt le", name) && matches!(operand, Json::Int(_) | Json::Text(_))
    };
    matches!(expect, Json::Int(_)) || !expect.fields().is_empty() && expect.fields().iter().all(comparison)
}

fn status_is_written(expect: &Json) -> bool {
    match expect {
        Json::Text(name) => is_status(name),
        Json::List(names) => names.len() >= 2 && names.iter().all(|name| name.as_text().map_or(false, is_status)),
        _ => false,
    }
}

fn flags_are_written(expect: &Json) -> bool {
    let part = |(name, list): &(String, Json)| word_in("has lacks", name) && is_words(list, FLAGS);
    is_words(expect, FLAGS) || !expect.fields().is_empty() && expect.fields().iter().all(part)
}

fn value_check(of: Type, expect: &Json) -> Result<bool, String> {
    Ok(match of {
        Type::Number => number_is_written(expect),
        Type::Status => status_is_written(expect),
        Type::Truth => matches!(expect, Json::Bool(_)),
        Type::Flags => flags_are_written(expect),
        Type::Bytes => bytes_read(expect).map(|_| true)?,
        Type::BytesList => {
            expect.items().iter().try_for_each(|item| bytes_read(item).map(drop))?;
            expect.is_list()
        }
        Type::Metadata => {
            expect.fields().iter().try_for_each(|(_, value)| bytes_read(value).map(drop))?;
            expect.is_object()
        }
        Type::Waiters => {
            expect.items().iter().try_for_each(|waiter| expect_check(waiter, WAITER))?;
            expect.is_list()
        }
        Type::Owner | Type::Instance | Type::Name => expect.as_text().is_some(),
    })
}

/// Before anything runs: is every expectation known, among `tells`, and written as its type says?
pub fn expect_check(expect: &Json, tells: &str) -> Result<(), String> {
    if !expect.is_object() {
        return Err("an expectation is an object".to_string());
    }
    for (name, value) in expect.fields() {
        let of = type_of(name).filter(|_| word_in(tells, name));
        let of = of.ok_or_else(|| format!("unknown expectation \"{}\"", name))?;
        if !value_check(of, value)? {
            return Err(format!("malformed expectation \"{}\": {}", name, value));
        }
    }
    Ok(())
}

fn number_match(world: &World, expect: &Json, got: &Json) -> Result<bool, String> {
    let number = match got {
        Json::Int(number) => *number,
        _ => return Ok(false),
    };
    if let Json::Int(expected) = expect {
        return Ok(number == *expected);
    }
    for (comparison, operand) in expect.fields() {
        let value = match operand {
            Json::Int(value) => *value,
            _ => world.token_of(operand.as_text().unwrap_or(""))?,
        };
        let holds = match comparison.as_str() {
            "eq" => number == value,
            "ne" => number != value,
            "gt" => number > value,
            "ge" => number >= value,
            "lt" => number < value,
            _ => number <= value,
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

fn flags_match(expect: &Json, got: &Json) -> bool {
    let exact = expect.is_list();
    let has = if exact { expect.items() } else { expect.get("has").map_or(&[][..], Json::items) };
    let lacks = expect.get("lacks").map_or(&[][..], Json::items);
    let found = |flag: &Json| got.items().contains(flag);
    has.iter().all(found) && !lacks.iter().any(found) && (!exact || has.len() == got.items().len())
}

fn bytes_match(expect: &Json, got: &Json) -> Result<bool, String> {
    Ok(bytes_write(&bytes_read(expect)?) == *got)
}

/// As multisets: listings promise no order, and a key that is shown twice must not pass.
fn list_match(expect: &Json, got: &Json) -> Result<bool, String> {
    let mut left = got.items().to_vec();
    for item in expect.items() {
        let same = bytes_write(&bytes_read(item)?);
        match left.iter().position(|other| *other == same) {
            Some(at) => drop(left.remove(at)),
            None => return Ok(false),
        }
    }
    Ok(left.is_empty())
}

fn metadata_match(expect: &Json, got: &Json) -> Result<bool, String> {
    if expect.fields().len() != got.fields().len() {
        return Ok(false);
    }
    for (name, value) in expect.fields() {
        match got.get(name) {
            Some(other) if bytes_match(value, other)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn waiters_match(world: &World, expect: &Json, got: &Json) -> Result<bool, String> {
    if expect.items().len() != got.items().len() {
        return Ok(false);
    }
    for (waiter, told) in expect.items().iter().zip(got.items()) {
        for (name, value) in waiter.fields() {
            if !value_match(world, name, value, told.get(name))? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn value_match(world: &World, name: &str, expect: &Json, got: Option<&Json>) -> Result<bool, String> {
    let (of, got) = match (type_of(name), got) {
        (Some(of), Some(got)) => (of, got),
        _ => return Ok(false),
    };
    match of {
        Type::Number => number_match(world, expect, got),
        Type::Status => Ok(expect == got || expect.items().contains(got)),
        Type::Flags => Ok(flags_match(expect, got)),
        Type::Bytes => bytes_match(expect, got),
        Type::BytesList => list_match(expect, got),
        Type::Metadata => metadata_match(expect, got),
        Type::Waiters => waiters_match(world, expect, got),
        Type::Owner => world.owner_identity(expect.as_text().unwrap_or("")).map(|id| got.as_text() == Some(&id)),
        Type::Instance => world.instance(expect.as_text().unwrap_or("")).map(|id| got.as_text() == Some(&id)),
        Type::Truth | Type::Name => Ok(expect == got),
    }
}

fn one_match(world: &World, name: &str, expect: &Json, got: &Json) -> Result<(), String> {
    let told = got.get(name);
    if value_match(world, name, expect, told)? {
        return Ok(());
    }
    let told = told.map_or_else(|| "nothing".to_string(), Json::to_string);
    Err(format!("expected {} {}, got {}; the call told {}", name, expect, told, got))
}

/// A missing `status` expects OK.
pub fn expect_match(world: &World, expect: &Json, got: &Json) -> Result<(), String> {
    if got.get("status").is_some() && expect.get("status").is_none() {
        one_match(world, "status", &Json::from("OK"), got)?;
    }
    expect.fields().iter().try_for_each(|(name, value)| one_match(world, name, value, got))
}
