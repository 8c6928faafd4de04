/* SPDX-License-Identifier: MIT
 *
 * What can be said of quorums without servers: how they are written, what is refused before a node is asked, what
 * other contexts answer to their calls, and wait_held_on, which every context has. Bad calls in full:
 * bad_input_quorum_rows.h.
 */
#include "api.h"
#include "worker.h"

static void assert_opens_as(liblock_status expected, const char *url, const char *says) {
  liblock_context *context = (liblock_context *)1;
  liblock_result result = empty_result();
  assert_status(expected, liblock_open(url, NULL, &context, &result));
  assert_null(context);
  assert_non_null(strstr(result.message, says));
  assert_null(strstr(result.message, "secret"));
}

static void a_quorum_that_is_written_wrongly_is_refused_with_the_servers_number(void **state) {
  (void)state;
  assert_opens_as(LIBLOCK_INVALID_ARGUMENT, "quorum:", "server 1 is empty; use \"redis://host:port/db\"");
  assert_opens_as(LIBLOCK_INVALID_ARGUMENT, "quorum:redis://a,redis://u:secret@b c", "server 2 has a space");
  assert_opens_as(LIBLOCK_INVALID_ARGUMENT, "quorum:redis://a,redis://u:secret@b:0", "server 2: ");
  assert_opens_as(LIBLOCK_INVALID_ARGUMENT, "quorum:redis://a,secret",
                  "server 2 begins with none of redis://");
  assert_opens_as(LIBLOCK_INVALID_ARGUMENT, "quorum:redis://a,redis://b,redis://u:secret@a",
                  "server 1 and server 3 are the same: redis://a:6379/0");
}

/* Where nobody listens: what is refused here is refused before any node is asked. */
static const char *const nowhere = "quorum:redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3";

static int open_nowhere(void **state) {
  liblock_context *context = NULL;
  if (liblock_open(nowhere, NULL, &context, NULL) != LIBLOCK_OK) return -1;
  *state = context;
  return 0;
}
#define opened_nowhere(test) cmocka_unit_test_setup_teardown(test, open_nowhere, close_context)

static void a_list_of_servers_stands_for_the_url(void **state) {
  (void)state;
  const char *const servers[] = {"redis://127.0.0.1:1", "redis://127.0.0.1:2", "redis://127.0.0.1:3"};
  liblock_context *context = NULL;
  liblock_context_options options = context_options();
  options.servers = servers;
  options.server_count = 3;
  options.votes = LIBLOCK_VOTES_ALL;
  options.max_ttl_ms = 86400000;
  assert_ok(liblock_open(NULL, &options, &context, NULL));
  liblock_lock lock = 1;
  assert_true(liblock_try_acquire(context, KEY("k"), NULL, &lock, NULL) != LIBLOCK_OK);
  assert_true(lock == 0);
  end_context(context);
}

static void assert_refused(liblock_context *context, liblock_status expected,
                           const liblock_acquire_options *options, const char *says) {
  liblock_lock lock = 1;
  liblock_result result = empty_result();
  assert_status(expected, liblock_acquire(context, KEY("k"), options, &lock, &result));
  assert_true(lock == 0);
  assert_non_null(strstr(result.message, says));
}

static void what_a_quorum_cannot_do_is_refused_with_what_can_be_used_instead(void **state) {
  liblock_acquire_options options = acquire_options();
  options.order = LIBLOCK_ORDER_LIFO;
  assert_refused(*state, LIBLOCK_UNSUPPORTED, &options, "LIFO and PRIORITY need one server");
  options.order = LIBLOCK_ORDER_PRIORITY;
  assert_refused(*state, LIBLOCK_UNSUPPORTED, &options, "LIFO and PRIORITY need one server");
  options = acquire_options();
  options.ttl_ms = LIBLOCK_TTL_NONE;
  assert_refused(*state, LIBLOCK_UNSUPPORTED, &options, "use LIBLOCK_TTL_AUTO");
  options = acquire_options();
  options.replicas = 1;
  assert_refused(*state, LIBLOCK_UNSUPPORTED, &options, "votes");
  liblock_lock lock = 1;
  liblock_result result = empty_result();
  assert_status(LIBLOCK_UNSUPPORTED, liblock_acquire_global(*state, NULL, &lock, &result));
  assert_non_null(strstr(result.message, "agree on a key"));
  assert_status(LIBLOCK_UNSUPPORTED,
                liblock_extend(*state, 12345, LIBLOCK_TTL_NONE, LIBLOCK_EXTEND_SET, &result));
  assert_non_null(strstr(result.message, "use LIBLOCK_TTL_AUTO"));
  assert_status(LIBLOCK_UNSUPPORTED,
                liblock_extend_key(*state, KEY("k"), NULL, 0, LIBLOCK_TTL_NONE, LIBLOCK_EXTEND_SET, NULL));
}

static void nodes_of_a_lock_are_named_and_counted_before_any_is_asked(void **state) {
  const char *nodes[] = {"redis://127.0.0.1:1", "redis://secret:0"};
  liblock_acquire_options options = acquire_options();
  options.nodes = nodes;
  options.node_count = 0;
  assert_refused(*state, LIBLOCK_INVALID_ARGUMENT, &options, "NULL, or empty");
  options.node_count = 16;
  assert_refused(*state, LIBLOCK_INVALID_ARGUMENT, &options, "more than 15");
  options.node_count = 2;
  assert_refused(*state, LIBLOCK_INVALID_ARGUMENT, &options, "port");
  nodes[1] = "a node";
  assert_refused(*state, LIBLOCK_INVALID_ARGUMENT, &options, "by its address");
  nodes[1] = NULL;
  assert_refused(*state, LIBLOCK_INVALID_ARGUMENT, &options, "NULL");
  nodes[1] = "redis://127.0.0.1:2";
  options.votes = 1;
  assert_refused(*state, LIBLOCK_INVALID_ARGUMENT, &options, "not more than half");
}

static void votes_that_could_grant_twice_are_refused_with_those_that_cannot(void **state) {
  (void)state;
  liblock_context *context = NULL;
  liblock_result result = empty_result();
  liblock_context_options options = context_options();
  options.votes = 2;
  const char *url = "quorum:redis://a,redis://b,redis://c,redis://d";
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_open(url, &options, &context, &result));
  assert_non_null(strstr(result.message, "use 3 to 4"));
}

static void a_local_context_is_one_vote_of_one_node(void **state) {
  liblock_acquire_options options = acquire_options();
  options.votes = LIBLOCK_VOTES_ALL;
  liblock_lock lock = 0;
  liblock_result result = empty_result();
  assert_ok(liblock_acquire(*state, KEY("k"), &options, &lock, &result));
  assert_int_equal(result.votes, 1);
  assert_int_equal(result.nodes, 1);
  assert_string_equal(result.message, "");
  options.votes = 1;
  options.wait_ms = 0;
  assert_status(LIBLOCK_BUSY, liblock_acquire(*state, KEY("k"), &options, &lock, &result));
  assert_int_equal(result.votes, 0);
  assert_int_equal(result.nodes, 0);
}

static void what_a_local_context_cannot_do_it_says(void **state) {
  liblock_context *context = *state;
  liblock_result result = empty_result();
  liblock_info *info = NULL;
  assert_status(LIBLOCK_UNSUPPORTED, liblock_quorum_init(context, 0, &result));
  assert_non_null(strstr(result.message, "quorum:"));
  assert_status(LIBLOCK_UNSUPPORTED,
                liblock_read(context, KEY("k"), LIBLOCK_READ_NEAREST, NULL, &info, &result));
  assert_non_null(strstr(result.message, "liblock_inspect"));
  const char *const nodes[] = {"redis://a"};
  liblock_acquire_options options = acquire_options();
  options.nodes = nodes;
  options.node_count = 1;
  liblock_lock lock = 1;
  assert_status(LIBLOCK_UNSUPPORTED, liblock_acquire(context, KEY("k"), &options, &lock, &result));
  assert_non_null(strstr(result.message, "quorum"));
  assert_true(lock == 0);
}

static void an_untouched_state_is_left_as_the_init_function_made_it(void **state) {
  liblock_quorum_state sum;
  memset(&sum, 0x5a, sizeof sum);
  liblock_quorum_state_init(&sum, sizeof sum);
  assert_int_equal(sum.struct_size, sizeof sum);
  assert_status(LIBLOCK_UNSUPPORTED, liblock_quorum_status(*state, &sum, NULL, NULL, NULL));
  assert_int_equal(sum.nodes, 0);
  assert_string_equal(sum.cluster_id, "");
}

static void wait_held_on_hands_out_value_and_token(void **state) {
  liblock_context *context = *state;
  liblock_info *info = (liblock_info *)1;
  assert_status(LIBLOCK_TIMEOUT, liblock_wait_held_on(context, KEY("k"), NULL, 0, &info, NULL));
  assert_null(info);
  liblock_acquire_options options = acquire_options();
  options.value = "leader";
  options.value_size = 6;
  liblock_lock lock = 0;
  liblock_result result = empty_result();
  assert_ok(liblock_acquire(context, KEY("k"), &options, &lock, &result));
  assert_ok(liblock_wait_held_on(context, KEY("k"), NULL, GENEROUS_MS, &info, NULL));
  size_t size = 0;
  assert_memory_equal(liblock_info_value(info, &size), "leader", 6);
  assert_int_equal(size, 6);
  assert_true(liblock_info_token(info) == result.token);
  liblock_info_free(info);
  assert_ok(liblock_wait_held_on(context, KEY("k"), NULL, GENEROUS_MS, NULL, NULL));
}

static void wait_held_on_sees_a_key_that_another_thread_takes(void **state) {
  liblock_info *info = NULL;
  worker *taker = worker_acquires(*state, "k", NULL);
  const liblock_status status = liblock_wait_held_on(*state, KEY("k"), NULL, GENEROUS_MS, &info, NULL);
  assert_ok(worker_join(taker, NULL, NULL));
  assert_ok(status);
  assert_true(liblock_info_is_held(info));
  liblock_info_free(info);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_quorum_that_is_written_wrongly_is_refused_with_the_servers_number),
      cmocka_unit_test(a_list_of_servers_stands_for_the_url),
      opened_nowhere(what_a_quorum_cannot_do_is_refused_with_what_can_be_used_instead),
      opened_nowhere(nodes_of_a_lock_are_named_and_counted_before_any_is_asked),
      cmocka_unit_test(votes_that_could_grant_twice_are_refused_with_those_that_cannot),
      fresh(a_local_context_is_one_vote_of_one_node),
      fresh(what_a_local_context_cannot_do_it_says),
      fresh(an_untouched_state_is_left_as_the_init_function_made_it),
      fresh(wait_held_on_hands_out_value_and_token),
      fresh(wait_held_on_sees_a_key_that_another_thread_takes),
  };
  return cmocka_run_group_tests_name("quorum", tests, NULL, NULL);
}
