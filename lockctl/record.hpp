// SPDX-License-Identifier: MIT
// What a command has found out, before anybody has decided how it is shown: fields in their order. Printed for people
// and as JSON from the same record, so that neither can say what the other does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lockctl {

struct Record;
// monostate = not known, shown as null. Text is bytes.
using Value = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, std::vector<Record>>;

struct Record {
  std::vector<std::pair<std::string, Value>> fields;

  Record &set(std::string_view name, Value value) {
    fields.emplace_back(name, std::move(value));
    return *this;
  }
};

// One line without its end. Text that is no UTF-8 is shown escaped, and whole as NAME_hex beside it.
std::string to_json(const Record &record);

}  // namespace lockctl
