/* SPDX-License-Identifier: MIT
 *
 * Static checks: see check.h. Running a malformed scenario could pass by accident, so nothing is passed over
 * here.
 */
#include "check.h"

#include <string.h>

#include "call.h"
#include "match.h"

static const char scenario_fields[] = "name contexts tags context steps note must_fail";
static const char common_fields[] = "do context thread background expect note";
static const char end_tells[] = "kind request lock status token remaining_ms waited_ms";
static const char tags[] = "order lost cancel close";

static const char text_fields[] = "do context as space url lock request owner thread of name instance note";
static const char truth_fields[] = "background global add drop_queue any_order";
static const char number_fields[] = "wait_ms ms waiters batch_size dead_ttl_ms";
static const char bytes_fields[] = "key value prefix";

static bool words_present(const char *words, const json_t *step, struct fault *fault) {
  char word[32];
  while (*words) {
    const size_t length = strcspn(words, " ");
    if (length >= sizeof word) return blame(fault, "a field's name is too long for this check");
    memcpy(word, words, length);
    word[length] = '\0';
    if (!json_object_get(step, word)) return blame(fault, "field \"%s\" is missing", word);
    words += length + (words[length] == ' ');
  }
  return true;
}

static bool keys_check(const json_t *keys, struct arena *arena, struct fault *fault) {
  liblock_bytes unused;
  if (!json_is_array(keys)) return blame(fault, "\"keys\" takes a list");
  for (size_t i = 0; i < json_array_size(keys); i++) {
    if (!bytes_read(json_array_get(keys, i), arena, &unused, fault)) return false;
  }
  return true;
}

static bool ends_check(const json_t *ends, struct arena *arena, struct fault *fault) {
  if (!json_array_size(ends)) return blame(fault, "\"ends\" takes a list of at least one end");
  for (size_t i = 0; i < json_array_size(ends); i++) {
    const json_t *end = json_array_get(ends, i);
    if (!expect_check(end, end_tells, arena, fault)) return false;
    const bool request = json_object_get(end, "request") != NULL;
    if (request == (json_object_get(end, "lock") != NULL)) {
      return blame(fault, "an end names a request, or a lock that is lost: %s", json_line(arena, end));
    }
  }
  return true;
}

static bool options_check(const char *verb, const json_t *options, struct arena *arena, struct fault *fault) {
  if (strcmp(verb, "open") == 0) {
    liblock_context_options context_options;
    return context_options_read(options, arena, &context_options, fault);
  }
  liblock_acquire_options acquire_options;
  enum lost_notice notice;
  return acquire_options_read(options, arena, &acquire_options, &notice, fault);
}

static bool field_check(const struct verb *verb, const char *name, const json_t *value, struct arena *arena,
                        struct fault *fault) {
  liblock_bytes unused;
  int64_t unused_ms;
  bool fits = true;
  if (word_in(text_fields, name)) fits = json_is_string(value);
  if (word_in(truth_fields, name)) fits = json_is_boolean(value);
  if (word_in(number_fields, name)) fits = json_is_integer(value);
  if (!fits) return blame(fault, "field \"%s\" is of another type: %s", name, json_line(arena, value));
  if (word_in(bytes_fields, name)) return bytes_read(value, arena, &unused, fault);
  if (strcmp(name, "ttl_ms") == 0) return ttl_read(value, &unused_ms, fault);
  if (strcmp(name, "keys") == 0) return keys_check(value, arena, fault);
  if (strcmp(name, "ends") == 0) return ends_check(value, arena, fault);
  if (strcmp(name, "expect") == 0) return expect_check(value, verb->tells, arena, fault);
  if (strcmp(name, "options") == 0) return options_check(verb->name, value, arena, fault);
  return true;
}

static bool step_check(const json_t *step, struct arena *arena, struct fault *fault) {
  const char *word = step_text(step, "do");
  const struct verb *verb = word ? verb_find(word) : NULL;
  if (!verb) return blame(fault, "unknown verb: %s", json_line(arena, step));
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)step, name, value) {
    if (!word_in(common_fields, name) && !word_in(verb->needs, name) && !word_in(verb->allows, name)) {
      return blame(fault, "unknown field \"%s\" in %s", name, json_line(arena, step));
    }
    if (!field_check(verb, name, value, arena, fault)) return false;
  }
  if (!words_present(verb->needs, step, fault)) return false;
  const bool threaded = json_object_get(step, "thread") != NULL;
  if (threaded && verb->main_only) return blame(fault, "\"%s\" cannot be given to a thread", verb->name);
  if (json_object_get(step, "background") && !threaded)
    return blame(fault, "\"background\" needs a \"thread\"");
  if (!word_in(verb->allows, "keys")) return true;
  const int targets =
      !!json_object_get(step, "key") + !!json_object_get(step, "keys") + !!json_object_get(step, "global");
  return targets == 1 ||
         blame(fault, "an acquire takes one of key, keys and global: %s", json_line(arena, step));
}

/* ---------------------------------------------------------------------------------------------- tags --- */

static bool says(const json_t *object, const char *name, const char *word) {
  const char *text = json_string_value(json_object_get(object, name));
  return text && strcmp(text, word) == 0;
}

/* Grants that are awaited one after the other. */
static size_t grants_in_order(const json_t *step) {
  const json_t *ends = json_object_get(step, "ends");
  size_t grants = 0;
  if (json_is_true(json_object_get(step, "any_order"))) return 0;
  for (size_t i = 0; i < json_array_size(ends); i++) {
    const json_t *end = json_array_get(ends, i);
    grants +=
        json_object_get(end, "request") && (!json_object_get(end, "status") || says(end, "status", "OK"));
  }
  return grants;
}

static bool expects_status(const json_t *step, const char *status) {
  const json_t *ends = json_object_get(step, "ends");
  for (size_t i = 0; i < json_array_size(ends); i++) {
    if (says(json_array_get(ends, i), "status", status)) return true;
  }
  return says(json_object_get(step, "expect"), "status", status);
}

static bool tag_holds(const json_t *scenario, const char *tag) {
  const json_t *steps = json_object_get(scenario, "steps");
  size_t grants = 0;
  bool lost = false, cancels = false, closes = false, closed = false;
  for (size_t i = 0; i < json_array_size(steps); i++) {
    const json_t *step = json_array_get(steps, i);
    grants += grants_in_order(step);
    lost = lost || expects_status(step, "LOST");
    closed = closed || expects_status(step, "CLOSED");
    cancels = cancels || says(step, "do", "cancel");
    closes = closes || says(step, "do", "close") || says(step, "do", "close_async");
  }
  if (strcmp(tag, "order") == 0) return grants >= 2;
  if (strcmp(tag, "lost") == 0) return lost;
  if (strcmp(tag, "cancel") == 0) return cancels;
  return closes && closed;
}

bool scenario_tagged(const json_t *scenario, const char *tag) {
  const json_t *list = json_object_get(scenario, "tags");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *word = json_string_value(json_array_get(list, i));
    if (word && strcmp(word, tag) == 0) return true;
  }
  return false;
}

static bool tags_check(const json_t *scenario, struct fault *fault) {
  const json_t *list = json_object_get(scenario, "tags");
  if (list && !json_is_array(list)) return blame(fault, "\"tags\" takes a list");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *tag = json_string_value(json_array_get(list, i));
    if (!tag || !word_in(tags, tag)) return blame(fault, "unknown tag");
    if (!tag_holds(scenario, tag)) return blame(fault, "tag \"%s\" claims what the steps do not do", tag);
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ scenario --- */

static bool head_check(const json_t *scenario, bool selftest, struct arena *arena, struct fault *fault) {
  const char *field;
  json_t *value;
  json_object_foreach((json_t *)scenario, field, value) {
    const bool known = word_in(scenario_fields, field) && (selftest || strcmp(field, "must_fail") != 0);
    if (!known) return blame(fault, "unknown field \"%s\" of a scenario", field);
  }
  const char *name = step_text(scenario, "name");
  if (!name || !*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")]) {
    return blame(fault, "a scenario's name is made of a-z, 0-9 and _");
  }
  const json_t *contexts = json_object_get(scenario, "contexts");
  if (!json_array_size(contexts)) return blame(fault, "\"contexts\" says where the scenario holds");
  for (size_t i = 0; i < json_array_size(contexts); i++) {
    const char *context = json_string_value(json_array_get(contexts, i));
    if (!context || !word_in("local redis quorum", context)) return blame(fault, "unknown context kind");
  }
  const json_t *context = json_object_get(scenario, "context");
  liblock_context_options unused;
  if (context && !json_is_null(context) && !context_options_read(context, arena, &unused, fault))
    return false;
  return json_array_size(json_object_get(scenario, "steps")) || blame(fault, "a scenario has steps");
}

bool scenario_check(const json_t *scenario, bool selftest, struct arena *arena, struct fault *fault) {
  if (!json_is_object(scenario)) return blame(fault, "a scenario is an object");
  if (!head_check(scenario, selftest, arena, fault)) return false;
  const json_t *steps = json_object_get(scenario, "steps");
  for (size_t i = 0; i < json_array_size(steps); i++) {
    if (step_check(json_array_get(steps, i), arena, fault)) continue;
    char cause[sizeof fault->text];
    memcpy(cause, fault->text, sizeof cause);
    fault->set = false;
    return blame(fault, "malformed step %zu: %.1900s", i + 1, cause);
  }
  return tags_check(scenario, fault);
}
