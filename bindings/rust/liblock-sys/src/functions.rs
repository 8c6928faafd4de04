// SPDX-License-Identifier: MIT
//! The functions of `liblock.h` up to the lock itself, in its order; the others are in `look.rs`. What each does,
//! returns and promises is said there.

use std::os::raw::{c_char, c_void};

use crate::*;

extern "C" {
    pub fn liblock_version_string() -> *const c_char;
    pub fn liblock_version_number() -> u32;
    pub fn liblock_status_name(status: liblock_status) -> *const c_char;
    pub fn liblock_status_text(status: liblock_status) -> *const c_char;
    pub fn liblock_status_is(status: liblock_status, predicates: i32) -> i32;
    pub fn liblock_result_init(result: *mut liblock_result, struct_size: usize);
    pub fn liblock_context_options_init(options: *mut liblock_context_options, struct_size: usize);
    pub fn liblock_open(
        url: *const c_char,
        options: *const liblock_context_options,
        context: *mut *mut liblock_context,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_close(context: *mut liblock_context) -> liblock_status;
    pub fn liblock_close_async(
        context: *mut liblock_context,
        callback: liblock_callback,
        user_data: *mut c_void,
    ) -> liblock_status;
    pub fn liblock_context_free(context: *mut liblock_context);
    pub fn liblock_ping(context: *mut liblock_context, result: *mut liblock_result) -> liblock_status;
    pub fn liblock_instance_id(
        context: *mut liblock_context,
        buffer: *mut c_char,
        size: usize,
        needed: *mut usize,
    ) -> liblock_status;
    pub fn liblock_owner_open(
        context: *mut liblock_context,
        name: *const c_void,
        name_size: usize,
        owner: *mut *mut liblock_owner,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_owner_close(owner: *mut liblock_owner) -> liblock_status;
    pub fn liblock_owner_free(owner: *mut liblock_owner);
    pub fn liblock_owner_id(
        context: *mut liblock_context,
        owner: *const liblock_owner,
        buffer: *mut c_char,
        size: usize,
        needed: *mut usize,
    ) -> liblock_status;
    pub fn liblock_acquire_options_init(options: *mut liblock_acquire_options, struct_size: usize);
    pub fn liblock_acquire(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        options: *const liblock_acquire_options,
        lock: *mut liblock_lock,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_try_acquire(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        options: *const liblock_acquire_options,
        lock: *mut liblock_lock,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_acquire_many(
        context: *mut liblock_context,
        keys: *const liblock_bytes,
        count: usize,
        options: *const liblock_acquire_options,
        lock: *mut liblock_lock,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_acquire_global(
        context: *mut liblock_context,
        options: *const liblock_acquire_options,
        lock: *mut liblock_lock,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_acquire_async(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        options: *const liblock_acquire_options,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_acquire_many_async(
        context: *mut liblock_context,
        keys: *const liblock_bytes,
        count: usize,
        options: *const liblock_acquire_options,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_acquire_global_async(
        context: *mut liblock_context,
        options: *const liblock_acquire_options,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_cancel(context: *mut liblock_context, request: liblock_request) -> liblock_status;
    pub fn liblock_release(
        context: *mut liblock_context,
        lock: liblock_lock,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_release_keys(
        context: *mut liblock_context,
        owner: *mut liblock_owner,
        keys: *const liblock_bytes,
        count: usize,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_extend(
        context: *mut liblock_context,
        lock: liblock_lock,
        ttl_ms: i64,
        flags: i32,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_update(
        context: *mut liblock_context,
        lock: liblock_lock,
        value: *const c_void,
        value_size: usize,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_release_key(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        expected: *const c_void,
        expected_size: usize,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_extend_key(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        expected: *const c_void,
        expected_size: usize,
        ttl_ms: i64,
        flags: i32,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_update_key(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        expected: *const c_void,
        expected_size: usize,
        value: *const c_void,
        value_size: usize,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_is_held(context: *mut liblock_context, lock: liblock_lock) -> liblock_status;
    pub fn liblock_remaining_ms(
        context: *mut liblock_context,
        lock: liblock_lock,
        remaining_ms: *mut i64,
    ) -> liblock_status;
    pub fn liblock_fencing_token(
        context: *mut liblock_context,
        lock: liblock_lock,
        token: *mut u64,
    ) -> liblock_status;
    pub fn liblock_hold_count(context: *mut liblock_context, lock: liblock_lock, count: *mut u32) -> liblock_status;
    pub fn liblock_verify(
        context: *mut liblock_context,
        lock: liblock_lock,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_wait_lost(
        context: *mut liblock_context,
        lock: liblock_lock,
        wait_ms: i64,
        result: *mut liblock_result,
    ) -> liblock_status;
    pub fn liblock_release_async(
        context: *mut liblock_context,
        lock: liblock_lock,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_release_keys_async(
        context: *mut liblock_context,
        owner: *mut liblock_owner,
        keys: *const liblock_bytes,
        count: usize,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_extend_async(
        context: *mut liblock_context,
        lock: liblock_lock,
        ttl_ms: i64,
        flags: i32,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_update_async(
        context: *mut liblock_context,
        lock: liblock_lock,
        value: *const c_void,
        value_size: usize,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_verify_async(
        context: *mut liblock_context,
        lock: liblock_lock,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_ping_async(
        context: *mut liblock_context,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_inspect_async(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_force_release_async(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        flags: i32,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_wait_lost_async(
        context: *mut liblock_context,
        lock: liblock_lock,
        wait_ms: i64,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_wait_held_async(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        wait_ms: i64,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_wait_released_async(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        wait_ms: i64,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_read_async(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        mode: i32,
        node: *const c_char,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_wait_held_on_async(
        context: *mut liblock_context,
        key: *const c_void,
        key_size: usize,
        node: *const c_char,
        wait_ms: i64,
        completions: *mut liblock_completions,
        callback: liblock_callback,
        user_data: *mut c_void,
        request: *mut liblock_request,
    ) -> liblock_status;
    pub fn liblock_export(
        context: *mut liblock_context,
        lock: liblock_lock,
        buffer: *mut c_void,
        size: usize,
        needed: *mut usize,
    ) -> liblock_status;
    pub fn liblock_adopt(
        context: *mut liblock_context,
        exported: *const c_void,
        size: usize,
        options: *const liblock_acquire_options,
        lock: *mut liblock_lock,
        result: *mut liblock_result,
    ) -> liblock_status;
}
