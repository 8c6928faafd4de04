// SPDX-License-Identifier: MIT
//! Static checks. Running a malformed scenario could pass by accident, so nothing is passed over here.

use crate::base::{bytes_read, word_in};
use crate::expect::expect_check;
use crate::json::Json;
use crate::options::{acquire_options, context_options, ttl_read};
use crate::verbs::{find, Perform, Verb};

const SCENARIO: &str = "name contexts tags context steps note must_fail";
const COMMON: &str = "do context thread background expect note";
const END: &str = "kind request lock status token remaining_ms waited_ms";
const TAGS: &str = "order lost cancel close";
const TEXTS: &str = "do context as space url lock request owner thread of name instance note";
const TRUTHS: &str = "background global add drop_queue any_order";
const NUMBERS: &str = "wait_ms ms waiters batch_size dead_ttl_ms";
const BYTES: &str = "key value prefix";

type Checked = Result<(), String>;

fn keys_check(keys: &Json) -> Checked {
    if !keys.is_list() {
        return Err("\"keys\" takes a list".to_string());
    }
    keys.items().iter().try_for_each(|key| bytes_read(key).map(drop))
}

fn ends_check(ends: &Json) -> Checked {
    if ends.items().is_empty() {
        return Err("\"ends\" takes a list of at least one end".to_string());
    }
    for end in ends.items() {
        expect_check(end, END)?;
        if end.get("request").is_some() == end.get("lock").is_some() {
            return Err(format!("an end names a request, or a lock that is lost: {}", end));
        }
    }
    Ok(())
}

fn field_check(verb: &Verb, name: &str, value: &Json) -> Checked {
    let fits = if word_in(TEXTS, name) {
        value.as_text().is_some()
    } else if word_in(TRUTHS, name) {
        matches!(value, Json::Bool(_))
    } else if word_in(NUMBERS, name) {
        value.as_int().is_some()
    } else {
        true
    };
    if !fits {
        return Err(format!("field \"{}\" is of another type: {}", name, value));
    }
    match name {
        _ if word_in(BYTES, name) => bytes_read(value).map(drop),
        "ttl_ms" => ttl_read(value).map(drop),
        "keys" => keys_check(value),
        "ends" => ends_check(value),
        "expect" => expect_check(value, &verb.tells.join(" ")),
        "options" if verb.name == "open" => context_options(Some(value)).map(drop),
        "options" => acquire_options(Some(value)).map(drop),
        _ => Ok(()),
    }
}

fn step_check(step: &Json) -> Checked {
    let verb = step.text("do").and_then(find).ok_or_else(|| format!("unknown verb: {}", step))?;
    for (name, value) in step.fields() {
        if ![COMMON, verb.needs, verb.allows].iter().any(|words| word_in(words, name)) {
            return Err(format!("unknown field \"{}\" in {}", name, step));
        }
        field_check(verb, name, value)?;
    }
    if let Some(missing) = verb.needs.split(' ').find(|need| !need.is_empty() && step.get(need).is_none()) {
        return Err(format!("field \"{}\" is missing", missing));
    }
    let threaded = step.get("thread").is_some();
    if threaded && matches!(verb.perform, Perform::World(_)) {
        return Err(format!("\"{}\" cannot be given to a thread", verb.name));
    }
    if step.get("background").is_some() && !threaded {
        return Err("\"background\" needs a \"thread\"".to_string());
    }
    let targets = ["key", "keys", "global"].iter().filter(|name| step.get(name).is_some()).count();
    if word_in(verb.allows, "keys") && targets != 1 {
        return Err(format!("an acquire takes one of key, keys and global: {}", step));
    }
    Ok(())
}

fn expects(object: &Json, status: &str) -> bool {
    object.text("status") == Some(status)
}

fn step_expects(step: &Json, status: &str) -> bool {
    let ends = step.get("ends").map_or(&[][..], Json::items);
    step.get("expect").map_or(false, |expect| expects(expect, status)) || ends.iter().any(|end| expects(end, status))
}

/// Grants that are awaited one after the other: not those of an await in any order.
fn grants_in_order(step: &Json) -> usize {
    if step.flag("any_order") {
        return 0;
    }
    let ends = step.get("ends").map_or(&[][..], Json::items);
    let granted = |end: &&Json| end.get("status").is_none() || expects(end, "OK");
    ends.iter().filter(|end| end.get("request").is_some()).filter(granted).count()
}

fn tag_holds(steps: &[Json], tag: &str) -> bool {
    let does = |verbs: &[&str]| steps.iter().any(|step| step.text("do").map_or(false, |verb| verbs.contains(&verb)));
    let told = |status| steps.iter().any(|step| step_expects(step, status));
    match tag {
        "order" => steps.iter().map(grants_in_order).sum::<usize>() >= 2,
        "lost" => told("LOST"),
        "cancel" => does(&["cancel"]),
        _ => does(&["close", "close_async"]) && told("CLOSED"),
    }
}

fn tags_check(scenario: &Json) -> Checked {
    let list = match scenario.get("tags") {
        Some(list) if list.is_list() => list,
        Some(_) => return Err("\"tags\" takes a list".to_string()),
        None => return Ok(()),
    };
    let steps = scenario.get("steps").map_or(&[][..], Json::items);
    for tag in list.items() {
        let tag = tag.as_text().filter(|tag| word_in(TAGS, tag)).ok_or("unknown tag")?;
        if !tag_holds(steps, tag) {
            return Err(format!("tag \"{}\" claims what the steps do not do", tag));
        }
    }
    Ok(())
}

fn head_check(scenario: &Json, selftest: bool) -> Checked {
    for (field, _) in scenario.fields() {
        if !word_in(SCENARIO, field) || (!selftest && field == "must_fail") {
            return Err(format!("unknown field \"{}\" of a scenario", field));
        }
    }
    let letters = |name: &str| name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    if !scenario.text("name").map_or(false, |name| !name.is_empty() && letters(name)) {
        return Err("a scenario's name is made of a-z, 0-9 and _".to_string());
    }
    let contexts = scenario.get("contexts").map_or(&[][..], Json::items);
    if contexts.is_empty() {
        return Err("\"contexts\" says where the scenario holds".to_string());
    }
    if !contexts.iter().all(|kind| kind.as_text().map_or(false, |kind| word_in("local redis quorum", kind))) {
        return Err("unknown context kind".to_string());
    }
    if let Some(options) = scenario.get("context").filter(|options| **options != Json::Null) {
        context_options(Some(options)).map(drop)?;
    }
    if scenario.get("steps").map_or(true, |steps| steps.items().is_empty()) {
        return Err("a scenario has steps".to_string());
    }
    Ok(())
}

/// Is a scenario written as SPEC.md says, with nothing that this runner would pass over?
pub fn scenario_check(scenario: &Json, selftest: bool) -> Checked {
    if !scenario.is_object() {
        return Err("a scenario is an object".to_string());
    }
    head_check(scenario, selftest)?;
    for (at, step) in scenario.get("steps").map_or(&[][..], Json::items).iter().enumerate() {
        step_check(step).map_err(|cause| format!("malformed step {}: {}", at + 1, cause))?;
    }
    tags_check(scenario)
}

pub fn is_tagged(scenario: &Json, tag: &str) -> bool {
    scenario.get("tags").map_or(&[][..], Json::items).iter().any(|word| word.as_text() == Some(tag))
}
