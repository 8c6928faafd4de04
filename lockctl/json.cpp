// SPDX-License-Identifier: MIT
// Records as JSON: the one file that knows the JSON library, which takes seconds to compile.
#include <nlohmann/json.hpp>

#include "record.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

using Json = nlohmann::ordered_json;

Json object_of(const Record &record);

void add(Json &object, const std::string &name, const Value &value) {
  if (const auto *text = std::get_if<std::string>(&value)) {
    if (is_utf8(*text)) {
      object[name] = *text;
    } else {
      object[name] = printable(*text);
      object[name + "_hex"] = hexadecimal(*text);
    }
  } else if (const auto *records = std::get_if<std::vector<Record>>(&value)) {
    object[name] = Json::array();
    for (const Record &record : *records) object[name].push_back(object_of(record));
  } else if (std::holds_alternative<std::monostate>(value)) {
    object[name] = nullptr;
  } else if (const auto *flag = std::get_if<bool>(&value)) {
    object[name] = *flag;
  } else if (const auto *number = std::get_if<int64_t>(&value)) {
    object[name] = *number;
  } else if (const auto *size = std::get_if<uint64_t>(&value)) {
    object[name] = *size;
  } else {
    object[name] = std::get<double>(value);
  }
}

Json object_of(const Record &record) {
  Json object = Json::object();
  for (const auto &[name, value] : record.fields) add(object, name, value);
  return object;
}

}  // namespace

std::string to_json(const Record &record) { return object_of(record).dump(); }

}  // namespace lockctl
