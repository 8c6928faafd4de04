/* SPDX-License-Identifier: MIT
 * Who leads? A lock that survives the loss of some of its servers, with a value that says who has it, and a token by
 * which whatever the leader writes to knows him from his predecessors. The url: "quorum:redis://a,redis://b,redis://c".
 * With the word "init" behind it the program first makes the servers a quorum: once, when they are new.
 */
#include <liblock/liblock.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *what, liblock_status status, const liblock_result *result) {
  fprintf(stderr, "%s: %s: %s\n", what, liblock_status_name(status), result->message);
  return 1;
}

static int lead(liblock_context *context) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.value = "10.0.0.7:8080";
  options.value_size = strlen(options.value);
  options.wait_ms = 5000; /* the lease is kept alive until the release, or until this process ends */
  liblock_lock lock;
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_status status = liblock_acquire(context, "leader", 6, &options, &lock, &result);
  if (status != LIBLOCK_OK) return failed("acquire", status, &result);
  printf("leading by %u votes of %u, with token %llu\n", result.votes, result.nodes,
         (unsigned long long)result.token);

  /* What anybody else would do to find the leader. */
  liblock_info *info;
  status = liblock_read(context, "leader", 6, LIBLOCK_READ_QUORUM, NULL, &info, &result);
  if (status != LIBLOCK_OK) return failed("read", status, &result);
  size_t size;
  const char *value = liblock_info_value(info, &size);
  printf("the leader is at %.*s\n", (int)size, value);
  liblock_info_free(info);

  status = liblock_release(context, lock, &result);
  return status == LIBLOCK_OK ? 0 : failed("release", status, &result);
}

int main(int count, char **words) {
  if (count < 2) {
    fprintf(stderr, "usage: %s quorum:URL,URL,URL [init]\n", words[0]);
    return 2;
  }
  liblock_context *context;
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_status status = liblock_open(words[1], NULL, &context, &result);
  if (status != LIBLOCK_OK) return failed("open", status, &result);
  if (result.message[0] != '\0') fprintf(stderr, "open: %s\n", result.message); /* nodes that are missing */
  int ended = 0;
  if (count > 2 && strcmp(words[2], "init") == 0) {
    status = liblock_quorum_init(context, 0, &result);
    if (status != LIBLOCK_OK) ended = failed("init", status, &result);
  }
  if (!ended) ended = lead(context);
  liblock_context_free(context);
  return ended;
}
