/* SPDX-License-Identifier: MIT
 *
 * Once warm, an uncontended pair allocates nothing. This program brings its own malloc and free, which count
 * and hand on to the C library's; the shared object's calls come here too. Not built with sanitizers, which
 * need these names.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api.h"
#include "uncontended.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static atomic_long allocations;
static atomic_long frees;

static void *counted(void *memory) {
  atomic_fetch_add(&allocations, 1);
  return memory;
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }

void *realloc(void *old, size_t size) { return counted(__libc_realloc(old, size)); }

void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }

int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = counted(__libc_memalign(alignment, size));
  return *out != NULL ? 0 : ENOMEM;
}

void free(void *memory) {
  if (memory != NULL) atomic_fetch_add(&frees, 1);
  __libc_free(memory);
}

static void the_stand_in_counts_what_the_library_allocates(void **state) {
  (void)state;
  const long before = atomic_load(&allocations);
  const long freed = atomic_load(&frees);
  end_context(open_local("local:", NULL));
  assert_true(atomic_load(&allocations) > before);
  assert_true(atomic_load(&frees) > freed);
}

static void count_pairs(liblock_context *context, liblock_owner *owner) {
  for (size_t i = 0; i < uncontended_kind_count; i++) {
    assert_ok(uncontended_run(&uncontended_kinds[i], context, owner));
    const long before = atomic_load(&allocations);
    const long freed = atomic_load(&frees);
    assert_ok(uncontended_run(&uncontended_kinds[i], context, owner));
    const long more = atomic_load(&allocations) - before;
    const long less = atomic_load(&frees) - freed;
    print_message("# %s: %ld allocations, %ld frees in %d pairs\n", uncontended_kinds[i].name, more, less,
                  UNCONTENDED_PAIRS);
    assert_int_equal(more, 0);
    assert_int_equal(less, 0);
  }
}

static void an_uncontended_pair_allocates_nothing_once_warm(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  count_pairs(*state, owner);
  liblock_owner_free(owner);
}

static void the_same_holds_while_many_other_keys_are_held(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  for (uint32_t i = 0; i < 5000; i++) {
    const uint32_t key[5] = {i, 1, 2, 3, 4};
    liblock_lock lock = 0;
    assert_ok(liblock_acquire(*state, key, sizeof key, NULL, &lock, NULL));
  }
  count_pairs(*state, owner);
  liblock_owner_free(owner);
}

static void the_same_holds_after_a_global_lock_came_and_went(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  liblock_lock global = 0;
  assert_ok(liblock_acquire_global(*state, NULL, &global, NULL));
  assert_ok(liblock_release(*state, global, NULL));
  count_pairs(*state, owner);
  liblock_owner_free(owner);
}

static void an_uncontended_pair_is_never_handed_to_another_thread(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  for (size_t i = 0; i < uncontended_kind_count; i++)
    assert_ok(uncontended_run(&uncontended_kinds[i], *state, owner));
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.handed_off, 0);
  assert_int_equal(stats.contended, 0);
  assert_true(stats.acquired >= uncontended_kind_count * UNCONTENDED_PAIRS);
  liblock_owner_free(owner);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_stand_in_counts_what_the_library_allocates),
      fresh(an_uncontended_pair_allocates_nothing_once_warm),
      fresh(the_same_holds_while_many_other_keys_are_held),
      fresh(the_same_holds_after_a_global_lock_came_and_went),
      fresh(an_uncontended_pair_is_never_handed_to_another_thread),
  };
  return cmocka_run_group_tests_name("no allocation", tests, NULL, NULL);
}
