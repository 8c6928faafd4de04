/* SPDX-License-Identifier: MIT
 *
 * The tables of options: see options.h.
 */
#include "options.h"

#include <string.h>

enum kind { WIDE, NARROW, TTL, NAMED, BYTES, METADATA, BACKOFF, NOTICE };

struct option {
  const char *name;
  enum kind kind;
  size_t offset;
  size_t size_offset;       /* BYTES, METADATA: where the size or count lies */
  const char *const *names; /* NAMED: the enumerators in order of their numbers */
};

static const char *const orders[] = {"FIFO", "LIFO", "PRIORITY", "ANY", NULL};
static const char *const modes[] = {"EXCLUSIVE", NULL};
static const char *const backoffs[] = {"FIXED", "LINEAR", "EXPONENTIAL", NULL};
static const char *const conflicts[] = {"REENTER", "REENTER_EXTEND", "WAIT", "FAIL", NULL};
static const char *const deadlocks[] = {"FAIL_SELF", "FAIL_YOUNGEST", "REPORT_ONLY", NULL};
static const char *const closes[] = {"RELEASE", "LEAVE", NULL};

#define AT(field) offsetof(liblock_acquire_options, field)
static const struct option acquire_table[] = {
    {"ttl_ms", TTL, AT(ttl_ms), 0, NULL},
    {"wait_ms", WIDE, AT(wait_ms), 0, NULL},
    {"retries", WIDE, AT(retries), 0, NULL},
    {"retry_interval_ms", WIDE, AT(retry_interval_ms), 0, NULL},
    {"retry_jitter_ms", WIDE, AT(retry_jitter_ms), 0, NULL},
    {"backoff", NAMED, AT(backoff), 0, backoffs},
    {"backoff_base", NARROW, AT(backoff_base), 0, NULL},
    {"backoff_step_ms", WIDE, AT(backoff_step_ms), 0, NULL},
    {"backoff_cap_ms", WIDE, AT(backoff_cap_ms), 0, NULL},
    {"backoff_callback", BACKOFF, AT(backoff_callback), AT(backoff_user_data), NULL},
    {"order", NAMED, AT(order), 0, orders},
    {"priority", NARROW, AT(priority), 0, NULL},
    {"age_step_ms", WIDE, AT(age_step_ms), 0, NULL},
    {"queue_ttl_ms", WIDE, AT(queue_ttl_ms), 0, NULL},
    {"mode", NAMED, AT(mode), 0, modes},
    {"on_conflict", NAMED, AT(on_conflict), 0, conflicts},
    {"on_deadlock", NAMED, AT(on_deadlock), 0, deadlocks},
    {"renew", NARROW, AT(renew), 0, NULL},
    {"max_hold_ms", WIDE, AT(max_hold_ms), 0, NULL},
    {"votes", NARROW, AT(votes), 0, NULL},
    {"min_remaining_ms", WIDE, AT(min_remaining_ms), 0, NULL},
    {"value", BYTES, AT(value), AT(value_size), NULL},
    {"metadata", METADATA, AT(metadata), AT(metadata_count), NULL},
    {"on_lost", NOTICE, 0, 0, NULL},
    {NULL, WIDE, 0, 0, NULL},
};
#undef AT
#define AT(field) offsetof(liblock_context_options, field)
static const struct option context_table[] = {
    {"prefix", BYTES, AT(prefix), AT(prefix_size), NULL},
    {"cleanup_interval_ms", WIDE, AT(cleanup_interval_ms), 0, NULL},
    {"cleanup_batch_size", WIDE, AT(cleanup_batch_size), 0, NULL},
    {"max_ttl_ms", WIDE, AT(max_ttl_ms), 0, NULL},
    {"deadlock_detection", WIDE, AT(deadlock_detection), 0, NULL},
    {"deadlock_delay_ms", WIDE, AT(deadlock_delay_ms), 0, NULL},
    {"locks_max", WIDE, AT(locks_max), 0, NULL},
    {"waiters_max", WIDE, AT(waiters_max), 0, NULL},
    {"requests_max", WIDE, AT(requests_max), 0, NULL},
    {"on_close", NAMED, AT(on_close), 0, closes},
    {"votes", NARROW, AT(votes), 0, NULL},
    {NULL, WIDE, 0, 0, NULL},
};
#undef AT

/* A back-off written as a list: interval n is its n-th number, the last one stands for all later ones. */
struct backoff_list {
  size_t count;
  int64_t intervals_ms[];
};

static int64_t backoff_next(uint32_t attempt, void *user_data) {
  const struct backoff_list *list = user_data;
  return list->intervals_ms[attempt < list->count ? attempt : list->count - 1];
}

bool ttl_read(const json_t *node, int64_t *ttl_ms, struct fault *fault) {
  if (json_is_integer(node)) {
    *ttl_ms = json_integer_value(node);
    return true;
  }
  const char *name = json_is_string(node) ? json_string_value(node) : "";
  if (strcmp(name, "AUTO") == 0) {
    *ttl_ms = LIBLOCK_TTL_AUTO;
  } else if (strcmp(name, "NONE") == 0) {
    *ttl_ms = LIBLOCK_TTL_NONE;
  } else {
    return blame(fault, "a ttl is a number, \"AUTO\" or \"NONE\"");
  }
  return true;
}

const char *order_name(int32_t order) { return order >= 0 && order < 4 ? orders[order] : "UNKNOWN"; }

static bool read_number(const struct option *option, const json_t *node, char *at, struct fault *fault) {
  if (!json_is_integer(node)) return blame(fault, "option \"%s\" takes a number", option->name);
  const int64_t number = json_integer_value(node);
  if (option->kind == WIDE) {
    memcpy(at, &number, sizeof number);
    return true;
  }
  const int32_t narrow = (int32_t)number;
  if (narrow != number) return blame(fault, "option \"%s\" takes a 32-bit number", option->name);
  memcpy(at, &narrow, sizeof narrow);
  return true;
}

/* Numbers are accepted too, so that scenarios can say values that no enumerator has. */
static bool read_named(const struct option *option, const json_t *node, char *at, struct fault *fault) {
  if (json_is_integer(node)) return read_number(option, node, at, fault);
  const char *name = json_is_string(node) ? json_string_value(node) : "";
  for (int32_t number = 0; option->names[number]; number++) {
    if (strcmp(option->names[number], name) != 0) continue;
    memcpy(at, &number, sizeof number);
    return true;
  }
  return blame(fault, "option \"%s\" has no value \"%s\"", option->name, name);
}

static bool read_metadata(const json_t *node, struct arena *arena, liblock_acquire_options *options,
                          struct fault *fault) {
  if (!json_is_object(node)) return blame(fault, "option \"metadata\" takes an object of name: bytes");
  liblock_metadata *pairs = arena_get(arena, (json_object_size(node) + 1) * sizeof *pairs);
  size_t count = 0;
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)node, name, value) {
    pairs[count].name = (liblock_bytes){name, strlen(name)};
    if (!bytes_read(value, arena, &pairs[count].value, fault)) return false;
    count++;
  }
  options->metadata = pairs;
  options->metadata_count = count;
  return true;
}

static bool read_backoff(const json_t *node, struct arena *arena, liblock_acquire_options *options,
                         struct fault *fault) {
  const size_t count = json_array_size(node);
  if (!count) return blame(fault, "option \"backoff_callback\" takes a list of intervals");
  struct backoff_list *list = arena_get(arena, sizeof *list + count * sizeof list->intervals_ms[0]);
  list->count = count;
  for (size_t i = 0; i < count; i++) {
    const json_t *interval = json_array_get(node, i);
    if (!json_is_integer(interval)) return blame(fault, "option \"backoff_callback\" takes numbers");
    list->intervals_ms[i] = json_integer_value(interval);
  }
  options->backoff_callback = backoff_next;
  options->backoff_user_data = list;
  return true;
}

static bool read_notice(const json_t *node, enum lost_notice *notice, struct fault *fault) {
  const char *name = json_is_string(node) ? json_string_value(node) : "";
  if (strcmp(name, "callback") == 0) {
    *notice = LOST_NOTICE_CALLBACK;
  } else if (strcmp(name, "completions") == 0) {
    *notice = LOST_NOTICE_COMPLETIONS;
  } else {
    return blame(fault, "option \"on_lost\" is \"callback\" or \"completions\"");
  }
  return true;
}

static bool read_bytes_option(const struct option *option, const json_t *node, struct arena *arena,
                              char *base, struct fault *fault) {
  liblock_bytes bytes;
  if (!bytes_read(node, arena, &bytes, fault)) return false;
  memcpy(base + option->offset, &bytes.data, sizeof bytes.data);
  memcpy(base + option->size_offset, &bytes.size, sizeof bytes.size);
  return true;
}

static bool read_one(const struct option *option, const json_t *node, struct arena *arena, char *base,
                     enum lost_notice *notice, struct fault *fault) {
  int64_t ttl_ms = 0;
  switch (option->kind) {
    case WIDE:
    case NARROW:
      return read_number(option, node, base + option->offset, fault);
    case NAMED:
      return read_named(option, node, base + option->offset, fault);
    case BYTES:
      return read_bytes_option(option, node, arena, base, fault);
    case METADATA:
      return read_metadata(node, arena, (liblock_acquire_options *)(void *)base, fault);
    case BACKOFF:
      return read_backoff(node, arena, (liblock_acquire_options *)(void *)base, fault);
    case NOTICE:
      return read_notice(node, notice, fault);
    case TTL:
      if (!ttl_read(node, &ttl_ms, fault)) return false;
      memcpy(base + option->offset, &ttl_ms, sizeof ttl_ms);
      return true;
  }
  return blame(fault, "option \"%s\" cannot be read", option->name);
}

static bool read_all(const struct option *table, const json_t *node, struct arena *arena, char *base,
                     enum lost_notice *notice, struct fault *fault) {
  if (node && !json_is_object(node)) return blame(fault, "options are an object");
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)node, name, value) {
    const struct option *option = table;
    while (option->name && strcmp(option->name, name) != 0) option++;
    if (!option->name) return blame(fault, "unknown option \"%s\"", name);
    if (!read_one(option, value, arena, base, notice, fault)) return false;
  }
  return true;
}

bool acquire_options_read(const json_t *node, struct arena *arena, liblock_acquire_options *options,
                          enum lost_notice *notice, struct fault *fault) {
  liblock_acquire_options_init(options, sizeof *options);
  *notice = LOST_NOTICE_NONE;
  return read_all(acquire_table, node, arena, (char *)options, notice, fault);
}

bool context_options_read(const json_t *node, struct arena *arena, liblock_context_options *options,
                          struct fault *fault) {
  enum lost_notice unused;
  liblock_context_options_init(options, sizeof *options);
  return read_all(context_table, node, arena, (char *)options, &unused, fault);
}
