// SPDX-License-Identifier: MIT
//! The functions of `liblock.h` from inspection on, in its order: lists, the quorum, administration, instruments and
//! completion queues. What each does, returns and promises is said there.

use std::os::raw::{c_char, c_void};

use crate::*;

extern "C" {
    pub fn liblock_is_locked(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        locked: *mut i32,
    ) -> liblock_status;
    pub fn liblock_is_queued(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        queued: *mut i32,
    ) -> liblock_status;
    pub fn liblock_inspect(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        info: *mut *mut liblock_info,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_inspect_queue(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        info: *mut *mut liblock_info,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_info_key(info: *const liblock_info, size: *mut usize) -> *const c_void;
    pub fn liblock_info_is_global(info: *const liblock_info) -> i32;
    pub fn liblock_info_is_held(info: *const liblock_info) -> i32;
    pub fn liblock_info_owner(info: *const liblock_info, size: *mut usize) -> *const c_void;
    pub fn liblock_info_instance(info: *const liblock_info, size: *mut usize) -> *const c_void;
    pub fn liblock_info_host(info: *const liblock_info, size: *mut usize) -> *const c_void;
    pub fn liblock_info_token(info: *const liblock_info) -> u64;
    pub fn liblock_info_since_us(info: *const liblock_info) -> i64;
    pub fn liblock_info_initial_ttl_ms(info: *const liblock_info) -> i64;
    pub fn liblock_info_remaining_ms(info: *const liblock_info) -> i64;
    pub fn liblock_info_hold_count(info: *const liblock_info) -> u32;
    pub fn liblock_info_is_zombie(info: *const liblock_info) -> i32;
    pub fn liblock_info_value(info: *const liblock_info, size: *mut usize) -> *const c_void;
    pub fn liblock_info_metadata_count(info: *const liblock_info) -> usize;
    pub fn liblock_info_metadata_at(
        info: *const liblock_info,
        index: usize,
        out: *mut liblock_metadata,
    ) -> liblock_status;
    pub fn liblock_info_waiter_count(info: *const liblock_info) -> usize;
    pub fn liblock_info_waiter_owner(info: *const liblock_info, index: usize, size: *mut usize) -> *const c_void;
    pub fn liblock_info_waiter_instance(info: *const liblock_info, index: usize, size: *mut usize) -> *const c_void;
    pub fn liblock_info_waiter_since_us(info: *const liblock_info, index: usize) -> i64;
    pub fn liblock_info_waiter_waited_ms(info: *const liblock_info, index: usize) -> i64;
    pub fn liblock_info_waiter_order(info: *const liblock_info, index: usize) -> i32;
    pub fn liblock_info_waiter_priority(info: *const liblock_info, index: usize) -> i32;
    pub fn liblock_info_free(info: *mut liblock_info);
    pub fn liblock_report_init(report: *mut liblock_report, struct_size: usize);
    pub fn liblock_list_options_init(options: *mut liblock_list_options, struct_size: usize);
    pub fn liblock_list_locks(
        context: *mut liblock_context,
        options: *const liblock_list_options,
        cursor: *mut *mut liblock_cursor,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_list_queues(
        context: *mut liblock_context,
        options: *const liblock_list_options,
        cursor: *mut *mut liblock_cursor,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_list_keys(
        context: *mut liblock_context,
        options: *const liblock_list_options,
        cursor: *mut *mut liblock_cursor,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_cursor_next(cursor: *mut liblock_cursor, info: *mut *mut liblock_info) -> liblock_status;
    pub fn liblock_cursor_report(cursor: *const liblock_cursor, report: *mut liblock_report) -> liblock_status;
    pub fn liblock_cursor_free(cursor: *mut liblock_cursor);
    pub fn liblock_list_each(
        context: *mut liblock_context,
        what: i32,
        options: *const liblock_list_options,
        callback: liblock_list_callback,
        user_data: *mut c_void,
        report: *mut liblock_report,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_wait_held(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        wait_ms: i64,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_wait_released(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        wait_ms: i64,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_wait_held_on(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        node: *const c_char,
        wait_ms: i64,
        info: *mut *mut liblock_info,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_read(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        mode: i32,
        node: *const c_char,
        info: *mut *mut liblock_info,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_quorum_init(
        context: *mut liblock_context,
        flags: i32,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_quorum_init_async(
        context: *mut liblock_context,
        flags: i32,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_quorum_set_nodes(
        context: *mut liblock_context,
        servers: *const *const c_char,
        server_count: usize,
        observers: *const *const c_char,
        observer_count: usize,
        votes: i32,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_quorum_set_nodes_async(
        context: *mut liblock_context,
        servers: *const *const c_char,
        server_count: usize,
        observers: *const *const c_char,
        observer_count: usize,
        votes: i32,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_quorum_state_init(state: *mut liblock_quorum_state, struct_size: usize);
    pub fn liblock_quorum_status(
        context: *mut liblock_context,
        state: *mut liblock_quorum_state,
        callback: liblock_node_callback,
        user_data: *mut c_void,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_force_release(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        flags: i32,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_clear_options_init(options: *mut liblock_clear_options, struct_size: usize);
    pub fn liblock_clear(
        context: *mut liblock_context,
        options: *const liblock_clear_options,
        report: *mut liblock_report,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_clear_owner(
        context: *mut liblock_context,
        owner_id: *const c_void,
        size: usize,
        options: *const liblock_clear_options,
        report: *mut liblock_report,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_clear_instance(
        context: *mut liblock_context,
        instance_id: *const c_void,
        size: usize,
        options: *const liblock_clear_options,
        report: *mut liblock_report,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_clear_dead(
        context: *mut liblock_context,
        options: *const liblock_clear_options,
        report: *mut liblock_report,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_sweep(
        context: *mut liblock_context,
        ended: *mut u64,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_instance_list_options_init(options: *mut liblock_instance_list_options, struct_size: usize);
    pub fn liblock_list_instances(
        context: *mut liblock_context,
        options: *const liblock_instance_list_options,
        callback: liblock_instance_callback,
        user_data: *mut c_void,
        report: *mut liblock_report,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_zombies_status_init(status: *mut liblock_zombies_status, struct_size: usize);
    pub fn liblock_zombies_status_get(
        context: *mut liblock_context,
        status: *mut liblock_zombies_status,
    ) -> liblock_status;
    pub fn liblock_stats_init(stats: *mut liblock_stats, struct_size: usize);
    pub fn liblock_stats_get(context: *mut liblock_context, stats: *mut liblock_stats) -> liblock_status;
    pub fn liblock_set_events(
        context: *mut liblock_context,
        mask: u64,
        callback: liblock_event_callback,
        user_data: *mut c_void,
    ) -> liblock_status;
    pub fn liblock_set_log(
        context: *mut liblock_context,
        level: i32,
        callback: liblock_log_callback,
        user_data: *mut c_void,
    ) -> liblock_status;
    pub fn liblock_instrument_options_init(options: *mut liblock_instrument_options, struct_size: usize);
    pub fn liblock_set_instruments(
        context: *mut liblock_context,
        options: *const liblock_instrument_options,
    ) -> liblock_status;
    pub fn liblock_histogram_init(histogram: *mut liblock_histogram, struct_size: usize);
    pub fn liblock_histogram_get(
        context: *mut liblock_context,
        which: i32,
        histogram: *mut liblock_histogram,
    ) -> liblock_status;
    pub fn liblock_stats_prometheus(
        context: *mut liblock_context,
        buffer: *mut c_char,
        size: usize,
        needed: *mut usize,
    ) -> liblock_status;
    pub fn liblock_event_name(kind: i32) -> *const c_char;
    pub fn liblock_completions_open(
        context: *mut liblock_context,
        capacity: usize,
        completions: *mut *mut liblock_completions,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_completions_fd(completions: *mut liblock_completions, fd: *mut i32) -> liblock_status;
    pub fn liblock_completions_next(
        completions: *mut liblock_completions,
        wait_ms: i64,
        completion: *mut liblock_completion,
    ) -> liblock_status;
    pub fn liblock_completions_close(completions: *mut liblock_completions) -> liblock_status;
    pub fn liblock_completions_free(completions: *mut liblock_completions);
}
