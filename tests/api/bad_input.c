/* SPDX-License-Identifier: MIT
 *
 * The bad-input table: each row of the three row files is a test of its own, which makes one bad call in a
 * context where a lock is held and a request waits, asserts the exact status, and then that nothing whatever
 * has changed. With a url the contexts are on that server, or over that quorum, which count that they are asked nothing
 * but what only they can know.
 */
#include "bad_input.h"

#include <stdlib.h>
#include <string.h>

#include "server.h"

#define ROW(name, expected, ...)                     \
  static liblock_status row_##name(environment *e) { \
    (void)e;                                         \
    return __VA_ARGS__;                              \
  }
#include "bad_input_more_rows.h"
#include "bad_input_quorum_rows.h"
#include "bad_input_rows.h"
#undef ROW

struct row {
  const char *name;
  liblock_status expected;
  liblock_status (*call)(environment *e);
};

static struct row rows[] = {
#define ROW(name, expected, ...) {#name, LIBLOCK_##expected, row_##name},
#include "bad_input_more_rows.h"
#include "bad_input_quorum_rows.h"
#include "bad_input_rows.h"
#undef ROW
};

/* ------------------------------------------------------------------------------------------ on servers --- */

enum { SERVERS_MAX = 9, PATIENCE_MS = 5000, QUIET_TRIES = 20, WINDOWS = 3 };

/* Those that are counted; none: the contexts are local. */
static struct {
  redisContext *connection;
  long long own; /* how often it was asked here what it has counted */
} servers[SERVERS_MAX];
static const char *url = "local:";

static bool is_local(void) { return servers[0].connection == NULL; }

static void connect_to_all(void) {
  const char *at = strncmp(url, "quorum:", 7) == 0 ? url + 7 : url;
  for (size_t n = 0; at != NULL && n < SERVERS_MAX; n++) {
    servers[n].connection = connect_to(at);
    if (servers[n].connection == NULL || servers[n].connection->err) {
      fprintf(stderr, "bad_input: no server at %s\n", at);
      exit(2);
    }
    at = strchr(at, ',');
    if (at != NULL) at++;
  }
}

static long long commands(void) {
  long long sum = 0;
  for (size_t n = 0; n < SERVERS_MAX && servers[n].connection != NULL; n++) {
    redisReply *info = redisCommand(servers[n].connection, "INFO stats");
    assert_non_null(info);
    const char *at = strstr(info->str, "total_commands_processed:");
    assert_non_null(at);
    sum += strtoll(strchr(at, ':') + 1, NULL, 10) - servers[n].own++;
    freeReplyObject(info);
  }
  return sum;
}

/* What servers were asked since the last time, a ping included, which is sent behind whatever is to be. The last nodes
 * of a quorum hear of it when it has ended. */
static long long asked(environment *e) {
  static long long before;
  if (is_local()) return 0;
  assert_ok(liblock_ping(e->context, NULL));
  long long now = commands();
  for (long long last = -1; last != now;) {
    last = now;
    now = commands();
  }
  const long long more = now - before;
  before = now;
  return more;
}

/* What only a server can know. */
static bool is_question(const struct row *row) {
  return strstr(row->name, "_of_a_free_key") != NULL || strstr(row->name, "_with_another_value") != NULL;
}

static bool is_for_local_contexts(const struct row *row) {
  return row->expected == LIBLOCK_UNSUPPORTED && strstr(row->name, "local_context") != NULL;
}

/* ----------------------------------------------------------------------------------------------- a row --- */

static liblock_context *open_here(int round) {
  char prefix[32]; /* what another row left waiting is not in the way */
  liblock_context_options options = context_options();
  if (!is_local()) {
    snprintf(prefix, sizeof prefix, "bad:%d:", round);
    options.prefix = prefix;
    options.prefix_size = strlen(prefix);
    options.connect_timeout_ms = options.command_timeout_ms = PATIENCE_MS;
  }
  return open_local(url, &options);
}

static environment *set_up(void) {
  static int round;
  environment *e = calloc(1, sizeof *e);
  assert_non_null(e);
  e->url = url;
  e->context = open_here(++round);
  e->closed = open_here(round);
  assert_ok(liblock_close(e->closed));
  e->owner = open_owner(e->context, "owner");
  e->closed_owner = open_owner(e->context, "closed");
  assert_ok(liblock_owner_close(e->closed_owner));
  assert_ok(liblock_completions_open(e->context, 4, &e->queue, NULL));
  assert_ok(liblock_completions_open(e->context, 4, &e->closed_queue, NULL));
  assert_ok(liblock_completions_close(e->closed_queue));
  e->stranger = open_here(round);
  e->strangers_owner = open_owner(e->stranger, "stranger");
  assert_ok(liblock_completions_open(e->stranger, 4, &e->strangers_queue, NULL));
  e->ends = recorder_new(e->context, false);
  e->released = take(e->context, "released");
  assert_ok(liblock_release(e->context, e->released, NULL));
  const liblock_acquire_options mine = owned_by(e->owner);
  e->held = take_with(e->context, "held", &mine);
  e->pending = request_key(e->context, e->ends, 1, "held", NULL);
  assert_ok(liblock_inspect(e->context, KEY("held"), &e->held_info, NULL));
  assert_ok(liblock_list_locks(e->context, NULL, &e->open_cursor, NULL));
  e->lock = UNTOUCHED;
  e->request = UNTOUCHED;
  e->completion.struct_size = sizeof e->completion;
  liblock_stats_init(&e->stats, sizeof e->stats);
  for (size_t i = 0; i < COUNT_OF(e->keys); i++) e->keys[i] = (liblock_bytes){e->large + i, 2};
  for (size_t i = 0; i < sizeof e->large; i++) e->large[i] = (char)(i * 31 >> 3);
  for (size_t i = 0; i < COUNT_OF(e->pairs); i++) e->pairs[i] = (liblock_metadata){BYTES("n"), BYTES("v")};
  return e;
}

static void assert_nothing_was_made(const environment *e) {
  assert_null(e->new_context);
  assert_null(e->new_owner);
  assert_null(e->new_queue);
  assert_null(e->info);
  assert_null(e->cursor);
  assert_true(e->lock == 0 || e->lock == UNTOUCHED);
  assert_true(e->request == 0 || e->request == UNTOUCHED);
}

/* The held lock is held, the pending request waits, and goes on when the key is released. */
static void assert_everything_still_works(environment *e) {
  assert_ok(liblock_is_held(e->context, e->held));
  assert_int_equal(recorder_count(e->ends), 0);
  assert_ok(probe(e->context, "k"));
  assert_ok(liblock_release(e->context, e->held, NULL));
  assert_true(recorder_await(e->ends, 1));
  assert_ok(recorder_at(e->ends, 0).completion.status);
  assert_int_equal(recorder_count(e->ends), 1);
}

static void tear_down(environment *e) {
  liblock_info_free(e->held_info);
  liblock_cursor_free(e->open_cursor);
  liblock_completions_free(e->queue);
  liblock_completions_free(e->closed_queue);
  liblock_owner_free(e->owner);
  liblock_owner_free(e->closed_owner);
  liblock_completions_free(e->strangers_queue);
  liblock_owner_free(e->strangers_owner);
  end_context(e->stranger);
  end_context(e->context);
  liblock_context_free(e->closed);
  recorder_free(e->ends);
  free(e);
}

static void make_the_call(const struct row *row, environment *e) {
  expect_status(row->expected, row->call(e), row->name, __FILE__, __LINE__);
}

static void changes_nothing(const struct row *row, environment *e) {
  const liblock_stats before = stats_of(e->context);
  make_the_call(row, e);
  const liblock_stats after = stats_of(e->context);
  assert_memory_equal(&before, &after, sizeof before);
}

/* A context tells its servers of itself now and then: where two pings before do not cost the same, a try says nothing.
 * What is sent with the call, or a little later, is too much in each try. */
static bool asks_nothing(const struct row *row, environment *e, char *why, size_t size) {
  asked(e);
  const long long usual = asked(e), again = asked(e);
  const liblock_stats before = stats_of(e->context);
  make_the_call(row, e);
  const liblock_stats after = stats_of(e->context);
  long long then = 0;
  for (int n = 0; n < WINDOWS; n++) then += asked(e);
  const bool same = memcmp(&before, &after, sizeof before) == 0;
  snprintf(why, size, "%d pings cost %lld, two before %lld and %lld; statistics are %s", WINDOWS, then, usual, again,
           same ? "the same" : "others");
  return same && usual == again && then == WINDOWS * usual;
}

static void check_row(void **state) {
  const struct row *row = *state;
  char why[160] = "";
  bool is_quiet = false;
  for (int tries = 0; !is_quiet && tries < QUIET_TRIES; tries++) {
    environment *e = set_up();
    if (is_local()) {
      changes_nothing(row, e);
      is_quiet = true;
    } else if (is_question(row)) {
      make_the_call(row, e);
      is_quiet = true;
    } else {
      is_quiet = asks_nothing(row, e, why, sizeof why);
    }
    assert_nothing_was_made(e);
    assert_everything_still_works(e);
    tear_down(e);
  }
  if (!is_quiet) fail_msg("it is not quiet in any of %d tries: %s", QUIET_TRIES, why);
}

int main(int count, char **words) {
  if (count > 1) {
    url = words[1];
    connect_to_all();
  }
  static struct CMUnitTest tests[COUNT_OF(rows)]; /* one without a name is none */
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    if (is_local() || !is_for_local_contexts(&rows[i]))
      tests[i] = (struct CMUnitTest){rows[i].name, check_row, NULL, NULL, &rows[i]};
  return cmocka_run_group_tests_name("bad input", tests, NULL, NULL);
}
