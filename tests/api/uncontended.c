/* SPDX-License-Identifier: MIT
 *
 * Pairs that allocate nothing themselves.
 */
#include "uncontended.h"

static const char long_key[512] = "k";

static liblock_status pair_with(liblock_context *context, const void *key, size_t size,
                                const liblock_acquire_options *options) {
  liblock_lock lock = 0;
  const liblock_status status = liblock_acquire(context, key, size, options, &lock, NULL);
  return status == LIBLOCK_OK ? liblock_release(context, lock, NULL) : status;
}

static liblock_status plain(liblock_context *context, liblock_owner *owner, int round) {
  (void)owner;
  (void)round;
  return pair_with(context, "a key of 16 byte", 16, NULL);
}

static liblock_status every_size(liblock_context *context, liblock_owner *owner, int round) {
  (void)owner;
  return pair_with(context, long_key, (size_t)(round % 512 + 1), NULL);
}

static liblock_status leased(liblock_context *context, liblock_owner *owner, int round) {
  (void)owner;
  const liblock_acquire_options options = with_ttl(600000);
  return pair_with(context, long_key, (size_t)(round % 512 + 1), &options);
}

static liblock_status owned(liblock_context *context, liblock_owner *owner, int round) {
  (void)round;
  const liblock_acquire_options options = owned_by(owner);
  return pair_with(context, "k", 1, &options);
}

static liblock_status owned_by_thread(liblock_context *context, liblock_owner *owner, int round) {
  (void)owner;
  (void)round;
  const liblock_acquire_options options = owned_by(LIBLOCK_OWNER_THREAD);
  return pair_with(context, "k", 1, &options);
}

static liblock_status tried(liblock_context *context, liblock_owner *owner, int round) {
  (void)owner;
  (void)round;
  liblock_lock lock = 0;
  const liblock_status status = liblock_try_acquire(context, "k", 1, NULL, &lock, NULL);
  return status == LIBLOCK_OK ? liblock_release(context, lock, NULL) : status;
}

static liblock_status three_keys(liblock_context *context, liblock_owner *owner, int round) {
  (void)owner;
  (void)round;
  static const liblock_bytes keys[] = {BYTES("third"), BYTES("first"), BYTES("second")};
  liblock_lock lock = 0;
  const liblock_status status = liblock_acquire_many(context, keys, 3, NULL, &lock, NULL);
  return status == LIBLOCK_OK ? liblock_release(context, lock, NULL) : status;
}

const struct uncontended_kind uncontended_kinds[] = {
    {"one key", plain},
    {"keys of 1 to 512 bytes", every_size},
    {"keys of 1 to 512 bytes with a lease", leased},
    {"one key of an owner", owned},
    {"one key of the thread", owned_by_thread},
    {"one key by a try", tried},
    {"three keys", three_keys},
};
const size_t uncontended_kind_count = COUNT_OF(uncontended_kinds);

liblock_status uncontended_run(const struct uncontended_kind *kind, liblock_context *context,
                               liblock_owner *owner) {
  for (int round = 0; round < UNCONTENDED_PAIRS; round++) {
    const liblock_status status = kind->pair(context, owner, round);
    if (status != LIBLOCK_OK) return status;
  }
  return LIBLOCK_OK;
}
