// SPDX-License-Identifier: MIT
// Listings: cursors, and the same as calls of a callback. A cursor keeps what one step has found; the engine says where
// the next one begins.
#include "refusals.hpp"
#include "report.hpp"

using namespace liblock;
using namespace liblock::capi;

struct liblock_cursor {
  std::shared_ptr<Context> context;
  Ask::Which which = Ask::Which::Locks;
  std::string prefix;
  uint32_t batch = 0;
  bool zombies_only = false;
  ListPosition position;
  size_t next = 0;
  std::vector<std::unique_ptr<KeyInfo>> found;
  Tally tally;
  Nanos took = 0;
};

namespace {

constexpr int64_t kBatch = 500;

Status read_list_options(const liblock_list_options *given, liblock_cursor &cursor, std::string &message) {
  liblock_list_options known{sizeof known, nullptr, 0, LIBLOCK_DEFAULT, 0, 0};
  if (given != nullptr) {
    if (const Status status = read_struct(given, known); status != Status::OK) return status;
  }
  if (known.key_prefix_size > kKeyMax || (known.key_prefix == nullptr && known.key_prefix_size != 0)) {
    return refused(message, "key_prefix is NULL, or longer than 512 bytes");
  }
  if (const Status status = read_zombies_only(known.zombies_only, known.reserved, message);
      status != Status::OK)
    return status;
  cursor.zombies_only = known.zombies_only == 1;
  cursor.prefix.assign(bytes(known.key_prefix, known.key_prefix_size));
  return read_batch("batch_size", known.batch_size, kBatch, cursor.batch, message);
}

Status read_step(liblock_cursor &cursor, Outcome &outcome) {
  WaitedAsk ask(Ask::What::List);
  ask.which = cursor.which;
  ask.text = cursor.prefix;
  ask.batch = cursor.batch;
  ask.flag = cursor.zombies_only;
  ask.position = std::move(cursor.position);
  cursor.found.clear();
  cursor.next = 0;
  const Status status = cursor.context->ask(ask, false, outcome);
  cursor.position = std::move(ask.position);
  cursor.tally.steps += ask.tally.steps;
  cursor.took += outcome.waited;
  if (status == Status::OK) cursor.found = std::move(ask.infos);
  return status;
}

// Null at the end.
Status next_info(liblock_cursor &cursor, Outcome &outcome, std::unique_ptr<KeyInfo> &info) {
  while (cursor.next == cursor.found.size()) {
    if (cursor.position.at_end) return Status::OK;
    if (const Status status = read_step(cursor, outcome); status != Status::OK) return status;
  }
  info = std::move(cursor.found[cursor.next]);
  ++cursor.next;
  cursor.tally.locks += cursor.which != Ask::Which::Queues && info->is_held;
  cursor.tally.queues += cursor.which != Ask::Which::Locks && info->waiter_count() != 0;
  return Status::OK;
}

liblock_status list(liblock_context *context, const liblock_list_options *options, Ask::Which which,
                    liblock_cursor **cursor, liblock_result *result) {
  if (cursor != nullptr) *cursor = nullptr;
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    if (const char *why = wrong_place(cursor)) return refused(outcome, why);
    auto made = std::make_unique<liblock_cursor>();
    made->context = context->rep;
    made->which = which;
    if (const Status status = read_list_options(options, *made, outcome.message); status != Status::OK)
      return status;
    // The first step at once: what is wrong is told here, where there is a result to tell it in.
    if (const Status status = read_step(*made, outcome); status != Status::OK) return status;
    *cursor = made.release();
    return Status::OK;
  });
}

}  // namespace

void liblock_list_options_init(liblock_list_options *options, size_t struct_size) {
  init_struct(options, struct_size, liblock_list_options{0, nullptr, 0, LIBLOCK_DEFAULT, 0, 0});
}
liblock_status liblock_list_locks(liblock_context *context, const liblock_list_options *options,
                                  liblock_cursor **cursor, liblock_result *result) {
  return list(context, options, Ask::Which::Locks, cursor, result);
}
liblock_status liblock_list_queues(liblock_context *context, const liblock_list_options *options,
                                   liblock_cursor **cursor, liblock_result *result) {
  return list(context, options, Ask::Which::Queues, cursor, result);
}
liblock_status liblock_list_keys(liblock_context *context, const liblock_list_options *options,
                                 liblock_cursor **cursor, liblock_result *result) {
  return list(context, options, Ask::Which::Keys, cursor, result);
}

liblock_status liblock_cursor_next(liblock_cursor *cursor, liblock_info **info) {
  if (info == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  *info = nullptr;
  if (cursor == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  return guarded([&] {
    if (const Status status = cursor->context->state(); status != Status::OK) return status;
    Outcome outcome;
    std::unique_ptr<KeyInfo> found;
    if (const Status status = next_info(*cursor, outcome, found); status != Status::OK) return status;
    if (found != nullptr) *info = new liblock_info{std::move(found)};
    return Status::OK;
  });
}
liblock_status liblock_cursor_report(const liblock_cursor *cursor, liblock_report *report) {
  if (cursor == nullptr || report == nullptr || !report_is_usable(report)) return LIBLOCK_INVALID_ARGUMENT;
  fill_report(report, cursor->tally, cursor->took);
  return LIBLOCK_OK;
}
void liblock_cursor_free(liblock_cursor *cursor) {
  if (cursor != nullptr && !cursor->context->forked()) delete cursor;
}

liblock_status liblock_list_each(liblock_context *context, int32_t what, const liblock_list_options *options,
                                 liblock_list_callback callback, void *user_data, liblock_report *report,
                                 liblock_result *result) {
  liblock_cursor cursor;
  const liblock_status status = guarded_result(result, [&](Outcome &outcome) {
    if (const Status usability = usable(context, outcome); usability != Status::OK) return usability;
    if (!report_is_usable(report)) return refused(outcome, kReportSize);
    if (what < LIBLOCK_LIST_LOCKS || what > LIBLOCK_LIST_KEYS) {
      return refused(outcome, "what is none of LIBLOCK_LIST_LOCKS, LIBLOCK_LIST_QUEUES and LIBLOCK_LIST_KEYS");
    }
    cursor.context = context->rep;
    cursor.which = static_cast<Ask::Which>(what);
    if (const Status read = read_list_options(options, cursor, outcome.message); read != Status::OK)
      return read;
    for (liblock_info info;;) {
      if (const Status next = next_info(cursor, outcome, info.rep); next != Status::OK) return next;
      if (info.rep == nullptr) return Status::OK;
      if (callback != nullptr && callback(&info, user_data) != 0) return Status::OK;
      info.rep.reset();
    }
  });
  fill_report(report, cursor.tally, cursor.took);
  return status;
}
