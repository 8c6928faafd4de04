/* SPDX-License-Identifier: MIT
 * A program of somebody else, in C11: it knows the installed header and pkg-config, and nothing of this tree.
 */
#include <liblock/liblock.h>
#include <stdio.h>
#include <string.h>

static int expect(const char *what, liblock_status got, liblock_status wanted) {
  if (got == wanted) return 1;
  fprintf(stderr, "%s: %s, not %s\n", what, liblock_status_name(got), liblock_status_name(wanted));
  return 0;
}

int main(void) {
  liblock_context *context = NULL;
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_lock lock = 0, second = 0;
  uint64_t token = 0;
  int good = 1;

  if (!expect("open", liblock_open("local:", NULL, &context, &result), LIBLOCK_OK)) return 1;
  good &= expect("acquire", liblock_acquire(context, "key", 3, NULL, &lock, &result), LIBLOCK_OK);
  good &= expect("token", liblock_fencing_token(context, lock, &token), LIBLOCK_OK);
  good &= token != 0 && token == result.token;
  good &=
      expect("try of a held key", liblock_try_acquire(context, "key", 3, NULL, &second, NULL), LIBLOCK_BUSY);
  good &= expect("release", liblock_release(context, lock, NULL), LIBLOCK_OK);
  good &= expect("second release", liblock_release(context, lock, NULL), LIBLOCK_NOT_HELD);
  good &= expect("close", liblock_close(context), LIBLOCK_OK);
  liblock_context_free(context);
  good &= strcmp(liblock_version_string(), LIBLOCK_TEST_VERSION) == 0;
  puts(good ? "good" : "bad");
  return good ? 0 : 1;
}
