/* SPDX-License-Identifier: MIT
 *
 * What a process has out that it must give back. What other threads give back, they may a moment later.
 */
#ifndef LEFT_H
#define LEFT_H

struct left {
  long blocks; /* of memory */
  int descriptors, threads;
};

struct left left_now(void);
/* Once it no longer changes. */
struct left left_at_rest(void);
/* NULL, or the sentence that does not hold where more than the usual is out for good. */
const char *left_in_the_end(const struct left *usual);

#endif
