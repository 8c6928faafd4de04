/* SPDX-License-Identifier: MIT
 *
 * Loading and running scenarios: see suite.h.
 *
 * Invariants: one scenario's world is gone before the next begins; a scenario that hangs ends the whole run
 * after SCENARIO_LIMIT_S, naming the step, since what it left behind could spoil all later ones.
 */
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "drive.h"

#define SCENARIO_LIMIT_S 30

static char alarm_text[400];

static void alarm_rang(int signal_number) {
  (void)signal_number;
  const ssize_t written = write(STDOUT_FILENO, alarm_text, strlen(alarm_text));
  _exit(written < 0 ? 3 : 2);
}

/* ------------------------------------------------------------------------------------------- loading --- */

static struct scenario *add(struct suite *suite, const char *file, const char *name, const json_t *node) {
  if (suite->count == SCENARIOS_MAX) {
    fputs("Bail out! more scenarios than SCENARIOS_MAX\n", stdout);
    _exit(2);
  }
  struct scenario *scenario = &suite->scenarios[suite->count++];
  scenario->file = file;
  scenario->name = name;
  scenario->node = node;
  return scenario;
}

static void check_unique(struct suite *suite, struct scenario *added) {
  for (struct scenario *other = suite->scenarios; other < added; other++) {
    if (strcmp(other->name, added->name) == 0)
      blame(&added->malformed, "the name is taken by %s", other->file);
  }
}

static bool head_read(const json_t *root, bool selftest, struct fault *fault) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)root, name, value) {
    if (word_in("schema about scenarios", name)) continue;
    if (!selftest || strcmp(name, "must_fail") != 0)
      return blame(fault, "unknown field \"%s\" of a file", name);
  }
  const json_t *schema = json_object_get(root, "schema");
  if (!json_is_integer(schema) || json_integer_value(schema) != SCHEMA_VERSION) {
    return blame(fault, "this runner reads schema %d only", SCHEMA_VERSION);
  }
  if (!json_is_string(json_object_get(root, "about")))
    return blame(fault, "\"about\" says what the file is for");
  return json_array_size(json_object_get(root, "scenarios")) || blame(fault, "the file has no scenarios");
}

void suite_load(struct suite *suite, const char *path, bool selftest) {
  const char *slash = strrchr(path, '/');
  const char *file = slash ? slash + 1 : path;
  json_error_t error;
  struct fault fault = {0};
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!root) blame(&fault, "line %d: %s", error.line, error.text);
  if (!suite->files) suite->files = json_array();
  if (root) json_array_append_new(suite->files, root);
  if (fault.set || !head_read(root, selftest, &fault)) {
    struct scenario *scenario = add(suite, file, file, NULL);
    scenario->malformed = fault;
    scenario->must_fail = json_object_get(root, "must_fail");
    return;
  }
  const json_t *list = json_object_get(root, "scenarios");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *node = json_array_get(list, i);
    const char *name = step_text(node, "name");
    struct scenario *scenario = add(suite, file, name ? name : "(no name)", node);
    scenario->must_fail = json_object_get(node, "must_fail");
    scenario_check(node, selftest, &suite->arena, &scenario->malformed);
    check_unique(suite, scenario);
  }
}

bool scenario_holds(const struct scenario *scenario, const char *kind) {
  if (scenario->malformed.set) return true;
  const json_t *contexts = json_object_get(scenario->node, "contexts");
  for (size_t i = 0; i < json_array_size(contexts); i++) {
    if (strcmp(json_string_value(json_array_get(contexts, i)), kind) == 0) return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------- running --- */

static void run_step(struct world *world, const json_t *step, size_t number) {
  struct call *call = call_prepare(world, step, number);
  if (!call->fault.set) {
    const char *thread = step_text(step, "thread");
    if (!thread) {
      call->verb->perform(call);
    } else if (!actor_run(world, thread, call)) {
      return;
    }
  }
  call_settle(call);
}

/* "context": null opens nothing; anything else opens the context "c" as an `open` step would. */
static void open_first(struct world *world, const json_t *scenario) {
  json_t *options = json_object_get(scenario, "context");
  if (json_is_null(options)) return;
  json_t *step = json_pack("{s:s, s:s}", "do", "open", "as", "c");
  if (options) json_object_set(step, "options", options);
  run_step(world, step, 0);
  json_decref(step);
}

static void watch(const char *name, size_t step) {
  alarm(0);
  snprintf(alarm_text, sizeof alarm_text, "Bail out! %.200s hangs at step %zu\n", name, step);
  signal(SIGALRM, alarm_rang);
  alarm(SCENARIO_LIMIT_S);
}

static struct world world_of_scenario; /* too large for a stack, and used by one scenario at a time */

void scenario_run(struct suite *suite, const struct scenario *scenario, const char *url,
                  struct outcome *outcome) {
  memset(outcome, 0, sizeof *outcome);
  if (scenario->malformed.set) {
    outcome->fault = scenario->malformed;
    return;
  }
  struct world *world = &world_of_scenario;
  const json_t *steps = json_object_get(scenario->node, "steps");
  const size_t count = json_array_size(steps);
  world_begin(world, url, scenario->name);
  watch(scenario->name, 0);
  open_first(world, scenario->node);
  while (!world->fault.set && outcome->step < count) {
    const json_t *step = json_array_get(steps, outcome->step++);
    watch(scenario->name, outcome->step);
    outcome->doing = json_line(&suite->arena, step);
    run_step(world, step, outcome->step);
  }
  const bool failed = world->fault.set;
  watch(scenario->name, count + 1);
  world_end(world);
  alarm(0);
  outcome->fault = world->fault;
  if (world->fault.set && !failed) {
    outcome->step = count + 1;
    outcome->doing = "(the end)";
  }
}
