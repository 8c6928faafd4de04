// SPDX-License-Identifier: MIT
//! Every struct and constant of this crate beside those of the header: the C compiler says what is there, and each
//! line that it says must be said here as well. What is missing on either side shows, as both print all they have.

use std::mem::{size_of, MaybeUninit};
use std::ptr::addr_of;

#[path = "header/mod.rs"]
mod header;

use liblock_sys::*;

macro_rules! layout {
    ($said:ident, $($name:ident { $($field:ident),* $(,)? })*) => {
        $(
            $said.push(format!("{} {}", stringify!($name), size_of::<$name>()));
            $(
                let at = MaybeUninit::<$name>::uninit();
                // Only the address of the field is taken; nothing is read.
                let offset = unsafe { addr_of!((*at.as_ptr()).$field) } as usize - at.as_ptr() as usize;
                $said.push(format!("{}.{} {}", stringify!($name), c_name(stringify!($field)), offset));
            )*
        )*
    };
}

macro_rules! constants {
    ($($name:ident)*) => { vec![$(format!("{} {}", stringify!($name), $name as i64)),*] };
}

/// A field whose name is a word of Rust has an underscore here.
fn c_name(field: &str) -> &str {
    field.strip_suffix('_').unwrap_or(field)
}

fn layouts() -> Vec<String> {
    let mut said = Vec::new();
    layout! {
        said,
        liblock_bytes { data, size }
        liblock_metadata { name, value }
        liblock_result {
            struct_size, status, attempts, token, waited_ms, remaining_ms, queue_position, queue_length,
            hold_count, flags, votes, nodes, message, replicas, reserved, info,
        }
        liblock_completion {
            struct_size, kind, status, request, lock, token, remaining_ms, waited_ms, user_data, message, info,
            attempts, hold_count, queue_position, queue_length, flags, votes, nodes, replicas,
        }
        liblock_event {
            struct_size, kind, status, lock, token, message, tag, at_us, obtained_at_us, key, keys, key_count,
            owner, instance, ttl_ms, acquire_us, hold_us, elapsed_us, count, queue_position, queue_length,
            attempts, hold_count, node,
        }
        liblock_log_field { name, type_, reserved, number, text }
        liblock_log_entry { struct_size, id, level, at_us, name, message, tag, fields, field_count }
        liblock_context_options {
            struct_size, uv_loop, on_open, on_open_user_data, prefix, prefix_size, cleanup_interval_ms,
            cleanup_batch_size, max_ttl_ms, deadlock_detection, deadlock_delay_ms, locks_max, waiters_max,
            requests_max, on_close, reserved, username, password, client_name, connect_timeout_ms,
            command_timeout_ms, alive_ms, tls_ca_file, tls_ca_path, tls_certificate_file, tls_key_file,
            tls_server_name, tls_insecure, reserved2, foreign_gap_ms, zombie_interval_ms, servers,
            server_count, observers, observer_count, clock_step_ms, votes, restart_policy, front_ms,
        }
        liblock_acquire_options {
            struct_size, owner, ttl_ms, wait_ms, retries, retry_interval_ms, retry_jitter_ms, backoff,
            backoff_base, backoff_step_ms, backoff_cap_ms, backoff_callback, backoff_user_data, order,
            priority, age_step_ms, queue_ttl_ms, mode, on_conflict, on_deadlock, renew, max_hold_ms,
            min_remaining_ms, value, value_size, metadata, metadata_count, on_lost, on_lost_user_data,
            completions, replicas_timeout_ms, replicas, instrument, event_tag, on_queued, on_queued_user_data,
            busy_info, reserved, nodes, node_count, votes, on_nodes_mismatch,
        }
        liblock_report { struct_size, locks, queues, keys, waiters, steps, elapsed_us, instances }
        liblock_list_options { struct_size, key_prefix, key_prefix_size, batch_size, zombies_only, reserved }
        liblock_node {
            struct_size, address, id, why, quarantine_left_ms, round_trip_us, clock_offset_ms, lag_ms, state,
            is_observer,
        }
        liblock_quorum_state {
            struct_size, epoch, max_ttl_ms, cluster_id, config_hash, votes, nodes, up, voting, quarantined,
            observers, configuring, reserved,
        }
        liblock_clear_options { struct_size, batch_size, scan_size, dead_ttl_ms }
        liblock_instance {
            struct_size, id, host, heard_us, silent_ms, interval_ms, listens, is_zombie, is_self, reserved,
        }
        liblock_instance_list_options { struct_size, zombies_only, reserved }
        liblock_zombies_status {
            struct_size, enabled, flushing, interval_ms, last_run_us, runs, flushes, instances, locks, waiters,
            last_failure_us, last_failure, reserved,
        }
        liblock_stats {
            struct_size, locks_held, waiters, acquired, released, contended, handed_off, expired, taken_away,
            taken_over, timeouts, canceled, deadlocks, deadlock_searches, renewals, sweeps, sweep_entries,
            sweep_entries_per_hold_max, dropped_notices, dropped_events, passed_on,
        }
        liblock_instrument_options {
            struct_size, events_percent, log_percent, events_sampler, events_sampler_user_data, log_sampler,
            log_sampler_user_data, events_max, log_attempts, histograms,
        }
        liblock_histogram { struct_size, count, sum_us, buckets }
    }
    said
}

fn numbers() -> Vec<String> {
    constants! {
        LIBLOCK_RETRYABLE LIBLOCK_MAYBE_HELD LIBLOCK_LOST_LOCK LIBLOCK_OK LIBLOCK_BUSY LIBLOCK_TIMEOUT
        LIBLOCK_RETRIES_EXHAUSTED LIBLOCK_CANCELED LIBLOCK_DEADLOCK LIBLOCK_ALREADY_HELD LIBLOCK_DEQUEUED
        LIBLOCK_TOO_LATE LIBLOCK_NOT_HELD LIBLOCK_LOST LIBLOCK_NOT_OWNER LIBLOCK_IN_DOUBT LIBLOCK_PARTIAL
        LIBLOCK_NO_QUORUM LIBLOCK_QUARANTINED LIBLOCK_NODES_MISMATCH LIBLOCK_CONNECT LIBLOCK_AUTH
        LIBLOCK_SERVER LIBLOCK_WRONG_TYPE LIBLOCK_READ_ONLY LIBLOCK_PROTOCOL LIBLOCK_INVALID_ARGUMENT
        LIBLOCK_INVALID_HANDLE LIBLOCK_OPTIONS_MISMATCH LIBLOCK_UNSUPPORTED LIBLOCK_LIMIT
        LIBLOCK_WOULD_DEADLOCK LIBLOCK_CLOSED LIBLOCK_FORKED LIBLOCK_NO_MEMORY LIBLOCK_INTERNAL
        LIBLOCK_RESULT_REENTERED LIBLOCK_RESULT_WAITED LIBLOCK_RESULT_TOOK_OVER LIBLOCK_RESULT_FEWER_REPLICAS
        LIBLOCK_RESULT_HAD_LOCK LIBLOCK_RESULT_HAD_QUEUE LIBLOCK_KIND_ACQUIRE LIBLOCK_KIND_RELEASE
        LIBLOCK_KIND_LOST LIBLOCK_KIND_WATCH LIBLOCK_KIND_CLOSE LIBLOCK_KIND_EXTEND LIBLOCK_KIND_UPDATE
        LIBLOCK_KIND_VERIFY LIBLOCK_KIND_PING LIBLOCK_KIND_INSPECT LIBLOCK_KIND_FORCE_RELEASE LIBLOCK_KIND_READ
        LIBLOCK_KIND_QUORUM_INIT LIBLOCK_KIND_SET_NODES LIBLOCK_EVENT_CONNECTED LIBLOCK_EVENT_DISCONNECTED
        LIBLOCK_EVENT_SERVER_CHANGED LIBLOCK_EVENT_DOUBT_ENDED LIBLOCK_EVENT_MAY_EVICT LIBLOCK_EVENT_OBTAINED
        LIBLOCK_EVENT_REENTERED LIBLOCK_EVENT_EXTENDED LIBLOCK_EVENT_HOLD_AND_RELEASE
        LIBLOCK_EVENT_SERIES_OBTAINED LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE LIBLOCK_EVENT_LOST
        LIBLOCK_EVENT_REQUEUED LIBLOCK_EVENT_HANDED_OFF LIBLOCK_EVENT_DEADLOCK_FOUND LIBLOCK_EVENT_DEQUEUED
        LIBLOCK_EVENT_DEQUEUED_ON_LIMIT LIBLOCK_EVENT_FAILED LIBLOCK_EVENT_FORCE_RELEASED LIBLOCK_EVENT_CLEARED
        LIBLOCK_EVENT_OWNER_CLEARED LIBLOCK_EVENT_INSTANCE_CLEARED LIBLOCK_EVENT_DEAD_CLEARED
        LIBLOCK_EVENT_OWNER_CLOSED LIBLOCK_EVENT_NODE_UP LIBLOCK_EVENT_NODE_DOWN LIBLOCK_EVENT_NODE_QUARANTINED
        LIBLOCK_EVENT_NODE_REJOINED LIBLOCK_EVENT_NODE_STEPPED LIBLOCK_EVENT_CLOCK_DERIVED
        LIBLOCK_EVENT_CONFIGURED LIBLOCK_EVENT_CLEARTEXT_PASSWORD
        LIBLOCK_LOG_OFF LIBLOCK_LOG_ERROR LIBLOCK_LOG_WARNING LIBLOCK_LOG_INFO LIBLOCK_LOG_DEBUG
        LIBLOCK_ENTRY_ACQUIRE_STARTED LIBLOCK_ENTRY_CYCLE_STARTED LIBLOCK_ENTRY_REQUEUED
        LIBLOCK_ENTRY_OBTAINED LIBLOCK_ENTRY_DEQUEUED_ON_LIMIT LIBLOCK_ENTRY_RELEASED
        LIBLOCK_ENTRY_ATTEMPT_STARTED LIBLOCK_ENTRY_ATTEMPT_READY LIBLOCK_ENTRY_ATTEMPT_QUEUED
        LIBLOCK_ENTRY_ATTEMPT_OVERDUE_REMOVED LIBLOCK_ENTRY_ATTEMPT_FIRST_IN_QUEUE
        LIBLOCK_ENTRY_ATTEMPT_QUEUE_TTL_REACHED LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST
        LIBLOCK_ENTRY_ATTEMPT_STILL_HELD LIBLOCK_ENTRY_ATTEMPT_FREE LIBLOCK_ENTRY_ATTEMPT_FAILED
        LIBLOCK_ENTRY_REENTERED LIBLOCK_ENTRY_EXTENDED LIBLOCK_ENTRY_LOST LIBLOCK_ENTRY_HANDED_OFF
        LIBLOCK_ENTRY_DEADLOCK_FOUND LIBLOCK_ENTRY_FAILED LIBLOCK_ENTRY_SERVER LIBLOCK_FIELD_NUMBER
        LIBLOCK_FIELD_TEXT LIBLOCK_ON_CLOSE_RELEASE LIBLOCK_ON_CLOSE_LEAVE LIBLOCK_RESTART_QUARANTINE
        LIBLOCK_RESTART_TRUST_FSYNC LIBLOCK_ORDER_FIFO LIBLOCK_ORDER_LIFO LIBLOCK_ORDER_PRIORITY
        LIBLOCK_ORDER_ANY LIBLOCK_MODE_EXCLUSIVE LIBLOCK_BACKOFF_FIXED LIBLOCK_BACKOFF_LINEAR
        LIBLOCK_BACKOFF_EXPONENTIAL LIBLOCK_ON_CONFLICT_REENTER LIBLOCK_ON_CONFLICT_REENTER_EXTEND
        LIBLOCK_ON_CONFLICT_WAIT LIBLOCK_ON_CONFLICT_FAIL LIBLOCK_ON_DEADLOCK_FAIL_SELF
        LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST LIBLOCK_ON_DEADLOCK_REPORT_ONLY LIBLOCK_INSTRUMENT_EVENTS
        LIBLOCK_INSTRUMENT_LOG LIBLOCK_INSTRUMENT_ATTEMPTS LIBLOCK_NODES_MISMATCH_FAIL_IF_DISJOINT
        LIBLOCK_NODES_MISMATCH_IGNORE LIBLOCK_NODES_MISMATCH_FAIL
        LIBLOCK_NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP LIBLOCK_EXTEND_SET LIBLOCK_EXTEND_ADD
        LIBLOCK_LIST_LOCKS LIBLOCK_LIST_QUEUES LIBLOCK_LIST_KEYS LIBLOCK_READ_NEAREST LIBLOCK_READ_MASTER
        LIBLOCK_READ_QUORUM LIBLOCK_QUORUM_INIT_FORCE LIBLOCK_NODE_UP LIBLOCK_NODE_DOWN
        LIBLOCK_NODE_QUARANTINED LIBLOCK_NODE_NEEDS_FLOOR LIBLOCK_NODE_STEPPED LIBLOCK_NODE_REFUSED
        LIBLOCK_DROP_QUEUE LIBLOCK_HISTOGRAM_ACQUIRE LIBLOCK_HISTOGRAM_HOLD LIBLOCK_HISTOGRAM_BUCKETS
        LIBLOCK_DEFAULT LIBLOCK_TTL_AUTO LIBLOCK_TTL_NONE LIBLOCK_VOTES_ALL LIBLOCK_VERSION_MAJOR
        LIBLOCK_VERSION_MINOR LIBLOCK_VERSION_PATCH LIBLOCK_ABI_VERSION LIBLOCK_VERSION_NUMBER
    }
}

#[test]
fn every_struct_has_the_size_and_offsets_of_the_header() {
    let text = header::text();
    let mut program = header::preamble();
    for (name, fields) in header::structs(&text) {
        program += &format!("printf(\"{0} %zu\\n\", sizeof({0}));\n", name);
        for field in fields {
            program += &format!("printf(\"{0}.{1} %zu\\n\", offsetof({0}, {1}));\n", name, field);
        }
    }
    let told = header::run(&(program + "return 0; }\n"), "layout");
    assert!(told.lines().count() > 200, "the header was not understood:\n{}", told);
    header::assert_same(layouts(), told);
}

#[test]
fn every_constant_has_the_value_of_the_header() {
    let text = header::text();
    let mut program = header::preamble();
    for name in header::constants(&text) {
        program += &format!("printf(\"{0} %lld\\n\", (long long)({0}));\n", name);
    }
    let told = header::run(&(program + "return 0; }\n"), "constants");
    assert!(told.lines().count() > 150, "the header was not understood:\n{}", told);
    header::assert_same(numbers(), told);
}

#[test]
fn the_thread_owner_is_the_pointer_of_the_header() {
    let program = header::preamble() + "printf(\"%zu\\n\", (size_t)LIBLOCK_OWNER_THREAD); return 0; }\n";
    assert_eq!(header::run(&program, "thread").trim(), (LIBLOCK_OWNER_THREAD as usize).to_string());
}
