/* SPDX-License-Identifier: MIT
 *
 * More rows of the same kind (bad_input_rows.h): what is said to, and of, a quorum of servers. What is
 * unsupported by a local context has that in its name, and is left out where the contexts are of servers.
 */

/* open */
ROW(open_of_a_quorum_of_nothing, INVALID_ARGUMENT, OPEN_QUORUM(""))
ROW(open_of_a_quorum_with_a_comma_at_its_end, INVALID_ARGUMENT, OPEN_QUORUM("redis://a,redis://b,"))
ROW(open_of_a_quorum_with_a_comma_too_many, INVALID_ARGUMENT, OPEN_QUORUM("redis://a,,redis://b"))
ROW(open_of_a_quorum_with_a_space, INVALID_ARGUMENT, OPEN_QUORUM("redis://a, redis://b"))
ROW(open_of_a_quorum_with_a_line_end, INVALID_ARGUMENT, OPEN_QUORUM("redis://a,redis://b\n"))
ROW(open_of_a_quorum_with_a_bare_host, INVALID_ARGUMENT, OPEN_QUORUM("redis://a,b"))
ROW(open_of_a_quorum_with_a_local_context, INVALID_ARGUMENT, OPEN_QUORUM("redis://a,local:b"))
ROW(open_of_a_quorum_of_quorums, INVALID_ARGUMENT, OPEN_QUORUM("redis://a,quorum:redis://b"))
ROW(open_of_a_quorum_with_a_bad_port, INVALID_ARGUMENT, OPEN_QUORUM("redis://a,redis://b:0"))
ROW(open_of_a_quorum_with_a_bare_comma_in_a_password, INVALID_ARGUMENT,
    OPEN_QUORUM("redis://u:p,q@a,redis://b"))
ROW(open_of_a_quorum_with_a_server_twice, INVALID_ARGUMENT, OPEN_QUORUM("redis://a,redis://b,redis://a:6379"))
ROW(open_of_a_quorum_with_a_server_twice_in_other_letters, INVALID_ARGUMENT,
    OPEN_QUORUM("redis://a,redis://A"))
ROW(open_of_a_quorum_with_two_databases_of_a_server, INVALID_ARGUMENT, OPEN_QUORUM("redis://a/0,redis://a/1"))
ROW(open_of_a_quorum_with_a_socket_twice, INVALID_ARGUMENT, OPEN_QUORUM("unix:///s,unix:///s?db=1"))
ROW(open_of_a_quorum_of_16, INVALID_ARGUMENT,
    OPEN_QUORUM("redis://0,redis://1,redis://2,redis://3,redis://4,redis://5,redis://6,redis://7,redis://8,redis://9,"
                "redis://a,redis://b,redis://c,redis://d,redis://e,redis://f"))
ROW(open_of_16_servers, INVALID_ARGUMENT, OPEN_SERVERS(16, "redis://z"))
ROW(open_of_servers_with_one_missing, INVALID_ARGUMENT, OPEN_SERVERS(3, NULL))
ROW(open_of_servers_with_an_empty_one, INVALID_ARGUMENT, OPEN_SERVERS(3, ""))
ROW(open_of_servers_with_a_quorum_among_them, INVALID_ARGUMENT, OPEN_SERVERS(3, "quorum:redis://z"))
ROW(open_of_servers_with_two_in_one, INVALID_ARGUMENT, OPEN_SERVERS(3, "redis://y,redis://z"))
ROW(open_of_servers_with_one_twice, INVALID_ARGUMENT, OPEN_SERVERS(3, "redis://0"))
ROW(open_of_no_servers_at_a_place, INVALID_ARGUMENT, OPEN_SERVERS(0, NULL))
ROW(open_of_servers_nowhere, INVALID_ARGUMENT,
    liblock_open(NULL,
                 (e->context_options = context_options(), e->context_options.server_count = 3, &e->context_options),
                 &e->new_context, NULL))
ROW(open_of_servers_besides_a_url, INVALID_ARGUMENT,
    liblock_open("quorum:redis://a,redis://b", SERVERS(3, "redis://z"), &e->new_context, NULL))
ROW(open_of_servers_besides_a_local_url, INVALID_ARGUMENT,
    liblock_open("local:", SERVERS(3, "redis://z"), &e->new_context, NULL))
ROW(open_of_servers_besides_one_server, INVALID_ARGUMENT,
    liblock_open("redis://a", SERVERS(3, "redis://z"), &e->new_context, NULL))
ROW(open_without_a_url_in_options_of_an_older_header, INVALID_ARGUMENT,
    liblock_open(NULL,
                 (e->context_options = context_options(), e->context_options.servers = servers_of(e, 3, "redis://z"),
                  e->context_options.server_count = 3, e->context_options.struct_size = 232, &e->context_options),
                 &e->new_context, NULL))
ROW(open_with_16_observers, INVALID_ARGUMENT, OPEN_OBSERVED_BY(16, "redis://z"))
ROW(open_with_an_observer_that_is_missing, INVALID_ARGUMENT, OPEN_OBSERVED_BY(2, NULL))
ROW(open_with_an_observer_that_votes, INVALID_ARGUMENT, OPEN_OBSERVED_BY(1, "redis://b"))
ROW(open_with_an_observer_twice, INVALID_ARGUMENT, OPEN_OBSERVED_BY(2, "redis://0"))
ROW(open_of_a_local_context_with_observers, INVALID_ARGUMENT,
    liblock_open("local:",
                 (e->context_options = context_options(), e->context_options.observers = servers_of(e, 1, "redis://z"),
                  e->context_options.observer_count = 1, &e->context_options),
                 &e->new_context, NULL))
ROW(open_with_votes_of_half, INVALID_ARGUMENT, OPEN_QUORUM_WITH(votes, 2))
ROW(open_with_more_votes_than_servers, INVALID_ARGUMENT, OPEN_QUORUM_WITH(votes, 5))
ROW(open_with_votes_of_minus_2, INVALID_ARGUMENT, OPEN_QUORUM_WITH(votes, -2))
ROW(open_of_a_local_context_with_2_votes, INVALID_ARGUMENT,
    liblock_open("local:",
                 (e->context_options = context_options(), e->context_options.votes = 2, &e->context_options),
                 &e->new_context, NULL))
ROW(open_with_a_restart_policy_of_2, INVALID_ARGUMENT, OPEN_QUORUM_WITH(restart_policy, 2))
ROW(open_with_a_negative_restart_policy, INVALID_ARGUMENT, OPEN_QUORUM_WITH(restart_policy, -1))
ROW(open_with_a_clock_step_of_0, INVALID_ARGUMENT, OPEN_QUORUM_WITH(clock_step_ms, 0))
ROW(open_with_a_clock_step_of_600001, INVALID_ARGUMENT, OPEN_QUORUM_WITH(clock_step_ms, 600001))
ROW(open_of_a_quorum_with_a_max_ttl_of_19, INVALID_ARGUMENT, OPEN_QUORUM_WITH(max_ttl_ms, 19))
ROW(open_of_a_quorum_with_a_max_ttl_over_a_day, INVALID_ARGUMENT, OPEN_QUORUM_WITH(max_ttl_ms, 86400001))

/* acquire */
ROW(acquire_on_nodes_of_a_local_context, UNSUPPORTED, ACQUIRE_ON(2, "redis://z"))
ROW(acquire_on_no_nodes_at_a_place_of_a_local_context, UNSUPPORTED, ACQUIRE_ON(0, NULL))
ROW(acquire_on_nodes_nowhere, INVALID_ARGUMENT, ACQUIRE_WITH(node_count, 1))
ROW(acquire_with_votes_of_minus_2, INVALID_ARGUMENT, ACQUIRE_WITH(votes, -2))
ROW(acquire_with_votes_of_16, INVALID_ARGUMENT, ACQUIRE_WITH(votes, 16))
ROW(acquire_with_more_votes_than_there_are, INVALID_ARGUMENT, ACQUIRE_WITH(votes, 2))
ROW(acquire_with_an_unknown_on_nodes_mismatch, INVALID_ARGUMENT, ACQUIRE_WITH(on_nodes_mismatch, 4))
ROW(acquire_with_a_negative_on_nodes_mismatch, INVALID_ARGUMENT, ACQUIRE_WITH(on_nodes_mismatch, -1))

/* reads */
ROW(read_without_a_context, INVALID_ARGUMENT,
    liblock_read(NULL, KEY("held"), LIBLOCK_READ_NEAREST, NULL, &e->info, NULL))
ROW(read_in_a_closed_context, CLOSED,
    liblock_read(e->closed, KEY("held"), LIBLOCK_READ_NEAREST, NULL, &e->info, NULL))
ROW(read_in_a_local_context, UNSUPPORTED,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_QUORUM, NULL, &e->info, NULL))
ROW(read_of_a_node_in_a_local_context, UNSUPPORTED,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_MASTER, "redis://a", &e->info, NULL))
ROW(read_of_an_empty_key, INVALID_ARGUMENT,
    liblock_read(e->context, "k", 0, LIBLOCK_READ_NEAREST, NULL, &e->info, NULL))
ROW(read_without_a_place, INVALID_ARGUMENT,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_NEAREST, NULL, NULL, NULL))
ROW(read_with_a_bad_result, INVALID_ARGUMENT,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_NEAREST, NULL, &e->info, BAD_RESULT))
ROW(read_in_an_unknown_mode, INVALID_ARGUMENT, liblock_read(e->context, KEY("held"), 3, NULL, &e->info, NULL))
ROW(read_in_a_negative_mode, INVALID_ARGUMENT,
    liblock_read(e->context, KEY("held"), -1, NULL, &e->info, NULL))
ROW(read_of_a_quorum_and_a_node, INVALID_ARGUMENT,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_QUORUM, "redis://a", &e->info, NULL))
ROW(read_of_a_node_without_a_name, INVALID_ARGUMENT,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_NEAREST, "", &e->info, NULL))
ROW(read_of_a_node_with_a_space, INVALID_ARGUMENT,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_NEAREST, "a b", &e->info, NULL))
ROW(read_of_a_node_with_a_bad_url, INVALID_ARGUMENT,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_NEAREST, "redis://a:0", &e->info, NULL))
ROW(read_of_a_node_with_a_name_of_65_bytes, INVALID_ARGUMENT,
    liblock_read(e->context, KEY("held"), LIBLOCK_READ_NEAREST,
                 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", &e->info, NULL))
ROW(read_async_in_a_local_context, UNSUPPORTED,
    liblock_read_async(e->context, KEY("held"), LIBLOCK_READ_NEAREST, NULL, e->queue, NULL, NULL, &e->request))
ROW(read_async_in_an_unknown_mode, INVALID_ARGUMENT,
    liblock_read_async(e->context, KEY("held"), 3, NULL, e->queue, NULL, NULL, &e->request))
ROW(wait_held_on_without_a_context, INVALID_ARGUMENT,
    liblock_wait_held_on(NULL, KEY("held"), NULL, 0, &e->info, NULL))
ROW(wait_held_on_in_a_closed_context, CLOSED,
    liblock_wait_held_on(e->closed, KEY("held"), NULL, 0, &e->info, NULL))
ROW(wait_held_on_a_node_of_a_local_context, UNSUPPORTED,
    liblock_wait_held_on(e->context, KEY("held"), "redis://a", 0, &e->info, NULL))
ROW(wait_held_on_a_node_without_a_name, INVALID_ARGUMENT,
    liblock_wait_held_on(e->context, KEY("held"), "", 0, &e->info, NULL))
ROW(wait_held_on_for_minus_2, INVALID_ARGUMENT,
    liblock_wait_held_on(e->context, KEY("held"), NULL, -2, &e->info, NULL))
ROW(wait_held_on_of_an_empty_key, INVALID_ARGUMENT,
    liblock_wait_held_on(e->context, "k", 0, NULL, 0, &e->info, NULL))
ROW(wait_held_on_with_a_bad_result, INVALID_ARGUMENT,
    liblock_wait_held_on(e->context, KEY("held"), NULL, 0, &e->info, BAD_RESULT))
ROW(wait_held_on_async_on_a_node_of_a_local_context, UNSUPPORTED,
    liblock_wait_held_on_async(e->context, KEY("held"), "redis://a", 0, e->queue, NULL, NULL, &e->request))
ROW(wait_held_async_for_minus_2, INVALID_ARGUMENT,
    liblock_wait_held_async(e->context, KEY("held"), -2, e->queue, NULL, NULL, &e->request))
ROW(wait_released_async_of_an_empty_key, INVALID_ARGUMENT,
    liblock_wait_released_async(e->context, "k", 0, 0, e->queue, NULL, NULL, &e->request))
ROW(wait_lost_async_of_a_closed_context, CLOSED,
    liblock_wait_lost_async(e->closed, FORGED, 0, e->queue, NULL, NULL, &e->request))

/* the quorum itself */
ROW(quorum_init_without_a_context, INVALID_ARGUMENT, liblock_quorum_init(NULL, 0, NULL))
ROW(quorum_init_of_a_closed_context, CLOSED, liblock_quorum_init(e->closed, 0, NULL))
ROW(quorum_init_of_a_local_context, UNSUPPORTED,
    liblock_quorum_init(e->context, LIBLOCK_QUORUM_INIT_FORCE, NULL))
ROW(quorum_init_with_an_unknown_flag, INVALID_ARGUMENT, liblock_quorum_init(e->context, 2, NULL))
ROW(quorum_init_with_a_bad_result, INVALID_ARGUMENT, liblock_quorum_init(e->context, 0, BAD_RESULT))
ROW(quorum_init_async_of_a_local_context, UNSUPPORTED,
    liblock_quorum_init_async(e->context, 0, e->queue, NULL, NULL, &e->request))
ROW(quorum_init_async_with_an_unknown_flag, INVALID_ARGUMENT,
    liblock_quorum_init_async(e->context, 2, e->queue, NULL, NULL, &e->request))
ROW(set_nodes_without_a_context, INVALID_ARGUMENT, liblock_quorum_set_nodes(NULL, NULL, 0, NULL, 0, 0, NULL))
ROW(set_nodes_of_a_closed_context, CLOSED, liblock_quorum_set_nodes(e->closed, NULL, 0, NULL, 0, 0, NULL))
ROW(set_nodes_of_a_local_context, UNSUPPORTED, SET_NODES(3, "redis://z", 0))
ROW(set_nodes_with_all_votes_in_a_local_context, UNSUPPORTED, SET_NODES(3, "redis://z", LIBLOCK_VOTES_ALL))
ROW(set_nodes_with_votes_alone_in_a_local_context, UNSUPPORTED,
    liblock_quorum_set_nodes(e->context, NULL, 0, NULL, 0, 3, NULL))
ROW(set_nodes_with_too_few_votes, INVALID_ARGUMENT, SET_NODES(4, "redis://z", 2))
ROW(set_nodes_with_too_many_votes, INVALID_ARGUMENT, SET_NODES(3, "redis://z", 4))
ROW(set_nodes_with_votes_of_16_alone, INVALID_ARGUMENT,
    liblock_quorum_set_nodes(e->context, NULL, 0, NULL, 0, 16, NULL))
ROW(set_nodes_with_votes_of_minus_2_alone, INVALID_ARGUMENT,
    liblock_quorum_set_nodes(e->context, NULL, 0, NULL, 0, -2, NULL))
ROW(set_nodes_of_16, INVALID_ARGUMENT, SET_NODES(16, "redis://z", 0))
ROW(set_nodes_with_one_twice, INVALID_ARGUMENT, SET_NODES(3, "redis://1", 0))
ROW(set_nodes_with_one_missing, INVALID_ARGUMENT, SET_NODES(3, NULL, 0))
ROW(set_nodes_with_a_bad_url, INVALID_ARGUMENT, SET_NODES(3, "redis://", 0))
ROW(set_nodes_nowhere, INVALID_ARGUMENT, liblock_quorum_set_nodes(e->context, NULL, 3, NULL, 0, 0, NULL))
ROW(set_nodes_with_no_servers_at_a_place, INVALID_ARGUMENT, SET_NODES(0, NULL, 0))
ROW(set_nodes_with_observers_alone, INVALID_ARGUMENT,
    liblock_quorum_set_nodes(e->context, NULL, 0, servers_of(e, 1, "redis://z"), 1, 0, NULL))
ROW(set_nodes_with_a_bad_result, INVALID_ARGUMENT,
    liblock_quorum_set_nodes(e->context, NULL, 0, NULL, 0, 0, BAD_RESULT))
ROW(set_nodes_async_of_a_local_context, UNSUPPORTED,
    liblock_quorum_set_nodes_async(e->context, NULL, 0, NULL, 0, 0, e->queue, NULL, NULL, &e->request))
ROW(set_nodes_async_of_16, INVALID_ARGUMENT,
    liblock_quorum_set_nodes_async(e->context, servers_of(e, 16, "redis://z"), 16, NULL, 0, 0, e->queue, NULL, NULL,
                                   &e->request))
ROW(quorum_status_without_a_context, INVALID_ARGUMENT, liblock_quorum_status(NULL, NULL, NULL, NULL, NULL))
ROW(quorum_status_of_a_closed_context, CLOSED, liblock_quorum_status(e->closed, NULL, NULL, NULL, NULL))
ROW(quorum_status_of_a_local_context, UNSUPPORTED, liblock_quorum_status(e->context, NULL, NULL, NULL, NULL))
ROW(quorum_status_of_size_0, INVALID_ARGUMENT,
    liblock_quorum_status(e->context, &e->quorum, NULL, NULL, NULL))
ROW(quorum_status_with_a_bad_result, INVALID_ARGUMENT,
    liblock_quorum_status(e->context, NULL, NULL, NULL, BAD_RESULT))
