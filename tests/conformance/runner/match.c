/* SPDX-License-Identifier: MIT
 *
 * The types of expectations and their comparisons: see match.h.
 */
#include "match.h"

#include <string.h>

enum type { NUMBER, STATUS, TRUTH, FLAGS, BYTES, BYTES_LIST, OWNER, INSTANCE, METADATA, WAITERS, NAME };

static const struct {
  enum type type;
  const char *words;
} types[] = {
    {NUMBER,
     "token attempts waited_ms remaining_ms queue_position queue_length hold_count votes nodes count"
     " waiter_count priority on_open_calls globals queues cleared_keys dequeued held_for_ms initial_ttl_ms"},
    {NUMBER,
     "locks_held waiters acquired released contended handed_off expired taken_away taken_over timeouts"
     " canceled deadlocks deadlock_searches renewals sweeps sweep_entries sweep_entries_per_hold_max"
     " dropped_notices passed_on"},
    {STATUS, "status"},
    {TRUTH, "locked queued held global zombie"},
    {FLAGS, "flags"},
    {BYTES, "key value"},
    {BYTES_LIST, "keys"},
    {OWNER, "owner"},
    {INSTANCE, "instance"},
    {METADATA, "metadata"},
    {WAITERS, "queue"},
    {NAME, "request lock kind order"},
};
static const char comparisons[] = "eq ne gt ge lt le";
static const char flag_words[] = "REENTERED WAITED TOOK_OVER HAD_LOCK HAD_QUEUE";
static const char waiter_words[] = "owner instance order priority waited_ms";

static bool type_of(const char *name, enum type *type) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (!word_in(types[i].words, name)) continue;
    *type = types[i].type;
    return true;
  }
  return false;
}

static bool status_known(const char *name) {
#define SAME(word, number, predicates, text) \
  if (strcmp(name, #word) == 0) return true;
  LIBLOCK_STATUS_MAP(SAME)
#undef SAME
  return false;
}

/* -------------------------------------------------------------------------------------- static check --- */

static bool words_check(const json_t *list, const char *words) {
  if (!json_is_array(list)) return false;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *word = json_array_get(list, i);
    if (!json_is_string(word) || !word_in(words, json_string_value(word))) return false;
  }
  return true;
}

static bool number_check(const json_t *expect) {
  if (json_is_integer(expect)) return true;
  if (!json_is_object(expect) || json_object_size(expect) == 0) return false;
  const char *name;
  json_t *operand;
  json_object_foreach((json_t *)expect, name, operand) {
    if (!word_in(comparisons, name)) return false;
    if (!json_is_integer(operand) && !json_is_string(operand)) return false;
  }
  return true;
}

static bool status_check(const json_t *expect) {
  if (json_is_string(expect)) return status_known(json_string_value(expect));
  if (json_array_size(expect) < 2) return false;
  for (size_t i = 0; i < json_array_size(expect); i++) {
    const json_t *name = json_array_get(expect, i);
    if (!json_is_string(name) || !status_known(json_string_value(name))) return false;
  }
  return true;
}

static bool flags_check(const json_t *expect) {
  if (json_is_array(expect)) return words_check(expect, flag_words);
  if (!json_is_object(expect) || json_object_size(expect) == 0) return false;
  const char *name;
  json_t *list;
  json_object_foreach((json_t *)expect, name, list) {
    if (!word_in("has lacks", name) || !words_check(list, flag_words)) return false;
  }
  return true;
}

static bool list_check(const json_t *expect, struct arena *arena, struct fault *fault) {
  liblock_bytes unused;
  if (!json_is_array(expect)) return false;
  for (size_t i = 0; i < json_array_size(expect); i++) {
    if (!bytes_read(json_array_get(expect, i), arena, &unused, fault)) return false;
  }
  return true;
}

static bool waiters_check(const json_t *expect, struct arena *arena, struct fault *fault) {
  if (!json_is_array(expect)) return false;
  for (size_t i = 0; i < json_array_size(expect); i++) {
    if (!expect_check(json_array_get(expect, i), waiter_words, arena, fault)) return false;
  }
  return true;
}

static bool value_check(enum type type, const json_t *expect, struct arena *arena, struct fault *fault) {
  liblock_bytes unused;
  switch (type) {
    case NUMBER:
      return number_check(expect);
    case STATUS:
      return status_check(expect);
    case TRUTH:
      return json_is_boolean(expect);
    case FLAGS:
      return flags_check(expect);
    case BYTES:
      return bytes_read(expect, arena, &unused, fault);
    case BYTES_LIST:
      return list_check(expect, arena, fault);
    case METADATA:
      return json_is_object(expect);
    case WAITERS:
      return waiters_check(expect, arena, fault);
    case OWNER:
    case INSTANCE:
    case NAME:
      return json_is_string(expect);
  }
  return false;
}

bool expect_check(const json_t *expect, const char *tells, struct arena *arena, struct fault *fault) {
  if (!json_is_object(expect)) return blame(fault, "an expectation is an object");
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)expect, name, value) {
    enum type type;
    if (!type_of(name, &type) || !word_in(tells, name))
      return blame(fault, "unknown expectation \"%s\"", name);
    if (!value_check(type, value, arena, fault)) {
      return blame(fault, "malformed expectation \"%s\": %s", name, json_line(arena, value));
    }
  }
  return true;
}

/* ---------------------------------------------------------------------------------------- comparison --- */

static bool operand_value(struct world *world, const json_t *operand, int64_t *value, struct fault *fault) {
  if (json_is_integer(operand)) {
    *value = json_integer_value(operand);
    return true;
  }
  const struct hold *hold = world_hold(world, json_string_value(operand));
  if (!hold || !hold->token) return blame(fault, "no token of \"%s\" is known", json_string_value(operand));
  *value = (int64_t)hold->token;
  return true;
}

static bool compare(const char *comparison, int64_t got, int64_t operand) {
  if (strcmp(comparison, "eq") == 0) return got == operand;
  if (strcmp(comparison, "ne") == 0) return got != operand;
  if (strcmp(comparison, "gt") == 0) return got > operand;
  if (strcmp(comparison, "ge") == 0) return got >= operand;
  if (strcmp(comparison, "lt") == 0) return got < operand;
  return got <= operand;
}

static bool number_match(struct world *world, const json_t *expect, const json_t *got, struct fault *fault) {
  if (!json_is_integer(got)) return false;
  const int64_t number = json_integer_value(got);
  if (json_is_integer(expect)) return number == json_integer_value(expect);
  const char *comparison;
  json_t *operand;
  json_object_foreach((json_t *)expect, comparison, operand) {
    int64_t value = 0;
    if (!operand_value(world, operand, &value, fault)) return false;
    if (!compare(comparison, number, value)) return false;
  }
  return true;
}

static bool array_has(const json_t *list, const json_t *value) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    if (json_equal(json_array_get(list, i), value)) return true;
  }
  return false;
}

static bool status_match(const json_t *expect, const json_t *got) {
  return json_is_array(expect) ? array_has(expect, got) : json_equal(expect, got);
}

static bool flags_match(const json_t *expect, const json_t *got) {
  const bool exact = json_is_array(expect);
  const json_t *has = exact ? expect : json_object_get(expect, "has");
  const json_t *lacks = exact ? NULL : json_object_get(expect, "lacks");
  for (size_t i = 0; i < json_array_size(has); i++) {
    if (!array_has(got, json_array_get(has, i))) return false;
  }
  for (size_t i = 0; i < json_array_size(lacks); i++) {
    if (array_has(got, json_array_get(lacks, i))) return false;
  }
  return !exact || json_array_size(has) == json_array_size(got);
}

static bool bytes_match(struct world *world, const json_t *expect, const json_t *got, struct fault *fault) {
  liblock_bytes bytes;
  if (!bytes_read(expect, &world->arena, &bytes, fault)) return false;
  json_t *same = bytes_write(bytes.data, bytes.size);
  const bool equal = json_equal(same, got);
  json_decref(same);
  return equal;
}

/* As multisets: listings promise no order, and a key that is shown twice must not pass. */
static bool list_match(struct world *world, const json_t *expect, const json_t *got, struct fault *fault) {
  if (json_array_size(expect) != json_array_size(got)) return false;
  json_t *left = json_copy((json_t *)got);
  bool equal = true;
  for (size_t i = 0; equal && i < json_array_size(expect); i++) {
    size_t at = 0;
    while (at < json_array_size(left) &&
           !bytes_match(world, json_array_get(expect, i), json_array_get(left, at), fault)) {
      at++;
    }
    equal = json_array_remove(left, at) == 0;
  }
  json_decref(left);
  return equal;
}

static bool metadata_match(struct world *world, const json_t *expect, const json_t *got,
                           struct fault *fault) {
  if (json_object_size(expect) != json_object_size(got)) return false;
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)expect, name, value) {
    const json_t *other = json_object_get(got, name);
    if (!other || !bytes_match(world, value, other, fault)) return false;
  }
  return true;
}

static bool identity_match(struct world *world, enum type type, const char *name, const json_t *got,
                           struct fault *fault) {
  const struct owner_slot *owner = type == OWNER ? world_owner(world, name) : NULL;
  const struct context_slot *context = type == INSTANCE ? world_context(world, name) : NULL;
  if (!owner && !context) return blame(fault, "no owner or context is named \"%s\"", name);
  return json_is_string(got) &&
         strcmp(json_string_value(got), owner ? owner->identity : context->instance) == 0;
}

static bool value_match(struct world *world, const char *name, const json_t *expect, const json_t *got,
                        struct fault *fault);

static bool waiters_match(struct world *world, const json_t *expect, const json_t *got, struct fault *fault) {
  if (json_array_size(expect) != json_array_size(got)) return false;
  for (size_t i = 0; i < json_array_size(expect); i++) {
    const char *name;
    json_t *value;
    json_object_foreach(json_array_get(expect, i), name, value) {
      const json_t *told = json_object_get(json_array_get(got, i), name);
      if (!value_match(world, name, value, told, fault)) return false;
    }
  }
  return true;
}

static bool value_match(struct world *world, const char *name, const json_t *expect, const json_t *got,
                        struct fault *fault) {
  enum type type;
  if (!got || !type_of(name, &type)) return false;
  switch (type) {
    case NUMBER:
      return number_match(world, expect, got, fault);
    case STATUS:
      return status_match(expect, got);
    case FLAGS:
      return flags_match(expect, got);
    case BYTES:
      return bytes_match(world, expect, got, fault);
    case BYTES_LIST:
      return list_match(world, expect, got, fault);
    case METADATA:
      return metadata_match(world, expect, got, fault);
    case WAITERS:
      return waiters_match(world, expect, got, fault);
    case OWNER:
    case INSTANCE:
      return identity_match(world, type, json_string_value(expect), got, fault);
    case TRUTH:
    case NAME:
      return json_equal(expect, got);
  }
  return false;
}

static bool one_match(struct world *world, const char *name, const json_t *expect, const json_t *got,
                      struct fault *fault) {
  const json_t *told = json_object_get(got, name);
  if (value_match(world, name, expect, told, fault)) return true;
  return blame(fault, "expected %s %s, got %s; the call told %s", name, json_line(&world->arena, expect),
               told ? json_line(&world->arena, told) : "nothing", json_line(&world->arena, got));
}

bool expect_match(struct world *world, const json_t *expect, const json_t *got, struct fault *fault) {
  if (json_object_get(got, "status") && !json_object_get(expect, "status")) {
    json_t *ok = json_string("OK");
    const bool fine = one_match(world, "status", ok, got, fault);
    json_decref(ok);
    if (!fine) return false;
  }
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)expect, name, value) {
    if (!one_match(world, name, value, got, fault)) return false;
  }
  return true;
}
