/* SPDX-License-Identifier: MIT
 *
 * Files of scenarios, and running one of them.
 */
#ifndef CONFORMANCE_SUITE_H
#define CONFORMANCE_SUITE_H

#include "base.h"

#define SCHEMA_VERSION 1
#define SCENARIOS_MAX 1000

struct scenario {
  const char *file; /* without folders */
  const char *name; /* of the scenario, or of its file where the file cannot be read */
  const json_t *node;
  const json_t *must_fail;
  struct fault malformed;
};

struct suite {
  struct arena arena;
  json_t *files; /* keeps what the scenarios point into */
  struct scenario scenarios[SCENARIOS_MAX];
  size_t count;
};

struct outcome {
  struct fault fault;
  size_t step;       /* 1-based; 0 = malformed; one more than there are steps = at the end */
  const char *doing; /* the step as written */
};

/* A file that cannot be read becomes one malformed scenario, so that it fails loudly. */
void suite_load(struct suite *suite, const char *path, bool selftest);
/* Does the scenario hold in contexts of this kind: "local", "redis" or "quorum"? */
bool scenario_holds(const struct scenario *scenario, const char *kind);
void scenario_run(struct suite *suite, const struct scenario *scenario, const char *url,
                  struct outcome *outcome);

#endif
