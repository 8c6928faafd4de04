// SPDX-License-Identifier: MIT
// Owners.
#include "refusals.hpp"

using namespace liblock;
using namespace liblock::capi;

liblock_status liblock_owner_open(liblock_context *context, const void *name, size_t name_size,
                                  liblock_owner **owner, liblock_result *result) {
  if (owner != nullptr) *owner = nullptr;
  return guarded_result(result, [&](Outcome &outcome) {
    if (const char *why = wrong_place(owner)) return refused(outcome, why);
    if (name == nullptr && name_size != 0) return refused(outcome, "the name is NULL, but its size is not 0");
    if (name_size > 255) return refused(outcome, "the name is longer than 255 bytes");
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    auto opened = std::make_unique<liblock_owner>();
    opened->context = context->rep;
    opened->rep = context->rep->engine().make_owner(bytes(name, name_size));
    *owner = opened.release();
    return Status::OK;
  });
}

liblock_status liblock_owner_close(liblock_owner *owner) {
  if (owner == nullptr) return LIBLOCK_OK;
  if (owner == LIBLOCK_OWNER_THREAD) return LIBLOCK_INVALID_ARGUMENT;
  return guarded([&] {
    // A closed context closes its owners itself, a forked one has none.
    Context &context = *owner->context;
    if (context.state() != Status::OK) return Status::OK;
    // Where nobody may wait it still happens, a moment later.
    if (context.may_block() != Status::OK) {
      context.close_owner(owner->rep);
      return Status::OK;
    }
    WaitedAsk ask(Ask::What::CloseOwner);
    ask.owner = owner->rep;
    Outcome outcome;
    return context.ask(ask, false, outcome);
  });
}

void liblock_owner_free(liblock_owner *owner) {
  if (owner == nullptr || owner == LIBLOCK_OWNER_THREAD || owner->context->forked()) return;
  if (liblock_owner_close(owner) == LIBLOCK_NO_MEMORY) owner->context->close_owner_for_good(owner->rep);
  delete owner;
}

liblock_status liblock_owner_id(liblock_context *context, const liblock_owner *owner, char *buffer,
                                size_t size, size_t *needed) {
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    if (owner == nullptr) return Status::INVALID_ARGUMENT;
    if (owner == LIBLOCK_OWNER_THREAD)
      return copy_text(context->rep->thread_owner()->id(), buffer, size, needed);
    if (owner->context != context->rep) return Status::INVALID_ARGUMENT;
    return copy_text(owner->rep->id(), buffer, size, needed);
  });
}
