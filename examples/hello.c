/* SPDX-License-Identifier: MIT
 * The shortest useful program: one lock, its fencing token, and the way back. Which locks it meets there is the url's
 * business: "local:hello" (the default), "redis://localhost/0", "unix:///run/redis.sock" …
 */
#include <liblock/liblock.h>
#include <stdio.h>

int main(int count, char **words) {
  const char *url = count > 1 ? words[1] : "local:hello";
  liblock_context *context;
  liblock_result result = LIBLOCK_RESULT_INIT;
  if (liblock_open(url, NULL, &context, &result) != LIBLOCK_OK) {
    fprintf(stderr, "open: %s\n", result.message);
    return 1;
  }
  /* It is open all the same: a quorum says what it cannot do yet, and why. */
  if (result.message[0] != '\0') fprintf(stderr, "open: %s\n", result.message);
  liblock_lock lock;
  if (liblock_acquire(context, "greeting", 8, NULL, &lock, &result) != LIBLOCK_OK) {
    fprintf(stderr, "acquire: %s\n", result.message);
    return 1;
  }
  printf("hello: I hold \"greeting\" with token %llu\n", (unsigned long long)result.token);
  liblock_release(context, lock, NULL);
  liblock_context_free(context);
  return 0;
}
