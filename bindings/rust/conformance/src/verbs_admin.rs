// SPDX-License-Identifier: MIT
//! Verbs on contexts and owners, and the administrator's: open, close, clear and their kin.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::base::LIMIT_MS;
use crate::call::{Call, Who};
use crate::options::context_options;
use crate::world::World;
use liblock::{Clear, ClearOptions, Error, Outcome, Report};

/// Where a context of this space lives on the backend under test: local spaces are names of tables, all others are
/// prefixes, so that scenarios never meet each other's keys.
fn place(world: &World, call: &Call, space: &str) -> (String, Option<String>) {
    if let Some(url) = call.step.text("url") {
        return (url.to_string(), None);
    }
    let is_local = world.url.starts_with("local:");
    let name = format!("conformance-{}-{}:", std::process::id(), space);
    if is_local && call.step.text("space").is_none() {
        ("local:".to_string(), None)
    } else if is_local {
        (format!("local:{}", name), None)
    } else {
        let has_prefix = call.step.get("options").map_or(false, |options| options.get("prefix").is_some());
        (world.url.clone(), (!has_prefix).then_some(name))
    }
}

pub fn open(world: &mut World, call: &mut Call) {
    let name = call.step.text("as").unwrap_or("").to_string();
    let space = match call.step.text("space") {
        Some(space) => format!("{}-{}", world.number, space),
        None => format!("{}-private-{}", world.number, name),
    };
    let mut options = match context_options(call.step.get("options")) {
        Ok(options) => options,
        Err(cause) => return call.fault.blame(cause),
    };
    let (url, prefix) = place(world, call, &space);
    if let Some(prefix) = prefix {
        options = options.prefix(prefix);
    }
    let opens = Arc::new(AtomicU32::new(0));
    let counted = opens.clone();
    options = options.on_open(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let opened = options.open_told(Some(&url));
    call.tell_result(opened.as_ref().map(|(_, outcome)| outcome));
    call.tell_int("on_open_calls", opens.load(Ordering::SeqCst));
    let context = match opened {
        Ok((context, _)) => Some(context),
        Err(_) => None,
    };
    let instance = context.as_ref().map(liblock::Context::instance_id).transpose();
    if let Some(slot) = world.context(&name) {
        slot.space = space;
        slot.context = context;
        match instance {
            Ok(instance) => slot.instance = instance.unwrap_or_default(),
            Err(error) => call.fault.blame(format!("instance_id answered {}", error.status())),
        }
    }
}

pub fn close(world: &mut World, call: &mut Call) {
    let ended = call.context().close();
    call.tell_end(&ended);
    if let Some(slot) = world.context(&call.context_name) {
        slot.closed = true;
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// `None` when the future does not end within the limit.
fn block_on<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let limit = Instant::now() + Duration::from_millis(LIMIT_MS as u64);
    loop {
        if let Poll::Ready(output) = Pin::new(&mut future).poll(&mut TaskContext::from_waker(&waker)) {
            return Some(output);
        }
        let left = limit.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        std::thread::park_timeout(left);
    }
}

pub fn close_async(world: &mut World, call: &mut Call) {
    if let Some(slot) = world.context(&call.context_name) {
        slot.closed = true;
    }
    match block_on(call.context().close_async()) {
        Some(ended) => call.tell_end(&ended),
        None => call.fault.blame("the callback of close_async never came"),
    }
}

pub fn ping(call: &mut Call) {
    let ended = call.context().ping();
    call.tell_result(ended.as_ref());
}

pub fn owner_open(world: &mut World, call: &mut Call) {
    let name = call.step.text("as").unwrap_or("").to_string();
    let opened = call.context().owner_told(call.step.text("name").unwrap_or(""));
    call.tell_result(opened.as_ref().map(|(_, outcome)| outcome));
    if let Ok((owner, _)) = opened {
        match owner.id() {
            Ok(identity) => call.identity = Some(identity),
            Err(error) => call.fault.blame(format!("owner_id answered {}", error.status())),
        }
        if let Some(slot) = world.owners.iter_mut().find(|slot| slot.name == name) {
            slot.owner = Some(owner);
        }
    }
}

pub fn owner_close(call: &mut Call) {
    match &call.owner {
        Who::Named(owner) => {
            let ended = owner.close();
            call.tell_end(&ended);
        }
        _ => call.fault.blame("owner_close takes an owner that was opened"),
    }
}

pub fn owner_id(call: &mut Call) {
    let identity = match &call.owner {
        Who::Named(owner) => owner.id(),
        _ => call.context().thread_owner_id(),
    };
    match identity {
        Ok(identity) if !identity.is_empty() => call.identity = Some(identity),
        Ok(_) => call.fault.blame("owner_id answered nothing"),
        Err(error) => call.fault.blame(format!("owner_id answered {}", error.status())),
    }
}

pub fn force_release(call: &mut Call) {
    let ended = call.context().force_release(call.key(), call.step.flag("drop_queue"));
    call.tell_result(ended.as_ref());
}

fn reported(call: &mut Call, report: &Report, ended: Result<Outcome, Error>) {
    call.tell_result(ended.as_ref());
    if ended.is_err() {
        return;
    }
    call.tell_int("count", report.locks);
    call.tell_int("queues", report.queues);
    call.tell_int("cleared_keys", report.keys);
    call.tell_int("dequeued", report.waiters);
    if report.elapsed_us < 0 || report.keys != report.locks.wrapping_add(report.queues) {
        call.fault.blame("the report does not add up");
    }
}

fn clear_options(call: &Call) -> Option<ClearOptions> {
    let (batch, dead) = (call.step.int("batch_size"), call.step.int("dead_ttl_ms"));
    if batch.is_none() && dead.is_none() {
        return None;
    }
    let mut options = ClearOptions::new();
    if let Some(batch_size) = batch {
        options = options.batch_size(batch_size).scan_size(batch_size);
    }
    if let Some(dead_ttl_ms) = dead {
        options = options.dead_ttl_ms(dead_ttl_ms);
    }
    Some(options)
}

pub fn clear(call: &mut Call) {
    let options = clear_options(call);
    let (owner, instance) = (call.owner_identity.clone(), call.instance.clone());
    let clear = match (call.verb.name, &owner, &instance) {
        ("clear", _, _) => Clear::All,
        ("clear_owner", Some(owner), _) => Clear::Owner(owner.as_bytes()),
        ("clear_instance", _, Some(instance)) => Clear::Instance(instance),
        ("clear_dead", _, _) => Clear::Dead,
        _ => return call.fault.blame("clear_owner takes an owner with a name of its own"),
    };
    let (report, ended) = call.context().clear(clear, options.as_ref());
    reported(call, &report, ended);
}

pub fn sweep(call: &mut Call) {
    let ended = call.context().sweep();
    call.tell_result(ended.as_ref().map(|(_, outcome)| outcome));
    if let Ok((count, _)) = ended {
        call.tell_int("count", count);
    }
}
