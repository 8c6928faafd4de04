/* SPDX-License-Identifier: MIT
 *
 * Does with a context whatever can be done with one, and tells everything that it is told: each message, log entry,
 * event, info, listing and metric, with the log at its most verbose. Who started it looks through that for what must
 * not be there. At the end, with the context gone, it looks through its own memory for the password.
 *
 * Usage: tell-all, with "NAME VALUE" lines on its standard input, values percent-encoded: url username password prefix
 * client_name tls_ca_file, times in ms, and key, once for each key, which also serves as owner, value and metadata.
 * secret is what to search for. Lines out: "KIND BYTES", the bytes percent-encoded. Only the password is secret; every
 * place that it came through is wiped.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <liblock/liblock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { INPUT_MAX = 65536, SETTINGS_MAX = 64, SECRET_MAX = 256, MASK = 0x5a };

static struct setting {
  char *name, *value;
  size_t size, room; /* room: as it came, before it was decoded */
} settings[SETTINGS_MAX];
static int setting_count;
static char input[INPUT_MAX];
static unsigned char masked_secret[SECRET_MAX];
static size_t secret_size;
static int64_t ttl_ms, wait_ms;
static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void pause_ms(int ms) {
  const struct timespec time = {0, (long)ms * 1000000};
  nanosleep(&time, NULL);
}

/* ----- in and out */

static void tell(const char *kind, const void *bytes, size_t size) {
  pthread_mutex_lock(&output);
  printf("%s ", kind);
  for (size_t i = 0; i < size; i++) {
    const unsigned char byte = ((const unsigned char *)bytes)[i];
    printf(byte > 0x20 && byte < 0x7f && byte != '%' ? "%c" : "%%%02x", byte);
  }
  printf("\n");
  pthread_mutex_unlock(&output);
}

static void tell_text(const char *kind, const char *text) {
  if (text != NULL) tell(kind, text, strlen(text));
}

/* The whole of it: also what stands behind the end of the message, and in the padding. */
static liblock_status tell_result(const char *what, liblock_status status, liblock_result *result) {
  tell_text(what, liblock_status_name(status));
  tell_text("message", result->message);
  tell("result", result, sizeof *result);
  liblock_info_free(result->info);
  *result = (liblock_result)LIBLOCK_RESULT_INIT;
  return status;
}

static int digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static size_t decode(char *text) {
  char *out = text;
  for (const char *at = text; *at != '\0'; at++)
    if (*at == '%') {
      *out++ = (char)(digit(at[1]) * 16 + digit(at[2]));
      at += 2;
    } else {
      *out++ = *at;
    }
  *out = '\0';
  return (size_t)(out - text);
}

static void read_settings(void) {
  size_t used = 0;
  for (ssize_t more; (more = read(STDIN_FILENO, input + used, INPUT_MAX - 1 - used)) > 0;)
    used += (size_t)more;
  for (char *at = input, *line; (line = strsep(&at, "\n")) != NULL;) {
    struct setting *one = &settings[setting_count];
    one->name = strsep(&line, " ");
    one->value = line;
    if (line == NULL || setting_count == SETTINGS_MAX) continue;
    one->room = strlen(line);
    one->size = decode(line);
    setting_count++;
    if (strcmp(one->name, "secret") != 0) continue;
    for (secret_size = 0; secret_size < one->size && secret_size < SECRET_MAX; secret_size++)
      masked_secret[secret_size] = (unsigned char)line[secret_size] ^ MASK;
  }
}

static struct setting *setting(const char *name) {
  for (int i = 0; i < setting_count; i++)
    if (strcmp(settings[i].name, name) == 0) return &settings[i];
  return NULL;
}

static int64_t number_of(const char *name, int64_t otherwise) {
  return setting(name) ? strtoll(setting(name)->value, NULL, 10) : otherwise;
}

static const char *text_of(const char *name) { return setting(name) ? setting(name)->value : NULL; }

/* ----- what is told */

static void log_written(const liblock_log_entry *entry, void *user_data) {
  (void)user_data;
  tell_text("log", entry->message);
  for (size_t i = 0; i < entry->field_count; i++)
    if (entry->fields[i].type == LIBLOCK_FIELD_TEXT)
      tell("field", entry->fields[i].text.data, entry->fields[i].text.size);
}

static void event_told(const liblock_event *event, void *user_data) {
  (void)user_data;
  tell_text("event", event->message);
  const liblock_bytes texts[] = {event->key, event->owner, event->instance, event->node};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) tell("field", texts[i].data, texts[i].size);
}

static void tell_info(const liblock_info *info) {
  if (info == NULL) return;
  const struct {
    const char *kind;
    const void *(*get)(const liblock_info *, size_t *);
  } parts[] = {{"info_key", liblock_info_key},
               {"info_owner", liblock_info_owner},
               {"info_instance", liblock_info_instance},
               {"info_host", liblock_info_host},
               {"info_value", liblock_info_value}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t size = 0;
    const void *bytes = parts[i].get(info, &size);
    tell(parts[i].kind, bytes, bytes ? size : 0);
  }
  for (size_t i = 0; i < liblock_info_metadata_count(info); i++) {
    liblock_metadata one;
    if (liblock_info_metadata_at(info, i, &one) != LIBLOCK_OK) continue;
    tell("info_metadata_name", one.name.data, one.name.size);
    tell("info_metadata_value", one.value.data, one.value.size);
  }
  for (size_t i = 0; i < liblock_info_waiter_count(info); i++) {
    size_t size = 0;
    const void *bytes = liblock_info_waiter_owner(info, i, &size);
    tell("info_waiter", bytes, bytes ? size : 0);
  }
}

static void tell_list(const char *kind, liblock_status status, liblock_cursor *cursor,
                      liblock_result *result) {
  if (tell_result(kind, status, result) != LIBLOCK_OK) return;
  for (liblock_info *info; liblock_cursor_next(cursor, &info) == LIBLOCK_OK && info != NULL;) {
    tell_info(info);
    liblock_info_free(info);
  }
  liblock_cursor_free(cursor);
}

static int32_t tell_node(const liblock_node *node, void *user_data) {
  (void)user_data;
  tell("node", node, sizeof *node);
  tell("node_address", node->address.data, node->address.size);
  tell("node_why", node->why.data, node->why.size);
  return 0;
}

static int32_t tell_instance(const liblock_instance *instance, void *user_data) {
  (void)user_data;
  tell("instance", instance->id.data, instance->id.size);
  return 0;
}

/* ----- what is done */

static liblock_acquire_options everything_of(const struct setting *key, liblock_owner *owner,
                                             const liblock_metadata *metadata) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = ttl_ms;
  options.wait_ms = wait_ms;
  options.owner = owner;
  options.value = key->value;
  options.value_size = key->size;
  options.metadata = metadata;
  options.metadata_count = 1;
  options.busy_info = 1;
  return options;
}

/* Somebody else asks for it meanwhile: for as long as it takes to be seen in the line, and in vain. */
static void contend(liblock_context *context, const struct setting *key, liblock_result *result) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = 50;
  options.busy_info = 1;
  liblock_lock lock;
  const liblock_status status = liblock_acquire(context, key->value, key->size, &options, &lock, result);
  tell_info(result->info);
  tell_result("contend", status, result);
}

static void use_lock(liblock_context *context, const struct setting *key, liblock_lock lock,
                     liblock_result *result) {
  liblock_info *info = NULL;
  tell_result("extend", liblock_extend(context, lock, ttl_ms, 0, result), result);
  tell_result("update", liblock_update(context, lock, key->value, key->size, result), result);
  tell_result("verify", liblock_verify(context, lock, result), result);
  tell_result("inspect", liblock_inspect_queue(context, key->value, key->size, &info, result), result);
  tell_info(info);
  liblock_info_free(info);
  contend(context, key, result);
  tell_result("wrong_value", liblock_release_key(context, key->value, key->size, "another", 7, result),
              result);
  tell_result("release", liblock_release(context, lock, result), result);
  tell_result("release_again", liblock_release(context, lock, result), result);
}

static void use_key(liblock_context *context, const struct setting *key) {
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_owner *owner = NULL;
  tell_result("owner", liblock_owner_open(context, key->value, key->size, &owner, &result), &result);
  const liblock_metadata metadata = {{key->value, key->size}, {key->value, key->size}};
  const liblock_acquire_options options = everything_of(key, owner, &metadata);
  liblock_lock lock = 0;
  liblock_status status = liblock_acquire(context, key->value, key->size, &options, &lock, &result);
  tell_info(result.info);
  if (tell_result("acquire", status, &result) == LIBLOCK_OK) use_lock(context, key, lock, &result);
  liblock_owner_free(owner);
  if (liblock_try_acquire(context, key->value, key->size, NULL, &lock, &result) == LIBLOCK_OK)
    tell_result("force", liblock_force_release(context, key->value, key->size, 0, &result), &result);
}

static void look_at_all(liblock_context *context) {
  static char text[1 << 16];
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_cursor *cursor = NULL;
  size_t needed = 0;
  const liblock_status listed = liblock_list_locks(context, NULL, &cursor, &result);
  tell_list("list", listed, cursor, &result);
  if (liblock_stats_prometheus(context, text, sizeof text, &needed) == LIBLOCK_OK)
    tell_text("prometheus", text);
  if (liblock_instance_id(context, text, sizeof text, &needed) == LIBLOCK_OK) tell_text("instance_id", text);
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  if (liblock_stats_get(context, &stats) == LIBLOCK_OK) tell("stats", &stats, sizeof stats);
  liblock_quorum_state state;
  liblock_quorum_state_init(&state, sizeof state);
  tell_result("quorum_status", liblock_quorum_status(context, &state, tell_node, NULL, &result), &result);
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  tell_result("instances", liblock_list_instances(context, NULL, tell_instance, NULL, &report, &result),
              &result);
  tell_result("clear", liblock_clear(context, NULL, &report, &result), &result);
  tell_result("ping", liblock_ping(context, &result), &result);
}

static void use_context(liblock_context *context) {
  liblock_instrument_options instruments;
  liblock_instrument_options_init(&instruments, sizeof instruments);
  instruments.log_attempts = 1;
  instruments.histograms = 1;
  liblock_set_instruments(context, &instruments);
  liblock_set_log(context, LIBLOCK_LOG_DEBUG, log_written, NULL);
  liblock_set_events(context, UINT64_MAX, event_told, NULL);
  liblock_result result = LIBLOCK_RESULT_INIT;
  tell_result("ping", liblock_ping(context, &result), &result);
  for (int i = 0; i < setting_count; i++)
    if (strcmp(settings[i].name, "key") == 0) use_key(context, &settings[i]);
  look_at_all(context);
}

/* ----- what is left */

static bool is_secret(const unsigned char *at) {
  for (size_t i = 0; i < secret_size; i++)
    if ((at[i] ^ MASK) != masked_secret[i]) return false;
  return true;
}

/* Of everything that can be written to; by reading the mappings as a debugger does. */
static size_t copies_in_memory(void) {
  static unsigned char piece[1 << 16];
  static char line[512];
  size_t found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  while (maps != NULL && memory >= 0 && secret_size > 0 && fgets(line, sizeof line, maps) != NULL) {
    uintptr_t from, to;
    char rights[5];
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, rights) != 3 || rights[1] != 'w') continue;
    /* Pieces overlap by what a secret needs to be seen whole; this buffer is not looked at itself. */
    for (uintptr_t at = from; at < to; at += sizeof piece - SECRET_MAX) {
      const ssize_t size = pread(memory, piece, to - at < sizeof piece ? to - at : sizeof piece, (off_t)at);
      for (ssize_t i = 0; i + (ssize_t)secret_size <= size && i < (ssize_t)(sizeof piece - SECRET_MAX); i++)
        if ((at + (uintptr_t)i < (uintptr_t)piece ||
             at + (uintptr_t)i >= (uintptr_t)(piece + sizeof piece)) &&
            is_secret(piece + i))
          found++;
      memset(piece, 0, sizeof piece);
    }
  }
  if (memory >= 0) close(memory);
  if (maps != NULL) fclose(maps);
  return found;
}

/* Events that were emitted before still come; this is the last callback of all. */
static void closed(const liblock_completion *completion, void *user_data) {
  (void)completion;
  atomic_store((atomic_bool *)user_data, true);
}

static void close_context(liblock_context *context) {
  static atomic_bool is_closed;
  if (liblock_close_async(context, closed, &is_closed) != LIBLOCK_OK) abort();
  while (!atomic_load(&is_closed)) pause_ms(1);
  liblock_context_free(context);
}

/* What is left of the context goes behind its last callback, on threads that may be slow: given 10 s. Not looked for
 * where a sanitizer keeps what was freed, and terabytes for what it knows of each byte. */
static size_t copies_in_the_end(void) {
  if (getenv("LIBLOCK_TEST_KEEPS_MEMORY") != NULL) return 0;
  size_t copies = copies_in_memory();
  for (int tries = 0; copies > 0 && tries < 100; tries++) {
    pause_ms(100);
    copies = copies_in_memory();
  }
  return copies;
}

static void tell_copies(const char *kind, size_t copies) {
  char text[32];
  snprintf(text, sizeof text, "%zu", copies);
  tell_text(kind, text);
}

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  read_settings();
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.username = text_of("username");
  options.password = text_of("password");
  options.client_name = text_of("client_name");
  options.tls_ca_file = text_of("tls_ca_file");
  options.prefix = text_of("prefix");
  options.prefix_size = setting("prefix") ? setting("prefix")->size : 0;
  options.connect_timeout_ms = number_of("connect_timeout_ms", options.connect_timeout_ms);
  options.command_timeout_ms = number_of("command_timeout_ms", options.command_timeout_ms);
  options.max_ttl_ms = number_of("max_ttl_ms", options.max_ttl_ms);
  ttl_ms = number_of("ttl_ms", 1000);
  wait_ms = number_of("wait_ms", 300);
  liblock_context *context = NULL;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_open(text_of("url"), &options, &context, &result);
  explicit_bzero(&options, sizeof options);
  for (int i = 0; i < setting_count; i++)
    if (strcmp(settings[i].name, "key") != 0) explicit_bzero(settings[i].value, settings[i].room);
  tell_result("open", status, &result);
  if (status == LIBLOCK_OK) {
    /* There must be one, to connect again by: whoever finds none here does not see what is there. */
    if (getenv("LIBLOCK_TEST_KEEPS_MEMORY") == NULL) tell_copies("copies_while_open", copies_in_memory());
    use_context(context);
    close_context(context);
  }
  tell_copies("copies_in_memory", copies_in_the_end());
  return 0;
}
