// SPDX-License-Identifier: MIT
//! Options as scenarios write them. One table says which fields there are and how each is written; reading and
//! checking both go by it.
//!
//! Invariant: an option that is not in the table is a fault, never ignored.

use crate::base::bytes_read;
use crate::json::Json;
use liblock::{
    AcquireOptions, Backoff, ContextBuilder, Mode, OnClose, OnConflict, OnDeadlock, Order, TTL_AUTO, TTL_NONE,
};

/// Where an on_lost notice of a lock goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    None,
    Callback,
    Completions,
}

fn wide(name: &str, node: &Json) -> Result<i64, String> {
    node.as_int().ok_or_else(|| format!("option \"{}\" takes a number", name))
}

fn narrow(name: &str, node: &Json) -> Result<i32, String> {
    i32::try_from(wide(name, node)?).map_err(|_| format!("option \"{}\" takes a 32-bit number", name))
}

/// The enumerators in the order of their numbers. Numbers are accepted too, so that scenarios can say values that no
/// enumerator has.
fn named(name: &str, names: &[&str], node: &Json) -> Result<i32, String> {
    if let Json::Int(_) = node {
        return narrow(name, node);
    }
    let word = node.as_text().unwrap_or("");
    let at = names.iter().position(|known| *known == word);
    at.map(|at| at as i32).ok_or_else(|| format!("option \"{}\" has no value \"{}\"", name, word))
}

const ORDERS: [&str; 4] = ["FIFO", "LIFO", "PRIORITY", "ANY"];
const BACKOFFS: [&str; 3] = ["FIXED", "LINEAR", "EXPONENTIAL"];
const CONFLICTS: [&str; 4] = ["REENTER", "REENTER_EXTEND", "WAIT", "FAIL"];
const DEADLOCKS: [&str; 3] = ["FAIL_SELF", "FAIL_YOUNGEST", "REPORT_ONLY"];

/// `"FIFO"` for [`Order::Fifo`], as an info reports it.
pub fn order_name(order: Order) -> &'static str {
    usize::try_from(order.raw()).ok().and_then(|at| ORDERS.get(at).copied()).unwrap_or("UNKNOWN")
}

/// A ttl as a number of milliseconds, `"AUTO"` or `"NONE"`.
pub fn ttl_read(node: &Json) -> Result<i64, String> {
    match node {
        Json::Int(ttl_ms) => Ok(*ttl_ms),
        Json::Text(name) if name == "AUTO" => Ok(TTL_AUTO),
        Json::Text(name) if name == "NONE" => Ok(TTL_NONE),
        _ => Err("a ttl is a number, \"AUTO\" or \"NONE\"".to_string()),
    }
}

fn backoff_read(node: &Json) -> Result<Vec<i64>, String> {
    if node.items().is_empty() {
        return Err("option \"backoff_callback\" takes a list of intervals".to_string());
    }
    let cause = "option \"backoff_callback\" takes numbers".to_string();
    node.items().iter().map(|interval| interval.as_int().ok_or_else(|| cause.clone())).collect()
}

fn metadata_read(options: AcquireOptions, node: &Json) -> Result<AcquireOptions, String> {
    if !node.is_object() {
        return Err("option \"metadata\" takes an object of name: bytes".to_string());
    }
    node.fields().iter().try_fold(options, |options, (name, value)| Ok(options.metadata(name, bytes_read(value)?)))
}

fn acquire_one(options: AcquireOptions, name: &str, node: &Json) -> Result<AcquireOptions, String> {
    Ok(match name {
        "ttl_ms" => options.ttl_ms(ttl_read(node)?),
        "wait_ms" => options.wait_ms(wide(name, node)?),
        "retries" => options.retries(wide(name, node)?),
        "retry_interval_ms" => options.retry_interval_ms(wide(name, node)?),
        "retry_jitter_ms" => options.retry_jitter_ms(wide(name, node)?),
        "backoff" => options.backoff(Backoff::Raw(named(name, &BACKOFFS, node)?)),
        "backoff_base" => options.backoff_base(narrow(name, node)?),
        "backoff_step_ms" => options.backoff_step_ms(wide(name, node)?),
        "backoff_cap_ms" => options.backoff_cap_ms(wide(name, node)?),
        "backoff_callback" => {
            let intervals = backoff_read(node)?;
            options.backoff_fn(move |attempt| intervals[(attempt as usize).min(intervals.len() - 1)])
        }
        "order" => options.order(Order::Raw(named(name, &ORDERS, node)?)),
        "priority" => options.priority(narrow(name, node)?),
        "age_step_ms" => options.age_step_ms(wide(name, node)?),
        "queue_ttl_ms" => options.queue_ttl_ms(wide(name, node)?),
        "mode" => options.mode(Mode::Raw(named(name, &["EXCLUSIVE"], node)?)),
        "on_conflict" => options.on_conflict(OnConflict::Raw(named(name, &CONFLICTS, node)?)),
        "on_deadlock" => options.on_deadlock(OnDeadlock::Raw(named(name, &DEADLOCKS, node)?)),
        "renew" => options.renew(narrow(name, node)?),
        "max_hold_ms" => options.max_hold_ms(wide(name, node)?),
        "votes" => options.votes(narrow(name, node)?),
        "min_remaining_ms" => options.min_remaining_ms(wide(name, node)?),
        "value" => options.value(bytes_read(node)?),
        "metadata" => metadata_read(options, node)?,
        _ => return Err(format!("unknown option \"{}\"", name)),
    })
}

fn notice_read(node: &Json) -> Result<Notice, String> {
    match node.as_text() {
        Some("callback") => Ok(Notice::Callback),
        Some("completions") => Ok(Notice::Completions),
        _ => Err("option \"on_lost\" is \"callback\" or \"completions\"".to_string()),
    }
}

/// `None` are all defaults.
pub fn acquire_options(node: Option<&Json>) -> Result<(AcquireOptions, Notice), String> {
    let mut options = AcquireOptions::new();
    let mut notice = Notice::None;
    for (name, value) in object(node)? {
        if name == "on_lost" {
            notice = notice_read(value)?;
        } else {
            options = acquire_one(options, name, value)?;
        }
    }
    Ok((options, notice))
}

fn object(node: Option<&Json>) -> Result<&[(String, Json)], String> {
    match node {
        None => Ok(&[]),
        Some(Json::Object(fields)) => Ok(fields),
        Some(_) => Err("options are an object".to_string()),
    }
}

fn context_one(options: ContextBuilder, name: &str, node: &Json) -> Result<ContextBuilder, String> {
    Ok(match name {
        "prefix" => options.prefix(bytes_read(node)?),
        "cleanup_interval_ms" => options.cleanup_interval_ms(wide(name, node)?),
        "cleanup_batch_size" => options.cleanup_batch_size(wide(name, node)?),
        "max_ttl_ms" => options.max_ttl_ms(wide(name, node)?),
        "deadlock_detection" => options.deadlock_detection(wide(name, node)?),
        "deadlock_delay_ms" => options.deadlock_delay_ms(wide(name, node)?),
        "locks_max" => options.locks_max(wide(name, node)?),
        "waiters_max" => options.waiters_max(wide(name, node)?),
        "requests_max" => options.requests_max(wide(name, node)?),
        "on_close" => options.on_close(OnClose::Raw(named(name, &["RELEASE", "LEAVE"], node)?)),
        "votes" => options.votes(narrow(name, node)?),
        _ => return Err(format!("unknown option \"{}\"", name)),
    })
}

pub fn context_options(node: Option<&Json>) -> Result<ContextBuilder, String> {
    object(node)?.iter().try_fold(ContextBuilder::new(), |options, (name, value)| context_one(options, name, value))
}
