/* SPDX-License-Identifier: MIT
 *
 * Compares what a step expects with what the call told. Each expectation has one type (number, status, bytes,
 * …) wherever it appears; the type says how it is written and compared.
 *
 * Invariant: an expectation that cannot be compared is a fault; none is passed over.
 */
#ifndef CONFORMANCE_MATCH_H
#define CONFORMANCE_MATCH_H

#include "world.h"

/* Static check, before anything runs: is every expectation known, among `tells`, and written as its type
 * says? */
bool expect_check(const json_t *expect, const char *tells, struct arena *arena, struct fault *fault);
/* A missing "status" expects OK. */
bool expect_match(struct world *world, const json_t *expect, const json_t *got, struct fault *fault);

#endif
