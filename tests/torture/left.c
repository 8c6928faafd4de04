/* SPDX-License-Identifier: MIT
 *
 * See left.h. Nothing here asks for memory, which is what is counted.
 */
#define _GNU_SOURCE
#include "left.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"

enum { DESCRIPTORS_MAX = 256, STEP_US = 1000, STEPS_MAX = 2000, STEPS_OF_REST = 20 };

/* A folder has one link from each folder in it, and two of its own. */
static int count_threads(void) {
  struct stat status;
  return stat("/proc/self/task", &status) == 0 ? (int)status.st_nlink - 2 : 0;
}

struct left left_now(void) {
  struct left now = {.blocks = fail_blocks(), .threads = count_threads()};
  for (int fd = 0; fd < DESCRIPTORS_MAX; ++fd) now.descriptors += fcntl(fd, F_GETFD) != -1;
  return now;
}

/* The most telling first: a thread has memory as well. */
static const char *sentence_broken(const struct left *now, const struct left *usual) {
  if (now->threads > usual->threads) return "no thread is lost";
  if (now->descriptors > usual->descriptors) return "no descriptor is lost";
  return now->blocks > usual->blocks ? "no block of memory is lost" : NULL;
}

struct left left_at_rest(void) {
  struct left before = left_now();
  for (int n = 0, quiet = 0; n < STEPS_MAX && quiet < STEPS_OF_REST; ++n, ++quiet) {
    usleep(STEP_US);
    const struct left now = left_now();
    if (now.blocks != before.blocks || now.descriptors != before.descriptors || now.threads != before.threads)
      quiet = 0;
    before = now;
  }
  return before;
}

const char *left_in_the_end(const struct left *usual) {
  for (int n = 0;; ++n) {
    const struct left now = left_now();
    const char *broken = sentence_broken(&now, usual);
    if (broken == NULL || n == STEPS_MAX) return broken;
    usleep(STEP_US);
  }
}
