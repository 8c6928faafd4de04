/* SPDX-License-Identifier: MIT
 *
 * The conformance runner for C: reads scenarios, runs those that hold for the backend of --url, prints TAP.
 *
 *   runner [--url URL] [--filter TEXT] [--list] [--selftest] [--census "total=60 order=20"] FILE…
 *
 * Ends with 0 when all passed, 1 when one failed, 2 when it could not run. A run of no scenario at all is a
 * failure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "suite.h"

struct arguments {
  const char *url;
  const char *filter;
  const char *census;
  bool list;
  bool selftest;
  int first_file;
};

static const char usage[] =
    "usage: runner [--url URL] [--filter TEXT] [--list] [--selftest] [--census CLAIMS] FILE...\n";

static bool arguments_read(int count, char **words, struct arguments *arguments) {
  *arguments = (struct arguments){.url = "local:", .filter = ""};
  int i = 1;
  for (; i < count && strncmp(words[i], "--", 2) == 0; i++) {
    const char *word = words[i];
    const char **taker = strcmp(word, "--url") == 0      ? &arguments->url
                         : strcmp(word, "--filter") == 0 ? &arguments->filter
                         : strcmp(word, "--census") == 0 ? &arguments->census
                                                         : NULL;
    if (strcmp(word, "--list") == 0) {
      arguments->list = true;
    } else if (strcmp(word, "--selftest") == 0) {
      arguments->selftest = true;
    } else if (taker && i + 1 < count) {
      *taker = words[++i];
    } else {
      return false;
    }
  }
  arguments->first_file = i;
  return i < count;
}

static const char *kind_of(const char *url) {
  if (strncmp(url, "local:", 6) == 0) return "local";
  return strncmp(url, "quorum:", 7) == 0 ? "quorum" : "redis";
}

static void print_cause(const struct scenario *scenario, const struct outcome *outcome) {
  if (outcome->step) {
    const size_t steps = json_array_size(json_object_get(scenario->node, "steps"));
    printf("# %s: step %zu of %zu: %s\n", scenario->file, outcome->step, steps, outcome->doing);
  } else {
    printf("# %s: before the first step\n", scenario->file);
  }
  printf("# %s\n", outcome->fault.text);
}

/* A self-test scenario passes when the runner fails it, at the step and for the reason that it names. */
static bool bites(const struct scenario *scenario, const struct outcome *outcome) {
  const json_t *step = json_object_get(scenario->must_fail, "step");
  const char *because = json_string_value(json_object_get(scenario->must_fail, "because"));
  if (!json_is_integer(step) || !because) {
    printf("# must_fail needs a step and a because\n");
    return false;
  }
  if (!outcome->fault.set) {
    printf("# passed, but must fail: %s\n", because);
    return false;
  }
  if ((size_t)json_integer_value(step) == outcome->step && strstr(outcome->fault.text, because)) return true;
  printf("# must fail at step %d because of \"%s\", but:\n", (int)json_integer_value(step), because);
  print_cause(scenario, outcome);
  return false;
}

static bool run_one(struct suite *suite, const struct scenario *scenario, const struct arguments *arguments,
                    size_t number) {
  struct outcome outcome;
  scenario_run(suite, scenario, arguments->url, &outcome);
  const bool passed = arguments->selftest ? bites(scenario, &outcome) : !outcome.fault.set;
  printf("%s %zu - %s\n", passed ? "ok" : "not ok", number, scenario->name);
  if (!passed && !arguments->selftest) print_cause(scenario, &outcome);
  fflush(stdout);
  return passed;
}

static int run_all(struct suite *suite, const struct arguments *arguments) {
  size_t planned = 0, failed = 0, elsewhere = 0;
  const char *kind = kind_of(arguments->url);
  for (size_t i = 0; i < suite->count; i++) {
    const struct scenario *scenario = &suite->scenarios[i];
    if (!strstr(scenario->name, arguments->filter)) continue;
    if (!scenario_holds(scenario, kind)) {
      elsewhere++;
      continue;
    }
    planned++;
    if (arguments->list) {
      printf("%s (%s)\n", scenario->name, scenario->file);
    } else {
      failed += !run_one(suite, scenario, arguments, planned);
    }
  }
  if (arguments->list) return 0;
  printf("1..%zu\n# %zu passed, %zu failed, on %s; %zu hold on other contexts only\n", planned,
         planned - failed, failed, kind, elsewhere);
  return failed || !planned;
}

static bool claim_met(const struct suite *suite, const char *tag, size_t wanted, const char *kind,
                      size_t number) {
  size_t found = 0;
  for (size_t i = 0; i < suite->count; i++) {
    const struct scenario *scenario = &suite->scenarios[i];
    if (scenario->malformed.set || !scenario_holds(scenario, kind)) continue;
    found += strcmp(tag, "total") == 0 || scenario_tagged(scenario->node, tag);
  }
  const bool met = found >= wanted;
  printf("%s %zu - %s: %zu scenarios of at least %zu\n", met ? "ok" : "not ok", number, tag, found, wanted);
  return met;
}

/* "order=20": at least so many scenarios carry the tag, "total" counts all. Tags were verified by
 * scenario_check. */
static int census(const struct suite *suite, const char *claims, const char *kind) {
  size_t number = 0, failed = 0;
  int length = 0;
  char tag[32];
  size_t wanted;
  const char *at = claims;
  for (; sscanf(at, " %31[a-z]=%zu%n", tag, &wanted, &length) == 2; at += length) {
    failed += !claim_met(suite, tag, wanted, kind, ++number);
  }
  printf("1..%zu\n", number);
  if (*at) printf("# not understood: %s\n", at);
  return failed || !number || *at;
}

int main(int count, char **words) {
  static struct suite suite;
  struct arguments arguments;
  if (!arguments_read(count, words, &arguments)) {
    fputs(usage, stderr);
    return 2;
  }
  for (int i = arguments.first_file; i < count; i++) suite_load(&suite, words[i], arguments.selftest);
  if (arguments.census) return census(&suite, arguments.census, kind_of(arguments.url));
  return run_all(&suite, &arguments);
}
