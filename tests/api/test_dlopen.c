/* SPDX-License-Identifier: MIT
 *
 * Loading at run time: dlopen, use, dlclose in a loop, and threads that exit when the library seems to be
 * gone. This program is not linked with the library; the path of the shared object is its only argument.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "api.h"

static const char *object_path;

struct calls {
  void *object;
  liblock_status (*open)(const char *, const liblock_context_options *, liblock_context **, liblock_result *);
  liblock_status (*close)(liblock_context *);
  void (*context_free)(liblock_context *);
  void (*options_init)(liblock_acquire_options *, size_t);
  liblock_status (*acquire)(liblock_context *, const void *, size_t, const liblock_acquire_options *,
                            liblock_lock *, liblock_result *);
  liblock_status (*acquire_async)(liblock_context *, const void *, size_t, const liblock_acquire_options *,
                                  liblock_callback, void *, liblock_request *);
  liblock_status (*release)(liblock_context *, liblock_lock, liblock_result *);
};

/* POSIX promises that a function's address survives the way through void *; ISO C has no word for it. */
#define FIND(calls, member, name) *(void **)(void *)&(calls)->member = dlsym((calls)->object, name)

static bool load(struct calls *c) {
  c->object = dlopen(object_path, RTLD_NOW | RTLD_LOCAL);
  if (c->object == NULL) return false;
  FIND(c, open, "liblock_open");
  FIND(c, close, "liblock_close");
  FIND(c, context_free, "liblock_context_free");
  FIND(c, options_init, "liblock_acquire_options_init");
  FIND(c, acquire, "liblock_acquire");
  FIND(c, acquire_async, "liblock_acquire_async");
  FIND(c, release, "liblock_release");
  return c->open != NULL && c->close != NULL && c->context_free != NULL && c->options_init != NULL &&
         c->acquire != NULL && c->acquire_async != NULL && c->release != NULL;
}

struct done {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool done;
  liblock_status status;
};

static void note_end(const liblock_completion *completion, void *user_data) {
  struct done *d = user_data;
  pthread_mutex_lock(&d->mutex);
  d->done = true;
  d->status = completion->status;
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(&d->mutex);
}

static liblock_status use(const struct calls *c, bool with_runtime) {
  liblock_context *context = NULL;
  liblock_lock lock = 0;
  liblock_request request = 0;
  liblock_acquire_options mine;
  struct done d = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, LIBLOCK_INTERNAL};
  liblock_status status = c->open("local:", NULL, &context, NULL);
  c->options_init(&mine, sizeof mine);
  mine.owner = LIBLOCK_OWNER_THREAD;
  if (status == LIBLOCK_OK) status = c->acquire(context, KEY("k"), &mine, &lock, NULL);
  if (status == LIBLOCK_OK) status = c->release(context, lock, NULL);
  if (status == LIBLOCK_OK && with_runtime) {
    status = c->acquire_async(context, KEY("k"), NULL, note_end, &d, &request);
    pthread_mutex_lock(&d.mutex);
    while (status == LIBLOCK_OK && !d.done) pthread_cond_wait(&d.changed, &d.mutex);
    if (status == LIBLOCK_OK) status = d.status;
    pthread_mutex_unlock(&d.mutex);
  }
  if (status == LIBLOCK_OK) status = c->close(context);
  c->context_free(context);
  return status;
}

static void dlopen_use_and_dlclose_work_again_and_again(void **state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    struct calls c;
    assert_true(load(&c));
    assert_int_equal(use(&c, round % 2 == 0), LIBLOCK_OK);
    assert_int_equal(dlclose(c.object), 0);
  }
}

struct visitor {
  liblock_status status;
  bool loaded;
};

/* The thread used the library as an owner: something of it runs at the thread's exit, after dlclose. */
static void *load_use_close_and_exit(void *argument) {
  struct visitor *v = argument;
  struct calls c;
  v->loaded = load(&c);
  if (v->loaded) {
    v->status = use(&c, true);
    dlclose(c.object);
  }
  return NULL;
}

static void a_thread_may_exit_after_dlclose(void **state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    struct visitor v = {LIBLOCK_INTERNAL, false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, load_use_close_and_exit, &v), 0);
    pthread_join(thread, NULL);
    assert_true(v.loaded);
    assert_int_equal(v.status, LIBLOCK_OK);
  }
}

static void the_object_stays_loaded_after_dlclose(void **state) {
  (void)state;
  struct calls c;
  assert_true(load(&c));
  assert_int_equal(dlclose(c.object), 0);
  void *again = dlopen(object_path, RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(again);
  dlclose(again);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  object_path = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dlopen_use_and_dlclose_work_again_and_again),
      cmocka_unit_test(a_thread_may_exit_after_dlclose),
      cmocka_unit_test(the_object_stays_loaded_after_dlclose),
  };
  return cmocka_run_group_tests_name("loading at run time", tests, NULL, NULL);
}
