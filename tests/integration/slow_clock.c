/* SPDX-License-Identifier: MIT
 *
 * Loaded in front of libc: between any two looks at a clock some time passes, as it seldom does by itself. What a
 * program takes for one moment and asks for twice is two moments then.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
  const struct timespec pause = {0, 150000};
  syscall(SYS_nanosleep, &pause, NULL);
  return (int)syscall(SYS_clock_gettime, clock, now);
}
