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

// What keys and arguments of an acquire take: a string that grew to that would be copied six times.
constexpr size_t kEncodedUsual = 960;

// Most arguments are this short: put together in a buffer of their own, they cost one look at the room in the wire.
constexpr size_t kShort = 96;
constexpr size_t kHeaderMax = 24;

// Returns its end.
char *write_header(char *to, char kind, size_t number) {
  *to++ = kind;
  to = std::to_chars(to, to + kHeaderMax - 3, number).ptr;
  *to++ = '\r';
  *to++ = '\n';
  return to;
}

void append_header(std::string &wire, char kind, size_t number) {
  char header[kHeaderMax];
  wire.append(header, write_header(header, kind, number));
}

// Of a script call. Words of other commands may be passwords, of which no copy is made beside the wire.
void append_argument(std::string &wire, Bytes text) {
  if (text.size() > kShort) return encode_bulk(wire, text);
  char bulk[kHeaderMax + kShort + 2];
  char *end = std::copy(text.begin(), text.end(), write_header(bulk, '$', text.size()));
  *end++ = '\r';
  *end++ = '\n';
  wire.append(bulk, end);
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
  encoded_.reserve(kEncodedUsual);
}

void ScriptCall::key(Bytes name) {
  LIBLOCK_ASSERT(arguments_ == 0);
  ++keys_;
  append_argument(encoded_, name);
}

void ScriptCall::argument(Bytes text) {
  ++arguments_;
  append_argument(encoded_, text);
}

void ScriptCall::argument(int64_t number) {
  char digits[24];
  const char *end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  argument(Bytes(digits, static_cast<size_t>(end - digits)));
}

void ScriptCall::add_scripts(Scripts &sent) {
  if (std::find(sent.begin(), sent.end(), script_) != sent.end()) return;
  with_body_ = true;
  sent.push_back(script_);
}

void ScriptCall::encode(std::string &wire) const {
  append_header(wire, '*', 3 + keys_ + arguments_);
  append_argument(wire, with_body_ ? Bytes("EVAL") : Bytes("EVALSHA"));
  append_argument(wire, with_body_ ? script_->body : script_->sha1);
  append_argument(wire, std::to_string(keys_));
  wire += encoded_;
}

}  // namespace liblock
