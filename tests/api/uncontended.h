/* SPDX-License-Identifier: MIT
 *
 * The uncontended pairs whose cost is counted: keys of 1 to 512 bytes, with and without a lease, with an
 * owner, on three keys, and by a try. Used by the tests that count allocations and system calls.
 */
#ifndef LIBLOCK_TESTS_UNCONTENDED_H
#define LIBLOCK_TESTS_UNCONTENDED_H

#include "api.h"

enum { UNCONTENDED_PAIRS = 10000 };

typedef liblock_status (*uncontended_pair)(liblock_context *context, liblock_owner *owner, int round);

struct uncontended_kind {
  const char *name;
  uncontended_pair pair;
};

extern const struct uncontended_kind uncontended_kinds[];
extern const size_t uncontended_kind_count;

/* UNCONTENDED_PAIRS of them; the first status that is not OK, else OK. */
liblock_status uncontended_run(const struct uncontended_kind *kind, liblock_context *context,
                               liblock_owner *owner);

#endif
