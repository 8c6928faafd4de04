// SPDX-License-Identifier: MIT
//! The types of `liblock.h`: opaque objects, callbacks and structs, laid out as C has them.
//!
//! Every callback type is an `Option`, so that NULL can be passed; a struct that begins with `struct_size` is prepared
//! by its init function, or by zeros and its size.

#![allow(clippy::module_name_repetitions)]

use std::os::raw::{c_char, c_void};

use crate::LIBLOCK_HISTOGRAM_BUCKETS;

/// `LIBLOCK_OK` or what went wrong.
pub type liblock_status = i32;
/// A granted hold, with a generation; 0 is never valid.
pub type liblock_lock = u64;
/// A pending asynchronous call, with a generation; 0 is never valid.
pub type liblock_request = u64;

/// Opaque: only ever behind a pointer.
#[repr(C)]
pub struct liblock_context {
    opaque: [u8; 0],
}

/// Opaque: only ever behind a pointer.
#[repr(C)]
pub struct liblock_owner {
    opaque: [u8; 0],
}

/// Opaque: only ever behind a pointer.
#[repr(C)]
pub struct liblock_completions {
    opaque: [u8; 0],
}

/// Opaque: only ever behind a pointer.
#[repr(C)]
pub struct liblock_info {
    opaque: [u8; 0],
}

/// Opaque: only ever behind a pointer.
#[repr(C)]
pub struct liblock_cursor {
    opaque: [u8; 0],
}

/// See the header.
pub type liblock_callback =
    Option<unsafe extern "C" fn(completion: *const liblock_completion, user_data: *mut c_void)>;

/// See the header.
pub type liblock_event_callback = Option<unsafe extern "C" fn(event: *const liblock_event, user_data: *mut c_void)>;

/// See the header.
pub type liblock_log_callback = Option<unsafe extern "C" fn(entry: *const liblock_log_entry, user_data: *mut c_void)>;

/// See the header.
pub type liblock_sampler =
    Option<unsafe extern "C" fn(percent: i32, key: *const liblock_bytes, tag: u64, user_data: *mut c_void) -> i32>;

/// See the header.
pub type liblock_open_callback = Option<unsafe extern "C" fn(context: *mut liblock_context, user_data: *mut c_void)>;

/// See the header.
pub type liblock_backoff_callback = Option<unsafe extern "C" fn(attempt: u32, user_data: *mut c_void) -> i64>;

/// See the header.
pub type liblock_queued_callback = Option<unsafe extern "C" fn(position: i64, length: i64, user_data: *mut c_void)>;

/// See the header.
pub type liblock_list_callback =
    Option<unsafe extern "C" fn(info: *const liblock_info, user_data: *mut c_void) -> i32>;

/// See the header.
pub type liblock_node_callback =
    Option<unsafe extern "C" fn(node: *const liblock_node, user_data: *mut c_void) -> i32>;

/// See the header.
pub type liblock_instance_callback =
    Option<unsafe extern "C" fn(instance: *const liblock_instance, user_data: *mut c_void) -> i32>;

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_bytes {
    pub data: *const c_void,
    pub size: usize,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_metadata {
    pub name: liblock_bytes,
    pub value: liblock_bytes,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_result {
    pub struct_size: usize,
    pub status: liblock_status,
    pub attempts: u32,
    pub token: u64,
    pub waited_ms: i64,
    pub remaining_ms: i64,
    pub queue_position: i64,
    pub queue_length: i64,
    pub hold_count: u32,
    pub flags: u32,
    pub votes: u32,
    pub nodes: u32,
    pub message: [c_char; 256],
    pub replicas: u32,
    pub reserved: u32,
    pub info: *mut liblock_info,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_completion {
    pub struct_size: usize,
    pub kind: i32,
    pub status: liblock_status,
    pub request: liblock_request,
    pub lock: liblock_lock,
    pub token: u64,
    pub remaining_ms: i64,
    pub waited_ms: i64,
    pub user_data: *mut c_void,
    pub message: *const c_char,
    pub info: *mut liblock_info,
    pub attempts: u32,
    pub hold_count: u32,
    pub queue_position: i64,
    pub queue_length: i64,
    pub flags: u32,
    pub votes: u32,
    pub nodes: u32,
    pub replicas: u32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_event {
    pub struct_size: usize,
    pub kind: i32,
    pub status: liblock_status,
    pub lock: liblock_lock,
    pub token: u64,
    pub message: *const c_char,
    pub tag: u64,
    pub at_us: i64,
    pub obtained_at_us: i64,
    pub key: liblock_bytes,
    pub keys: *const liblock_bytes,
    pub key_count: usize,
    pub owner: liblock_bytes,
    pub instance: liblock_bytes,
    pub ttl_ms: i64,
    pub acquire_us: i64,
    pub hold_us: i64,
    pub elapsed_us: i64,
    pub count: u64,
    pub queue_position: i64,
    pub queue_length: i64,
    pub attempts: u32,
    pub hold_count: u32,
    pub node: liblock_bytes,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_log_field {
    pub name: *const c_char,
    pub type_: i32,
    pub reserved: i32,
    pub number: i64,
    pub text: liblock_bytes,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_log_entry {
    pub struct_size: usize,
    pub id: i32,
    pub level: i32,
    pub at_us: i64,
    pub name: *const c_char,
    pub message: *const c_char,
    pub tag: u64,
    pub fields: *const liblock_log_field,
    pub field_count: usize,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_context_options {
    pub struct_size: usize,
    pub uv_loop: *mut c_void,
    pub on_open: liblock_open_callback,
    pub on_open_user_data: *mut c_void,
    pub prefix: *const c_void,
    pub prefix_size: usize,
    pub cleanup_interval_ms: i64,
    pub cleanup_batch_size: i64,
    pub max_ttl_ms: i64,
    pub deadlock_detection: i64,
    pub deadlock_delay_ms: i64,
    pub locks_max: i64,
    pub waiters_max: i64,
    pub requests_max: i64,
    pub on_close: i32,
    pub reserved: i32,
    pub username: *const c_char,
    pub password: *const c_char,
    pub client_name: *const c_char,
    pub connect_timeout_ms: i64,
    pub command_timeout_ms: i64,
    pub alive_ms: i64,
    pub tls_ca_file: *const c_char,
    pub tls_ca_path: *const c_char,
    pub tls_certificate_file: *const c_char,
    pub tls_key_file: *const c_char,
    pub tls_server_name: *const c_char,
    pub tls_insecure: i32,
    pub reserved2: i32,
    pub foreign_gap_ms: i64,
    pub zombie_interval_ms: i64,
    pub servers: *const *const c_char,
    pub server_count: usize,
    pub observers: *const *const c_char,
    pub observer_count: usize,
    pub clock_step_ms: i64,
    pub votes: i32,
    pub restart_policy: i32,
    pub front_ms: i64,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_acquire_options {
    pub struct_size: usize,
    pub owner: *mut liblock_owner,
    pub ttl_ms: i64,
    pub wait_ms: i64,
    pub retries: i64,
    pub retry_interval_ms: i64,
    pub retry_jitter_ms: i64,
    pub backoff: i32,
    pub backoff_base: i32,
    pub backoff_step_ms: i64,
    pub backoff_cap_ms: i64,
    pub backoff_callback: liblock_backoff_callback,
    pub backoff_user_data: *mut c_void,
    pub order: i32,
    pub priority: i32,
    pub age_step_ms: i64,
    pub queue_ttl_ms: i64,
    pub mode: i32,
    pub on_conflict: i32,
    pub on_deadlock: i32,
    pub renew: i32,
    pub max_hold_ms: i64,
    pub min_remaining_ms: i64,
    pub value: *const c_void,
    pub value_size: usize,
    pub metadata: *const liblock_metadata,
    pub metadata_count: usize,
    pub on_lost: liblock_callback,
    pub on_lost_user_data: *mut c_void,
    pub completions: *mut liblock_completions,
    pub replicas_timeout_ms: i64,
    pub replicas: i32,
    pub instrument: i32,
    pub event_tag: u64,
    pub on_queued: liblock_queued_callback,
    pub on_queued_user_data: *mut c_void,
    pub busy_info: i32,
    pub reserved: i32,
    pub nodes: *const *const c_char,
    pub node_count: usize,
    pub votes: i32,
    pub on_nodes_mismatch: i32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_report {
    pub struct_size: usize,
    pub locks: u64,
    pub queues: u64,
    pub keys: u64,
    pub waiters: u64,
    pub steps: u64,
    pub elapsed_us: i64,
    pub instances: u64,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_list_options {
    pub struct_size: usize,
    pub key_prefix: *const c_void,
    pub key_prefix_size: usize,
    pub batch_size: i64,
    pub zombies_only: i32,
    pub reserved: i32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_node {
    pub struct_size: usize,
    pub address: liblock_bytes,
    pub id: liblock_bytes,
    pub why: liblock_bytes,
    pub quarantine_left_ms: i64,
    pub round_trip_us: i64,
    pub clock_offset_ms: i64,
    pub lag_ms: i64,
    pub state: i32,
    pub is_observer: i32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_quorum_state {
    pub struct_size: usize,
    pub epoch: u64,
    pub max_ttl_ms: i64,
    pub cluster_id: [c_char; 40],
    pub config_hash: [c_char; 40],
    pub votes: u32,
    pub nodes: u32,
    pub up: u32,
    pub voting: u32,
    pub quarantined: u32,
    pub observers: u32,
    pub configuring: i32,
    pub reserved: i32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_clear_options {
    pub struct_size: usize,
    pub batch_size: i64,
    pub scan_size: i64,
    pub dead_ttl_ms: i64,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_instance {
    pub struct_size: usize,
    pub id: liblock_bytes,
    pub host: liblock_bytes,
    pub heard_us: i64,
    pub silent_ms: i64,
    pub interval_ms: i64,
    pub listens: i32,
    pub is_zombie: i32,
    pub is_self: i32,
    pub reserved: i32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_instance_list_options {
    pub struct_size: usize,
    pub zombies_only: i32,
    pub reserved: i32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_zombies_status {
    pub struct_size: usize,
    pub enabled: i32,
    pub flushing: i32,
    pub interval_ms: i64,
    pub last_run_us: i64,
    pub runs: u64,
    pub flushes: u64,
    pub instances: u64,
    pub locks: u64,
    pub waiters: u64,
    pub last_failure_us: i64,
    pub last_failure: liblock_status,
    pub reserved: i32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_stats {
    pub struct_size: usize,
    pub locks_held: u64,
    pub waiters: u64,
    pub acquired: u64,
    pub released: u64,
    pub contended: u64,
    pub handed_off: u64,
    pub expired: u64,
    pub taken_away: u64,
    pub taken_over: u64,
    pub timeouts: u64,
    pub canceled: u64,
    pub deadlocks: u64,
    pub deadlock_searches: u64,
    pub renewals: u64,
    pub sweeps: u64,
    pub sweep_entries: u64,
    pub sweep_entries_per_hold_max: u64,
    pub dropped_notices: u64,
    pub dropped_events: u64,
    pub passed_on: u64,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_instrument_options {
    pub struct_size: usize,
    pub events_percent: i32,
    pub log_percent: i32,
    pub events_sampler: liblock_sampler,
    pub events_sampler_user_data: *mut c_void,
    pub log_sampler: liblock_sampler,
    pub log_sampler_user_data: *mut c_void,
    pub events_max: i64,
    pub log_attempts: i32,
    pub histograms: i32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct liblock_histogram {
    pub struct_size: usize,
    pub count: u64,
    pub sum_us: u64,
    pub buckets: [u64; LIBLOCK_HISTOGRAM_BUCKETS as usize],
}
