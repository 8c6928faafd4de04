// SPDX-License-Identifier: MIT
//! The table of verbs: what each takes, what it tells, and who performs it.

use crate::call::Call;
use crate::world::World;
use crate::{verbs_admin, verbs_drive, verbs_lock, verbs_look};

pub type OnCall = fn(&mut Call);
pub type OnWorld = fn(&mut World, &mut Call);

#[derive(Clone, Copy)]
pub enum Perform {
    /// Touches nothing but its own call: may be given to a named thread.
    Call(OnCall),
    /// Drives the world itself: main thread only.
    World(OnWorld),
}

/// The lists are words separated by spaces.
pub struct Verb {
    pub name: &'static str,
    /// Fields a step must have.
    pub needs: &'static str,
    /// Fields it may have.
    pub allows: &'static str,
    /// What an expectation may speak of.
    pub tells: &'static [&'static str],
    pub perform: Perform,
}

const R: &str =
    "status token attempts waited_ms remaining_ms queue_position queue_length hold_count flags votes nodes";
const STATUS: &str = "status";
const REPORT: &str = "count queues cleared_keys dequeued";
const INFO: &str =
    "status key held global zombie owner instance value token held_for_ms initial_ttl_ms remaining_ms \
                    hold_count metadata waiter_count queue";
const LIST: &str = "status keys count globals";
const TARGET: &str = "key keys global as owner options";
const CLEAR: &str = "batch_size dead_ttl_ms";

macro_rules! call {
    ($name:expr, $needs:expr, $allows:expr, $tells:expr, $perform:expr) => {
        Verb { name: $name, needs: $needs, allows: $allows, tells: $tells, perform: Perform::Call($perform) }
    };
}

macro_rules! world {
    ($name:expr, $needs:expr, $allows:expr, $tells:expr, $perform:expr) => {
        Verb { name: $name, needs: $needs, allows: $allows, tells: $tells, perform: Perform::World($perform) }
    };
}

static VERBS: [Verb; 44] = [
    call!("acquire", "", TARGET, &[R], verbs_lock::acquire),
    call!("try_acquire", "key", "as owner options", &[R], verbs_lock::try_acquire),
    world!("acquire_async", "as", TARGET, &[STATUS], verbs_lock::acquire_async),
    call!("cancel", "request", "", &[STATUS], verbs_lock::cancel),
    call!("release", "lock", "", &[R], verbs_lock::release),
    call!("release_keys", "owner keys", "", &[R], verbs_lock::release_keys),
    call!("extend", "lock ttl_ms", "add", &[R], verbs_lock::extend),
    call!("update", "lock value", "", &[R], verbs_lock::update),
    call!("is_held", "lock", "", &[STATUS], verbs_lock::is_held),
    call!("remaining", "lock", "", &[STATUS, "remaining_ms"], verbs_lock::remaining),
    call!("token", "lock", "", &[STATUS, "token"], verbs_lock::token),
    call!("hold_count", "lock", "", &[STATUS, "hold_count"], verbs_lock::hold_count),
    call!("verify", "lock", "", &[R], verbs_lock::verify),
    call!("wait_lost", "lock", "wait_ms", &[R], verbs_lock::wait_lost),
    call!("is_locked", "key", "", &[STATUS, "locked"], verbs_look::is_locked),
    call!("is_queued", "key", "", &[STATUS, "queued"], verbs_look::is_queued),
    call!("inspect", "key", "", &[INFO], verbs_look::inspect),
    call!("inspect_queue", "key", "", &[INFO], verbs_look::inspect_queue),
    call!("list_locks", "", "prefix batch_size", &[LIST], verbs_look::list),
    call!("list_queues", "", "prefix batch_size", &[LIST], verbs_look::list),
    call!("list_keys", "", "prefix batch_size", &[LIST], verbs_look::list),
    call!("wait_held", "key", "wait_ms", &[R], verbs_look::wait_held),
    call!("wait_released", "key", "wait_ms", &[R], verbs_look::wait_released),
    call!("stats", "", "", &[STATUS, verbs_look::COUNTERS], verbs_look::stats),
    world!("open", "as", "space url options", &[R, "on_open_calls"], verbs_admin::open),
    world!("close", "", "", &[STATUS], verbs_admin::close),
    world!("close_async", "", "", &[STATUS], verbs_admin::close_async),
    call!("ping", "", "", &[R], verbs_admin::ping),
    world!("owner_open", "as", "name", &[R], verbs_admin::owner_open),
    call!("owner_close", "owner", "", &[STATUS], verbs_admin::owner_close),
    call!("owner_id", "as owner", "", &[], verbs_admin::owner_id),
    call!("force_release", "key", "drop_queue", &[R], verbs_admin::force_release),
    call!("clear", "", CLEAR, &[R, REPORT], verbs_admin::clear),
    call!("clear_owner", "owner", CLEAR, &[R, REPORT], verbs_admin::clear),
    call!("clear_instance", "instance", CLEAR, &[R, REPORT], verbs_admin::clear),
    call!("clear_dead", "", CLEAR, &[R, REPORT], verbs_admin::clear),
    call!("sweep", "", "", &[R, "count"], verbs_admin::sweep),
    world!("await", "ends", "any_order", &[], verbs_drive::await_ends),
    world!("idle", "", "", &[], verbs_drive::idle),
    world!("await_queue", "key waiters", "", &[], verbs_drive::await_queue),
    world!("await_notice", "lock", "", &[], verbs_drive::await_notice),
    world!("sleep", "ms", "", &[], verbs_drive::sleep),
    world!("finish", "of", "", &[], verbs_drive::finish),
    world!("end_thread", "of", "", &[], verbs_drive::end_thread),
];

pub fn find(name: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| verb.name == name)
}
