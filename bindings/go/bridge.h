/* SPDX-License-Identifier: MIT
 *
 * What stands between Go and liblock.h: calls that take numbers and bytes and answer by value, so that a Go call
 * allocates nothing and hands no Go pointer on, and trampolines whose user data is a number of the registry.
 *
 * Invariant: nothing here keeps a pointer beyond the call; an option that points at bytes points at C memory.
 */
#ifndef LIBLOCK_GO_BRIDGE_H
#define LIBLOCK_GO_BRIDGE_H

#include <liblock/liblock.h>
#include <stdlib.h>

/* What a call answered. lock, request, count and flag are set by those calls that have them. */
typedef struct bridge_answer {
  liblock_status status;
  int32_t flag;
  uint64_t lock;
  uint64_t request;
  uint64_t count;
  void *object;
  liblock_result result;
} bridge_answer;

/* Where the end of an asynchronous call goes: a queue, or with queue NULL the trampoline. id comes back in either. */
typedef struct bridge_end {
  liblock_completions *queue;
  uintptr_t id;
} bridge_end;

/* Results and reports begin as rubbish instead of zeros: for the conformance runner. */
void bridge_set_rubbish(int32_t on);

/* The shortest way to a lock that is free, for who wants its token alone: an answer by value that is copied cheaply. */
typedef struct bridge_grant {
  liblock_status status;
  uint64_t lock;
  uint64_t token;
} bridge_grant;
bridge_grant bridge_try_plain(liblock_context *context, const char *key, size_t size);

bridge_answer bridge_begin(void);

/* Callbacks of acquire options that are wanted, by id; 0 = none. */
typedef struct bridge_hooks {
  uintptr_t lost, backoff, queued;
} bridge_hooks;
void bridge_hook(liblock_acquire_options *options, bridge_hooks hooks);

bridge_answer bridge_open(const char *url, liblock_context_options *options, uintptr_t on_open);
liblock_status bridge_close_async(liblock_context *context, uintptr_t id);

enum { BRIDGE_ONE = 0, BRIDGE_TRY = 1, BRIDGE_MANY = 2, BRIDGE_GLOBAL = 3 };
bridge_answer bridge_acquire(liblock_context *context, int32_t how, const char *key, size_t size,
                             const liblock_bytes *keys, size_t count, const liblock_acquire_options *options);
bridge_answer bridge_acquire_async(liblock_context *context, int32_t how, const char *key, size_t size,
                                   const liblock_bytes *keys, size_t count, const liblock_acquire_options *options,
                                   bridge_end end);

/* Calls on a lock, as number says; the asynchronous twin when end is given. */
enum { BRIDGE_RELEASE, BRIDGE_EXTEND, BRIDGE_UPDATE, BRIDGE_VERIFY, BRIDGE_WAIT_LOST };
bridge_answer bridge_lock(liblock_context *context, int32_t call, uint64_t lock, int64_t ms, int32_t flags,
                          const char *value, size_t size);
bridge_answer bridge_lock_async(liblock_context *context, int32_t call, uint64_t lock, int64_t ms, int32_t flags,
                                const char *value, size_t size, bridge_end end);
bridge_answer bridge_release_keys(liblock_context *context, liblock_owner *owner, int32_t thread,
                                  const liblock_bytes *keys, size_t count, const bridge_end *end);

/* Calls on a key. */
enum {
  BRIDGE_PING,
  BRIDGE_INSPECT,
  BRIDGE_INSPECT_QUEUE,
  BRIDGE_READ,
  BRIDGE_WAIT_HELD,
  BRIDGE_WAIT_HELD_ON,
  BRIDGE_WAIT_RELEASED,
  BRIDGE_FORCE_RELEASE,
  BRIDGE_IS_LOCKED,
  BRIDGE_IS_QUEUED,
  BRIDGE_QUORUM_INIT
};
bridge_answer bridge_key(liblock_context *context, int32_t call, const char *key, size_t size, int64_t number,
                         const char *node);
bridge_answer bridge_key_async(liblock_context *context, int32_t call, const char *key, size_t size, int64_t number,
                               const char *node, bridge_end end);
enum { BRIDGE_RELEASE_KEY, BRIDGE_EXTEND_KEY, BRIDGE_UPDATE_KEY };
bridge_answer bridge_by_value(liblock_context *context, int32_t call, const char *key, size_t size,
                              const char *expected, size_t expected_size, int64_t ms, int32_t flags,
                              const char *value, size_t value_size);
bridge_answer bridge_set_nodes(liblock_context *context, const char *const *servers, size_t server_count,
                               const char *const *observers, size_t observer_count, int32_t votes,
                               const bridge_end *end);
bridge_answer bridge_export(liblock_context *context, uint64_t lock, void *buffer, size_t size);
bridge_answer bridge_adopt(liblock_context *context, const char *bytes, size_t size,
                           const liblock_acquire_options *options);
bridge_answer bridge_owner_open(liblock_context *context, const char *name, size_t size);
/* LIBLOCK_OWNER_THREAD is a number that Go's stacks must never hold as a pointer. */
void bridge_own_by_thread(liblock_acquire_options *options);
liblock_status bridge_owner_id(liblock_context *context, const liblock_owner *owner, int32_t thread, char *buffer,
                               size_t size, size_t *needed);

/* Administration. */
enum { BRIDGE_CLEAR, BRIDGE_CLEAR_OWNER, BRIDGE_CLEAR_INSTANCE, BRIDGE_CLEAR_DEAD };
typedef struct bridge_report {
  liblock_status status;
  liblock_report report;
  liblock_result result;
} bridge_report;
bridge_report bridge_begin_report(void);
bridge_report bridge_clear(liblock_context *context, int32_t what, const char *identity, size_t size,
                           const liblock_clear_options *options);
bridge_report bridge_list_each(liblock_context *context, int32_t what, const liblock_list_options *options);
bridge_report bridge_list_instances(liblock_context *context, const liblock_instance_list_options *options,
                                    uintptr_t id);
bridge_answer bridge_list(liblock_context *context, int32_t what, const liblock_list_options *options);
bridge_answer bridge_sweep(liblock_context *context);
bridge_answer bridge_quorum_status(liblock_context *context, liblock_quorum_state *state, uintptr_t id);
bridge_answer bridge_completions_open(liblock_context *context, size_t capacity);

liblock_status bridge_set_events(liblock_context *context, uint64_t mask, uintptr_t id);
liblock_status bridge_set_log(liblock_context *context, int32_t level, uintptr_t id);
liblock_status bridge_instruments(liblock_context *context, liblock_instrument_options *options, uintptr_t events,
                                  uintptr_t log);

/* A completion without pointers into the library. */
typedef struct bridge_completion {
  int32_t kind;
  liblock_status status;
  uint64_t request, lock, token;
  int64_t remaining_ms, waited_ms;
  uintptr_t id;
  const char *message;
  liblock_info *info;
  int64_t queue_position, queue_length;
  uint32_t attempts, hold_count, flags, votes, nodes, replicas;
} bridge_completion;
/* Takes up to `size` entries without waiting; *count says how many. Returns what ended it: OK, TIMEOUT, CLOSED. */
liblock_status bridge_drain(liblock_completions *completions, bridge_completion *entries, size_t size, size_t *count);
liblock_status bridge_next(liblock_completions *completions, int64_t wait_ms, bridge_completion *entry);

/* All that the getters tell, in one call. */
typedef struct bridge_info {
  liblock_bytes key, owner, instance, host, value;
  int32_t is_global, is_held, is_zombie, has_owner, has_instance;
  uint32_t hold_count;
  uint64_t token;
  int64_t since_us, initial_ttl_ms, remaining_ms;
  size_t metadata_count, waiter_count;
} bridge_info;
void bridge_info_read(const liblock_info *info, bridge_info *out);
typedef struct bridge_waiter {
  liblock_bytes owner, instance;
  int32_t has_owner, order, priority, reserved;
  int64_t since_us, waited_ms;
} bridge_waiter;
void bridge_info_waiter(const liblock_info *info, size_t index, bridge_waiter *out);

#endif
