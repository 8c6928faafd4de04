/* SPDX-License-Identifier: MIT
 *
 * Time for tests: used to know that something took at least so long, and as a generous limit for what must
 * come.
 */
#ifndef LIBLOCK_TESTS_CLOCK_H
#define LIBLOCK_TESTS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t now_ns(void);
int64_t now_ms(void);

/* Asks again and again until the predicate holds; false when limit_ms went by first. */
bool wait_until(bool (*predicate)(void *), void *argument, int64_t limit_ms);

/* Returns when at least this much monotonic time has gone by. */
void let_pass_ms(int64_t ms);

#endif
