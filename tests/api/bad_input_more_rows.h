/* SPDX-License-Identifier: MIT
 *
 * The second half of the rows: inspection, lists, administration, statistics and completion queues.
 */

/* inspection */
ROW(is_locked_without_a_context, INVALID_ARGUMENT, liblock_is_locked(NULL, KEY("k"), &e->answer))
ROW(is_locked_without_a_key, INVALID_ARGUMENT, liblock_is_locked(e->context, NULL, 1, &e->answer))
ROW(is_locked_of_an_empty_key, INVALID_ARGUMENT, liblock_is_locked(e->context, "", 0, &e->answer))
ROW(is_locked_of_a_key_of_513_bytes, INVALID_ARGUMENT,
    liblock_is_locked(e->context, e->large, 513, &e->answer))
ROW(is_locked_without_a_place, INVALID_ARGUMENT, liblock_is_locked(e->context, KEY("k"), NULL))
ROW(is_locked_in_a_closed_context, CLOSED, liblock_is_locked(e->closed, KEY("k"), &e->answer))
ROW(is_queued_without_a_context, INVALID_ARGUMENT, liblock_is_queued(NULL, KEY("k"), &e->answer))
ROW(is_queued_without_a_place, INVALID_ARGUMENT, liblock_is_queued(e->context, KEY("k"), NULL))
ROW(is_queued_in_a_closed_context, CLOSED, liblock_is_queued(e->closed, KEY("k"), &e->answer))
ROW(inspect_without_a_context, INVALID_ARGUMENT, liblock_inspect(NULL, KEY("k"), &e->info, NULL))
ROW(inspect_of_an_empty_key, INVALID_ARGUMENT, liblock_inspect(e->context, "", 0, &e->info, NULL))
ROW(inspect_without_a_place, INVALID_ARGUMENT, liblock_inspect(e->context, KEY("held"), NULL, NULL))
ROW(inspect_of_a_free_key, NOT_HELD, liblock_inspect(e->context, KEY("k"), &e->info, NULL))
ROW(inspect_in_a_closed_context, CLOSED, liblock_inspect(e->closed, KEY("k"), &e->info, NULL))
ROW(inspect_with_a_bad_result, INVALID_ARGUMENT,
    liblock_inspect(e->context, KEY("held"), &e->info, BAD_RESULT))
ROW(inspect_queue_without_a_context, INVALID_ARGUMENT, liblock_inspect_queue(NULL, KEY("k"), &e->info, NULL))
ROW(inspect_queue_without_a_place, INVALID_ARGUMENT,
    liblock_inspect_queue(e->context, KEY("held"), NULL, NULL))
ROW(inspect_queue_of_a_free_key, NOT_HELD, liblock_inspect_queue(e->context, KEY("k"), &e->info, NULL))
ROW(metadata_of_no_info, INVALID_ARGUMENT, liblock_info_metadata_at(NULL, 0, &e->metadata))
ROW(metadata_beyond_the_last, INVALID_ARGUMENT, liblock_info_metadata_at(e->held_info, 9, &e->metadata))
ROW(list_without_a_context, INVALID_ARGUMENT, liblock_list_locks(NULL, NULL, &e->cursor, NULL))
ROW(list_without_a_place, INVALID_ARGUMENT, liblock_list_locks(e->context, NULL, NULL, NULL))
ROW(list_in_a_closed_context, CLOSED, liblock_list_locks(e->closed, NULL, &e->cursor, NULL))
ROW(list_with_options_of_size_0, INVALID_ARGUMENT,
    liblock_list_locks(e->context,
                       (liblock_list_options_init(&e->list_options, sizeof e->list_options),
                        e->list_options.struct_size = 0, &e->list_options),
                       &e->cursor, NULL))
ROW(list_with_a_size_but_no_prefix, INVALID_ARGUMENT,
    liblock_list_locks(e->context,
                       (liblock_list_options_init(&e->list_options, sizeof e->list_options),
                        e->list_options.key_prefix_size = 4, &e->list_options),
                       &e->cursor, NULL))
ROW(list_by_0, INVALID_ARGUMENT, liblock_list_locks(e->context, LISTED_BY(0), &e->cursor, NULL))
ROW(list_by_65537, INVALID_ARGUMENT, liblock_list_locks(e->context, LISTED_BY(65537), &e->cursor, NULL))
ROW(list_of_zombies_2, INVALID_ARGUMENT,
    liblock_list_locks(e->context, LISTED_WITH(zombies_only, 2), &e->cursor, NULL))
ROW(list_of_zombies_less_than_none, INVALID_ARGUMENT,
    liblock_list_locks(e->context, LISTED_WITH(zombies_only, -1), &e->cursor, NULL))
ROW(list_with_something_reserved, INVALID_ARGUMENT,
    liblock_list_each(e->context, 0, LISTED_WITH(reserved, 1), NULL, NULL, NULL, NULL))
ROW(instances_without_a_context, INVALID_ARGUMENT, liblock_list_instances(NULL, NULL, NULL, NULL, NULL, NULL))
ROW(instances_of_a_closed_context, CLOSED, liblock_list_instances(e->closed, NULL, NULL, NULL, NULL, NULL))
ROW(instances_with_options_of_size_0, INVALID_ARGUMENT,
    liblock_list_instances(e->context, INSTANCES_WITH(struct_size, 0), NULL, NULL, NULL, NULL))
ROW(instances_that_are_zombies_twice, INVALID_ARGUMENT,
    liblock_list_instances(e->context, INSTANCES_WITH(zombies_only, 2), NULL, NULL, NULL, NULL))
ROW(instances_with_something_reserved, INVALID_ARGUMENT,
    liblock_list_instances(e->context, INSTANCES_WITH(reserved, 1), NULL, NULL, NULL, NULL))
ROW(instances_with_a_bad_report, INVALID_ARGUMENT,
    liblock_list_instances(e->context, NULL, NULL, NULL, BAD_REPORT, NULL))
ROW(instances_with_a_bad_result, INVALID_ARGUMENT,
    liblock_list_instances(e->context, NULL, NULL, NULL, NULL, BAD_RESULT))
ROW(zombies_status_without_a_context, INVALID_ARGUMENT,
    liblock_zombies_status_get(NULL, (e->zombies.struct_size = sizeof e->zombies, &e->zombies)))
ROW(zombies_status_without_a_place, INVALID_ARGUMENT, liblock_zombies_status_get(e->context, NULL))
ROW(zombies_status_of_size_0, INVALID_ARGUMENT,
    liblock_zombies_status_get(e->context, (e->zombies.struct_size = 0, &e->zombies)))
ROW(zombies_status_of_a_closed_context, CLOSED,
    liblock_zombies_status_get(e->closed, (e->zombies.struct_size = sizeof e->zombies, &e->zombies)))
ROW(list_keys_without_a_context, INVALID_ARGUMENT, liblock_list_keys(NULL, NULL, &e->cursor, NULL))
ROW(list_keys_without_a_place, INVALID_ARGUMENT, liblock_list_keys(e->context, NULL, NULL, NULL))
ROW(each_without_a_context, INVALID_ARGUMENT, liblock_list_each(NULL, 0, NULL, NULL, NULL, NULL, NULL))
ROW(each_in_a_closed_context, CLOSED, liblock_list_each(e->closed, 0, NULL, NULL, NULL, NULL, NULL))
ROW(each_of_nothing_known, INVALID_ARGUMENT, liblock_list_each(e->context, 3, NULL, NULL, NULL, NULL, NULL))
ROW(each_by_0, INVALID_ARGUMENT, liblock_list_each(e->context, 0, LISTED_BY(0), NULL, NULL, NULL, NULL))
ROW(each_with_a_bad_report, INVALID_ARGUMENT,
    liblock_list_each(e->context, 0, NULL, NULL, NULL, BAD_REPORT, NULL))
ROW(report_of_no_cursor, INVALID_ARGUMENT, liblock_cursor_report(NULL, &e->report))
ROW(report_into_nothing, INVALID_ARGUMENT, liblock_cursor_report(e->open_cursor, NULL))
ROW(report_of_size_8, INVALID_ARGUMENT, liblock_cursor_report(e->open_cursor, BAD_REPORT))
ROW(list_queues_without_a_context, INVALID_ARGUMENT, liblock_list_queues(NULL, NULL, &e->cursor, NULL))
ROW(list_queues_without_a_place, INVALID_ARGUMENT, liblock_list_queues(e->context, NULL, NULL, NULL))
ROW(next_of_no_cursor, INVALID_ARGUMENT, liblock_cursor_next(NULL, &e->info))
ROW(next_without_a_place, INVALID_ARGUMENT, liblock_cursor_next(e->open_cursor, NULL))
ROW(wait_held_without_a_context, INVALID_ARGUMENT, liblock_wait_held(NULL, KEY("k"), 0, NULL))
ROW(wait_held_of_an_empty_key, INVALID_ARGUMENT, liblock_wait_held(e->context, "", 0, 0, NULL))
ROW(wait_held_for_minus_2, INVALID_ARGUMENT, liblock_wait_held(e->context, KEY("k"), -2, NULL))
ROW(wait_held_in_a_closed_context, CLOSED, liblock_wait_held(e->closed, KEY("k"), 0, NULL))
ROW(wait_released_without_a_context, INVALID_ARGUMENT, liblock_wait_released(NULL, KEY("held"), 0, NULL))
ROW(wait_released_for_minus_2, INVALID_ARGUMENT, liblock_wait_released(e->context, KEY("held"), -2, NULL))
ROW(wait_released_of_a_free_key, NOT_HELD, liblock_wait_released(e->context, KEY("k"), 0, NULL))

/* administration */
ROW(force_release_without_a_context, INVALID_ARGUMENT, liblock_force_release(NULL, KEY("held"), 0, NULL))
ROW(force_release_in_a_closed_context, CLOSED, liblock_force_release(e->closed, KEY("held"), 0, NULL))
ROW(force_release_of_an_empty_key, INVALID_ARGUMENT, liblock_force_release(e->context, "", 0, 0, NULL))
ROW(force_release_with_unknown_flags, INVALID_ARGUMENT,
    liblock_force_release(e->context, KEY("held"), 2, NULL))
ROW(force_release_of_a_free_key, NOT_HELD, liblock_force_release(e->context, KEY("k"), 0, NULL))
ROW(force_release_with_a_bad_result, INVALID_ARGUMENT,
    liblock_force_release(e->context, KEY("held"), 0, BAD_RESULT))
ROW(clear_without_a_context, INVALID_ARGUMENT, liblock_clear(NULL, NULL, NULL, NULL))
ROW(clear_in_a_closed_context, CLOSED, liblock_clear(e->closed, NULL, NULL, NULL))
ROW(clear_with_a_bad_result, INVALID_ARGUMENT, liblock_clear(e->context, NULL, NULL, BAD_RESULT))
ROW(clear_with_a_bad_report, INVALID_ARGUMENT, liblock_clear(e->context, NULL, BAD_REPORT, NULL))
ROW(clear_in_batches_of_0, INVALID_ARGUMENT, liblock_clear(e->context, CLEARED_BY(batch_size, 0), NULL, NULL))
ROW(clear_in_batches_of_65537, INVALID_ARGUMENT,
    liblock_clear(e->context, CLEARED_BY(batch_size, 65537), NULL, NULL))
ROW(clear_with_a_search_by_0, INVALID_ARGUMENT,
    liblock_clear(e->context, CLEARED_BY(scan_size, 0), NULL, NULL))
ROW(clear_owner_without_a_context, INVALID_ARGUMENT, liblock_clear_owner(NULL, "o", 1, NULL, NULL, NULL))
ROW(clear_owner_without_an_id, INVALID_ARGUMENT, liblock_clear_owner(e->context, NULL, 1, NULL, NULL, NULL))
ROW(clear_instance_without_a_context, INVALID_ARGUMENT,
    liblock_clear_instance(NULL, "i", 1, NULL, NULL, NULL))
ROW(clear_instance_without_an_id, INVALID_ARGUMENT,
    liblock_clear_instance(e->context, NULL, 1, NULL, NULL, NULL))
ROW(clear_dead_without_a_context, INVALID_ARGUMENT, liblock_clear_dead(NULL, NULL, NULL, NULL))
ROW(clear_dead_in_a_closed_context, CLOSED, liblock_clear_dead(e->closed, NULL, NULL, NULL))
ROW(clear_dead_after_0_ms, INVALID_ARGUMENT,
    liblock_clear_dead(e->context, CLEARED_BY(dead_ttl_ms, 0), NULL, NULL))
ROW(sweep_without_a_context, INVALID_ARGUMENT, liblock_sweep(NULL, &e->token, NULL))
ROW(sweep_in_a_closed_context, CLOSED, liblock_sweep(e->closed, &e->token, NULL))
ROW(stats_without_a_context, INVALID_ARGUMENT, liblock_stats_get(NULL, &e->stats))
ROW(stats_into_nothing, INVALID_ARGUMENT, liblock_stats_get(e->context, NULL))
ROW(stats_of_size_0, INVALID_ARGUMENT, liblock_stats_get(e->context, (e->stats.struct_size = 0, &e->stats)))
ROW(stats_of_a_closed_context, CLOSED, liblock_stats_get(e->closed, &e->stats))

/* instrumentation */
ROW(events_without_a_context, INVALID_ARGUMENT, liblock_set_events(NULL, 1, NULL, NULL))
ROW(events_of_a_closed_context, CLOSED, liblock_set_events(e->closed, 1, NULL, NULL))
ROW(log_without_a_context, INVALID_ARGUMENT, liblock_set_log(NULL, LIBLOCK_LOG_DEBUG, NULL, NULL))
ROW(log_of_a_closed_context, CLOSED, liblock_set_log(e->closed, LIBLOCK_LOG_DEBUG, NULL, NULL))
ROW(log_at_a_level_above_debug, INVALID_ARGUMENT, liblock_set_log(e->context, 5, NULL, NULL))
ROW(log_at_a_negative_level, INVALID_ARGUMENT, liblock_set_log(e->context, -1, NULL, NULL))
ROW(instruments_without_a_context, INVALID_ARGUMENT, liblock_set_instruments(NULL, NULL))
ROW(instruments_of_a_closed_context, CLOSED, liblock_set_instruments(e->closed, NULL))
ROW(instruments_of_size_0, INVALID_ARGUMENT, liblock_set_instruments(e->context, INSTRUMENTS(struct_size, 0)))
ROW(instruments_with_events_percent_of_101, INVALID_ARGUMENT,
    liblock_set_instruments(e->context, INSTRUMENTS(events_percent, 101)))
ROW(instruments_with_events_percent_of_minus_1, INVALID_ARGUMENT,
    liblock_set_instruments(e->context, INSTRUMENTS(events_percent, -1)))
ROW(instruments_with_log_percent_of_101, INVALID_ARGUMENT,
    liblock_set_instruments(e->context, INSTRUMENTS(log_percent, 101)))
ROW(instruments_with_log_percent_of_minus_1, INVALID_ARGUMENT,
    liblock_set_instruments(e->context, INSTRUMENTS(log_percent, -1)))
ROW(instruments_with_events_max_of_0, INVALID_ARGUMENT,
    liblock_set_instruments(e->context, INSTRUMENTS(events_max, 0)))
ROW(instruments_with_too_large_an_events_max, INVALID_ARGUMENT,
    liblock_set_instruments(e->context, INSTRUMENTS(events_max, 1048577)))
ROW(instruments_with_log_attempts_of_2, INVALID_ARGUMENT,
    liblock_set_instruments(e->context, INSTRUMENTS(log_attempts, 2)))
ROW(instruments_with_histograms_of_2, INVALID_ARGUMENT,
    liblock_set_instruments(e->context, INSTRUMENTS(histograms, 2)))
ROW(acquire_with_an_unknown_instrument, INVALID_ARGUMENT,
    liblock_acquire(e->context, KEY("k"), WITH(instrument, 8), &e->lock, NULL))
ROW(histogram_without_a_context, INVALID_ARGUMENT,
    liblock_histogram_get(NULL, LIBLOCK_HISTOGRAM_HOLD, &e->histogram))
ROW(histogram_of_a_closed_context, CLOSED,
    liblock_histogram_get(e->closed, LIBLOCK_HISTOGRAM_HOLD, &e->histogram))
ROW(histogram_of_size_0, INVALID_ARGUMENT,
    liblock_histogram_get(e->context, LIBLOCK_HISTOGRAM_HOLD, &e->histogram))
ROW(histogram_of_what_is_none, INVALID_ARGUMENT,
    liblock_histogram_get(e->context, 3,
                          (liblock_histogram_init(&e->histogram, sizeof e->histogram), &e->histogram)))
ROW(prometheus_without_a_context, INVALID_ARGUMENT, liblock_stats_prometheus(NULL, NULL, 0, NULL))
ROW(prometheus_of_a_closed_context, CLOSED, liblock_stats_prometheus(e->closed, NULL, 0, NULL))
ROW(prometheus_with_a_size_but_no_buffer, INVALID_ARGUMENT,
    liblock_stats_prometheus(e->context, NULL, 9, NULL))

/* completion queues */
ROW(queue_without_a_context, INVALID_ARGUMENT, liblock_completions_open(NULL, 4, &e->new_queue, NULL))
ROW(queue_in_a_closed_context, CLOSED, liblock_completions_open(e->closed, 4, &e->new_queue, NULL))
ROW(queue_of_0_entries, INVALID_ARGUMENT, liblock_completions_open(e->context, 0, &e->new_queue, NULL))
ROW(queue_of_too_many_entries, INVALID_ARGUMENT,
    liblock_completions_open(e->context, 1048577, &e->new_queue, NULL))
ROW(queue_without_a_place, INVALID_ARGUMENT, liblock_completions_open(e->context, 4, NULL, NULL))
ROW(fd_of_no_queue, INVALID_ARGUMENT, liblock_completions_fd(NULL, &e->answer))
ROW(fd_without_a_place, INVALID_ARGUMENT, liblock_completions_fd(e->queue, NULL))
ROW(next_of_no_queue, INVALID_ARGUMENT, liblock_completions_next(NULL, 0, &e->completion))
ROW(next_completion_without_a_place, INVALID_ARGUMENT, liblock_completions_next(e->queue, 0, NULL))
ROW(next_completion_of_size_0, INVALID_ARGUMENT,
    liblock_completions_next(e->queue, 0, (e->completion.struct_size = 0, &e->completion)))
ROW(next_completion_for_minus_2, INVALID_ARGUMENT, liblock_completions_next(e->queue, -2, &e->completion))
ROW(next_of_a_closed_queue, CLOSED, liblock_completions_next(e->closed_queue, 0, &e->completion))
