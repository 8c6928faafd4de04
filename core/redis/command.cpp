// SPDX-License-Identifier: MIT
// See command.hpp. Encoded by hand: a bulk string is its length and its bytes, and writing it into the buffer
// that goes out saves the copies and allocations that a formatter makes of every argument.
#include "redis/command.hpp"

#include <algorithm>
#include <charconv>

#include "base/assert.hpp"
#include "base/mutant.hpp"

namespace liblock {

namespace {

void append_header(std::string &wire, char kind, size_t number) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  static_cast<void>(error);
  wire.push_back(kind);
  wire.append(digits, end);
  wire += "\r\n";
}

}  // namespace

void encode_bulk(std::string &wire, Bytes text) {
  append_header(wire, '$', text.size());
  wire += text;
  wire += "\r\n";
}

void encode_words(std::string &wire, std::initializer_list<Bytes> words) {
  append_header(wire, '*', words.size());
  for (const Bytes word : words) encode_bulk(wire, word);
}

void ScriptCall::begin(const Script &script) {
  with_body_ = false;
  begin_again(script);
}

void ScriptCall::begin_again(const Script &script) {
  script_ = &LIBLOCK_MUTATED(script);
  keys_ = arguments_ = 0;
  encoded_.clear();
}

void ScriptCall::key(Bytes name) {
  LIBLOCK_ASSERT(arguments_ == 0);
  ++keys_;
  encode_bulk(encoded_, name);
}

void ScriptCall::argument(Bytes text) {
  ++arguments_;
  encode_bulk(encoded_, text);
}

void ScriptCall::add_scripts(Scripts &sent) {
  if (std::find(sent.begin(), sent.end(), script_) != sent.end()) return;
  with_body_ = true;
  sent.push_back(script_);
}

void ScriptCall::encode(std::string &wire) const {
  append_header(wire, '*', 3 + keys_ + arguments_);
  encode_bulk(wire, with_body_ ? Bytes("EVAL") : Bytes("EVALSHA"));
  encode_bulk(wire, with_body_ ? script_->body : script_->sha1);
  encode_bulk(wire, std::to_string(keys_));
  wire += encoded_;
}

}  // namespace liblock
