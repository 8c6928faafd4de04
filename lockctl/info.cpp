// SPDX-License-Identifier: MIT
// `lockctl info` and `lockctl queue`: one key, its holder and its waiters. A key that nobody holds (and, for queue,
// nobody waits for) is an answer, and has its exit code.
#include <cstdio>

#include "commands.hpp"
#include "context.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

void line(const char *name, const std::string &text) {
  std::printf("%s %s\n", coloured(Colour::bold, std::string(name) + ":").c_str(), text.c_str());
}

std::string text_of(const Record &record, std::string_view name) {
  for (const auto &[field, value] : record.fields) {
    if (field == name) return printable(std::get<std::string>(value));
  }
  return "";
}

void print_holder(const liblock_info *info) {
  const Record record = record_of(info);
  if (is_foreign(info)) {
    line("holder", "a client of another library");
  } else {
    const std::string owner = text_of(record, "owner");
    if (!owner.empty()) line("owner", owner);
    line("instance", text_of(record, "instance"));
  }
  line("token", std::to_string(liblock_info_token(info)));
  line("since", time_of_day(liblock_info_since_us(info)));
  const int64_t left = liblock_info_remaining_ms(info);
  line("left", left < 0 ? "no expiry" : for_people(left));
  if (liblock_info_is_zombie(info) == 1)
    line("zombie", "its process is gone; lockctl dead --clear takes it away");
  if (const std::string value = text_of(record, "value"); !value.empty()) line("value", value);
  for (size_t n = 0; n < liblock_info_metadata_count(info); n++) {
    liblock_metadata entry;
    if (liblock_info_metadata_at(info, n, &entry) != LIBLOCK_OK) break;
    line(("metadata " + printable(bytes(entry.name.data, entry.name.size))).c_str(),
         printable(bytes(entry.value.data, entry.value.size)));
  }
}

// Says that a key is free, in both languages.
int nobody(const Arguments &arguments, bool queue) {
  const std::string &key = arguments.key.key;
  if (arguments.settings.json) {
    Record record;
    record.set("key", key).set("held", false);
    if (queue) record.set("queue", std::vector<Record>());
    std::puts(to_json(record).c_str());
  } else {
    std::printf("%s: nobody holds it%s\n", printable(key).c_str(), queue ? " or waits for it" : "");
  }
  return kNothing;
}

}  // namespace

int info(const Arguments &arguments) {
  const Context context = open_context(arguments.settings);
  const Info info = inspect(context.get(), arguments.key.key, false);
  if (!info) return nobody(arguments, false);
  if (arguments.settings.json) {
    std::puts(to_json(record_of(info.get())).c_str());
    return kDone;
  }
  line("key", printable(key_of(info.get())));
  print_holder(info.get());
  line("waiting", with_commas(liblock_info_waiter_count(info.get())));
  return kDone;
}

int queue(const Arguments &arguments) {
  const Context context = open_context(arguments.settings);
  const Info info = inspect(context.get(), arguments.key.key, true);
  if (!info) return nobody(arguments, true);
  auto waiters = waiters_of(info.get());
  if (arguments.settings.json) {
    std::puts(to_json(record_of(info.get()).set("queue", std::move(waiters))).c_str());
    return kDone;
  }
  Table table({"PLACE", "SINCE", "WAITED", "ORDER", "WHO"});
  if (liblock_info_is_held(info.get()) == 1) {
    table.add({"holder", time_of_day(liblock_info_since_us(info.get())), "-", "-",
               is_foreign(info.get()) ? "(another library)" : printable(holder_of(info.get()))});
  }
  for (size_t n = 0; n < waiters.size(); n++) {
    const std::string owner = text_of(waiters[n], "owner"), order = text_of(waiters[n], "order");
    const int32_t priority = liblock_info_waiter_priority(info.get(), n);
    table.add({with_commas(n + 1), time_of_day(liblock_info_waiter_since_us(info.get(), n)),
               for_people(liblock_info_waiter_waited_ms(info.get(), n)),
               order == "priority" ? order + " " + std::to_string(priority) : order,
               owner.empty() ? text_of(waiters[n], "instance") : owner});
  }
  return kDone;
}

}  // namespace lockctl
