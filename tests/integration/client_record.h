/* SPDX-License-Identifier: MIT
 *
 * What a client process writes down for the tests that judge it, and the resource that it works at. Everything is in
 * files, in one format for the clients of every language (README.md, Clients), so that it outlives whoever is killed:
 * where a client is at this moment is one write of a few words, and so is each change of the resource.
 */
#ifndef CLIENT_RECORD_H
#define CLIENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

int64_t now_ns(void); /* of the monotonic clock */

/* Once on each thread that calls the rest. Ends the process where the directory is not what it should be. */
void record_open(const char *directory, const char *process, unsigned thread);
bool record_should_stop(void);

/* One call after the other: asking, then holding, until (any number of times), releasing; or ended at once. */
void record_asking(unsigned key);
void record_holding(uint64_t token);
void record_until(int64_t until_ns);
void record_releasing(void);
void record_ended(int32_t status);

/* Under the resource's own lock. token 0: shows none. False: refused, since a larger token was here. */
bool resource_read(unsigned key, uint64_t token, uint64_t *value);
bool resource_write(unsigned key, uint64_t token, uint64_t value);

#endif
