/* SPDX-License-Identifier: MIT
 *
 * liblock as a peer among the others, through its public C interface and with its defaults (a renewed lease, first in
 * first out, a fencing token): one context for all threads. Several ports are a quorum.
 * Variants: founder founds the quorum and does nothing else; release_async does not wait for the end of a release.
 */
#include <liblock/liblock.h>

#include "contest.h"

typedef struct part {
  const contest *contest;
  liblock_lock lock;
  int waits_for_release;
} part;

static liblock_context *context;

static void acquire(void *state) {
  part *self = state;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const char *key = self->contest->key;
  if (liblock_acquire(context, key, strlen(key), NULL, &self->lock, &result) != LIBLOCK_OK)
    fail(result.message);
}

static void release(void *state) {
  part *self = state;
  liblock_result result = LIBLOCK_RESULT_INIT;
  if (self->waits_for_release) {
    if (liblock_release(context, self->lock, &result) != LIBLOCK_OK) fail(result.message);
  } else if (liblock_release_async(context, self->lock, NULL, NULL, NULL, NULL) != LIBLOCK_OK) {
    fail("the release was not accepted");
  }
}

static void *join(const contest *c) {
  part *self = calloc(1, sizeof *self);
  if (!self) fail("out of memory");
  self->contest = c;
  self->waits_for_release = strcmp(c->variant, "release_async") != 0;
  return self;
}

int main(int count, char **words) {
  contest c = read_words(count, words);
  c.join = join;
  c.acquire = acquire;
  c.release = release;
  char url[1024];
  size_t length = (size_t)snprintf(url, sizeof url, "%s", c.port_count > 1 ? "quorum:" : "");
  for (size_t i = 0; i < c.port_count && length < sizeof url; i++)
    length += (size_t)snprintf(url + length, sizeof url - length, "%sredis://127.0.0.1:%s/0", i ? "," : "",
                               c.ports[i]);
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.prefix = "";
  liblock_result result = LIBLOCK_RESULT_INIT;
  if (liblock_open(url, &options, &context, &result) != LIBLOCK_OK) fail(result.message);
  if (strcmp(c.variant, "founder") == 0) {
    if (liblock_quorum_init(context, 0, &result) != LIBLOCK_OK) fail(result.message);
  } else {
    hold(&c);
  }
  liblock_context_free(context);
  return 0;
}
