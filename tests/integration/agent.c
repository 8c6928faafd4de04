/* SPDX-License-Identifier: MIT
 *
 * A process that locks as it is told, for tests whose servers and networks are bent by a script: reads requests from
 * standard input (agent_request.h), performs each on a thread of its own through the public API, and writes the answers
 * as they come: NUMBER STATUS NAME=VALUE…
 *
 * Contexts and owners are named by the requests that open them; locks are numbers as the library gave them. Ends at the
 * end of its input.
 */
#include <liblock/liblock.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_request.h"
#include "../support/forking.h"

enum { CONTEXTS_MAX = 2048, KEYS_MAX = 16, CHILD_LOCKS = 20 };

struct context {
  char name[32];
  liblock_context *context;
  liblock_owner *owner;
  atomic_int lost, events[32];
};

static struct context contexts[CONTEXTS_MAX];
static atomic_int context_count;
static pthread_mutex_t mutex =
    PTHREAD_MUTEX_INITIALIZER; /* of the output, of contexts being added, and of `active` */
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static int active; /* requests that are being performed */

static void answer(const struct request *request, liblock_status status, const char *format, ...) {
  char text[8192];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  for (char *at = text; *at; at++) {
    if (*at == '\n') *at = ' ';
  }
  pthread_mutex_lock(&mutex);
  printf("%s %s %s\n", request->number, liblock_status_name(status), text);
  fflush(stdout);
  pthread_mutex_unlock(&mutex);
}

static struct context *find(const char *name) {
  for (int i = 0; i < context_count; i++) {
    if (strcmp(contexts[i].name, name) == 0) return &contexts[i];
  }
  return NULL;
}

static void count_event(const liblock_event *event, void *user_data) {
  struct context *context = user_data;
  if (event->kind < 32) context->events[event->kind]++;
}

static void count_lost(const liblock_completion *completion, void *user_data) {
  (void)completion, ((struct context *)user_data)->lost++;
}

static void perform_open(const struct request *request) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  const struct word *prefix = option(request, "prefix");
  if (prefix) options.prefix = strdup(prefix->text), options.prefix_size = prefix->size;
  options.connect_timeout_ms = number_option(request, "connect_timeout_ms", LIBLOCK_DEFAULT);
  options.command_timeout_ms = number_option(request, "command_timeout_ms", LIBLOCK_DEFAULT);
  options.alive_ms = number_option(request, "alive_ms", LIBLOCK_DEFAULT);
  options.foreign_gap_ms = number_option(request, "foreign_gap_ms", LIBLOCK_DEFAULT);
  options.zombie_interval_ms = number_option(request, "zombie_interval_ms", LIBLOCK_DEFAULT);
  options.max_ttl_ms = number_option(request, "max_ttl_ms", LIBLOCK_DEFAULT);
  options.votes = (int32_t)number_option(request, "votes", 0);
  options.restart_policy = (int32_t)number_option(request, "restart_policy", 0);
  options.on_close = (int32_t)number_option(request, "on_close", 0);
  options.tls_insecure = (int32_t)number_option(request, "tls_insecure", 0);
  const char *texts[7] = {"username",     "password",    "tls_ca_file",    "tls_certificate_file",
                          "tls_key_file", "client_name", "tls_server_name"};
  const char **places[7] = {
      &options.username,     &options.password,    &options.tls_ca_file,    &options.tls_certificate_file,
      &options.tls_key_file, &options.client_name, &options.tls_server_name};
  for (int i = 0; i < 7; i++)
    *places[i] = text_option(request, texts[i]) ? strdup(text_option(request, texts[i])) : NULL;
  pthread_mutex_lock(&mutex);
  struct context *context = &contexts[context_count];
  snprintf(context->name, sizeof context->name, "%s", request->words[1].text);
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_open(request->words[2].text, &options, &context->context, &result);
  if (status == LIBLOCK_OK) {
    context_count++;
    liblock_set_events(context->context, ~UINT64_C(0), count_event, context);
  }
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 7; i++) free((void *)(uintptr_t)*places[i]);
  free((void *)(uintptr_t)options.prefix);
  answer(request, status, "message=%s", result.message);
}

static void tell(const struct request *request, liblock_status status, liblock_lock lock,
                 const liblock_result *result) {
  answer(request, status,
         "lock=%llu token=%llu remaining_ms=%lld waited_ms=%lld attempts=%u flags=%u hold_count=%u "
         "replicas=%u votes=%u nodes=%u message=%s",
         (unsigned long long)lock, (unsigned long long)result->token, (long long)result->remaining_ms,
         (long long)result->waited_ms, result->attempts, result->flags, result->hold_count, result->replicas,
         result->votes, result->nodes, result->message);
  liblock_info_free(result->info);
}

static void fill_options(const struct request *request, struct context *context,
                         liblock_acquire_options *options) {
  liblock_acquire_options_init(options, sizeof *options);
  options->ttl_ms = number_option(request, "ttl_ms", LIBLOCK_DEFAULT);
  options->wait_ms = number_option(request, "wait_ms", LIBLOCK_DEFAULT);
  options->retries = number_option(request, "retries", LIBLOCK_DEFAULT);
  options->retry_interval_ms = number_option(request, "retry_interval_ms", LIBLOCK_DEFAULT);
  options->busy_info = (int32_t)number_option(request, "busy_info", 0);
  options->renew = (int32_t)number_option(request, "renew", 0);
  options->max_hold_ms = number_option(request, "max_hold_ms", LIBLOCK_DEFAULT);
  options->min_remaining_ms = number_option(request, "min_remaining_ms", LIBLOCK_DEFAULT);
  options->replicas = (int32_t)number_option(request, "replicas", 0);
  options->replicas_timeout_ms = number_option(request, "replicas_timeout_ms", LIBLOCK_DEFAULT);
  options->on_conflict = (int32_t)number_option(request, "on_conflict", 0);
  options->order = (int32_t)number_option(request, "order", 0);
  options->on_lost = count_lost;
  options->on_lost_user_data = context;
  if (number_option(request, "owner", 0)) {
    if (!context->owner) liblock_owner_open(context->context, "agent", 5, &context->owner, NULL);
    options->owner = context->owner;
  }
  const struct word *value = option(request, "value");
  if (value) options->value = value->text, options->value_size = value->size;
}

/* Keys of a multi-key acquire are separated by commas. */
static size_t split_keys(char *text, liblock_bytes *keys) {
  size_t count = 0;
  for (char *at; count < KEYS_MAX && (at = strsep(&text, ",")) != NULL;)
    keys[count++] = (liblock_bytes){at, strlen(at)};
  return count;
}

static void perform_acquire(const struct request *request, struct context *context) {
  const char *verb = request->words[0].text;
  const struct word *key = &request->words[2];
  liblock_acquire_options options;
  fill_options(request, context, &options);
  liblock_lock lock = 0;
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_status status;
  if (strcmp(verb, "many") == 0) {
    liblock_bytes keys[KEYS_MAX];
    const size_t count = split_keys(key->text, keys);
    status = liblock_acquire_many(context->context, keys, count, &options, &lock, &result);
  } else if (strcmp(verb, "try") == 0) {
    status = liblock_try_acquire(context->context, key->text, key->size, &options, &lock, &result);
  } else if (strcmp(verb, "adopt") == 0) {
    status = liblock_adopt(context->context, key->text, key->size, &options, &lock, &result);
  } else {
    status = liblock_acquire(context->context, key->text, key->size, &options, &lock, &result);
  }
  tell(request, status, lock, &result);
}

struct pending {
  struct request *request;
  liblock_request id;
};

static void forget(struct request *request) {
  free(request->line);
  free(request);
}

static void async_ended(const liblock_completion *end, void *user_data) {
  struct pending *pending = user_data;
  answer(pending->request, end->status, "lock=%llu token=%llu waited_ms=%lld", (unsigned long long)end->lock,
         (unsigned long long)end->token, (long long)end->waited_ms);
  forget(pending->request);
  free(pending);
}

/* Its answer comes with its end; with cancel_after_ms it is canceled then. True: the request is the callback's. */
static bool perform_async(struct request *request, struct context *context) {
  liblock_acquire_options options;
  fill_options(request, context, &options);
  struct pending *pending = calloc(1, sizeof *pending);
  pending->request = request;
  const int64_t cancel_after_ms = number_option(request, "cancel_after_ms", -1);
  const struct word key = request->words[2];
  liblock_request id;
  const liblock_status status =
      liblock_acquire_async(context->context, key.text, key.size, &options, async_ended, pending, &id);
  if (status != LIBLOCK_OK) {
    answer(request, status, "");
    free(pending);
    return false;
  }
  if (cancel_after_ms >= 0) {
    usleep((useconds_t)cancel_after_ms * 1000);
    liblock_cancel(context->context, id);
  }
  return true;
}

static void perform_on_lock(const struct request *request, liblock_context *context) {
  const char *verb = request->words[0].text;
  const liblock_lock lock = strtoull(request->words[2].text, NULL, 10);
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_status status;
  if (strcmp(verb, "release") == 0) {
    status = liblock_release(context, lock, &result);
  } else if (strcmp(verb, "extend") == 0) {
    status = liblock_extend(context, lock, number_option(request, "ttl_ms", 0),
                            (int32_t)number_option(request, "add", 0), &result);
  } else if (strcmp(verb, "update") == 0) {
    const struct word *value = option(request, "value");
    status = liblock_update(context, lock, value->text, value->size, &result);
  } else if (strcmp(verb, "verify") == 0) {
    status = liblock_verify(context, lock, &result);
  } else if (strcmp(verb, "wait_lost") == 0) {
    status = liblock_wait_lost(context, lock, number_option(request, "wait_ms", -1), &result);
  } else {
    status = liblock_is_held(context, lock);
    result.token = 0;
    if (liblock_remaining_ms(context, lock, &result.remaining_ms) != LIBLOCK_OK) result.remaining_ms = 0;
  }
  tell(request, status, lock, &result);
}

static void perform_export(const struct request *request, liblock_context *context) {
  char blob[4096], text[3 * sizeof blob + 1] = "";
  size_t needed = 0;
  const liblock_status status =
      liblock_export(context, strtoull(request->words[2].text, NULL, 10), blob, sizeof blob, &needed);
  for (size_t i = 0; status == LIBLOCK_OK && i < needed; i++)
    snprintf(text + 3 * i, 4, "%%%02x", (unsigned char)blob[i]);
  answer(request, status, "blob=%s", text);
}

static void perform_inspect(const struct request *request, liblock_context *context) {
  liblock_info *info;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const struct word *key = &request->words[2];
  const liblock_status status = liblock_inspect_queue(context, key->text, key->size, &info, &result);
  size_t size = 0;
  const void *owner = status == LIBLOCK_OK ? liblock_info_owner(info, &size) : "";
  answer(request, status,
         "held=%d zombie=%d token=%llu since_us=%lld initial_ttl_ms=%lld waiters=%zu owner=%.*s message=%s",
         liblock_info_is_held(info), liblock_info_is_zombie(info),
         (unsigned long long)liblock_info_token(info), (long long)liblock_info_since_us(info),
         (long long)liblock_info_initial_ttl_ms(info), liblock_info_waiter_count(info), (int)size,
         (const char *)owner, result.message);
  liblock_info_free(info);
}

static void perform_on_key(const struct request *request, liblock_context *context) {
  const char *verb = request->words[0].text;
  const struct word *key = &request->words[2];
  liblock_result result = LIBLOCK_RESULT_INIT;
  int32_t locked = 0;
  liblock_status status;
  const char *expected = text_option(request, "expected"), *value = text_option(request, "value");
  const size_t size = expected ? strlen(expected) : 0;
  if (strcmp(verb, "release_key") == 0) {
    status = liblock_release_key(context, key->text, key->size, expected, size, &result);
  } else if (strcmp(verb, "extend_key") == 0) {
    status =
        liblock_extend_key(context, key->text, key->size, expected, size, number_option(request, "ttl_ms", 0),
                           (int32_t)number_option(request, "add", 0), &result);
  } else if (strcmp(verb, "update_key") == 0) {
    status = liblock_update_key(context, key->text, key->size, expected, size, value, strlen(value), &result);
  } else if (strcmp(verb, "locked") == 0) {
    status = liblock_is_locked(context, key->text, key->size, &locked);
  } else if (strcmp(verb, "force") == 0) {
    status = liblock_force_release(context, key->text, key->size, (int32_t)number_option(request, "drop", 0),
                                   &result);
  } else if (strcmp(verb, "wait_held") == 0) {
    status = liblock_wait_held(context, key->text, key->size, number_option(request, "wait_ms", -1), &result);
  } else {
    status =
        liblock_wait_released(context, key->text, key->size, number_option(request, "wait_ms", -1), &result);
  }
  answer(request, status, "locked=%d flags=%u queue_length=%d remaining_ms=%lld message=%s", locked,
         (unsigned)result.flags, (int)result.queue_length, (long long)result.remaining_ms, result.message);
}

/* More than an instance has identities for at a time; left to their leases. */
static bool child_locks(const char *url, const char *tls_ca_file) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.tls_ca_file = tls_ca_file;
  liblock_acquire_options how;
  liblock_acquire_options_init(&how, sizeof how);
  how.ttl_ms = 60000;
  how.renew = 0;
  liblock_context *context;
  if (liblock_open(url, &options, &context, NULL) != LIBLOCK_OK) return false;
  for (int i = 0; i < CHILD_LOCKS; i++) {
    char key[16];
    liblock_lock lock;
    snprintf(key, sizeof key, "child%d", i);
    if (liblock_acquire(context, key, strlen(key), &how, &lock, NULL) != LIBLOCK_OK) return false;
  }
  return true;
}

struct fork_of {
  const struct request *request;
  liblock_context *context;
  liblock_lock lock;
};

/* What a fork leaves to the child: copies that answer FORKED, and can be closed and freed, and no connection. With a
 * url it takes locks there in a context of its own. */
static int act_as_child(void *data) {
  const struct fork_of *of = data;
  const bool fine = liblock_ping(of->context, NULL) == LIBLOCK_FORKED &&
                    liblock_is_held(of->context, of->lock) == LIBLOCK_FORKED &&
                    liblock_release(of->context, of->lock, NULL) == LIBLOCK_FORKED &&
                    liblock_close(of->context) == LIBLOCK_OK;
  liblock_context_free(of->context);
  if (!fine || has_sockets()) return 1;
  const char *url = text_option(of->request, "url");
  return url == NULL || child_locks(url, text_option(of->request, "tls_ca_file")) ? 0 : 2;
}

static void perform_fork(const struct request *request, liblock_context *context, liblock_lock lock) {
  struct fork_of of = {request, context, lock};
  answer(request, LIBLOCK_OK, "child=%d", in_a_child(act_as_child, &of));
}

static void answer_report(const struct request *request, liblock_status status, const liblock_report *report,
                          const char *message) {
  answer(request, status,
         "count=%llu locks=%llu queues=%llu keys=%llu waiters=%llu steps=%llu elapsed_us=%lld message=%s",
         (unsigned long long)report->locks, (unsigned long long)report->locks,
         (unsigned long long)report->queues, (unsigned long long)report->keys,
         (unsigned long long)report->waiters, (unsigned long long)report->steps,
         (long long)report->elapsed_us, message);
}

/* What is listed is answered as counts; `what` is a LIBLOCK_LIST_… */
static void perform_list(const struct request *request, liblock_context *context) {
  liblock_list_options options;
  liblock_list_options_init(&options, sizeof options);
  const struct word *prefix = option(request, "key_prefix");
  if (prefix) options.key_prefix = prefix->text, options.key_prefix_size = prefix->size;
  options.batch_size = number_option(request, "batch", LIBLOCK_DEFAULT);
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_list_each(context, (int32_t)number_option(request, "what", 0),
                                                  &options, NULL, NULL, &report, &result);
  answer_report(request, status, &report, result.message);
}

static void perform_clear(const struct request *request, liblock_context *context) {
  liblock_clear_options options;
  liblock_clear_options_init(&options, sizeof options);
  options.batch_size = number_option(request, "batch", LIBLOCK_DEFAULT);
  options.scan_size = number_option(request, "scan", LIBLOCK_DEFAULT);
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  liblock_result result = LIBLOCK_RESULT_INIT;
  const char *owner = text_option(request, "owner_id"), *instance = text_option(request, "instance_id");
  const liblock_status status =
      owner      ? liblock_clear_owner(context, owner, strlen(owner), &options, &report, &result)
      : instance ? liblock_clear_instance(context, instance, strlen(instance), &options, &report, &result)
      : number_option(request, "dead", 0) ? liblock_clear_dead(context, &options, &report, &result)
                                          : liblock_clear(context, &options, &report, &result);
  answer_report(request, status, &report, result.message);
}

static int32_t show_node(const liblock_node *node, void *user_data) {
  static const char *const states[] = {"?", "UP", "DOWN", "QUARANTINED", "NEEDS_FLOOR", "STEPPED", "REFUSED"};
  char *text = user_data;
  const size_t length = strlen(text);
  snprintf(text + length, 1024 - length, "%s%s", length ? "," : "", states[node->state]);
  return 0;
}

static void perform_status(const struct request *request, liblock_context *context) {
  liblock_quorum_state sum;
  liblock_quorum_state_init(&sum, sizeof sum);
  liblock_result result = LIBLOCK_RESULT_INIT;
  char states[1024] = "";
  const liblock_status status = liblock_quorum_status(context, &sum, show_node, states, &result);
  answer(request, status, "voting=%u up=%u nodes=%u states=%s message=%s", sum.voting, sum.up, sum.nodes,
         states, result.message);
}

static bool perform_on_context(struct request *request, struct context *context) {
  const char *verb = request->words[0].text;
  liblock_result result = LIBLOCK_RESULT_INIT;
  if (strcmp(verb, "close") == 0) {
    answer(request, liblock_close(context->context), "");
  } else if (strcmp(verb, "ping") == 0) {
    const liblock_status status = liblock_ping(context->context, &result);
    answer(request, status, "message=%s", result.message);
  } else if (strcmp(verb, "quorum_init") == 0) {
    const liblock_status status =
        liblock_quorum_init(context->context, (int32_t)number_option(request, "force", 0), &result);
    answer(request, status, "message=%s", result.message);
  } else if (strcmp(verb, "quorum_status") == 0) {
    perform_status(request, context->context);
  } else if (strcmp(verb, "instance") == 0) {
    char id[512];
    answer(request, liblock_instance_id(context->context, id, sizeof id, NULL), "id=%s", id);
  } else if (strcmp(verb, "told") == 0) {
    answer(
        request, LIBLOCK_OK,
        "lost=%d connected=%d disconnected=%d server_changed=%d doubt_ended=%d may_evict=%d quarantined=%d "
        "rejoined=%d",
        context->lost, context->events[1], context->events[2], context->events[3], context->events[4],
        context->events[5], context->events[27], context->events[28]);
  } else if (strcmp(verb, "fork") == 0) {
    perform_fork(request, context->context, strtoull(request->words[2].text, NULL, 10));
  } else if (strcmp(verb, "export") == 0) {
    perform_export(request, context->context);
  } else if (strcmp(verb, "list") == 0) {
    perform_list(request, context->context);
  } else if (strcmp(verb, "clear") == 0) {
    perform_clear(request, context->context);
  } else if (strcmp(verb, "inspect") == 0) {
    perform_inspect(request, context->context);
  } else if (strcmp(verb, "async") == 0) {
    return perform_async(request, context);
  } else if (strstr("acquire try many adopt", verb)) {
    perform_acquire(request, context);
  } else if (strstr("release extend update verify wait_lost is_held", verb)) {
    perform_on_lock(request, context->context);
  } else {
    perform_on_key(request, context->context);
  }
  return false;
}

static void *perform(void *argument) {
  struct request *request = argument;
  bool is_pending = false;
  if (strcmp(request->words[0].text, "open") == 0) {
    perform_open(request);
  } else {
    struct context *context = find(request->words[1].text);
    if (context) {
      is_pending = perform_on_context(request, context);
    } else {
      answer(request, LIBLOCK_INTERNAL, "message=the agent knows no context %s", request->words[1].text);
    }
  }
  if (!is_pending) forget(request);
  pthread_mutex_lock(&mutex);
  if (--active == 0) pthread_cond_signal(&idle);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&small, 256 * 1024);
  while (getline(&line, &room, stdin) > 0) {
    line[strcspn(line, "\n")] = '\0';
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    active++;
    pthread_mutex_unlock(&mutex);
    struct request *request = read_request(strdup(line));
    /* A machine that is busy with sanitized processes may be short of threads for a moment. */
    for (int tries = 0; pthread_create(&thread, &small, perform, request) != 0; usleep(10000)) {
      if (++tries == 500) return 3;
    }
  }
  free(line);
  for (int i = 0; i < context_count; i++) liblock_close(contexts[i].context);
  pthread_mutex_lock(&mutex);
  while (active > 0) pthread_cond_wait(&idle, &mutex);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < context_count; i++) {
    liblock_owner_free(contexts[i].owner);
    liblock_context_free(contexts[i].context);
  }
  return 0;
}
