// SPDX-License-Identifier: MIT
// Contexts: options, open, close, free.
#include "refusals.hpp"

using namespace liblock;
using namespace liblock::capi;

void liblock_context_options_init(liblock_context_options *options, size_t struct_size) {
  init_struct(options, struct_size, default_context_options());
}

liblock_status liblock_open(const char *url, const liblock_context_options *options,
                            liblock_context **context, liblock_result *result) {
  if (context != nullptr) *context = nullptr;
  return guarded_result(result, [&](Outcome &outcome) {
    if (context == nullptr) {
      return refused(outcome, "context is NULL: there is nowhere to put the context");
    }
    auto opened = std::make_unique<liblock_context>();
    bool fresh = false;
    const Status status = Context::open(url, options, opened->rep, fresh, outcome.message);
    if (status != Status::OK) return status;
    outcome.notice = std::move(outcome.message);
    *context = opened.release();
    const ContextOptions &known = (*context)->rep->options();
    if (fresh && known.on_open != nullptr) known.on_open(*context, known.on_open_user_data);
    return Status::OK;
  });
}

liblock_status liblock_close(liblock_context *context) {
  if (context == nullptr) return LIBLOCK_OK;
  return guarded([&] {
    const std::shared_ptr<Context> kept = context->rep;  // the callback of another close may free the context
    return kept->close();
  });
}

liblock_status liblock_close_async(liblock_context *context, liblock_callback callback, void *user_data) {
  if (context == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  return guarded([&] {
    const std::shared_ptr<Context> kept = context->rep;  // the callback may free the context
    return kept->close_async(callback, user_data);
  });
}

void liblock_context_free(liblock_context *context) {
  if (context == nullptr || context->rep->forked()) return;  // a forked child's copies are nobody's to free
  const liblock_status status = guarded([&] {
    context->rep->close_for_good();
    return Status::OK;
  });
  static_cast<void>(status);
  delete context;
}

liblock_status liblock_ping(liblock_context *context, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    WaitedAsk ask(Ask::What::Ping);
    return context->rep->ask(ask, false, outcome);
  });
}

liblock_status liblock_instance_id(liblock_context *context, char *buffer, size_t size, size_t *needed) {
  const Status status = usable(context);
  return status != Status::OK ? raw(status)
                              : raw(copy_text(context->rep->instance_id(), buffer, size, needed));
}
