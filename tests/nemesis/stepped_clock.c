/* SPDX-License-Identifier: MIT
 *
 * Loaded in front of libc into a server: its time of day is off by the nanoseconds that stand in the first 8 bytes of
 * the file LIBLOCK_CLOCK, and follows at once when they change. The monotonic clock stays what it is. Allocates nothing
 * and asks the kernel directly, since allocators look at clocks before the loader is done.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

static const volatile int64_t *offset_ns;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("LIBLOCK_CLOCK");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) abort();
  void *mapped = mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) abort();
  offset_ns = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  const int status = (int)syscall(SYS_clock_gettime, clock, now);
  if (status != 0 || offset_ns == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
    return status;
  const int64_t total = (int64_t)now->tv_sec * NS_PER_S + now->tv_nsec + *offset_ns;
  now->tv_sec = total / NS_PER_S;
  now->tv_nsec = total % NS_PER_S;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
