/* SPDX-License-Identifier: MIT
 *
 * Waits for others without a waiting thread: two contexts on one server, one of which watches what the other does, by a
 * completion queue. Usage: watch URL. Prints TAP.
 */
#include <liblock/liblock.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

enum { LONG_MS = 20000 };

static liblock_context *watcher, *other;
static liblock_completions *queue;
/* The next end is of this request, with this status. */
static bool ends(liblock_request request, liblock_status status) {
  liblock_completion end = {.struct_size = sizeof end};
  return liblock_completions_next(queue, LONG_MS, &end) == LIBLOCK_OK && end.kind == LIBLOCK_KIND_WATCH &&
         end.request == request && end.status == status && !end.info;
}

static liblock_lock take(liblock_context *context, const char *key) {
  liblock_lock lock = 0;
  return liblock_acquire(context, key, strlen(key), NULL, &lock, NULL) == LIBLOCK_OK ? lock : 0;
}

static bool watch_held(const char *key, int64_t wait_ms, liblock_request *request) {
  return liblock_wait_held_async(watcher, key, strlen(key), wait_ms, queue, NULL, NULL, request) ==
         LIBLOCK_OK;
}

static bool watch_released(const char *key, int64_t wait_ms, liblock_request *request) {
  return liblock_wait_released_async(watcher, key, strlen(key), wait_ms, queue, NULL, NULL, request) ==
         LIBLOCK_OK;
}

static void check_waits(void) {
  liblock_request request = 0;
  check(watch_held("k", 60, &request) && ends(request, LIBLOCK_TIMEOUT), "a key that nobody takes times out");
  check(watch_released("k", LONG_MS, &request) && ends(request, LIBLOCK_NOT_HELD), "a free key is not held");
  bool watches = watch_held("k", -1, &request);
  liblock_lock lock = take(other, "k");
  check(watches && lock && ends(request, LIBLOCK_OK), "a key that another context takes is seen");
  check(watch_released("k", 60, &request) && ends(request, LIBLOCK_TIMEOUT), "a key that is kept times out");
  liblock_completion none = {.struct_size = sizeof none};
  watches = watch_released("k", -1, &request) &&
            liblock_completions_next(queue, 500, &none) == LIBLOCK_TIMEOUT; /* it has looked by then */
  check(watches && liblock_release(other, lock, NULL) == LIBLOCK_OK && ends(request, LIBLOCK_OK),
        "a release of another context is seen");
  lock = take(watcher, "mine");
  watches = liblock_wait_lost_async(watcher, lock, -1, queue, NULL, NULL, &request) == LIBLOCK_OK;
  check(watches && liblock_force_release(other, "mine", 4, 0, NULL) == LIBLOCK_OK &&
            ends(request, LIBLOCK_LOST),
        "a lock that is taken away is seen");
  lock = take(watcher, "mine");
  watches = liblock_wait_lost_async(watcher, lock, -1, queue, NULL, NULL, &request) == LIBLOCK_OK;
  check(watches && liblock_cancel(watcher, request) == LIBLOCK_OK && ends(request, LIBLOCK_CANCELED),
        "a wait for a loss is canceled");
  watches = watch_released("mine", -1, &request);
  check(watches && liblock_cancel(watcher, request) == LIBLOCK_OK && ends(request, LIBLOCK_CANCELED),
        "so is one for a release");
  watches = watch_held("nobody's", LONG_MS, &request);
  check(watches && liblock_cancel(watcher, request) == LIBLOCK_OK && ends(request, LIBLOCK_CANCELED),
        "and one for a key that nobody takes");
  liblock_release(watcher, lock, NULL);
}

/* Value and token of a lock; false: another one's, or none. Frees the info. */
static bool shows(liblock_info *info, const char *value, uint64_t token) {
  size_t size = 0;
  const void *bytes = liblock_info_value(info, &size);
  const bool is_it = info && liblock_info_is_held(info) && size == strlen(value) &&
                     memcmp(bytes, value, size) == 0 && liblock_info_token(info) == token;
  liblock_info_free(info);
  return is_it;
}

/* Takes what the completion of this request brought. */
static bool brings(liblock_request request, int32_t kind, const char *value, uint64_t token) {
  liblock_completion end = {.struct_size = sizeof end};
  return liblock_completions_next(queue, LONG_MS, &end) == LIBLOCK_OK && end.kind == kind &&
         end.request == request && end.status == LIBLOCK_OK && end.votes == 1 && end.nodes == 1 &&
         shows(end.info, value, token);
}

/* What one server answers to the calls that a quorum has more answers to. */
static void check_reads(void) {
  liblock_info *info = NULL;
  liblock_request request = 0;
  liblock_result result = LIBLOCK_RESULT_INIT;
  for (int32_t mode = LIBLOCK_READ_NEAREST; mode <= LIBLOCK_READ_QUORUM; ++mode)
    check(liblock_read(watcher, "r", 1, mode, NULL, &info, NULL) == LIBLOCK_NOT_HELD && !info,
          "a read of a free key is not held, in each mode");
  check(liblock_wait_held_on(watcher, "r", 1, NULL, 20, &info, &result) == LIBLOCK_TIMEOUT && !info,
        "a key that nobody takes brings no info");
  const bool watches =
      liblock_wait_held_on_async(watcher, "r", 1, NULL, -1, queue, NULL, NULL, &request) == LIBLOCK_OK;
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.value = "leader";
  options.value_size = 6;
  options.votes = LIBLOCK_VOTES_ALL;
  options.on_nodes_mismatch = LIBLOCK_NODES_MISMATCH_FAIL;
  liblock_lock lock = 0;
  check(liblock_acquire(other, "r", 1, &options, &lock, &result) == LIBLOCK_OK && result.votes == 1 &&
            result.nodes == 1,
        "one server is all votes");
  const uint64_t token = result.token;
  check(watches && brings(request, LIBLOCK_KIND_WATCH, "leader", token),
        "who waits without a thread gets value and token");
  for (int32_t mode = LIBLOCK_READ_NEAREST; mode <= LIBLOCK_READ_QUORUM; ++mode)
    check(
        liblock_read(watcher, "r", 1, mode, NULL, &info, NULL) == LIBLOCK_OK && shows(info, "leader", token),
        "a read has value and token, in each mode");
  check(liblock_read_async(watcher, "r", 1, LIBLOCK_READ_QUORUM, NULL, queue, NULL, NULL, &request) ==
                LIBLOCK_OK &&
            brings(request, LIBLOCK_KIND_READ, "leader", token),
        "so has one without a waiting thread");
  info = NULL;
  check(liblock_wait_held_on(watcher, "r", 1, NULL, LONG_MS, &info, NULL) == LIBLOCK_OK &&
            shows(info, "leader", token),
        "who waits for a held key gets value and token at once");
  check(liblock_wait_held_on(watcher, "r", 1, NULL, LONG_MS, NULL, NULL) == LIBLOCK_OK,
        "or nothing, where they are not wanted");
  check(watch_held("r", LONG_MS, &request) && ends(request, LIBLOCK_OK), "the plain wait brings none");
  info = NULL;
  check(liblock_read(watcher, "r", 1, LIBLOCK_READ_MASTER, "redis://a", &info, &result) ==
                LIBLOCK_UNSUPPORTED &&
            !info &&
            liblock_wait_held_on(watcher, "r", 1, "redis://a", 0, &info, NULL) == LIBLOCK_UNSUPPORTED &&
            !info,
        "a node cannot be named where there is one server");
  check(liblock_quorum_status(watcher, NULL, NULL, NULL, &result) == LIBLOCK_UNSUPPORTED &&
            liblock_quorum_init(watcher, 0, NULL) == LIBLOCK_UNSUPPORTED &&
            liblock_quorum_set_nodes(watcher, NULL, 0, NULL, 0, 0, NULL) == LIBLOCK_UNSUPPORTED &&
            strstr(result.message, "quorum:"),
        "one server is no quorum");
  check(liblock_release(other, lock, NULL) == LIBLOCK_OK, "the lock is given back");
}

static void check_bad_calls(void) {
  liblock_request request = 0;
  check(liblock_wait_held_async(watcher, "", 0, 0, queue, NULL, NULL, &request) == LIBLOCK_INVALID_ARGUMENT &&
            liblock_wait_held_async(watcher, "k", 1, -2, queue, NULL, NULL, &request) ==
                LIBLOCK_INVALID_ARGUMENT &&
            liblock_wait_lost_async(NULL, 1, 0, NULL, NULL, NULL, &request) == LIBLOCK_INVALID_ARGUMENT,
        "what cannot be waited for is refused");
  check(liblock_wait_lost_async(watcher, 12345, 0, queue, NULL, NULL, &request) == LIBLOCK_OK &&
            ends(request, LIBLOCK_INVALID_HANDLE),
        "a handle of nobody ends as such");
}

int main(int count, char **words) {
  if (count != 2) return fprintf(stderr, "usage: watch URL\n"), 2;
  if (liblock_open(words[1], NULL, &watcher, NULL) != LIBLOCK_OK) return 3;
  if (liblock_open(words[1], NULL, &other, NULL) != LIBLOCK_OK) return 3;
  if (liblock_completions_open(watcher, 16, &queue, NULL) != LIBLOCK_OK) return 3;
  check_waits();
  check_reads();
  check_bad_calls();
  liblock_request request = 0;
  const bool watches = watch_held("never", -1, &request);
  liblock_close(watcher);
  check(watches && ends(request, LIBLOCK_CLOSED), "a wait without an end ends when the context is closed");
  liblock_completions_free(queue);
  liblock_context_free(watcher);
  liblock_context_free(other);
  return finish();
}
