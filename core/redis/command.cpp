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

// Returns its end.
char *write_bulk(char *to, Bytes text) {
  if (text.size() < 10) {
    // As most are: numbers of a few digits.
    *to++ = '$';
    *to++ = static_cast<char>('0' + text.size());
    *to++ = '\r';
    *to++ = '\n';
  } else {
    to = write_header(to, '$', text.size());
  }
  to = std::copy(text.begin(), text.end(), to);
  *to++ = '\r';
  *to++ = '\n';
  return to;
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

void ScriptCall::append(Bytes text) {
  char *const from = encoded_.room(kHeaderMax + text.size() + 2);
  encoded_.wrote(static_cast<size_t>(write_bulk(from, text) - from));
}

void ScriptCall::key(Bytes name) {
  LIBLOCK_ASSERT(arguments_ == 0);
  ++keys_;
  append(name);
}

void ScriptCall::append(Bytes head, Bytes middle, Bytes tail) {
  const size_t size = head.size() + middle.size() + tail.size();
  char *const from = encoded_.room(kHeaderMax + size + 2);
  char *to = write_header(from, '$', size);
  for (const Bytes part : {head, middle, tail}) to = std::copy(part.begin(), part.end(), to);
  *to++ = '\r';
  *to++ = '\n';
  encoded_.wrote(static_cast<size_t>(to - from));
}

void ScriptCall::key(Bytes head, Bytes middle, Bytes tail) {
  LIBLOCK_ASSERT(arguments_ == 0);
  ++keys_;
  append(head, middle, tail);
}

void ScriptCall::argument(Bytes head, Bytes middle, Bytes tail) {
  ++arguments_;
  append(head, middle, tail);
}

void ScriptCall::argument(Bytes text) {
  ++arguments_;
  append(text);
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
  encode_bulk(wire, with_body_ ? Bytes("EVAL") : Bytes("EVALSHA"));
  encode_bulk(wire, with_body_ ? script_->body : script_->sha1);
  encode_bulk(wire, std::to_string(keys_));
  wire += encoded_.written();
}

}  // namespace liblock
