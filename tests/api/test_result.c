/* SPDX-License-Identifier: MIT
 *
 * Results: every call that takes one fills it in, on success and on failure, with the status that it returns;
 * the message is empty on success and says something on failure. Without a result the same call answers the
 * same.
 */
#include "api.h"

#include <stdio.h>

struct scene {
  liblock_context *context;
  liblock_owner *owner;
  liblock_lock lock;
  liblock_bytes key;
  liblock_acquire_options options;
};

typedef liblock_status (*call_with_result)(struct scene *s, liblock_result *result);

#define CALL(name, ...) \
  static liblock_status name(struct scene *s, liblock_result *result) { return __VA_ARGS__; }

CALL(acquires,
     (s->options = try_once(), liblock_acquire(s->context, KEY("k"), &s->options, &s->lock, result)))
CALL(tries, liblock_try_acquire(s->context, KEY("k"), NULL, &s->lock, result))
CALL(acquires_many,
     (s->options = try_once(), liblock_acquire_many(s->context, &s->key, 1, &s->options, &s->lock, result)))
CALL(acquires_global,
     (s->options = try_once(), liblock_acquire_global(s->context, &s->options, &s->lock, result)))
CALL(releases, liblock_release(s->context, s->lock, result))
CALL(releases_keys, liblock_release_keys(s->context, s->owner, &s->key, 1, result))
CALL(extends, liblock_extend(s->context, s->lock, 60000, LIBLOCK_EXTEND_SET, result))
CALL(updates, liblock_update(s->context, s->lock, "v", 1, result))
CALL(verifies, liblock_verify(s->context, s->lock, result))
CALL(waits_for_holder, liblock_wait_held(s->context, KEY("k"), 0, result))
CALL(waits_for_release, liblock_wait_released(s->context, KEY("k"), 0, result))
CALL(waits_for_loss, liblock_wait_lost(s->context, s->lock, 0, result))
CALL(forces_release, liblock_force_release(s->context, KEY("k"), 0, result))
CALL(pings, liblock_ping(s->context, result))
CALL(sweeps, liblock_sweep(s->context, NULL, result))
CALL(clears, liblock_clear(s->context, NULL, NULL, result))
CALL(clears_dead, liblock_clear_dead(s->context, NULL, NULL, result))

static struct scene scene_of(liblock_context *context, bool held) {
  struct scene s = {.context = context, .owner = open_owner(context, "o"), .key = BYTES("k")};
  const liblock_acquire_options mine = owned_by(s.owner);
  s.lock = take_with(context, "k", &mine);
  if (!held) assert_ok(liblock_release(context, s.lock, NULL));
  return s;
}

/* Calls once with and once without a result, in scenes that are alike. */
static void check(liblock_context *context, bool held, call_with_result call, liblock_status expected) {
  liblock_result result = empty_result();
  memset(result.message, 'x', sizeof result.message);
  struct scene with = scene_of(context, held);
  assert_status(expected, call(&with, &result));
  assert_int_equal(result.status, expected);
  assert_int_equal(result.struct_size, sizeof result);
  assert_non_null(memchr(result.message, '\0', sizeof result.message));
  assert_int_equal(result.message[0] == '\0', expected == LIBLOCK_OK);
  assert_ok(liblock_clear(context, NULL, NULL, NULL));
  liblock_owner_free(with.owner);
  struct scene without = scene_of(context, held);
  assert_status(expected, call(&without, NULL));
  assert_ok(liblock_clear(context, NULL, NULL, NULL));
  liblock_owner_free(without.owner);
}

static void a_failing_call_says_in_its_result_what_failed(void **state) {
  check(*state, true, acquires, LIBLOCK_BUSY);
  check(*state, true, tries, LIBLOCK_BUSY);
  check(*state, true, acquires_many, LIBLOCK_BUSY);
  check(*state, true, acquires_global, LIBLOCK_BUSY);
  check(*state, false, releases, LIBLOCK_NOT_HELD);
  check(*state, false, releases_keys, LIBLOCK_NOT_HELD);
  check(*state, false, extends, LIBLOCK_NOT_HELD);
  check(*state, false, updates, LIBLOCK_NOT_HELD);
  check(*state, false, verifies, LIBLOCK_NOT_HELD);
  check(*state, false, waits_for_holder, LIBLOCK_TIMEOUT);
  check(*state, true, waits_for_release, LIBLOCK_TIMEOUT);
  check(*state, true, waits_for_loss, LIBLOCK_TIMEOUT);
  check(*state, false, forces_release, LIBLOCK_NOT_HELD);
}

static void a_call_that_succeeds_leaves_its_message_empty(void **state) {
  check(*state, false, acquires, LIBLOCK_OK);
  check(*state, false, tries, LIBLOCK_OK);
  check(*state, false, acquires_many, LIBLOCK_OK);
  check(*state, false, acquires_global, LIBLOCK_OK);
  check(*state, true, releases, LIBLOCK_OK);
  check(*state, true, releases_keys, LIBLOCK_OK);
  check(*state, true, extends, LIBLOCK_OK);
  check(*state, true, updates, LIBLOCK_OK);
  check(*state, true, verifies, LIBLOCK_OK);
  check(*state, true, waits_for_holder, LIBLOCK_OK);
  check(*state, true, forces_release, LIBLOCK_OK);
  check(*state, true, pings, LIBLOCK_OK);
  check(*state, true, sweeps, LIBLOCK_OK);
  check(*state, true, clears, LIBLOCK_OK);
  check(*state, true, clears_dead, LIBLOCK_OK);
}

/* call: with &result. */
#define NAMES(word, call)                              \
  do {                                                 \
    liblock_result result = empty_result();            \
    assert_status(LIBLOCK_INVALID_ARGUMENT, call);     \
    assert_non_null(strstr(result.message, word));     \
  } while (0)

static void a_wrong_argument_is_named(void **state) {
  liblock_context *c = *state;
  liblock_lock lock;
  liblock_info *info;
  liblock_owner *owner;
  liblock_completions *queue;
  liblock_cursor *cursor;
  static const char large[4097];
  const liblock_bytes none = {"", 0};
  NAMES("context is NULL", liblock_acquire(NULL, KEY("k"), NULL, &lock, &result));
  NAMES("lock is NULL", liblock_acquire(c, KEY("k"), NULL, NULL, &result));
  NAMES("key is NULL", liblock_acquire(c, NULL, 1, NULL, &lock, &result));
  NAMES("key is empty", liblock_try_acquire(c, "", 0, NULL, &lock, &result));
  NAMES("longer than 512", liblock_acquire(c, large, 513, NULL, &lock, &result));
  NAMES("there are no keys", liblock_acquire_many(c, NULL, 0, NULL, &lock, &result));
  NAMES("more than 1,024 keys", liblock_acquire_many(c, &none, 1025, NULL, &lock, &result));
  NAMES("key is empty", liblock_acquire_many(c, &none, 1, NULL, &lock, &result));
  NAMES("lock is NULL", liblock_acquire_global(c, NULL, NULL, &result));
  NAMES("context is NULL", liblock_release(NULL, 1, &result));
  NAMES("context is NULL", liblock_extend(NULL, 1, 1000, LIBLOCK_EXTEND_SET, &result));
  NAMES("longer than 4,096", liblock_update(c, 1, large, 4097, &result));
  NAMES("value is NULL", liblock_update(c, 1, NULL, 1, &result));
  NAMES("owner is NULL", liblock_release_keys(c, NULL, &(liblock_bytes)BYTES("k"), 1, &result));
  NAMES("key is empty", liblock_force_release(c, "", 0, 0, &result));
  NAMES("LIBLOCK_DROP_QUEUE", liblock_force_release(c, KEY("k"), 64, &result));
  NAMES("key is empty", liblock_inspect(c, "", 0, &info, &result));
  NAMES("pointer is NULL", liblock_inspect(c, KEY("k"), NULL, &result));
  NAMES("wait_ms", liblock_wait_released(c, KEY("k"), -2, &result));
  NAMES("wait_ms", liblock_wait_lost(c, 1, -2, &result));
  NAMES("255 bytes", liblock_owner_open(c, large, 256, &owner, &result));
  NAMES("capacity", liblock_completions_open(c, 0, &queue, &result));
  NAMES("pointer is NULL", liblock_list_locks(c, NULL, NULL, &result));
  NAMES("context is NULL", liblock_list_locks(NULL, NULL, &cursor, &result));
  NAMES("LIBLOCK_EXTEND_SET", liblock_extend_key(c, KEY("k"), "", 0, 1000, 7, &result));
  NAMES("a time", liblock_extend_key(c, KEY("k"), "", 0, LIBLOCK_TTL_AUTO, LIBLOCK_EXTEND_SET, &result));
  NAMES("longer than 4,096", liblock_update_key(c, KEY("k"), "", 0, large, 4097, &result));
  NAMES("the id is", liblock_clear_owner(c, NULL, 0, NULL, NULL, &result));
  static liblock_report report;
  static liblock_quorum_state quorum;
  NAMES("report.struct_size", liblock_clear(c, NULL, &report, &result));
  NAMES("report.struct_size", liblock_list_each(c, 0, NULL, NULL, NULL, &report, &result));
  NAMES("report.struct_size", liblock_list_instances(c, NULL, NULL, NULL, &report, &result));
  NAMES("state.struct_size", liblock_quorum_status(c, &quorum, NULL, NULL, &result));
  NAMES("quorum's", liblock_open("redis://a,redis://b", NULL, &(liblock_context *){NULL}, &result));
}

static void a_result_of_a_newer_header_is_filled_as_far_as_it_is_known(void **state) {
  struct {
    liblock_result known;
    unsigned char tail[32];
  } newer;
  memset(&newer, 0, sizeof newer);
  liblock_result_init(&newer.known, sizeof newer);
  assert_int_equal(newer.known.struct_size, sizeof newer);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire(*state, KEY("k"), NULL, &lock, &newer.known));
  assert_int_equal(newer.known.struct_size, sizeof newer);
  assert_true(newer.known.token != 0);
  for (size_t i = 0; i < sizeof newer.tail; i++) assert_int_equal(newer.tail[i], 0);
}

static void text_comes_out_as_with_snprintf(void **state) {
  char whole[256];
  char cut[8];
  size_t needed = 0;
  assert_ok(liblock_instance_id(*state, NULL, 0, &needed));
  assert_true(needed >= sizeof cut);
  assert_ok(liblock_instance_id(*state, whole, needed + 1, &needed));
  assert_int_equal(strlen(whole), needed);
  memset(cut, 'x', sizeof cut);
  assert_ok(liblock_instance_id(*state, cut, sizeof cut, &needed));
  assert_int_equal(strlen(cut), sizeof cut - 1);
  assert_memory_equal(cut, whole, sizeof cut - 1);
}

static void a_message_that_is_too_long_ends_behind_a_word_and_shows_it(void **state) {
  (void)state;
  char host[191] = {0}, url[512];
  memset(host, 'h', sizeof host - 1);
  snprintf(url, sizeof url, "quorum:redis://%s,redis://%s", host, host);
  liblock_result result = empty_result();
  liblock_context *context = NULL;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_open(url, NULL, &context, &result));
  const size_t size = strlen(result.message);
  assert_true(size < sizeof result.message && strstr(result.message, "are the same: redis://hhh") != NULL);
  assert_string_equal(result.message + size - strlen("; each …"), "; each …");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_failing_call_says_in_its_result_what_failed),
      fresh(a_call_that_succeeds_leaves_its_message_empty),
      fresh(a_wrong_argument_is_named),
      fresh(a_result_of_a_newer_header_is_filled_as_far_as_it_is_known),
      fresh(text_comes_out_as_with_snprintf),
      fresh(a_message_that_is_too_long_ends_behind_a_word_and_shows_it),
  };
  return cmocka_run_group_tests_name("result", tests, NULL, NULL);
}
