/* SPDX-License-Identifier: MIT
 *
 * What every test of the C API begins with: cmocka, the public header, and the few words that make a test
 * read as a sentence. Only the shared object is linked: nothing here reaches behind liblock.h.
 *
 * cmocka leaves a failed test by longjmp, which is right on the test's own thread only. So everything that
 * runs elsewhere (threads, callbacks, a forked child) records, and the test thread asserts. What such a
 * thread uses lives on the heap: a failed test never unwinds memory under a thread that still runs.
 */
#ifndef LIBLOCK_TESTS_API_H
#define LIBLOCK_TESTS_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <liblock/liblock.h>

#include "clock.h"

/* A key written as text: pointer and size. */
#define KEY(text) (text), (sizeof(text) - 1)
#define BYTES(text) \
  { (text), sizeof(text) - 1 }
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Far beyond anything a healthy run needs; a test that hits it has found a lost wake-up. */
#define GENEROUS_MS 20000

#define assert_status(expected, call) expect_status((expected), (call), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status(LIBLOCK_OK, call)
#define assert_soon(predicate, argument) expect_soon((predicate), (argument), #predicate, __FILE__, __LINE__)

void expect_status(liblock_status expected, liblock_status actual, const char *call, const char *file,
                   int line);
void expect_soon(bool (*predicate)(void *), void *argument, const char *text, const char *file, int line);

/* Options with every default filled in, ready to be changed. */
liblock_acquire_options acquire_options(void);
liblock_acquire_options try_once(void);
liblock_acquire_options waits(int64_t wait_ms);
liblock_acquire_options with_ttl(int64_t ttl_ms);
liblock_acquire_options owned_by(liblock_owner *owner);
liblock_context_options context_options(void);
liblock_result empty_result(void);

/* Fixtures: *state is a fresh anonymous local context, closed and freed afterwards. */
int open_anonymous(void **state);
int close_context(void **state);
#define fresh(test) cmocka_unit_test_setup_teardown(test, open_anonymous, close_context)

liblock_context *open_local(const char *url, const liblock_context_options *options);
void end_context(liblock_context *context);
liblock_owner *open_owner(liblock_context *context, const char *name);

/* Acquires that the test takes for granted. */
liblock_lock take(liblock_context *context, const char *key);
liblock_lock take_with(liblock_context *context, const char *key, const liblock_acquire_options *options);
/* Status of a try of this key by a stranger; a lock that it got is given back. */
liblock_status probe(liblock_context *context, const char *key);

liblock_stats stats_of(liblock_context *context);
size_t waiters_of(liblock_context *context, const char *key);
/* Returns when exactly this many requests wait in the table, or for the key; fails the test when that never
 * comes. */
void await_waiters(liblock_context *context, uint64_t count);
void await_lost(liblock_context *context, liblock_lock lock);

#endif
