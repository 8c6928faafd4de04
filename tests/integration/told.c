/* SPDX-License-Identifier: MIT
 *
 * Instrumentation of contexts on a server: what two contexts do to each other's locks is told to the one that it
 * concerns, with the fields that a local context has; and no secret is in it. Prints TAP. Usage: told URL
 */
#include <liblock/liblock.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum { LONG_MS = 20000, HEARD_MAX = 4096 };

static const char secret[] = "a value that nobody shall see";

/* What came, in order; of entries the kind is 1,000 + id. */
typedef struct heard {
  int32_t kind;
  liblock_event event;
  char key[64], owner[128];
  char fields[768];
} heard;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static heard all[HEARD_MAX];
static size_t count;
static bool secret_seen;
static liblock_context *mine, *other;
static void keep(const heard *one) {
  pthread_mutex_lock(&mutex);
  if (count < HEARD_MAX) all[count++] = *one;
  secret_seen = secret_seen || strstr(one->fields, secret) != NULL;
  pthread_mutex_unlock(&mutex);
}

static void on_event(const liblock_event *event, void *user_data) {
  (void)user_data;
  heard one = {.kind = event->kind, .event = *event};
  snprintf(one.key, sizeof one.key, "%.*s", (int)event->key.size, (const char *)event->key.data);
  snprintf(one.owner, sizeof one.owner, "%.*s", (int)event->owner.size, (const char *)event->owner.data);
  snprintf(one.fields, sizeof one.fields, "%s", event->message);
  keep(&one);
}

static void on_log(const liblock_log_entry *entry, void *user_data) {
  (void)user_data;
  heard one = {.kind = 1000 + entry->id};
  size_t used = (size_t)snprintf(one.fields, sizeof one.fields, "%s", entry->message);
  for (size_t i = 0; i < entry->field_count && used < sizeof one.fields; i++) {
    const liblock_log_field *field = &entry->fields[i];
    used += (size_t)(field->type == LIBLOCK_FIELD_TEXT
                         ? snprintf(one.fields + used, sizeof one.fields - used, " %s=%.*s", field->name,
                                    (int)field->text.size, (const char *)field->text.data)
                         : snprintf(one.fields + used, sizeof one.fields - used, " %s=%lld", field->name,
                                    (long long)field->number));
  }
  keep(&one);
}

static void forget(void) {
  pthread_mutex_lock(&mutex);
  count = 0;
  pthread_mutex_unlock(&mutex);
}

/* The first of this kind, waited for. */
static bool comes(int32_t kind, heard *found) {
  for (int i = 0; i < LONG_MS / 5; i++) {
    pthread_mutex_lock(&mutex);
    for (size_t at = 0; at < count; at++) {
      if (all[at].kind != kind) continue;
      *found = all[at];
      pthread_mutex_unlock(&mutex);
      return true;
    }
    pthread_mutex_unlock(&mutex);
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
  return false;
}

static bool is_soon_queued(const char *key) {
  int32_t queued = 0;
  for (int i = 0; i < LONG_MS / 5 && !queued; i++) {
    if (liblock_is_queued(other, key, strlen(key), &queued) != LIBLOCK_OK) return false;
    if (!queued) pause_ms(5);
  }
  return queued != 0;
}

static size_t count_of(int32_t kind) {
  size_t found = 0;
  pthread_mutex_lock(&mutex);
  for (size_t at = 0; at < count; at++) found += all[at].kind == kind;
  pthread_mutex_unlock(&mutex);
  return found;
}

static liblock_acquire_options tagged(uint64_t tag) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.event_tag = tag;
  options.value = secret;
  options.value_size = strlen(secret);
  return options;
}

/* Requests of this context, whose ends nobody reads before drain(). */
static liblock_completions *ends;

static bool ask(const char *key, liblock_acquire_options *options, liblock_request *request) {
  if (ends == NULL && liblock_completions_open(mine, 8, &ends, NULL) != LIBLOCK_OK) return false;
  options->completions = ends;
  return liblock_acquire_async(mine, key, strlen(key), options, NULL, NULL, request) == LIBLOCK_OK;
}

static void drain(void) {
  liblock_completion end = {.struct_size = sizeof end};
  while (liblock_completions_next(ends, 100, &end) == LIBLOCK_OK) continue;
  liblock_completions_free(ends);
  ends = NULL;
}

/* What mine measures, and whether it tells of attempts. */
static bool set_instruments(int32_t log_attempts) {
  liblock_instrument_options instruments;
  liblock_instrument_options_init(&instruments, sizeof instruments);
  instruments.histograms = 1;
  instruments.log_attempts = log_attempts;
  return liblock_set_instruments(mine, &instruments) == LIBLOCK_OK;
}

static liblock_lock take(liblock_context *context, const char *key, const liblock_acquire_options *options) {
  liblock_lock lock = 0;
  return liblock_acquire(context, key, strlen(key), options, &lock, NULL) == LIBLOCK_OK ? lock : 0;
}

static void check_limits(void) {
  forget();
  heard one;
  const liblock_lock lock = take(other, "limits", NULL);
  liblock_acquire_options options = tagged(1);
  options.wait_ms = 0;
  check(take(mine, "limits", &options) == 0 && comes(LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, &one) &&
            one.event.status == LIBLOCK_BUSY && one.event.tag == 1 && strcmp(one.key, "limits") == 0,
        "a try at a held key is told as dequeued on limit");
  forget();
  options.wait_ms = 60;
  check(take(mine, "limits", &options) == 0 && comes(LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, &one) &&
            one.event.status == LIBLOCK_TIMEOUT && one.event.elapsed_us >= 60000,
        "a wait that times out is told with how long it took");
  check(comes(1000 + LIBLOCK_ENTRY_DEQUEUED_ON_LIMIT, &one) && strstr(one.fields, " status=TIMEOUT") != NULL,
        "and written to the log");
  check(liblock_release(other, lock, NULL) == LIBLOCK_OK, "the key is given back");
}

static void check_pair(void) {
  forget();
  heard got, gone, entry;
  liblock_owner *owner = NULL;
  char id[128] = "";
  check(liblock_owner_open(mine, "worker", 6, &owner, NULL) == LIBLOCK_OK &&
            liblock_owner_id(mine, owner, id, sizeof id, NULL) == LIBLOCK_OK,
        "an owner is opened");
  liblock_acquire_options options = tagged(77);
  options.owner = owner;
  options.ttl_ms = 30000;
  options.queue_ttl_ms = 2500;
  const liblock_lock lock = take(mine, "pair", &options);
  check(comes(LIBLOCK_EVENT_OBTAINED, &got) && got.event.lock == lock && got.event.tag == 77 &&
            got.event.ttl_ms == 30000 && got.event.acquire_us > 0 && got.event.token > 0 &&
            strcmp(got.key, "pair") == 0 && strcmp(got.owner, id) == 0,
        "a grant is told with key, owner, tag, token and times");
  check(take(mine, "pair", &options) != 0 && comes(LIBLOCK_EVENT_REENTERED, &gone) &&
            gone.event.hold_count == 2,
        "a reentry is told as such");
  check(liblock_extend(mine, lock, 40000, LIBLOCK_EXTEND_SET, NULL) == LIBLOCK_OK &&
            comes(LIBLOCK_EVENT_EXTENDED, &gone) && gone.event.ttl_ms == 40000 && gone.event.elapsed_us > 0,
        "an extension is told with its round trip");
  usleep(20000);
  check(liblock_release(mine, lock, NULL) == LIBLOCK_OK && comes(LIBLOCK_EVENT_HOLD_AND_RELEASE, &gone) &&
            gone.event.hold_us >= 20000 && gone.event.acquire_us == got.event.acquire_us &&
            gone.event.obtained_at_us == got.event.obtained_at_us && gone.event.tag == 77,
        "a release is told with how long the lock was held");
  check(liblock_owner_close(owner) == LIBLOCK_OK && comes(LIBLOCK_EVENT_OWNER_CLOSED, &gone) &&
            gone.event.count == 1 && count_of(LIBLOCK_EVENT_HOLD_AND_RELEASE) == 2,
        "an owner that is closed gives back the rest");
  check(comes(1000 + LIBLOCK_ENTRY_OBTAINED, &entry) && strstr(entry.fields, " key=pair ") != NULL &&
            strstr(entry.fields, " queue_ttl_ms=2500 ") != NULL && strstr(entry.fields, id) != NULL &&
            strstr(entry.fields, " acquire_us=") != NULL,
        "the log has the fields of the grant");
  check(count_of(1000 + LIBLOCK_ENTRY_ACQUIRE_STARTED) == 2 && count_of(1000 + LIBLOCK_ENTRY_RELEASED) == 2,
        "and an entry for each beginning and end");
  liblock_owner_free(owner);
}

static void check_series(void) {
  forget();
  heard one;
  const liblock_bytes keys[] = {{"b", 1}, {"a", 1}};
  liblock_lock lock = 0;
  const bool taken = liblock_acquire_many(mine, keys, 2, NULL, &lock, NULL) == LIBLOCK_OK;
  check(taken && comes(LIBLOCK_EVENT_SERIES_OBTAINED, &one) && one.event.key_count == 2 &&
            strcmp(one.key, "b") == 0,
        "a lock on several keys is a series");
  check(liblock_release(mine, lock, NULL) == LIBLOCK_OK && comes(LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE, &one),
        "and so is its end");
}

/* Sorted, the busy key is neither the first nor the last. */
static void check_series_in_the_way(void) {
  forget();
  heard one;
  const liblock_bytes keys[] = {{"c", 1}, {"a", 1}, {"b", 1}};
  liblock_lock lock = take(other, "b", NULL), none = 0;
  liblock_acquire_options options = tagged(3);
  options.wait_ms = 0;
  check(liblock_acquire_many(mine, keys, 3, &options, &none, NULL) == LIBLOCK_BUSY &&
            comes(LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, &one) && strcmp(one.key, "b") == 0,
        "a try of several keys names the busy one");
  forget();
  options.wait_ms = 60;
  check(liblock_acquire_many(mine, keys, 3, &options, &none, NULL) == LIBLOCK_TIMEOUT &&
            comes(LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, &one) && strcmp(one.key, "b") == 0,
        "and so does a wait that times out");
  check(comes(1000 + LIBLOCK_ENTRY_DEQUEUED_ON_LIMIT, &one) && strstr(one.fields, " key=b ") != NULL,
        "also in the log");
  liblock_release(other, lock, NULL);
}

static void check_given_back(void) {
  forget();
  heard one;
  liblock_owner *owner = NULL;
  liblock_owner_open(mine, "worker", 6, &owner, NULL);
  liblock_acquire_options options = tagged(4);
  options.owner = owner;
  options.ttl_ms = 30000;
  const liblock_lock outer = take(mine, "again", &options);
  options.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  options.ttl_ms = 90000;
  const liblock_lock inner = take(mine, "again", &options);
  check(comes(LIBLOCK_EVENT_EXTENDED, &one) && one.event.ttl_ms == 90000, "a lease set anew is told");
  forget();
  check(liblock_release(mine, inner, NULL) == LIBLOCK_OK && comes(LIBLOCK_EVENT_EXTENDED, &one) &&
            one.event.ttl_ms <= 30000 && one.event.ttl_ms > 20000 && one.event.lock == inner,
        "and what it is set back to");
  check(liblock_release(mine, outer, NULL) == LIBLOCK_OK, "the outer lock is still held");
  liblock_owner_free(owner);
  check(comes(LIBLOCK_EVENT_OWNER_CLOSED, &one), "its owner is closed behind everything else");
}

static void check_losses(void) {
  forget();
  heard one;
  liblock_acquire_options options = tagged(5);
  options.ttl_ms = 100;
  const liblock_lock brief = take(mine, "brief", &options);
  check(comes(LIBLOCK_EVENT_LOST, &one) && one.event.lock == brief && one.event.tag == 5 &&
            one.event.acquire_us + one.event.hold_us >= 90000,
        "a lease that ends is told as lost");
  check(liblock_release(mine, brief, NULL) == LIBLOCK_LOST && count_of(LIBLOCK_EVENT_HOLD_AND_RELEASE) == 0,
        "and nothing of its late release");
  forget();
  const liblock_lock held = take(mine, "taken", NULL);
  check(liblock_force_release(other, "taken", 5, 0, NULL) == LIBLOCK_OK && comes(LIBLOCK_EVENT_LOST, &one) &&
            one.event.lock == held && count_of(LIBLOCK_EVENT_FORCE_RELEASED) == 0,
        "a lock that another context takes away is told as lost");
  forget();
  check(take(other, "theirs", NULL) != 0 && liblock_force_release(mine, "theirs", 6, 0, NULL) == LIBLOCK_OK &&
            comes(LIBLOCK_EVENT_FORCE_RELEASED, &one) && strcmp(one.key, "theirs") == 0 &&
            one.event.elapsed_us > 0,
        "who takes one away is told that he did");
  forget();
  take(mine, "one", NULL);
  take(mine, "two", NULL);
  liblock_report cleared = {.struct_size = sizeof cleared};
  check(liblock_clear(mine, NULL, &cleared, NULL) == LIBLOCK_OK && comes(LIBLOCK_EVENT_CLEARED, &one) &&
            one.event.count == cleared.locks && cleared.locks >= 2 && one.event.elapsed_us > 0,
        "a clear is told with its count");
  forget();
  char instance[256] = "";
  check(take(mine, "own", NULL) != 0 &&
            liblock_instance_id(mine, instance, sizeof instance, NULL) == LIBLOCK_OK &&
            liblock_clear_instance(mine, instance, strlen(instance), NULL, NULL, NULL) == LIBLOCK_OK &&
            comes(LIBLOCK_EVENT_INSTANCE_CLEARED, &one) && one.event.count >= 1,
        "and so is one of an instance");
}

static void check_requests(void) {
  forget();
  heard one;
  const liblock_lock lock = take(other, "queued", NULL);
  liblock_acquire_options options = tagged(9);
  liblock_request request = 0;
  bool asked = ask("queued", &options, &request);
  usleep(50000);
  check(asked && liblock_cancel(mine, request) == LIBLOCK_OK && comes(LIBLOCK_EVENT_FAILED, &one) &&
            one.event.status == LIBLOCK_CANCELED && one.event.tag == 9,
        "a canceled request is told as failed");
  forget();
  asked = ask("queued", &options, &request);
  check(asked && is_soon_queued("queued") &&
            liblock_force_release(other, "queued", 6, LIBLOCK_DROP_QUEUE, NULL) == LIBLOCK_OK &&
            comes(LIBLOCK_EVENT_DEQUEUED, &one) && one.event.status == LIBLOCK_DEQUEUED,
        "one that an administrator threw out is told as dequeued");
  liblock_release(other, lock, NULL);
  forget();
  asked = ask("queued", &options, &request);
  check(asked && comes(LIBLOCK_EVENT_OBTAINED, &one) && one.event.tag == 9 &&
            liblock_release(mine, one.event.lock, NULL) == LIBLOCK_OK,
        "one that is granted is told as obtained");
  drain();
}

static void check_measurements(void) {
  static char text[32768];
  size_t needed = 0;
  liblock_histogram histogram;
  liblock_histogram_init(&histogram, sizeof histogram);
  check(liblock_histogram_get(mine, LIBLOCK_HISTOGRAM_ACQUIRE, &histogram) == LIBLOCK_OK &&
            histogram.count >= 10 && histogram.sum_us > 0,
        "acquires are measured");
  check(liblock_stats_prometheus(mine, text, sizeof text, &needed) == LIBLOCK_OK && needed < sizeof text &&
            strstr(text, "liblock_acquired_total{instance_id=\"") != NULL &&
            strstr(text, "liblock_hold_seconds_bucket{instance_id=\"") != NULL,
        "statistics and histograms are text for Prometheus");
}

static void check_queue(void) {
  check(set_instruments(1), "attempts are told");
  forget();
  heard one;
  const liblock_lock lock = take(other, "line", NULL);
  liblock_acquire_options options = tagged(11);
  liblock_request request = 0;
  options.queue_ttl_ms = 200;
  const bool asked = ask("line", &options, &request);
  char instance[128], held_by[160];
  liblock_instance_id(other, instance, sizeof instance, NULL);
  snprintf(held_by, sizeof held_by, " held_by=%s", instance);
  check(asked && comes(1000 + LIBLOCK_ENTRY_ATTEMPT_QUEUED, &one) && strstr(one.fields, " key=line") != NULL,
        "an attempt that queues is told");
  check(comes(1000 + LIBLOCK_ENTRY_ATTEMPT_STILL_HELD, &one) && strstr(one.fields, held_by) != NULL,
        "and who holds the key");
  check(comes(LIBLOCK_EVENT_REQUEUED, &one) && one.event.tag == 11 && one.event.queue_length == 1,
        "after its time in the queue it is told as requeued");
  check(
      comes(1000 + LIBLOCK_ENTRY_ATTEMPT_QUEUE_TTL_REACHED, &one) &&
          count_of(1000 + LIBLOCK_ENTRY_ATTEMPT_QUEUE_TTL_REACHED) == count_of(1000 + LIBLOCK_ENTRY_REQUEUED),
      "and its attempt says why, once");
  check(liblock_release(other, lock, NULL) == LIBLOCK_OK && comes(LIBLOCK_EVENT_HANDED_OFF, &one) &&
            one.event.token != 0 && strcmp(one.key, "line") == 0,
        "a lock that is handed over is told as handed off");
  check(comes(LIBLOCK_EVENT_OBTAINED, &one) && liblock_release(mine, one.event.lock, NULL) == LIBLOCK_OK,
        "and as obtained");
  drain();
}

static void check_try(void) {
  forget();
  heard one;
  const liblock_lock lock = take(other, "tried", NULL);
  liblock_acquire_options options = tagged(13);
  options.wait_ms = 0;
  check(take(mine, "tried", &options) == 0 && comes(1000 + LIBLOCK_ENTRY_ATTEMPT_STILL_HELD, &one) &&
            strstr(one.fields, " held_by=") != NULL && comes(1000 + LIBLOCK_ENTRY_ATTEMPT_READY, &one) &&
            count_of(1000 + LIBLOCK_ENTRY_ATTEMPT_QUEUED) == 0,
        "one attempt that finds the key held says who holds it");
  liblock_release(other, lock, NULL);
  check(set_instruments(0), "attempts are told no more");
}

static void check_sampling(void) {
  liblock_instrument_options instruments;
  liblock_instrument_options_init(&instruments, sizeof instruments);
  instruments.histograms = 1;
  instruments.events_percent = instruments.log_percent = 0;
  liblock_set_instruments(mine, &instruments);
  forget();
  heard one;
  liblock_acquire_options options = tagged(16);
  liblock_release(mine, take(mine, "sampled", &options), NULL);
  options.event_tag = 17;
  options.instrument = LIBLOCK_INSTRUMENT_EVENTS | LIBLOCK_INSTRUMENT_LOG;
  liblock_release(mine, take(mine, "sampled", &options), NULL);
  check(comes(LIBLOCK_EVENT_HOLD_AND_RELEASE, &one) && one.event.tag == 17 &&
            count_of(LIBLOCK_EVENT_OBTAINED) == 1 && count_of(1000 + LIBLOCK_ENTRY_OBTAINED) == 1,
        "of no percent only the sample that is forced is told");
  set_instruments(0);
}

static void check_deadlock(void) {
  forget();
  heard one;
  liblock_owner *left = NULL, *right = NULL;
  liblock_owner_open(mine, "left", 4, &left, NULL);
  liblock_owner_open(mine, "right", 5, &right, NULL);
  liblock_acquire_options of_left = tagged(14), of_right = tagged(15);
  of_left.owner = left;
  of_right.owner = right;
  liblock_request request;
  const bool wait = take(mine, "x", &of_left) && take(mine, "y", &of_right) && ask("y", &of_left, &request) &&
                    ask("x", &of_right, &request);
  check(wait && comes(LIBLOCK_EVENT_DEADLOCK_FOUND, &one) && one.event.count == 2,
        "a circle of owners is told with their number");
  liblock_owner_close(left);
  liblock_owner_free(left);
  liblock_owner_free(right);
  check(comes(LIBLOCK_EVENT_OWNER_CLOSED, &one), "an owner that is closed twice");
  drain();
  check(count_of(LIBLOCK_EVENT_OWNER_CLOSED) == 2, "is told as closed once");
}

static void check_adopted(void) {
  forget();
  heard one;
  char secret_bytes[2048];
  size_t needed = 0;
  const liblock_lock lock = take(mine, "passed", NULL);
  check(comes(LIBLOCK_EVENT_OBTAINED, &one) && /* else it might come behind the next forget() */
            liblock_export(mine, lock, secret_bytes, sizeof secret_bytes, &needed) == LIBLOCK_OK,
        "a lock is exported");
  const liblock_acquire_options options = tagged(6);
  liblock_lock adopted = 0;
  forget();
  check(liblock_adopt(mine, secret_bytes, needed, &options, &adopted, NULL) == LIBLOCK_OK &&
            comes(LIBLOCK_EVENT_OBTAINED, &one) && one.event.lock == adopted && one.event.tag == 6,
        "one that is adopted is told as obtained");
  check(liblock_release(mine, adopted, NULL) == LIBLOCK_OK && comes(LIBLOCK_EVENT_HOLD_AND_RELEASE, &one) &&
            count_of(LIBLOCK_EVENT_HOLD_AND_RELEASE) == 1,
        "the exported handle has no end, the adopted one has");
}

static void on_closed(const liblock_completion *completion, void *user_data) {
  (void)completion;
  const heard one = {.kind = *(const int32_t *)user_data};
  keep(&one);
}

static void check_close(void) {
  static int32_t first = -1, second = -2;
  forget();
  heard one;
  take(mine, "left", NULL);
  check(liblock_close_async(mine, on_closed, &first) == LIBLOCK_OK &&
            liblock_close_async(mine, on_closed, &second) == LIBLOCK_OK && comes(first, &one) && comes(second, &one),
        "the context is closed, twice at once");
  usleep(50000);
  pthread_mutex_lock(&mutex);
  const bool are_last = count > 1 && all[count - 2].kind == first && all[count - 1].kind == second;
  pthread_mutex_unlock(&mutex);
  check(are_last && count_of(LIBLOCK_EVENT_HOLD_AND_RELEASE) == 1,
        "what it gave back is told before its last callbacks, and nothing after them");
}

int main(int argument_count, char **words) {
  if (argument_count != 2) return fprintf(stderr, "usage: told URL\n"), 2;
  if (liblock_open(words[1], NULL, &mine, NULL) != LIBLOCK_OK) return 3;
  if (liblock_open(words[1], NULL, &other, NULL) != LIBLOCK_OK) return 3;
  if (!set_instruments(0)) return 3;
  if (liblock_set_events(mine, ~UINT64_C(0), on_event, NULL) != LIBLOCK_OK) return 3;
  if (liblock_set_log(mine, LIBLOCK_LOG_DEBUG, on_log, NULL) != LIBLOCK_OK) return 3;
  heard one;
  const bool there = liblock_ping(mine, NULL) == LIBLOCK_OK;
  check(there && comes(LIBLOCK_EVENT_CONNECTED, &one) && comes(1000 + LIBLOCK_ENTRY_SERVER, &one) &&
            strstr(one.fields, " event=CONNECTED") != NULL,
        "the server is told about in events and in the log");
  check_limits();
  check_pair();
  check_series();
  check_series_in_the_way();
  check_given_back();
  check_losses();
  check_requests();
  check_queue();
  check_try();
  check_sampling();
  check_deadlock();
  check_adopted();
  check_measurements();
  check_close();
  check(!secret_seen, "no value was in anything");
  liblock_context_free(mine);
  liblock_context_free(other);
  return finish();
}
