/* SPDX-License-Identifier: MIT
 * Waiting without a thread that waits: two requests for one key, whose ends are read from a completion queue. A program
 * with an event loop of its own polls liblock_completions_fd instead of waiting in liblock_completions_next.
 */
#include <liblock/liblock.h>
#include <stdio.h>

static int failed(const char *what, liblock_status status) {
  fprintf(stderr, "%s: %s\n", what, liblock_status_text(status));
  return 1;
}

int main(void) {
  liblock_context *context;
  liblock_completions *queue;
  liblock_request requests[2];
  liblock_status status = liblock_open("local:async", NULL, &context, NULL);
  if (status != LIBLOCK_OK) return failed("open", status);
  status = liblock_completions_open(context, 16, &queue, NULL);
  if (status != LIBLOCK_OK) return failed("completions_open", status);
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.completions = queue;
  for (int i = 0; i < 2; i++) {
    status = liblock_acquire_async(context, "job", 3, &options, NULL, NULL, &requests[i]);
    if (status != LIBLOCK_OK) return failed("acquire_async", status);
  }
  for (int i = 0; i < 2; i++) {
    liblock_completion end = {.struct_size = sizeof end};
    status = liblock_completions_next(queue, 5000, &end);
    if (status != LIBLOCK_OK || end.status != LIBLOCK_OK) return failed("completions_next", status);
    printf("request %d of 2 has the lock, token %llu\n", end.request == requests[0] ? 1 : 2,
           (unsigned long long)end.token);
    liblock_release(context, end.lock, NULL); /* hands the key to the second request */
  }
  liblock_completions_free(queue);
  liblock_context_free(context);
  return 0;
}
