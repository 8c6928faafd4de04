/* SPDX-License-Identifier: MIT
 *
 * See client_record.h. Files of DIRECTORY: `resource`, of which each key has four numbers (largest token, value,
 * writes, refusals) under one flock, which the kernel gives back for whoever is killed; and of each NAME, a further
 * thread N of a process being NAME.N, NAME.now and NAME.log, lines of
 *   hold KEY NAME TOKEN ASKED FROM UNTIL ENDED STATUS     from FROM until UNTIL it certainly held
 *   call KEY NAME TOKEN ASKED ENDED STATUS                it never certainly did; TOKEN 0: it was granted none
 */
#include "client_record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum state { IDLE, ASKING, HOLDING, RELEASING };

struct moment {
  uint64_t state, key, token;
  int64_t asked, from, until; /* until 0: no look has confirmed it yet */
};

struct place {
  uint64_t token, value, written, refused;
};

/* Of each thread its own, as if it were another process. */
static _Thread_local struct moment moment;
static _Thread_local int moment_file, log_file, resource_file;
static _Thread_local char client_name[64];
static _Thread_local char stop_path[512];

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int open_or_exit(const char *directory, const char *name, const char *suffix, int flags) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s%s", directory, name, suffix);
  const int file = open(path, flags | O_CLOEXEC, 0600);
  if (file < 0) {
    perror(path);
    exit(4);
  }
  return file;
}

static void write_moment(void) {
  if (pwrite(moment_file, &moment, sizeof moment, 0) != sizeof moment) abort();
}

void record_open(const char *directory, const char *process, unsigned thread) {
  const char *name = client_name;
  snprintf(client_name, sizeof client_name, thread ? "%s.%u" : "%s", process, thread);
  moment_file = open_or_exit(directory, name, ".now", O_RDWR | O_CREAT);
  log_file = open_or_exit(directory, name, ".log", O_WRONLY | O_CREAT | O_APPEND);
  resource_file = open_or_exit(directory, "resource", "", O_RDWR);
  snprintf(stop_path, sizeof stop_path, "%s/stop", directory);
  write_moment();
}

bool record_should_stop(void) { return access(stop_path, F_OK) == 0; }

void record_asking(unsigned key) {
  moment = (struct moment){.state = ASKING, .key = key, .asked = now_ns()};
  write_moment();
}

void record_holding(uint64_t token) {
  moment.token = token;
  moment.from = now_ns();
  moment.state = HOLDING;
  write_moment();
}

void record_until(int64_t until_ns) {
  moment.until = until_ns;
  write_moment();
}

void record_releasing(void) {
  moment.state = RELEASING;
  write_moment();
}

void record_ended(int32_t status) {
  char line[256];
  const int64_t ended = now_ns();
  const int size =
      moment.until > moment.from && moment.from > 0
          ? snprintf(line, sizeof line,
                     "hold k%" PRIu64 " %s %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                     " %" PRId32 "\n",
                     moment.key, client_name, moment.token, moment.asked, moment.from, moment.until, ended,
                     status)
          : snprintf(line, sizeof line,
                     "call k%" PRIu64 " %s %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId32 "\n", moment.key,
                     client_name, moment.token, moment.asked, ended, status);
  /* In this order: who is killed in between has one call less, and not one twice. */
  moment.state = IDLE;
  write_moment();
  if (write(log_file, line, (size_t)size) != size) abort();
}

/* Of the bytes of one place, which are written at once: a killed client leaves the old ones or the new ones. */
static bool visit(unsigned key, uint64_t token, uint64_t *value, bool writes) {
  struct place place;
  const off_t at = (off_t)(key * sizeof place);
  flock(resource_file, LOCK_EX);
  if (pread(resource_file, &place, sizeof place, at) != sizeof place) abort();
  const bool allowed = token == 0 || token >= place.token;
  if (allowed && token != 0) place.token = token;
  if (!allowed) place.refused++;
  if (allowed && writes) {
    place.value = *value;
    place.written++;
  }
  if (!writes) *value = place.value;
  if (pwrite(resource_file, &place, sizeof place, at) != sizeof place) abort();
  flock(resource_file, LOCK_UN);
  return allowed;
}

bool resource_read(unsigned key, uint64_t token, uint64_t *value) { return visit(key, token, value, false); }

bool resource_write(unsigned key, uint64_t token, uint64_t value) { return visit(key, token, &value, true); }
