/* SPDX-License-Identifier: MIT
 *
 * The static check of a scenario, before any of it runs: every field, option, expectation and verb is known
 * and written as SPEC.md says, and its tags claim no more than its steps do.
 */
#ifndef CONFORMANCE_CHECK_H
#define CONFORMANCE_CHECK_H

#include "base.h"

/* must_fail is a field of self-test scenarios only. */
bool scenario_check(const json_t *scenario, bool selftest, struct arena *arena, struct fault *fault);
/* The tags that count: each a claim that scenario_check verifies. */
bool scenario_tagged(const json_t *scenario, const char *tag);

#endif
