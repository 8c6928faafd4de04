// SPDX-License-Identifier: MIT
//! Administration: taking locks away, sweeping, instances and zombies, statistics.

use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_void;
use std::ptr::{null, null_mut};

use crate::bytes::{borrowed, data, text, text_of};
use crate::context::Context;
use crate::error::{call, check, Outcome, Result};
use crate::future::Op;
use crate::list::Report;
use crate::registry::caught;
use crate::status::Status;
use liblock_sys as sys;

/// In which steps keys are cleared.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClearOptions {
    batch_size: Option<i64>,
    scan_size: Option<i64>,
    dead_ttl_ms: Option<i64>,
}

impl ClearOptions {
    /// All defaults.
    pub fn new() -> Self {
        ClearOptions::default()
    }

    /// Keys per step (servers: 1,000 at most); 1 to 65,536; 100.
    #[must_use]
    pub fn batch_size(mut self, batch_size: i64) -> Self {
        self.batch_size = Some(batch_size);
        self
    }

    /// Keys looked at per step of the search; 1 to 65,536; 500.
    #[must_use]
    pub fn scan_size(mut self, scan_size: i64) -> Self {
        self.scan_size = Some(scan_size);
        self
    }

    /// Of [`Clear::Dead`]: requests that wait for longer are dead; 1 and more; 86,400,000.
    #[must_use]
    pub fn dead_ttl_ms(mut self, dead_ttl_ms: i64) -> Self {
        self.dead_ttl_ms = Some(dead_ttl_ms);
        self
    }

    fn raw(&self) -> sys::liblock_clear_options {
        let mut raw = MaybeUninit::uninit();
        let mut raw: sys::liblock_clear_options = unsafe {
            sys::liblock_clear_options_init(raw.as_mut_ptr(), size_of::<sys::liblock_clear_options>());
            raw.assume_init()
        };
        raw.batch_size = self.batch_size.unwrap_or(raw.batch_size);
        raw.scan_size = self.scan_size.unwrap_or(raw.scan_size);
        raw.dead_ttl_ms = self.dead_ttl_ms.unwrap_or(raw.dead_ttl_ms);
        raw
    }
}

/// Whose locks and waiters are cleared.
#[derive(Clone, Copy, Debug)]
pub enum Clear<'a> {
    /// Everybody's, the global lock included.
    All,
    /// Those of one owner, by its identity.
    Owner(&'a [u8]),
    /// Those of one instance, by its identity.
    Instance(&'a str),
    /// Those of instances that are gone, and requests that have waited for longer than `dead_ttl_ms`.
    Dead,
}

/// A context that is open on the table; on a server, one that says that it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instance {
    /// As [`Context::instance_id`] has it.
    pub id: String,
    /// Where it runs.
    pub host: String,
    /// When it was last heard of: microseconds since 1970, by the server's clock.
    pub heard_us: i64,
    /// Since then.
    pub silent_ms: i64,
    /// Its `zombie_interval_ms`; -1 = local contexts.
    pub interval_ms: i64,
    /// Is its connection for messages there? `None` = not known.
    pub listens: Option<bool>,
    /// It is gone, and left something.
    pub is_zombie: bool,
    /// It is the context that lists.
    pub is_self: bool,
}

macro_rules! mirror {
    ($(#[$about:meta])* $name:ident of $raw:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            fn read(raw: &sys::$raw) -> $name {
                $name { $($field: raw.$field,)* }
            }
        }
    };
}

mirror! {
    /// Counters of the table since it was made, and present sizes.
    Stats of liblock_stats {
        /// Keys held; the global lock is one.
        locks_held: u64,
        /// Requests that wait.
        waiters: u64,
        /// Grants, reentries included.
        acquired: u64,
        /// Released by the holder.
        released: u64,
        /// Acquires that had to queue.
        contended: u64,
        /// Grants made directly to a waiter.
        handed_off: u64,
        /// Leases that ended while held.
        expired: u64,
        /// Taken by force_release and clear.
        taken_away: u64,
        /// Overdue locks ended by whoever wanted the key.
        taken_over: u64,
        /// Ends as `Timeout` and `RetriesExhausted`.
        timeouts: u64,
        /// Ends as `Canceled`.
        canceled: u64,
        /// Cycles of owners found.
        deadlocks: u64,
        /// Searches for them.
        deadlock_searches: u64,
        /// Leases renewed.
        renewals: u64,
        /// Whole passes over the table.
        sweeps: u64,
        /// Entries looked at by them.
        sweep_entries: u64,
        /// Most entries looked at while one shard was held.
        sweep_entries_per_hold_max: u64,
        /// Losses that found their completion queue full, of this context.
        dropped_notices: u64,
        /// Events that found `events_max` others waiting, of this context.
        dropped_events: u64,
        /// Of `handed_off`, those that no server was asked for (`front_ms`).
        passed_on: u64,
    }
}

mirror! {
    /// What a context does about zombies in the background. Times of day are microseconds since 1970.
    ZombiesStatus of liblock_zombies_status {
        /// 1 = it says that it lives.
        enabled: i32,
        /// 1 = a flush by this context is under way.
        flushing: i32,
        /// -1 = not enabled.
        interval_ms: i64,
        /// When it last said that it lives; 0 = not yet.
        last_run_us: i64,
        /// How often.
        runs: u64,
        /// Flushes that came to their end; of those until now:
        flushes: u64,
        /// Instances that were flushed.
        instances: u64,
        /// Locks that were taken from them.
        locks: u64,
        /// Waiters of theirs that were sent away.
        waiters: u64,
        /// When that last failed; 0 = never.
        last_failure_us: i64,
        /// With which status, as a number; 0 = none.
        last_failure: i32,
    }
}

impl Context {
    /// Takes a key away from whoever holds it: his handles become `Lost`, the next waiter runs. With `drop_queue` the
    /// waiters end as `Dequeued` as well.
    ///
    /// # Errors
    /// `NotHeld`; over a quorum also `Partial`, `InDoubt`, `NoQuorum`.
    pub fn force_release(&self, key: impl AsRef<[u8]>, drop_queue: bool) -> Result<Outcome> {
        let key = key.as_ref();
        let flags = if drop_queue { sys::LIBLOCK_DROP_QUEUE } else { 0 };
        call(|result| unsafe { sys::liblock_force_release(self.raw(), data(key), key.len(), flags, result) })
    }

    /// [`Context::force_release`] without a waiting thread.
    pub fn force_release_async(&self, key: impl AsRef<[u8]>, drop_queue: bool) -> Op<()> {
        let key = key.as_ref();
        let flags = if drop_queue { sys::LIBLOCK_DROP_QUEUE } else { 0 };
        Op::start(
            self,
            |_, end| end.into_unit(),
            |callback, user, request| unsafe {
                let (bytes, size) = (data(key), key.len());
                sys::liblock_force_release_async(self.raw(), bytes, size, flags, null_mut(), callback, user, request)
            },
        )
    }

    /// Takes locks away and dequeues waiters, in batches: holders are `Lost`, waiters `Dequeued`. What is acquired
    /// meanwhile may stay; foreign clients' locks stay. The report is filled in also where the call fails.
    ///
    /// # Errors
    /// `InDoubt`: a batch had no answer.
    pub fn clear(&self, clear: Clear<'_>, options: Option<&ClearOptions>) -> (Report, Result<Outcome>) {
        let options = options.map(ClearOptions::raw);
        let pointer = options.as_ref().map_or(null(), |options| options as *const _);
        let mut report = Report::prepared();
        let outcome = call(|result| unsafe {
            let told = &mut report;
            match clear {
                Clear::All => sys::liblock_clear(self.raw(), pointer, told, result),
                Clear::Owner(id) => sys::liblock_clear_owner(self.raw(), data(id), id.len(), pointer, told, result),
                Clear::Instance(id) => {
                    sys::liblock_clear_instance(self.raw(), data(id.as_bytes()), id.len(), pointer, told, result)
                }
                Clear::Dead => sys::liblock_clear_dead(self.raw(), pointer, told, result),
            }
        });
        (Report::read(&report), outcome)
    }

    /// Looks for overdue locks now, as the periodic sweep does, and counts those that it ended.
    ///
    /// # Errors
    /// `Closed`.
    pub fn sweep(&self) -> Result<(u64, Outcome)> {
        let mut ended = u64::MAX;
        let outcome = call(|result| unsafe { sys::liblock_sweep(self.raw(), &mut ended, result) })?;
        Ok((ended, outcome))
    }

    /// The instances of the context's table or prefix.
    ///
    /// # Errors
    /// `Unsupported`: over a quorum.
    pub fn instances(&self, zombies_only: bool) -> Result<Vec<Instance>> {
        let mut options = MaybeUninit::uninit();
        let mut options: sys::liblock_instance_list_options = unsafe {
            let size = size_of::<sys::liblock_instance_list_options>();
            sys::liblock_instance_list_options_init(options.as_mut_ptr(), size);
            options.assume_init()
        };
        options.zombies_only = zombies_only.into();
        let mut found: Vec<Instance> = Vec::new();
        let user_data: *mut c_void = (&mut found as *mut Vec<Instance>).cast();
        call(|result| unsafe {
            sys::liblock_list_instances(self.raw(), &options, Some(shown), user_data, null_mut(), result)
        })?;
        Ok(found)
    }

    /// What this context does about zombies in the background. Asks no server.
    ///
    /// # Errors
    /// `Closed`.
    pub fn zombies_status(&self) -> Result<ZombiesStatus> {
        let mut raw = MaybeUninit::uninit();
        unsafe {
            sys::liblock_zombies_status_init(raw.as_mut_ptr(), size_of::<sys::liblock_zombies_status>());
            check(sys::liblock_zombies_status_get(self.raw(), raw.as_mut_ptr()))?;
            Ok(ZombiesStatus::read(&raw.assume_init()))
        }
    }

    /// Counters of the table since it was made, and present sizes.
    ///
    /// # Errors
    /// `Closed`.
    pub fn stats(&self) -> Result<Stats> {
        let mut raw = MaybeUninit::uninit();
        unsafe {
            sys::liblock_stats_init(raw.as_mut_ptr(), size_of::<sys::liblock_stats>());
            check(sys::liblock_stats_get(self.raw(), raw.as_mut_ptr()))?;
            Ok(Stats::read(&raw.assume_init()))
        }
    }

    /// The statistics and both histograms in Prometheus' text format.
    ///
    /// # Errors
    /// `Closed`.
    pub fn prometheus(&self) -> Result<String> {
        text_of(|buffer, size, needed| unsafe { sys::liblock_stats_prometheus(self.raw(), buffer, size, needed) })
    }
}

impl ZombiesStatus {
    /// With which status the last flush failed, if one did.
    pub fn failure(&self) -> Option<Status> {
        (self.last_failure != sys::LIBLOCK_OK).then(|| Status::from_raw(self.last_failure))
    }
}

/// Runs on the thread that lists, within `instances`, whose list is alive.
unsafe extern "C" fn shown(instance: *const sys::liblock_instance, user_data: *mut c_void) -> i32 {
    let found = &mut *(user_data as *mut Vec<Instance>);
    let raw = &*instance;
    caught(1, || {
        found.push(Instance {
            id: text(borrowed(&raw.id)),
            host: text(borrowed(&raw.host)),
            heard_us: raw.heard_us,
            silent_ms: raw.silent_ms,
            interval_ms: raw.interval_ms,
            listens: u8::try_from(raw.listens).ok().map(|listens| listens == 1),
            is_zombie: raw.is_zombie == 1,
            is_self: raw.is_self == 1,
        });
        0
    })
}
