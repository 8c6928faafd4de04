// SPDX-License-Identifier: MIT
// Hashes. Fields come back in the order in which they were first set.
#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

Reply field_of(const Found<Hash> &hash, std::string_view field) {
  const std::string *value = hash ? hash.data->find(field) : nullptr;
  return value == nullptr ? Reply::nil() : Reply::string(*value);
}

}  // namespace

Reply run_hset(const Call &call) {
  if (call.count() % 2 != 0) return wrong_count("hset");
  const auto hash = call.data().find_or_make_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  int64_t made = 0;
  for (size_t i = 2; i < call.count(); i += 2)
    made += hash.data->put(call[i], std::string(call[i + 1])) ? 1 : 0;
  return Reply::of(made);
}

Reply run_hsetnx(const Call &call) {
  const auto hash = call.data().find_or_make_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  if (hash.data->find(call[2]) != nullptr) return Reply::of(0);
  hash.data->put(call[2], std::string(call[3]));
  return Reply::of(1);
}

Reply run_hget(const Call &call) {
  const auto hash = call.data().find_as<Hash>(call.key());
  return hash.wrong_type ? wrong_type() : field_of(hash, call[2]);
}

Reply run_hmget(const Call &call) {
  const auto hash = call.data().find_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  std::vector<Reply> values;
  for (size_t i = 2; i < call.count(); ++i) values.push_back(field_of(hash, call[i]));
  return Reply::array(std::move(values));
}

Reply run_hgetall(const Call &call) {
  const auto hash = call.data().find_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  Reply all = Reply::array();
  if (!hash) return all;
  for (const auto &[field, value] : *hash.data) {
    all.items.push_back(Reply::string(field));
    all.items.push_back(Reply::string(value));
  }
  return all;
}

Reply run_hkeys(const Call &call) {
  const auto hash = call.data().find_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  Reply fields = Reply::array();
  if (!hash) return fields;
  for (const auto &item : *hash.data) fields.items.push_back(Reply::string(item.first));
  return fields;
}

Reply run_hdel(const Call &call) {
  const auto hash = call.data().find_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  if (!hash) return Reply::of(0);
  int64_t erased = 0;
  for (size_t i = 2; i < call.count(); ++i) erased += hash.data->erase(call[i]) ? 1 : 0;
  call.data().erase_if_empty(call.key(), *hash.data);
  return Reply::of(erased);
}

Reply run_hlen(const Call &call) {
  const auto hash = call.data().find_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  return Reply::of(hash ? static_cast<int64_t>(hash.data->size()) : 0);
}

Reply run_hexists(const Call &call) {
  const auto hash = call.data().find_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  return Reply::of(hash && hash.data->find(call[2]) != nullptr ? 1 : 0);
}

Reply run_hincrby(const Call &call) {
  int64_t amount = 0;
  if (!parse_int(call[3], amount)) return not_an_integer();
  const auto hash = call.data().find_or_make_as<Hash>(call.key());
  if (hash.wrong_type) return wrong_type();
  int64_t number = 0;
  const std::string *present = hash.data->find(call[2]);
  if (present != nullptr && !parse_int(*present, number))
    return Reply::error("ERR hash value is not an integer");
  if (__builtin_add_overflow(number, amount, &number)) return would_overflow();
  hash.data->put(call[2], std::to_string(number));
  return Reply::of(number);
}

}  // namespace liblock_test::lua_shim
