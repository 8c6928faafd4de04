/* SPDX-License-Identifier: MIT
 *
 * Reads /proc/self/task and /proc/self/fd. A child ends by _exit: it runs nobody's destructors twice.
 */
#define _GNU_SOURCE
#include "process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forking.h"

static id_list list_numbers(const char *path, bool skip_own_descriptor) {
  id_list list = {0};
  DIR *directory = opendir(path);
  if (directory == NULL) return list;
  for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const int id = (int)strtol(entry->d_name, NULL, 10);
    if (skip_own_descriptor && id == dirfd(directory)) continue;
    if (list.count < PROCESS_LIST_MAX) list.ids[list.count++] = id;
  }
  closedir(directory);
  return list;
}

id_list list_threads(void) { return list_numbers("/proc/self/task", false); }

id_list list_descriptors(void) { return list_numbers("/proc/self/fd", true); }

bool list_has(const id_list *list, int id) {
  for (size_t i = 0; i < list->count; i++) {
    if (list->ids[i] == id) return true;
  }
  return false;
}

bool thread_name_begins(int thread, const char *begin) {
  char path[64];
  char name[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
  FILE *file = fopen(path, "re");
  if (file == NULL) return true;
  const bool read = fgets(name, sizeof name, file) != NULL;
  fclose(file);
  return !read || strncmp(name, begin, strlen(begin)) == 0;
}

uint64_t blocked_signals(int thread) {
  char path[64];
  char line[256];
  unsigned long long mask = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
  FILE *file = fopen(path, "re");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "SigBlk: %llx", &mask) == 1) break;
  }
  fclose(file);
  return mask;
}

int run_in_child(int (*check)(void *), void *argument) {
  fflush(stdout);
  fflush(stderr);
  return in_a_child(check, argument);
}

void child_failed(const char *text, const char *file, int line) {
  fprintf(stderr, "in the forked child: %s:%d: not true: %s\n", file, line, text);
  _exit(99);
}
