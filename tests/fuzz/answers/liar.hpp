// SPDX-License-Identifier: MIT
// Servers that answer what the input says: to each command in a form that its script has (forms.hpp), with other things
// in some places, or with anything else. Zeros make a server that grants and frees whatever it is asked to, and keeps
// nothing. What the client sends is whole, and no more than a moment of honest work.
#pragma once

#include <string>

#include "loop.hpp"
#include "redis/scripts.hpp"
#include "speech.hpp"

namespace answers {

class Liar final : public Peer {
 public:
  static constexpr size_t kCommandsMost = 50'000;  // of one input, whose time is minutes: nobody asks without a pause

  explicit Liar(Input &input) : speech(input), input_(input) {}

  bool accepts(uint16_t) override { return !refuses; }
  bool refuses = false;
  bool keeps_silent = false;
  const Loop *loop = nullptr;
  Speech speech;

  void said(Wire &wire, std::string_view bytes) override {
    std::string answer;
    while (!bytes.empty()) {
      const Words words = take_command(bytes);
      LIBLOCK_ASSERT(++commands_ <= kCommandsMost);
      speech.learn(words, now_us());
      if (keeps_silent || wire.is_closed()) continue;
      if (!answer_to(wire, words, answer)) return wire.end();
    }
    if (!answer.empty()) wire.answer(std::move(answer));
  }

  std::string anything() { return speech.trouble(input_.draw()); }

 private:
  static size_t take_count(std::string_view &bytes, char mark) {
    const size_t end = bytes.find("\r\n");
    LIBLOCK_ASSERT(end != std::string_view::npos && bytes.front() == mark);
    size_t count = 0;
    const auto read = std::from_chars(bytes.data() + 1, bytes.data() + end, count);
    LIBLOCK_ASSERT(read.ec == std::errc() && read.ptr == bytes.data() + end);
    bytes.remove_prefix(end + 2);
    return count;
  }
  static Words take_command(std::string_view &bytes) {
    Words words(take_count(bytes, '*'));
    LIBLOCK_ASSERT(!words.empty());
    for (std::string_view &word : words) {
      const size_t size = take_count(bytes, '$');
      LIBLOCK_ASSERT(size + 2 <= bytes.size() && bytes.substr(size, 2) == "\r\n");
      word = bytes.substr(0, size);
      bytes.remove_prefix(size + 2);
    }
    return words;
  }

  int64_t now_us() const { return 1'700'000'000'000'000 + loop->now() / 1'000; }

  // False: the connection ends.
  bool answer_to(Wire &wire, const Words &words, std::string &answer) {
    const uint8_t how = input_.draw();
    if (how >= 216) {
      if (how == 255) return false;
      answer += speech.trouble(how);
      return true;
    }
    const bool is_script = words.size() > 2 && (words[0] == "EVALSHA" || words[0] == "EVAL");
    if (!is_script) {
      answer += to_plain(wire, words, how);
      return true;
    }
    for (const Known &known : known_scripts()) {
      if (words[1] != known.script->sha1 && words[1] != known.script->body) continue;
      if (known.script == &liblock::quorum::scripts::mark) speech.keep_mark(wire.port(), words, 4, 6);
      if (known.script == &liblock::quorum::scripts::configure) speech.keep_mark(wire.port(), words, 5, 7);
      speech.in_form(wire.port(), known.forms.begin()[how % known.forms.size()], answer);
      return true;
    }
    if (words[1] == liblock::scripts::stay.sha1 || words[1] == liblock::scripts::stay.body) {
      speech.in_form(wire.port(), how % 8 == 7 ? "[Lt]" : form_of_stay(words), answer);
      return true;
    }
    LIBLOCK_ASSERT(!"a script that has no form here");
    return false;
  }

  // OK, now, of each key as many places as were asked about, and of what is kept whether it is.
  std::string form_of_stay(const Words &words) const {
    const auto number_at = [&](size_t at) { return at < words.size() ? Speech::to_number(words[at]) : 0; };
    size_t at = 3 + number_at(2) + 3, parts = number_at(at);
    std::string form = "[Ot";
    for (at += 2; parts > 0; --parts) {
      const size_t ids = number_at(at);
      form += "[pnn" + std::string(ids, 'z') + "]";
      at += 1 + ids;
    }
    return form + std::string((words.size() - std::min(at, words.size())) / 2, 'b') + "]";
  }

  std::string to_plain(Wire &wire, const Words &words, uint8_t how) {
    if (words[0] == "INFO") return info(words.at(1), how, wire.port());
    if (words[0] == "TIME" && how < 200)
      return "*2\r\n" + Speech::bulk(std::to_string(now_us() / 1'000'000 + how)) +
             Speech::bulk(std::to_string(now_us() % 1'000'000));
    if (words[0] == "SUBSCRIBE") {
      wire.channel = words.at(1);
      return "*3\r\n" + Speech::bulk("subscribe") + Speech::bulk(words[1]) + Speech::number(1);
    }
    if (words[0] == "SCAN") {
      std::string names;
      const size_t count = how % 4;
      for (size_t i = 0; i < count; ++i) names += Speech::bulk(speech.plain('a'));
      const std::string next = how < 100 ? "0" : speech.plain('s');
      return "*2\r\n" + Speech::bulk(next) + "*" + std::to_string(count) + "\r\n" + names;
    }
    if (words[0] == "WAIT" || words[0] == "ZREM") return Speech::number(speech.integer('n'));
    if (words[0] != "PING") return "+OK\r\n";
    return wire.channel.empty() ? "+PONG\r\n" : "*2\r\n" + Speech::bulk("pong") + Speech::bulk("");
  }
  static std::string info(std::string_view section, uint8_t how, uint16_t port) {
    const char digit = static_cast<char>('0' + (port + how / 32) % 10);
    if (section == "server") return Speech::bulk("run_id:" + std::string(Speech::kRunId) + digit + "\r\n");
    if (section == "replication") return Speech::bulk(how < 200 ? "role:master\r\n" : "role:slave\r\n");
    return Speech::bulk(how < 200 ? "maxmemory:0\r\n" : "maxmemory:1\r\nmaxmemory_policy:allkeys-lru\r\n");
  }

  Input &input_;
  size_t commands_ = 0;
};

}  // namespace answers
