// SPDX-License-Identifier: MIT
// `lockctl clear`: takes all locks of the prefix away, or those of one owner or instance. How many there are is counted
// before anybody is asked.
#include <cstdio>

#include "commands.hpp"
#include "context.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

std::string question_for(liblock_context *context, const ClearOptions &options) {
  if (!options.owner.empty())
    return "All locks and requests of " + printable(options.owner) + " go. Clear them?";
  if (!options.instance.empty()) {
    return "All locks and requests of " + printable(options.instance) + " go. Clear them?";
  }
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  liblock_result result = LIBLOCK_RESULT_INIT;
  expect(liblock_list_each(context, LIBLOCK_LIST_KEYS, nullptr, nullptr, nullptr, &report, &result), result);
  return with_commas(report.locks) + " locks and " + with_commas(report.queues) +
         " queues go, whoever has them. Clear them all?";
}

}  // namespace

int clear(const Arguments &arguments) {
  const ClearOptions &options = arguments.clear;
  const Context context = open_context(arguments.settings);
  if (!is_confirmed(options.yes, options.yes ? "" : question_for(context.get(), options))) return kNothing;
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  liblock_result result = LIBLOCK_RESULT_INIT;
  const auto clear_one = options.owner.empty() ? liblock_clear_instance : liblock_clear_owner;
  const std::string &id = options.owner.empty() ? options.instance : options.owner;
  expect(id.empty() ? liblock_clear(context.get(), nullptr, &report, &result)
                    : clear_one(context.get(), id.data(), id.size(), nullptr, &report, &result),
         result);
  if (arguments.settings.json) {
    std::puts(to_json(Record()
                          .set("locks", report.locks)
                          .set("waiters", report.waiters)
                          .set("elapsed_us", report.elapsed_us))
                  .c_str());
  } else {
    std::printf("%s locks taken away, %s waiters sent away\n", with_commas(report.locks).c_str(),
                with_commas(report.waiters).c_str());
  }
  return report.locks + report.waiters > 0 ? kDone : kNothing;
}

}  // namespace lockctl
