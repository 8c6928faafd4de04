// SPDX-License-Identifier: MIT
// `lockctl ls`: streams the keys that are held or waited for, page by page as the library reads them, so that a million
// of them take no more memory than a screenful.
#include <cstdio>

#include "commands.hpp"
#include "context.hpp"
#include "exit_code.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

constexpr uint64_t kProgressEvery = 256;

int32_t kind_of(const ListOptions &options) {
  return options.locks ? LIBLOCK_LIST_LOCKS : options.queues ? LIBLOCK_LIST_QUEUES : LIBLOCK_LIST_KEYS;
}

liblock_list_options list_options_of(const ListOptions &options) {
  liblock_list_options wanted;
  liblock_list_options_init(&wanted, sizeof wanted);
  wanted.key_prefix = options.key_prefix.data();
  wanted.key_prefix_size = options.key_prefix.size();
  wanted.zombies_only = options.zombies ? 1 : 0;
  return wanted;
}

// Where nothing was found: elsewhere such a word would be a pattern.
void say_that_it_is_no_pattern(const std::string &key_prefix) {
  if (!key_prefix.ends_with('*')) return;
  const std::string begin = key_prefix.substr(0, key_prefix.find('*'));
  say("no key begins with " + quoted(printable(key_prefix)) + ": that is no pattern; say lockctl ls" +
      (begin.empty() ? "" : " " + quoted(printable(begin))));
}

int count(liblock_context *context, const Arguments &arguments) {
  const liblock_list_options wanted = list_options_of(arguments.list);
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  expect(liblock_list_each(context, kind_of(arguments.list), &wanted, nullptr, nullptr, &report, &result),
         result);
  if (arguments.settings.json) {
    std::puts(to_json(Record().set("locks", report.locks).set("queues", report.queues)).c_str());
  } else {
    std::printf("%s locks, %s queues\n", with_commas(report.locks).c_str(),
                with_commas(report.queues).c_str());
  }
  if (report.locks == 0 && report.queues == 0) say_that_it_is_no_pattern(arguments.list.key_prefix);
  return kDone;
}

std::vector<std::string> row_of(const liblock_info *info) {
  const bool is_held = liblock_info_is_held(info) == 1;
  const int64_t since = liblock_info_since_us(info);
  const std::string holder = is_foreign(info) ? "(another library)" : printable(holder_of(info));
  return {is_held ? std::to_string(liblock_info_token(info)) : "-",
          is_held ? time_of_day(since) : "-",
          is_held
              ? (liblock_info_remaining_ms(info) < 0 ? "none" : for_people(liblock_info_remaining_ms(info)))
              : "-",
          with_commas(liblock_info_waiter_count(info)),
          is_held ? holder : "-",
          printable(key_of(info))};
}

int list(liblock_context *context, const Arguments &arguments) {
  const liblock_list_options wanted = list_options_of(arguments.list);
  const auto open = arguments.list.locks    ? liblock_list_locks
                    : arguments.list.queues ? liblock_list_queues
                                            : liblock_list_keys;
  liblock_cursor *raw = nullptr;
  liblock_result result = LIBLOCK_RESULT_INIT;
  expect(open(context, &wanted, &raw, &result), result);
  const Cursor cursor(raw);
  const bool progress = !is_terminal(1);  // on a terminal the rows themselves show it
  Table table({"TOKEN", "SINCE", "LEFT", "WAITING", "HOLDER", "KEY"});
  for (uint64_t seen = 1;; seen++) {
    liblock_info *info = nullptr;
    const liblock_status status = liblock_cursor_next(cursor.get(), &info);
    if (status != LIBLOCK_OK) {
      table.flush();
      throw Failure(
          exit_code_of(status),
          "the list ends early, after " + with_commas(seen - 1) + ": " + liblock_status_text(status), status);
    }
    if (info == nullptr && seen == 1) say_that_it_is_no_pattern(arguments.list.key_prefix);
    if (info == nullptr) break;
    const Info one(info);
    if (arguments.settings.json) {
      std::puts(to_json(record_of(info)).c_str());
    } else {
      table.add(row_of(info));
    }
    if (progress && seen % kProgressEvery == 0) show_progress(with_commas(seen) + " keys");
  }
  show_progress("");
  return kDone;
}

}  // namespace

int ls(const Arguments &arguments) {
  std::string notice;
  const Context context = open_context(arguments.settings, false, &notice);
  const int code = (arguments.list.count ? count : list)(context.get(), arguments);
  say_what_may_be_missing(context.get(), notice);
  return code;
}

}  // namespace lockctl
