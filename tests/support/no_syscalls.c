/* SPDX-License-Identifier: MIT
 *
 * The filter turns each system call into SIGSYS; the handler reports the number and ends the process, which
 * needs two calls of its own: they carry a secret in an unused argument register, and the filter lets those
 * pass.
 */
#define _GNU_SOURCE
#include "no_syscalls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SECRET = 0x5eed10c };

static size_t put_number(char *out, int number) {
  char digits[12];
  size_t n = 0;
  do digits[n++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  for (size_t i = 0; i < n; i++) out[i] = digits[n - 1 - i];
  return n;
}

static void caught(int signal, siginfo_t *info, void *context) {
  (void)signal;
  (void)context;
  static const char head[] = "a system call was made: number ";
  char line[64];
  size_t size = 0;
  for (; size < sizeof head - 1; size++) line[size] = head[size];
  size += put_number(line + size, info->si_syscall);
  line[size++] = '\n';
  (void)!syscall(SYS_write, 2, line, size, 0, 0, SECRET);
  syscall(SYS_exit_group, NO_SYSCALLS_CAUGHT, 0, 0, 0, 0, SECRET);
}

int no_syscalls_begin(void) {
  struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  const uint32_t secret_at = offsetof(struct seccomp_data, args) + 5 * sizeof(uint64_t);
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, secret_at),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECRET, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return NO_SYSCALLS_UNAVAILABLE;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return NO_SYSCALLS_UNAVAILABLE;
  return NO_SYSCALLS_CLEAN;
}
