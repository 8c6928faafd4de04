/* SPDX-License-Identifier: MIT
 * Contexts that close under everybody's hands. Two teams open the same name again and again; while a team's
 * threads acquire, wait, watch, cancel and read a completion queue, its leader closes their context, with
 * RELEASE or LEAVE, by close, close_async or free alone. All must get out with CLOSED, every request must end
 * once, and nobody may touch what is freed. What a close ends is held no longer, so tokens are compared
 * instead of plain counters.
 */
#include "stress.h"

enum { TEAMS = 2, MEMBERS = 4, KEYS = 5, REQUESTS_MAX = 1 << 20, QUEUE_SIZE = 64 };

static const char name[] = "local:closing";
static atomic_ullong newest[KEYS];
static atomic_ulong asked, ended, read_ends, queued_ends, closed_calls, closes_asked, closes_ended;
static atomic_ulong unexpected, doubles, grants;
static atomic_uchar ends[REQUESTS_MAX];
static unsigned rounds;

typedef struct team {
  pthread_barrier_t gate; /* members and leader: a round begins, a round is over */
  pthread_t members[MEMBERS], leader;
  uint64_t random;
  bool over;
  liblock_context *context;
  liblock_owner *owners[MEMBERS], *asking; /* one for each, and one for all requests */
  liblock_completions *queue;
  int64_t ttl_ms; /* LEAVE: what is left behind must end by itself */
  atomic_ulong done;
} team;

static team teams[TEAMS];

static bool allowed(liblock_status status) {
  if (status == LIBLOCK_CLOSED) atomic_fetch_add(&closed_calls, 1);
  return status == LIBLOCK_OK || status == LIBLOCK_CLOSED || status == LIBLOCK_TIMEOUT ||
         status == LIBLOCK_BUSY || status == LIBLOCK_DEADLOCK || status == LIBLOCK_CANCELED ||
         status == LIBLOCK_DEQUEUED;
}

static void check(bool fine, const char *what, liblock_status status) {
  if (fine) return;
  atomic_fetch_add(&unexpected, 1);
  fprintf(stderr, "# %s answered %s\n", what, liblock_status_name(status));
}

static void granted(uint32_t key, uint64_t token) {
  atomic_fetch_add(&grants, 1);
  if (!raise_token(&newest[key], token)) atomic_fetch_add(&doubles, 1);
}

/* A close between grant and release has given it back already; a lease may have ended. */
static void let_go(liblock_context *context, liblock_lock lock) {
  const liblock_status status = liblock_release(context, lock, NULL);
  check(allowed(status) || status == LIBLOCK_LOST || status == LIBLOCK_NOT_HELD, "release", status);
}

static void on_end(const liblock_completion *end, void *user_data) {
  check(allowed(end->status), "request", end->status);
  atomic_fetch_add(&ends[(uintptr_t)user_data], 1);
  atomic_fetch_add(&ended, 1);
}

static void on_closed(const liblock_completion *end, void *user_data) {
  (void)user_data;
  check(end->kind == LIBLOCK_KIND_CLOSE && end->status == LIBLOCK_OK, "close_async", end->status);
  atomic_fetch_add(&closes_ended, 1);
}

static liblock_status one(team *t, uint32_t key, const liblock_acquire_options *options) {
  liblock_lock lock;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_acquire(t->context, &key, sizeof key, options, &lock, &result);
  if (status != LIBLOCK_OK) return status;
  granted(key, result.token);
  let_go(t->context, lock);
  return status;
}

static liblock_status two(team *t, uint32_t a, uint32_t b, const liblock_acquire_options *options) {
  const liblock_bytes keys[2] = {{&a, sizeof a}, {&b, sizeof b}};
  liblock_lock lock;
  const liblock_status status = liblock_acquire_many(t->context, keys, 2, options, &lock, NULL);
  if (status == LIBLOCK_OK) let_go(t->context, lock);
  return status;
}

/* Nobody releases what callbacks are told of, nor what is never read: short leases do, so their owner is
 * another. */
static liblock_status ask(team *t, uint32_t key, liblock_acquire_options options, bool queued, bool cancel) {
  const unsigned long number = atomic_fetch_add(&asked, 1);
  if (number >= REQUESTS_MAX) {
    atomic_fetch_sub(&asked, 1);
    return LIBLOCK_OK;
  }
  options.completions = queued ? t->queue : NULL;
  options.ttl_ms = 1;
  liblock_request request;
  const liblock_status status = liblock_acquire_async(
      t->context, &key, sizeof key, &options, queued ? NULL : on_end, (void *)(uintptr_t)number, &request);
  if (status != LIBLOCK_OK) { /* never began: counted as ended */
    atomic_fetch_add(&ends[number], 1);
    atomic_fetch_add(&ended, 1);
    return status == LIBLOCK_LIMIT ? LIBLOCK_OK : status;
  }
  if (queued) atomic_fetch_add(&queued_ends, 1);
  if (!cancel) return status;
  const liblock_status told = liblock_cancel(t->context, request);
  return told == LIBLOCK_INVALID_HANDLE ? LIBLOCK_OK : told;
}

static void note_read(team *t, const liblock_completion *end) {
  if (end->kind != LIBLOCK_KIND_ACQUIRE) return; /* the notice of a lease that ended */
  on_end(end, end->user_data);
  atomic_fetch_add(&read_ends, 1);
  if (end->status == LIBLOCK_OK) let_go(t->context, end->lock);
}

static void read_some(team *t) {
  liblock_completion end = {.struct_size = sizeof end};
  const liblock_status status = liblock_completions_next(t->queue, 1, &end);
  check(allowed(status), "completions_next", status);
  if (status == LIBLOCK_OK) note_read(t, &end);
}

static liblock_status watch(team *t, uint32_t key, int which) {
  if (which == 0) return liblock_wait_held(t->context, &key, sizeof key, 1, NULL);
  const liblock_status status = liblock_wait_released(t->context, &key, sizeof key, -1, NULL);
  return status == LIBLOCK_NOT_HELD ? LIBLOCK_OK : status;
}

static liblock_status something(team *t, liblock_owner *own, uint64_t *random) {
  liblock_acquire_options plain, named, async;
  liblock_acquire_options_init(&plain, sizeof plain);
  plain.order = (int32_t)(next_random(random) % 4);
  plain.ttl_ms = t->ttl_ms;
  named = async = plain;
  named.owner = own;
  async.owner = t->asking;
  const uint32_t a = next_random(random) % KEYS, b = next_random(random) % KEYS;
  switch (next_random(random) % 12) {
    case 0:
      return ask(t, a, plain, false, false);
    case 1:
      return ask(t, a, async, false, true);
    case 2:
      return ask(t, a, plain, true, true);
    case 3:
      return ask(t, a, async, true, false);
    case 4:
    case 5:
      read_some(t);
      return LIBLOCK_OK;
    case 6:
      return two(t, a, b, &named);
    case 7:
      return two(t, a, b, &plain);
    case 8:
      return watch(t, a, (int)(b % 2));
    case 9:
      plain.wait_ms = 1;
      return one(t, a, &plain);
    case 10:
      return one(t, a, &named);
    default:
      return one(t, a, &plain);
  }
}

static void *member(void *argument) {
  team *t = &teams[(uintptr_t)argument % TEAMS];
  uint64_t random = (uintptr_t)argument * 4799 + 5;
  for (;;) {
    pthread_barrier_wait(&t->gate);
    if (t->over) return NULL;
    liblock_status status = LIBLOCK_OK;
    while (status != LIBLOCK_CLOSED) {
      status = something(t, t->owners[(uintptr_t)argument / TEAMS], &random);
      check(allowed(status) || status == LIBLOCK_LOST, "something", status);
      atomic_fetch_add(&t->done, 1);
    }
    pthread_barrier_wait(&t->gate);
  }
}

static void begin(team *t) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  const bool leave = next_random(&t->random) % 2 == 0;
  if (leave) options.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  t->ttl_ms = leave ? 2 : LIBLOCK_TTL_AUTO;
  check(liblock_open(name, &options, &t->context, NULL) == LIBLOCK_OK, "open", 0);
  for (int i = 0; i < MEMBERS; i++) {
    check(liblock_owner_open(t->context, "member", 6, &t->owners[i], NULL) == LIBLOCK_OK, "owner_open", 0);
  }
  check(liblock_owner_open(t->context, "asking", 6, &t->asking, NULL) == LIBLOCK_OK, "owner_open", 0);
  check(liblock_completions_open(t->context, QUEUE_SIZE, &t->queue, NULL) == LIBLOCK_OK, "completions_open",
        0);
  if (next_random(&t->random) % 4 == 0) {
    check(liblock_clear_dead(t->context, NULL, NULL, NULL) == LIBLOCK_OK, "clear_dead", 0);
  }
}

/* While the members are inside; how many calls they have made decides when. */
static void close_somehow(team *t) {
  const unsigned long calls = next_random(&t->random) % 64;
  check(reaches(&t->done, calls), "members that go on", 0);
  switch (next_random(&t->random) % 3) {
    case 0:
      atomic_fetch_add(&closes_asked, 1);
      check(liblock_close_async(t->context, on_closed, NULL) == LIBLOCK_OK, "close_async", 0);
      break;
    case 1:
      check(liblock_owner_close(t->owners[0]) == LIBLOCK_OK, "owner_close", 0);
      check(liblock_close(t->context) == LIBLOCK_OK, "close", 0);
      break;
    default:
      check(liblock_close(t->context) == LIBLOCK_OK, "close", 0);
  }
}

/* What arrived by the close is still there to be read, though not to be released. */
static void drain(team *t) {
  liblock_completion end = {.struct_size = sizeof end};
  check(liblock_completions_close(t->queue) == LIBLOCK_OK, "completions_close", 0);
  liblock_status status;
  while ((status = liblock_completions_next(t->queue, FOR_EVER_MS, &end)) == LIBLOCK_OK) note_read(t, &end);
  check(status == LIBLOCK_CLOSED, "completions_next at the end", status);
}

static void *lead(void *argument) {
  team *t = &teams[(uintptr_t)argument % TEAMS];
  for (unsigned round = 0; round < rounds; round++) {
    begin(t);
    atomic_store(&t->done, 0);
    pthread_barrier_wait(&t->gate);
    close_somehow(t);
    pthread_barrier_wait(&t->gate);
    drain(t);
    liblock_completions_free(t->queue);
    for (int i = 0; i < MEMBERS; i++) liblock_owner_free(t->owners[i]);
    liblock_owner_free(t->asking);
    liblock_context_free(t->context);
  }
  t->over = true;
  pthread_barrier_wait(&t->gate);
  return NULL;
}

static void everybody_gets_out_of_a_context_that_closes(void **state) {
  (void)state;
  rounds = scaled(150, 1500, 30000);
  for (uintptr_t i = 0; i < TEAMS; i++) {
    teams[i].random = i + 17;
    assert_int_equal(pthread_barrier_init(&teams[i].gate, NULL, MEMBERS + 1), 0);
    assert_int_equal(pthread_create(&teams[i].leader, NULL, lead, (void *)i), 0);
    for (uintptr_t k = 0; k < MEMBERS; k++) {
      assert_int_equal(pthread_create(&teams[i].members[k], NULL, member, (void *)(i + TEAMS * k)), 0);
    }
  }
  for (int i = 0; i < TEAMS; i++) {
    pthread_join(teams[i].leader, NULL);
    for (int k = 0; k < MEMBERS; k++) pthread_join(teams[i].members[k], NULL);
    pthread_barrier_destroy(&teams[i].gate);
  }
  assert_true(reaches(&ended, atomic_load(&asked)));
  assert_true(reaches(&closes_ended, atomic_load(&closes_asked)));
  printf("# %u contexts closed under %u threads: %lu grants, %lu calls said CLOSED, %lu requests, %lu read\n",
         rounds * TEAMS, TEAMS * MEMBERS, atomic_load(&grants), atomic_load(&closed_calls),
         atomic_load(&asked), atomic_load(&read_ends));
  for (unsigned long i = 0; i < atomic_load(&asked); i++) assert_int_equal(atomic_load(&ends[i]), 1);
  assert_int_equal(atomic_load(&ended), atomic_load(&asked));
  assert_int_equal(atomic_load(&read_ends), atomic_load(&queued_ends));
  assert_int_equal(atomic_load(&closes_ended), atomic_load(&closes_asked));
  assert_true(atomic_load(&closed_calls) >= (unsigned long)rounds * TEAMS * MEMBERS);
  assert_true(atomic_load(&grants) > 0);
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_int_equal(atomic_load(&doubles), 0);
}

/* ------------------------------------------------------------------------- storms of opens of one name ---
 */

enum { OPENERS = 6 };

static pthread_barrier_t together;
static atomic_ulong tables, seconds, opened_without;

/* Leaves a mark that lives exactly as long as the table: a second call on one table would find it. */
static void mark(liblock_context *context, void *user_data) {
  (void)user_data;
  liblock_lock lock;
  atomic_fetch_add(&tables, 1);
  if (liblock_try_acquire(context, "mark", 4, NULL, &lock, NULL) != LIBLOCK_OK) atomic_fetch_add(&seconds, 1);
}

static liblock_context *open_marking(void) {
  liblock_context_options options;
  liblock_context *context = NULL;
  liblock_context_options_init(&options, sizeof options);
  options.on_open = mark;
  options.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  check(liblock_open("local:storm", &options, &context, NULL) == LIBLOCK_OK, "open", 0);
  return context;
}

static void *storm(void *argument) {
  uint64_t random = (uintptr_t)argument;
  for (unsigned round = 0; round < rounds; round++) {
    pthread_barrier_wait(&together);
    liblock_context *context = open_marking();
    pthread_barrier_wait(&together); /* all are open, so one table, and its mark is there */
    int32_t locked = 0;
    if (liblock_is_locked(context, "mark", 4, &locked) != LIBLOCK_OK || !locked)
      atomic_fetch_add(&opened_without, 1);
    pthread_barrier_wait(&together);
    liblock_context_free(context);
    for (unsigned i = next_random(&random) % 4; i > 0; i--)
      liblock_context_free(open_marking()); /* as it comes */
  }
  return NULL;
}

static void a_storm_of_opens_has_on_open_run_once_for_each_table(void **state) {
  (void)state;
  rounds = scaled(200, 2000, 40000);
  crew openers;
  assert_int_equal(pthread_barrier_init(&together, NULL, OPENERS), 0);
  crew_start(&openers, OPENERS, storm);
  crew_join(&openers);
  pthread_barrier_destroy(&together);
  printf("# %lu tables\n", atomic_load(&tables));
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_int_equal(atomic_load(&seconds), 0);
  assert_int_equal(atomic_load(&opened_without), 0);
  assert_true(atomic_load(&tables) >= rounds);
}

enum { OWNERS = 2000 };

static liblock_owner *freed[OWNERS];

static void *free_owners(void *context) {
  (void)context;
  for (size_t i = 0; i < OWNERS; i++) liblock_owner_free(freed[i]);
  return NULL;
}

/* The search for a deadlock of who waits for the global lock looks at every owner of the table. */
static void owners_that_are_freed_while_their_context_closes_leave_the_table_whole(void **state) {
  (void)state;
  liblock_context *stays = NULL;
  assert_int_equal(liblock_open("local:owners that go", NULL, &stays, NULL), LIBLOCK_OK);
  liblock_acquire_options patient;
  liblock_acquire_options_init(&patient, sizeof patient);
  liblock_owner *waiting = NULL;
  assert_int_equal(liblock_owner_open(stays, "waiting", 7, &waiting, NULL), LIBLOCK_OK);
  patient.owner = waiting;
  patient.wait_ms = 20;
  liblock_lock in_the_way = 0, none = 0;
  assert_int_equal(liblock_acquire(stays, "in the way", 10, NULL, &in_the_way, NULL), LIBLOCK_OK);
  for (unsigned round = scaled(3, 20, 100); round > 0; round--) {
    liblock_context *closes = NULL;
    assert_int_equal(liblock_open("local:owners that go", NULL, &closes, NULL), LIBLOCK_OK);
    for (size_t i = 0; i < OWNERS; i++)
      assert_int_equal(liblock_owner_open(closes, "o", 1, &freed[i], NULL), LIBLOCK_OK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_owners, closes), 0);
    assert_int_equal(liblock_close(closes), LIBLOCK_OK);
    pthread_join(thread, NULL);
    liblock_context_free(closes);
    assert_int_equal(liblock_acquire_global(stays, &patient, &none, NULL), LIBLOCK_TIMEOUT);
  }
  assert_int_equal(liblock_release(stays, in_the_way, NULL), LIBLOCK_OK);
  liblock_owner_free(waiting);
  liblock_context_free(stays);
}

/* -------------------------------------------------------------------- what a close is called back behind ---
 */

enum { ENDING = 6 };

static liblock_context *holding, *ending;
static liblock_lock in_hand[ENDING];
static atomic_uint told, told_before_close;
static atomic_bool is_closing, is_called_back;

static void on_told(const liblock_completion *end, void *user_data) {
  (void)user_data;
  check(end->status == LIBLOCK_OK || end->status == LIBLOCK_CLOSED, "request", end->status);
  atomic_fetch_add(&told, 1);
}

static void on_called_back(const liblock_completion *end, void *user_data) {
  on_closed(end, user_data);
  atomic_store(&told_before_close, atomic_load(&told));
  atomic_store(&is_called_back, true);
}

static void *hand_on(void *argument) {
  for (unsigned round = 0; round < rounds; round++) {
    pthread_barrier_wait(&together);
    while (!atomic_load(&is_closing)) continue;
    for (volatile unsigned i = round % 50 * 20; i > 0;) i--;
    let_go(holding, in_hand[(uintptr_t)argument - 1]);
    pthread_barrier_wait(&together);
  }
  return NULL;
}

/* What is handed on, by another context of the table, ends on the thread that hands it on: in the moment of the close.
 */
static void open_with_requests(void) {
  assert_int_equal(liblock_open("local:ending", NULL, &ending, NULL), LIBLOCK_OK);
  atomic_store(&told, 0);
  atomic_store(&is_closing, false);
  atomic_store(&is_called_back, false);
  for (uint32_t key = 0; key < ENDING; key++) {
    liblock_request request;
    assert_int_equal(liblock_acquire(holding, &key, sizeof key, NULL, &in_hand[key], NULL), LIBLOCK_OK);
    assert_int_equal(liblock_acquire_async(ending, &key, sizeof key, NULL, on_told, NULL, &request), LIBLOCK_OK);
  }
}

static void a_close_is_called_back_behind_the_ends_of_all_requests(void **state) {
  (void)state;
  rounds = scaled(1000, 5000, 100000);
  crew handing;
  assert_int_equal(liblock_open("local:ending", NULL, &holding, NULL), LIBLOCK_OK);
  assert_int_equal(pthread_barrier_init(&together, NULL, ENDING + 1), 0);
  crew_start(&handing, ENDING, hand_on);
  unsigned early = 0;
  for (unsigned round = 0; round < rounds; round++) {
    open_with_requests();
    pthread_barrier_wait(&together);
    atomic_store(&is_closing, true);
    check(liblock_close_async(ending, on_called_back, NULL) == LIBLOCK_OK, "close_async", 0);
    while (!atomic_load(&is_called_back)) sched_yield();
    early += atomic_load(&told_before_close) != ENDING;
    pthread_barrier_wait(&together);
    liblock_context_free(ending);
  }
  crew_join(&handing);
  pthread_barrier_destroy(&together);
  liblock_context_free(holding);
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_int_equal(early, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everybody_gets_out_of_a_context_that_closes),
      cmocka_unit_test(a_close_is_called_back_behind_the_ends_of_all_requests),
      cmocka_unit_test(a_storm_of_opens_has_on_open_run_once_for_each_table),
      cmocka_unit_test(owners_that_are_freed_while_their_context_closes_leave_the_table_whole),
  };
  return cmocka_run_group_tests_name("closing", tests, NULL, NULL);
}
