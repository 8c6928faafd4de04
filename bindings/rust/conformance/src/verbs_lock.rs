// SPDX-License-Identifier: MIT
//! Verbs on locks: acquire, release and what lies between. Each makes one call and tells what it answered.

use crate::call::{Call, Who};
use crate::json::Json;
use crate::world::World;
use liblock::{Error, Extend, Lock, Outcome, Status, Target};

fn acquired(call: &mut Call, ended: Result<(Lock, Outcome), Error>) {
    match ended {
        Ok((lock, outcome)) => {
            call.tell_result(Ok(&outcome));
            if lock.raw() == 0 || outcome.token == 0 {
                call.fault.blame(format!("OK with the lock {} and the token {}", lock.raw(), outcome.token));
            }
            call.granted = Some((lock, outcome.token));
        }
        Err(error) => {
            call.tell_result(Err(&error));
            let token = error.outcome().map_or(0, |outcome| outcome.token);
            if token != 0 {
                call.fault.blame(format!("{} with the token {}", error.status(), token));
            }
        }
    }
}

pub fn acquire(call: &mut Call) {
    let context = call.context();
    let keys = call.keys();
    let target = if call.step.flag("global") {
        Target::Global
    } else if call.step.get("keys").is_some() {
        Target::Keys(&keys)
    } else {
        Target::Key(call.key())
    };
    let ended = context.acquire_lock(target, call.options.as_ref());
    acquired(call, ended);
}

pub fn try_acquire(call: &mut Call) {
    let ended = call.context().try_acquire_lock(call.key(), call.options.as_ref());
    acquired(call, ended);
}

pub fn acquire_async(world: &mut World, call: &mut Call) {
    let name = call.made.clone().unwrap_or_default();
    let index = world.holds.iter().position(|hold| hold.name == name).unwrap_or(0);
    let keys = call.keys();
    let target = if call.step.flag("global") {
        Target::Global
    } else if call.step.get("keys").is_some() {
        Target::Keys(&keys)
    } else {
        Target::Key(call.key())
    };
    let options = call.options.clone().unwrap_or_default();
    let ended = call.context().submit_acquire(target, &options, index as u64 + 1);
    call.tell_end(&ended);
    if let Ok(request) = ended {
        if request.raw() == 0 {
            call.fault.blame("OK with the request 0");
        }
        world.holds[index].request = Some(request);
        world.holds[index].is_pending = true;
        if let Some(slot) = world.context(&call.context_name) {
            slot.pending += 1;
        }
    }
}

pub fn cancel(call: &mut Call) {
    if let Some(request) = call.request {
        let ended = call.context().cancel(request);
        call.tell_end(&ended);
    }
}

pub fn release(call: &mut Call) {
    let ended = call.context().release(call.lock());
    call.tell_result(ended.as_ref());
}

pub fn release_keys(call: &mut Call) {
    let ended = match &call.owner {
        Who::Named(owner) => owner.release_keys(&call.keys()),
        _ => call.context().release_thread_keys(&call.keys()),
    };
    call.tell_result(ended.as_ref());
}

pub fn extend(call: &mut Call) {
    let ttl_ms = call.number_ms;
    let extend = if call.step.flag("add") { Extend::Add(ttl_ms) } else { Extend::Set(ttl_ms) };
    let ended = call.context().extend(call.lock(), extend);
    call.tell_result(ended.as_ref());
}

pub fn update(call: &mut Call) {
    let ended = call.context().update(call.lock(), &call.value);
    call.tell_result(ended.as_ref());
}

pub fn is_held(call: &mut Call) {
    let ended = call.context().is_held(call.lock());
    call.tell_end(&ended);
}

pub fn remaining(call: &mut Call) {
    let ended = call.context().remaining_ms(call.lock());
    call.tell_end(&ended);
    if let Ok(remaining_ms) = ended {
        call.tell_int("remaining_ms", remaining_ms);
    }
}

pub fn token(call: &mut Call) {
    let ended = call.context().fencing_token(call.lock());
    call.tell_end(&ended);
    if let Ok(token) = ended {
        call.tell("token", Json::Int(token as i64));
    }
}

pub fn hold_count(call: &mut Call) {
    let ended = call.context().hold_count(call.lock());
    call.tell_end(&ended);
    if let Ok(count) = ended {
        call.tell_int("hold_count", count);
    }
}

pub fn verify(call: &mut Call) {
    let ended = call.context().verify(call.lock());
    call.tell_result(ended.as_ref());
}

pub fn wait_lost(call: &mut Call) {
    let ended = call.context().wait_lost_told(call.lock(), call.number_ms);
    if ended.as_ref().map_or_else(Error::status, |_| Status::Ok) == Status::Ok {
        call.fault.blame("wait_lost can have no success");
    }
    call.tell_result(ended.as_ref());
}
