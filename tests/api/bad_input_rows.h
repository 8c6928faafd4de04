/* SPDX-License-Identifier: MIT
 *
 * ROW(name, the status it must answer, the call). Included several times, so it has no guard.
 * Every row is one test; one wrong thing per row, everything else is in order.
 */

/* open, close, identity */
ROW(open_without_a_url, INVALID_ARGUMENT, liblock_open(NULL, NULL, &e->new_context, NULL))
ROW(open_without_a_place_for_the_context, INVALID_ARGUMENT, liblock_open("local:", NULL, NULL, NULL))
ROW(open_of_an_unknown_scheme, UNSUPPORTED, liblock_open("nosuch://host", NULL, &e->new_context, NULL))
ROW(open_of_a_server_without_a_host, INVALID_ARGUMENT,
    liblock_open("redis://:1/0", NULL, &e->new_context, NULL))
ROW(open_with_a_bad_result, INVALID_ARGUMENT, liblock_open("local:", NULL, &e->new_context, BAD_RESULT))
ROW(open_with_options_of_size_0, INVALID_ARGUMENT, OPEN_WITH(struct_size, 0))
ROW(open_with_options_of_size_7, INVALID_ARGUMENT, OPEN_WITH(struct_size, 7))
ROW(open_with_a_batch_of_0, INVALID_ARGUMENT, OPEN_WITH(cleanup_batch_size, 0))
ROW(open_with_a_batch_of_65537, INVALID_ARGUMENT, OPEN_WITH(cleanup_batch_size, 65537))
ROW(open_with_a_cleanup_interval_of_0, INVALID_ARGUMENT, OPEN_WITH(cleanup_interval_ms, 0))
ROW(open_with_a_negative_cleanup_interval, INVALID_ARGUMENT, OPEN_WITH(cleanup_interval_ms, -2))
ROW(open_with_a_max_ttl_of_0, INVALID_ARGUMENT, OPEN_WITH(max_ttl_ms, 0))
ROW(open_with_a_negative_max_ttl, INVALID_ARGUMENT, OPEN_WITH(max_ttl_ms, -7))
ROW(open_with_a_deadlock_detection_of_2, INVALID_ARGUMENT, OPEN_WITH(deadlock_detection, 2))
ROW(open_with_a_negative_deadlock_delay, INVALID_ARGUMENT, OPEN_WITH(deadlock_delay_ms, -1))
ROW(open_with_no_locks, INVALID_ARGUMENT, OPEN_WITH(locks_max, 0))
ROW(open_with_too_many_locks, INVALID_ARGUMENT, OPEN_WITH(locks_max, 67108865))
ROW(open_with_negative_waiters, INVALID_ARGUMENT, OPEN_WITH(waiters_max, -1))
ROW(open_with_too_many_waiters, INVALID_ARGUMENT, OPEN_WITH(waiters_max, 16777217))
ROW(open_with_negative_requests, INVALID_ARGUMENT, OPEN_WITH(requests_max, -1))
ROW(open_with_an_unknown_on_close, INVALID_ARGUMENT, OPEN_WITH(on_close, 2))
ROW(open_with_a_negative_on_close, INVALID_ARGUMENT, OPEN_WITH(on_close, -1))
ROW(open_with_a_foreign_gap_of_minus_2, INVALID_ARGUMENT, OPEN_WITH(foreign_gap_ms, -2))
ROW(open_with_a_foreign_gap_of_600001, INVALID_ARGUMENT, OPEN_WITH(foreign_gap_ms, 600001))
ROW(open_with_a_front_of_minus_2, INVALID_ARGUMENT, OPEN_WITH(front_ms, -2))
ROW(open_with_a_front_of_600001, INVALID_ARGUMENT, OPEN_WITH(front_ms, 600001))
ROW(open_with_a_zombie_interval_of_0, INVALID_ARGUMENT, OPEN_WITH(zombie_interval_ms, 0))
ROW(open_with_a_zombie_interval_of_99, INVALID_ARGUMENT, OPEN_WITH(zombie_interval_ms, 99))
ROW(open_with_a_zombie_interval_over_an_hour, INVALID_ARGUMENT, OPEN_WITH(zombie_interval_ms, 3600001))
ROW(open_with_a_zombie_interval_of_minus_2, INVALID_ARGUMENT, OPEN_WITH(zombie_interval_ms, -2))
ROW(open_with_a_prefix_too_long, INVALID_ARGUMENT,
    liblock_open("local:",
                 (e->context_options = context_options(), e->context_options.prefix = e->large,
                  e->context_options.prefix_size = 257, &e->context_options),
                 &e->new_context, NULL))
ROW(ping_without_a_context, INVALID_ARGUMENT, liblock_ping(NULL, NULL))
ROW(ping_of_a_closed_context, CLOSED, liblock_ping(e->closed, NULL))
ROW(ping_with_a_bad_result, INVALID_ARGUMENT, liblock_ping(e->context, BAD_RESULT))
ROW(instance_id_without_a_context, INVALID_ARGUMENT, liblock_instance_id(NULL, e->text, 64, &e->needed))
ROW(instance_id_into_nothing, INVALID_ARGUMENT, liblock_instance_id(e->context, NULL, 64, &e->needed))

/* owners */
ROW(owner_open_without_a_context, INVALID_ARGUMENT, liblock_owner_open(NULL, KEY("n"), &e->new_owner, NULL))
ROW(owner_open_in_a_closed_context, CLOSED, liblock_owner_open(e->closed, KEY("n"), &e->new_owner, NULL))
ROW(owner_open_without_a_place, INVALID_ARGUMENT, liblock_owner_open(e->context, KEY("n"), NULL, NULL))
ROW(owner_open_with_a_name_too_long, INVALID_ARGUMENT,
    liblock_owner_open(e->context, e->large, 256, &e->new_owner, NULL))
ROW(owner_open_with_a_size_but_no_name, INVALID_ARGUMENT,
    liblock_owner_open(e->context, NULL, 3, &e->new_owner, NULL))
ROW(owner_id_without_an_owner, INVALID_ARGUMENT, liblock_owner_id(e->context, NULL, e->text, 64, &e->needed))
ROW(owner_id_of_the_thread_without_a_context, INVALID_ARGUMENT,
    liblock_owner_id(NULL, LIBLOCK_OWNER_THREAD, e->text, 64, &e->needed))
ROW(owner_close_of_the_thread, INVALID_ARGUMENT, liblock_owner_close(LIBLOCK_OWNER_THREAD))

/* acquire: arguments */
ROW(acquire_without_a_context, INVALID_ARGUMENT, liblock_acquire(NULL, KEY("k"), NULL, &e->lock, NULL))
ROW(acquire_in_a_closed_context, CLOSED, liblock_acquire(e->closed, KEY("k"), NULL, &e->lock, NULL))
ROW(acquire_without_a_key, INVALID_ARGUMENT, liblock_acquire(e->context, NULL, 1, NULL, &e->lock, NULL))
ROW(acquire_of_an_empty_key, INVALID_ARGUMENT, liblock_acquire(e->context, "k", 0, NULL, &e->lock, NULL))
ROW(acquire_of_a_key_of_513_bytes, INVALID_ARGUMENT,
    liblock_acquire(e->context, e->large, 513, NULL, &e->lock, NULL))
ROW(acquire_of_a_key_of_huge_size, INVALID_ARGUMENT,
    liblock_acquire(e->context, "k", SIZE_MAX, NULL, &e->lock, NULL))
ROW(acquire_without_a_place_for_the_lock, INVALID_ARGUMENT,
    liblock_acquire(e->context, KEY("k"), NULL, NULL, NULL))
ROW(acquire_with_a_bad_result, INVALID_ARGUMENT,
    liblock_acquire(e->context, KEY("k"), NULL, &e->lock, BAD_RESULT))

/* acquire: options */
ROW(options_of_size_0, INVALID_ARGUMENT, ACQUIRE_WITH(struct_size, 0))
ROW(options_of_size_4, INVALID_ARGUMENT, ACQUIRE_WITH(struct_size, 4))
ROW(a_ttl_of_0, INVALID_ARGUMENT, ACQUIRE_WITH(ttl_ms, 0))
ROW(a_ttl_of_minus_3, INVALID_ARGUMENT, ACQUIRE_WITH(ttl_ms, -3))
ROW(a_hugely_negative_ttl, INVALID_ARGUMENT, ACQUIRE_WITH(ttl_ms, INT64_MIN + 1))
ROW(a_wait_of_minus_2, INVALID_ARGUMENT, ACQUIRE_WITH(wait_ms, -2))
ROW(a_hugely_negative_wait, INVALID_ARGUMENT, ACQUIRE_WITH(wait_ms, INT64_MIN + 1))
ROW(retries_of_minus_2, INVALID_ARGUMENT, ACQUIRE_WITH(retries, -2))
ROW(a_negative_retry_interval, INVALID_ARGUMENT, ACQUIRE_WITH(retry_interval_ms, -1))
ROW(a_negative_jitter, INVALID_ARGUMENT, ACQUIRE_WITH(retry_jitter_ms, -1))
ROW(an_unknown_backoff, INVALID_ARGUMENT, ACQUIRE_WITH(backoff, 3))
ROW(a_negative_backoff, INVALID_ARGUMENT, ACQUIRE_WITH(backoff, -1))
ROW(a_backoff_base_of_1001, INVALID_ARGUMENT,
    liblock_acquire(e->context, KEY("k"), WITH_BOTH(backoff, LIBLOCK_BACKOFF_EXPONENTIAL, backoff_base, 1001),
                    &e->lock, NULL))
ROW(a_negative_backoff_step, INVALID_ARGUMENT, ACQUIRE_WITH(backoff_step_ms, -1))
ROW(a_negative_backoff_cap, INVALID_ARGUMENT, ACQUIRE_WITH(backoff_cap_ms, -1))
ROW(an_unknown_order, INVALID_ARGUMENT, ACQUIRE_WITH(order, 4))
ROW(a_negative_order, INVALID_ARGUMENT, ACQUIRE_WITH(order, -1))
ROW(a_priority_too_high, INVALID_ARGUMENT, ACQUIRE_WITH(priority, 1000001))
ROW(a_priority_too_low, INVALID_ARGUMENT, ACQUIRE_WITH(priority, -1000001))
ROW(an_age_step_of_0, INVALID_ARGUMENT, ACQUIRE_WITH(age_step_ms, 0))
ROW(a_queue_ttl_of_minus_2, INVALID_ARGUMENT, ACQUIRE_WITH(queue_ttl_ms, -2))
ROW(a_busy_info_of_2, INVALID_ARGUMENT, ACQUIRE_WITH(busy_info, 2))
ROW(a_busy_info_of_minus_1, INVALID_ARGUMENT, ACQUIRE_WITH(busy_info, -1))
ROW(a_reserved_word_of_1, INVALID_ARGUMENT, ACQUIRE_WITH(reserved, 1))
ROW(another_mode, UNSUPPORTED, ACQUIRE_WITH(mode, 1))
ROW(a_negative_mode, UNSUPPORTED, ACQUIRE_WITH(mode, -1))
ROW(an_unknown_on_conflict, INVALID_ARGUMENT, ACQUIRE_WITH(on_conflict, 4))
ROW(a_negative_on_conflict, INVALID_ARGUMENT, ACQUIRE_WITH(on_conflict, -1))
ROW(an_unknown_on_deadlock, INVALID_ARGUMENT, ACQUIRE_WITH(on_deadlock, 3))
ROW(a_negative_on_deadlock, INVALID_ARGUMENT, ACQUIRE_WITH(on_deadlock, -1))
ROW(renew_without_a_ttl, INVALID_ARGUMENT, ACQUIRE_WITH(renew, 1))
ROW(a_renew_of_2, INVALID_ARGUMENT, liblock_acquire(e->context, KEY("k"), LEASED(renew, 2), &e->lock, NULL))
ROW(a_max_hold_of_minus_2, INVALID_ARGUMENT,
    liblock_acquire(e->context, KEY("k"), LEASED(max_hold_ms, -2), &e->lock, NULL))
ROW(a_negative_min_remaining, INVALID_ARGUMENT, ACQUIRE_WITH(min_remaining_ms, -1))
ROW(a_renew_of_minus_1, INVALID_ARGUMENT,
    liblock_acquire(e->context, KEY("k"), LEASED(renew, -1), &e->lock, NULL))
ROW(a_value_size_without_a_value, INVALID_ARGUMENT, ACQUIRE_WITH(value_size, 1))
ROW(a_value_too_large, INVALID_ARGUMENT,
    liblock_acquire(e->context, KEY("k"), WITH_BOTH(value, e->large, value_size, 4097), &e->lock, NULL))
ROW(a_metadata_count_without_metadata, INVALID_ARGUMENT, ACQUIRE_WITH(metadata_count, 1))
ROW(metadata_of_65_entries, INVALID_ARGUMENT,
    liblock_acquire(e->context, KEY("k"), WITH_BOTH(metadata, e->pairs, metadata_count, 65), &e->lock, NULL))
ROW(metadata_with_a_size_but_no_bytes, INVALID_ARGUMENT,
    (e->pairs[0].value = (liblock_bytes){NULL, 3},
     liblock_acquire(e->context, KEY("k"), WITH_BOTH(metadata, e->pairs, metadata_count, 1), &e->lock, NULL)))
ROW(an_owner_of_another_context, INVALID_ARGUMENT, ACQUIRE_WITH(owner, e->strangers_owner))
ROW(an_owner_that_is_closed, CLOSED, ACQUIRE_WITH(owner, e->closed_owner))

/* the other ways to acquire */
ROW(try_without_a_context, INVALID_ARGUMENT, liblock_try_acquire(NULL, KEY("k"), NULL, &e->lock, NULL))
ROW(try_in_a_closed_context, CLOSED, liblock_try_acquire(e->closed, KEY("k"), NULL, &e->lock, NULL))
ROW(try_of_an_empty_key, INVALID_ARGUMENT, liblock_try_acquire(e->context, "", 0, NULL, &e->lock, NULL))
ROW(try_without_a_place, INVALID_ARGUMENT, liblock_try_acquire(e->context, KEY("k"), NULL, NULL, NULL))
ROW(try_with_an_unknown_order, INVALID_ARGUMENT,
    liblock_try_acquire(e->context, KEY("k"), WITH(order, 77), &e->lock, NULL))
ROW(try_with_a_bad_result, INVALID_ARGUMENT,
    liblock_try_acquire(e->context, KEY("k"), NULL, &e->lock, BAD_RESULT))
ROW(many_without_a_context, INVALID_ARGUMENT, liblock_acquire_many(NULL, e->keys, 2, NULL, &e->lock, NULL))
ROW(many_in_a_closed_context, CLOSED, liblock_acquire_many(e->closed, e->keys, 2, NULL, &e->lock, NULL))
ROW(many_without_keys, INVALID_ARGUMENT, liblock_acquire_many(e->context, NULL, 2, NULL, &e->lock, NULL))
ROW(many_of_0_keys, INVALID_ARGUMENT, liblock_acquire_many(e->context, e->keys, 0, NULL, &e->lock, NULL))
ROW(many_of_1025_keys, INVALID_ARGUMENT,
    liblock_acquire_many(e->context, e->keys, 1025, NULL, &e->lock, NULL))
ROW(many_with_an_empty_key, INVALID_ARGUMENT,
    liblock_acquire_many(e->context, BAD_KEYS(1, "k", 0), 3, NULL, &e->lock, NULL))
ROW(many_with_a_key_of_513_bytes, INVALID_ARGUMENT,
    liblock_acquire_many(e->context, BAD_KEYS(2, e->large, 513), 3, NULL, &e->lock, NULL))
ROW(many_with_a_key_without_bytes, INVALID_ARGUMENT,
    liblock_acquire_many(e->context, BAD_KEYS(0, NULL, 3), 3, NULL, &e->lock, NULL))
ROW(many_without_a_place, INVALID_ARGUMENT, liblock_acquire_many(e->context, e->keys, 2, NULL, NULL, NULL))
ROW(global_without_a_context, INVALID_ARGUMENT, liblock_acquire_global(NULL, NULL, &e->lock, NULL))
ROW(global_in_a_closed_context, CLOSED, liblock_acquire_global(e->closed, NULL, &e->lock, NULL))
ROW(global_without_a_place, INVALID_ARGUMENT, liblock_acquire_global(e->context, NULL, NULL, NULL))
ROW(global_with_another_mode, UNSUPPORTED, liblock_acquire_global(e->context, WITH(mode, 2), &e->lock, NULL))
ROW(global_with_a_ttl_of_0, INVALID_ARGUMENT,
    liblock_acquire_global(e->context, WITH(ttl_ms, 0), &e->lock, NULL))

/* requests */
ROW(async_without_a_context, INVALID_ARGUMENT,
    liblock_acquire_async(NULL, KEY("k"), NULL, recorder_callback, recorder_slot(e->ends, 0), &e->request))
ROW(async_in_a_closed_context, CLOSED,
    liblock_acquire_async(e->closed, KEY("k"), NULL, recorder_callback, recorder_slot(e->ends, 0),
                          &e->request))
ROW(async_of_an_empty_key, INVALID_ARGUMENT,
    liblock_acquire_async(e->context, "", 0, NULL, recorder_callback, recorder_slot(e->ends, 0), &e->request))
ROW(async_with_nowhere_to_end, INVALID_ARGUMENT,
    liblock_acquire_async(e->context, KEY("k"), NULL, NULL, NULL, &e->request))
ROW(async_with_a_callback_and_a_queue, INVALID_ARGUMENT,
    liblock_acquire_async(e->context, KEY("k"), WITH(completions, e->queue), recorder_callback,
                          recorder_slot(e->ends, 0), &e->request))
ROW(async_to_a_closed_queue, CLOSED,
    liblock_acquire_async(e->context, KEY("k"), WITH(completions, e->closed_queue), NULL, NULL, &e->request))
ROW(async_to_a_queue_of_another_context, INVALID_ARGUMENT,
    liblock_acquire_async(e->context, KEY("k"), WITH(completions, e->strangers_queue), NULL, NULL,
                          &e->request))
ROW(async_without_a_place_for_the_request, INVALID_ARGUMENT,
    liblock_acquire_async(e->context, KEY("k"), NULL, recorder_callback, recorder_slot(e->ends, 0), NULL))
ROW(async_with_a_ttl_of_0, INVALID_ARGUMENT,
    liblock_acquire_async(e->context, KEY("k"), WITH(ttl_ms, 0), recorder_callback, recorder_slot(e->ends, 0),
                          &e->request))
ROW(many_async_with_an_empty_key, INVALID_ARGUMENT,
    liblock_acquire_many_async(e->context, BAD_KEYS(1, "k", 0), 3, NULL, recorder_callback,
                               recorder_slot(e->ends, 0), &e->request))
ROW(many_async_of_0_keys, INVALID_ARGUMENT,
    liblock_acquire_many_async(e->context, e->keys, 0, NULL, recorder_callback, recorder_slot(e->ends, 0),
                               &e->request))
ROW(many_async_without_keys, INVALID_ARGUMENT,
    liblock_acquire_many_async(e->context, NULL, 2, NULL, recorder_callback, recorder_slot(e->ends, 0),
                               &e->request))
ROW(global_async_in_a_closed_context, CLOSED,
    liblock_acquire_global_async(e->closed, NULL, recorder_callback, recorder_slot(e->ends, 0), &e->request))
ROW(global_async_with_nowhere_to_end, INVALID_ARGUMENT,
    liblock_acquire_global_async(e->context, NULL, NULL, NULL, &e->request))
ROW(cancel_without_a_context, INVALID_ARGUMENT, liblock_cancel(NULL, e->pending))
ROW(cancel_of_0, INVALID_HANDLE, liblock_cancel(e->context, 0))
ROW(cancel_of_a_forged_request, INVALID_HANDLE, liblock_cancel(e->context, FORGED))
ROW(cancel_in_a_closed_context, CLOSED, liblock_cancel(e->closed, e->pending))

/* the lock */
ROW(release_without_a_context, INVALID_ARGUMENT, liblock_release(NULL, e->held, NULL))
ROW(release_in_a_closed_context, CLOSED, liblock_release(e->closed, e->held, NULL))
ROW(release_of_0, INVALID_HANDLE, liblock_release(e->context, 0, NULL))
ROW(release_of_a_forged_lock, INVALID_HANDLE, liblock_release(e->context, FORGED, NULL))
ROW(release_of_a_released_lock, NOT_HELD, liblock_release(e->context, e->released, NULL))
ROW(release_with_a_bad_result, INVALID_ARGUMENT, liblock_release(e->context, e->held, BAD_RESULT))
ROW(release_keys_without_a_context, INVALID_ARGUMENT, liblock_release_keys(NULL, e->owner, e->keys, 1, NULL))
ROW(release_keys_without_an_owner, INVALID_ARGUMENT, liblock_release_keys(e->context, NULL, e->keys, 1, NULL))
ROW(release_keys_of_an_owner_of_another_context, INVALID_ARGUMENT,
    liblock_release_keys(e->context, e->strangers_owner, e->keys, 1, NULL))
ROW(release_keys_of_a_closed_owner, CLOSED,
    liblock_release_keys(e->context, e->closed_owner, e->keys, 1, NULL))
ROW(release_keys_without_keys, INVALID_ARGUMENT, liblock_release_keys(e->context, e->owner, NULL, 1, NULL))
ROW(release_keys_of_0_keys, INVALID_ARGUMENT, liblock_release_keys(e->context, e->owner, e->keys, 0, NULL))
ROW(release_keys_with_an_empty_key, INVALID_ARGUMENT,
    liblock_release_keys(e->context, e->owner, BAD_KEYS(0, "", 0), 1, NULL))
ROW(release_keys_that_are_not_held, NOT_HELD, liblock_release_keys(e->context, e->owner, e->keys, 1, NULL))
ROW(extend_without_a_context, INVALID_ARGUMENT, liblock_extend(NULL, e->held, 1000, LIBLOCK_EXTEND_SET, NULL))
ROW(extend_of_0, INVALID_HANDLE, liblock_extend(e->context, 0, 1000, LIBLOCK_EXTEND_SET, NULL))
ROW(extend_of_a_forged_lock, INVALID_HANDLE, liblock_extend(e->context, FORGED, 1000, LIBLOCK_EXTEND_SET, NULL))
ROW(extend_of_a_released_lock, NOT_HELD,
    liblock_extend(e->context, e->released, 1000, LIBLOCK_EXTEND_SET, NULL))
ROW(extend_to_0, INVALID_ARGUMENT, liblock_extend(e->context, e->held, 0, LIBLOCK_EXTEND_SET, NULL))
ROW(extend_to_minus_3, INVALID_ARGUMENT, liblock_extend(e->context, e->held, -3, LIBLOCK_EXTEND_SET, NULL))
ROW(extend_with_unknown_flags, INVALID_ARGUMENT, liblock_extend(e->context, e->held, 1000, 2, NULL))
ROW(extend_with_negative_flags, INVALID_ARGUMENT, liblock_extend(e->context, e->held, 1000, -1, NULL))
ROW(extend_in_a_closed_context, CLOSED, liblock_extend(e->closed, e->held, 1000, LIBLOCK_EXTEND_SET, NULL))
ROW(release_key_without_a_context, INVALID_ARGUMENT, liblock_release_key(NULL, KEY("k"), "v", 1, NULL))
ROW(release_key_of_an_empty_key, INVALID_ARGUMENT, liblock_release_key(e->context, "", 0, "v", 1, NULL))
ROW(release_key_with_a_size_but_no_value, INVALID_ARGUMENT,
    liblock_release_key(e->context, KEY("held"), NULL, 1, NULL))
ROW(release_key_of_a_free_key, NOT_HELD, liblock_release_key(e->context, KEY("k"), "v", 1, NULL))
ROW(release_key_with_another_value, NOT_OWNER, liblock_release_key(e->context, KEY("held"), "v", 1, NULL))
ROW(release_key_in_a_closed_context, CLOSED, liblock_release_key(e->closed, KEY("held"), NULL, 0, NULL))
ROW(extend_key_without_a_context, INVALID_ARGUMENT,
    liblock_extend_key(NULL, KEY("held"), NULL, 0, 1000, 0, NULL))
ROW(extend_key_by_auto, INVALID_ARGUMENT,
    liblock_extend_key(e->context, KEY("held"), NULL, 0, LIBLOCK_TTL_AUTO, 0, NULL))
ROW(extend_key_by_0, INVALID_ARGUMENT, liblock_extend_key(e->context, KEY("held"), NULL, 0, 0, 0, NULL))
ROW(extend_key_with_unknown_flags, INVALID_ARGUMENT,
    liblock_extend_key(e->context, KEY("held"), NULL, 0, 1000, 2, NULL))
ROW(extend_key_with_another_value, NOT_OWNER,
    liblock_extend_key(e->context, KEY("held"), "v", 1, 1000, 0, NULL))
ROW(update_key_without_a_context, INVALID_ARGUMENT,
    liblock_update_key(NULL, KEY("held"), NULL, 0, "v", 1, NULL))
ROW(update_key_with_4097_bytes, INVALID_ARGUMENT,
    liblock_update_key(e->context, KEY("held"), NULL, 0, e->large, 4097, NULL))
ROW(update_key_with_another_value, NOT_OWNER,
    liblock_update_key(e->context, KEY("held"), "v", 1, "w", 1, NULL))
ROW(update_without_a_context, INVALID_ARGUMENT, liblock_update(NULL, e->held, "v", 1, NULL))
ROW(update_of_0, INVALID_HANDLE, liblock_update(e->context, 0, "v", 1, NULL))
ROW(update_with_a_size_but_no_value, INVALID_ARGUMENT, liblock_update(e->context, e->held, NULL, 1, NULL))
ROW(update_with_a_value_too_large, INVALID_ARGUMENT,
    liblock_update(e->context, e->held, e->large, 4097, NULL))
ROW(is_held_without_a_context, INVALID_ARGUMENT, liblock_is_held(NULL, e->held))
ROW(is_held_of_a_forged_lock, INVALID_HANDLE, liblock_is_held(e->context, FORGED))
ROW(is_held_in_a_closed_context, CLOSED, liblock_is_held(e->closed, e->held))
ROW(remaining_without_a_place, INVALID_ARGUMENT, liblock_remaining_ms(e->context, e->held, NULL))
ROW(remaining_of_a_forged_lock, INVALID_HANDLE, liblock_remaining_ms(e->context, FORGED, &e->number))
ROW(token_without_a_place, INVALID_ARGUMENT, liblock_fencing_token(e->context, e->held, NULL))
ROW(token_of_a_released_lock, NOT_HELD, liblock_fencing_token(e->context, e->released, &e->token))
ROW(hold_count_without_a_place, INVALID_ARGUMENT, liblock_hold_count(e->context, e->held, NULL))
ROW(hold_count_of_0, INVALID_HANDLE, liblock_hold_count(e->context, 0, &e->count))
ROW(verify_without_a_context, INVALID_ARGUMENT, liblock_verify(NULL, e->held, NULL))
ROW(verify_of_a_forged_lock, INVALID_HANDLE, liblock_verify(e->context, FORGED, NULL))
ROW(verify_with_a_bad_result, INVALID_ARGUMENT, liblock_verify(e->context, e->held, BAD_RESULT))
ROW(wait_lost_without_a_context, INVALID_ARGUMENT, liblock_wait_lost(NULL, e->held, 0, NULL))
ROW(wait_lost_of_0, INVALID_HANDLE, liblock_wait_lost(e->context, 0, 0, NULL))
ROW(wait_lost_for_minus_2, INVALID_ARGUMENT, liblock_wait_lost(e->context, e->held, -2, NULL))
