/* SPDX-License-Identifier: MIT
 *
 * The plainest lock that can be had from one Redis server, on hiredis' synchronous interface, as a floor: SET NX PX,
 * and a script that deletes the key when it has our value. No queue, no renewal, no fencing token, a connection per
 * thread. The value is this thread's own, not one per grant: it is a floor, and no lock to use.
 */
#include <hiredis/hiredis.h>

#include "contest.h"

static const char *const script =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

typedef struct part {
  const contest *contest;
  redisContext *connection;
  char value[32];
  char digest[64];
} part;

static redisReply *checked(part *self, void *reply) {
  if (!reply) fail(self->connection->errstr);
  redisReply *answer = reply;
  if (answer->type == REDIS_REPLY_ERROR) fail(answer->str);
  return answer;
}

static void *join(const contest *c) {
  static size_t joined;
  part *self = calloc(1, sizeof *self);
  if (!self) fail("out of memory");
  self->contest = c;
  self->connection = redisConnect("127.0.0.1", (int)strtol(c->ports[0], NULL, 10));
  if (!self->connection || self->connection->err) fail("the server cannot be reached");
  snprintf(self->value, sizeof self->value, "%lld-%zu", (long long)now_ns(), joined++);
  redisReply *reply = checked(self, redisCommand(self->connection, "SCRIPT LOAD %s", script));
  snprintf(self->digest, sizeof self->digest, "%s", reply->str);
  freeReplyObject(reply);
  return self;
}

static void acquire(void *state) {
  part *self = state;
  for (;;) {
    redisReply *reply = checked(
        self, redisCommand(self->connection, "SET %s %s NX PX 10000", self->contest->key, self->value));
    const int taken = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    if (taken) return;
    sleep_us((uint64_t)(self->contest->delay_ms < 0 ? 1 : self->contest->delay_ms) * 1000);
  }
}

static void release(void *state) {
  part *self = state;
  redisReply *reply = checked(self, redisCommand(self->connection, "EVALSHA %s 1 %s %s", self->digest,
                                                 self->contest->key, self->value));
  if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1) fail("the lock was lost");
  freeReplyObject(reply);
}

int main(int count, char **words) {
  contest c = read_words(count, words);
  c.join = join;
  c.acquire = acquire;
  c.release = release;
  return hold(&c);
}
