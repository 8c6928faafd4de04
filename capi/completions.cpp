// SPDX-License-Identifier: MIT
// Completion queues.
#include "refusals.hpp"

using namespace liblock;
using namespace liblock::capi;

liblock_status liblock_completions_open(liblock_context *context, size_t capacity,
                                        liblock_completions **completions, liblock_result *result) {
  if (completions != nullptr) *completions = nullptr;
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    if (const char *why = wrong_place(completions)) return refused(outcome, why);
    if (capacity < 1 || capacity > 1'048'576) return refused(outcome, "capacity must be 1 to 1,048,576");
    auto opened = std::make_unique<liblock_completions>();
    opened->context = context->rep;
    opened->rep = context->rep->open_completions(capacity);
    *completions = opened.release();
    return Status::OK;
  });
}

liblock_status liblock_completions_fd(liblock_completions *completions, int32_t *fd) {
  if (fd == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  *fd = -1;
  if (completions == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  if (completions->context->forked()) return LIBLOCK_FORKED;
  *fd = completions->rep->fd();
  return LIBLOCK_OK;
}

liblock_status liblock_completions_next(liblock_completions *completions, int64_t wait_ms,
                                        liblock_completion *completion) {
  Nanos wait;
  if (completions == nullptr || completion == nullptr || completion->struct_size < sizeof(size_t) ||
      completion->struct_size > 65'536 || !read_wait(wait_ms, wait)) {
    return LIBLOCK_INVALID_ARGUMENT;
  }
  return guarded([&] {
    Context &context = *completions->context;
    if (context.forked()) return Status::FORKED;
    if (wait != 0 && context.may_block() != Status::OK) return Status::WOULD_DEADLOCK;
    liblock_completion next{};
    const Status status = completions->rep->next(wait, next);
    if (status == Status::OK) init_struct(completion, completion->struct_size, next);
    return status;
  });
}

liblock_status liblock_completions_close(liblock_completions *completions) {
  if (completions == nullptr || completions->context->forked()) return LIBLOCK_OK;
  return guarded([&] {
    completions->rep->close();
    return Status::OK;
  });
}

void liblock_completions_free(liblock_completions *completions) {
  if (completions == nullptr || completions->context->forked()) return;
  const liblock_status status = guarded([&] {
    completions->rep->abandon([&](const liblock_completion &unread) {
      delete unread.info;
      if (unread.kind != LIBLOCK_KIND_ACQUIRE || unread.status != LIBLOCK_OK) return;
      const Status released = completions->context->release(unread.lock);
      static_cast<void>(released);
    });
    return Status::OK;
  });
  static_cast<void>(status);
  delete completions;
}
