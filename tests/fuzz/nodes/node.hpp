// SPDX-License-Identifier: MIT
// A node that is told its scripts, and what each of them keeps to whatever it is told: it fails by nothing but what its
// head names, what it refuses it has not half done, who holds is not replaced, nothing stays without an expiry, a line
// and those who live in it agree, tokens that are granted rise, and a node that may have forgotten does not vote.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

#include "quorum/scripts.hpp"
#include "record.hpp"

namespace nodes {

namespace scripts = liblock::quorum::scripts;

constexpr int64_t kMaxTtlMs = 60'000;
constexpr const char *kWho = "c|1|h1|n1", *kOtherWho = "c|2|h2|n1", *kMark = "ll1:node";

// What was granted last, of one key.
struct Granted {
  std::string id;
  uint64_t token = 0;
  uint64_t refused = 0;  // no renewal up to this token writes a lock anew
};

class Node {
 public:
  Node() {
    server.on_publish = [this](std::string_view, std::string_view) { return is_deaf ? 0 : 1; };
    server.on_numsub = [this](std::string_view) { return is_deaf ? 0 : 1; };
    const Reply made = run(scripts::mark, {}, marking("begin", false));
    LIBLOCK_ASSERT(made.items[0].text == "OK");
  }
  Words marking(const char *how, bool trusts) const {
    return {kWho, server.run_id(), "record", std::to_string(kMaxTtlMs), trusts ? "1" : "0", how};
  }
  Words asking() const { return {who, server.run_id()}; }
  std::string soon() const { return std::to_string(now_us + 1'000'000); }

  // Of these keys, in this order.
  Reply run(const liblock::Script &script, const std::vector<size_t> &keys, Words arguments) {
    Words names = {kMark};
    for (const size_t key : keys) {
      names.emplace_back(lock_name(key));
      for (const char side : {'f', 'm', 'k', 'a', 'c', 'p'}) names.push_back(name_of(key, side));
    }
    return tell(script, names, std::move(arguments));
  }

  Reply tell(const liblock::Script &script, const Words &names, Words arguments) {
    ++now_us;
    // A mark is what it is told to be.
    const bool is_mark = &script == &scripts::mark || &script == &scripts::configure;
    const bool is_spoiled = !is_mark && spoil(script, arguments);
    was = sight();
    Reply reply = server.eval(script.body, names, arguments);
    is = sight();
    went_wrong = reply.is_error() || is_spoiled;
    if (is_spoiled) end_nonsense();
    if (reply.is_error() && !is_spoiled) is_documented(reply);
    const bool is_acquire = &script == &scripts::acquire;
    const bool is_in_steps = &script == &scripts::extend || &script == &scripts::commit;
    const bool ends_holds = &script == &scripts::release || &script == &scripts::force || &script == &scripts::clear;
    if (reply.is_error() && !is_in_steps && !is_forbidden) stayed_as_it_was();
    if (reply.is_error() && is_forbidden && is_acquire) nothing_is_left();
    nobody_is_replaced(ends_holds || is_spoiled || (is_forbidden && is_acquire));
    return reply;
  }

  void is_documented(const Reply &error) const {
    LIBLOCK_ASSERT(error.is_error("LIBLOCK") || (error.is_error("WRONGTYPE") && is_broken) ||
                   (error.is_error("OOM") && server.out_of_memory) || is_forbidden);
  }

  void stayed_as_it_was() const {
    for (size_t key = 0; key < kKeys; ++key) LIBLOCK_ASSERT(is[key].is_as(was[key]));
  }

  // An attempt that got a part of its keys has none.
  void nothing_is_left() const {
    for (size_t key = 0; key < kKeys; ++key) LIBLOCK_ASSERT(is[key].is_as(was[key]) || is[key].lock.empty());
  }

  // Whoever counts votes counts this one.
  void votes(const Reply &vote) const {
    LIBLOCK_ASSERT(went_wrong || vote.is(0) || vote.is(1));
    if (!vote.is(1)) return;
    LIBLOCK_ASSERT(now_us >= forgot_at_us + kMaxTtlMs * 1'000);
    LIBLOCK_ASSERT(field("needs_floor") == "0" && std::stoll(field("silent_until")) <= now_us);
  }
  std::string field(const char *name) const { return server.command({"HGET", kMark, name}).text; }

  // Of a key that was granted just now; tokens: the last of those that may be given out under it.
  void grants(size_t key, const std::string &id, uint64_t token, uint64_t last) {
    LIBLOCK_ASSERT(token > granted[key].token);
    granted[key].id = id;
    granted[key].token = std::max(last, token);
  }

  void check() {
    for (size_t key = 0; key < kKeys; ++key) {
      for (const char side : {'f', 'm', 'k', 'a', 'c', 'p'})
        LIBLOCK_ASSERT(server.command({"PTTL", name_of(key, side)}).integer != -1);
      const Shown shown = look(server, key);
      LIBLOCK_ASSERT(shown.left_ms != -1 && shown.line.size() == shown.alive.size());
      for (size_t n = 0; n < shown.line.size(); n += 2)
        LIBLOCK_ASSERT(std::find(shown.alive.begin(), shown.alive.end(), shown.line[n]) != shown.alive.end());
      static_cast<void>(shown.record());
    }
  }

  // The first who lives in a line, and his ticket.
  static std::pair<std::string, int64_t> first_of(const Shown &shown, int64_t now_us) {
    for (size_t n = 0; n + 1 < shown.line.size(); n += 2) {
      const auto alive = std::find(shown.alive.begin(), shown.alive.end(), shown.line[n]);
      if (alive != shown.alive.end() && std::stoll(*(alive + 1)) >= now_us)
        return {shown.line[n], std::stoll(shown.line[n + 1])};
    }
    return {};
  }

  void forget(size_t key) { granted[key] = {}; }

  int64_t now_us = 1'700'000'000'000'000;
  mutable Server server{&now_us};
  std::string who = kWho;
  bool is_deaf = false, is_broken = false, is_forbidden = false, trusts_disk = false;
  bool went_wrong = false;  // the last call
  Sight was, is;            // before and behind it
  Granted granted[kKeys];
  int64_t forgot_at_us = 0;
  // The next call: which of its arguments is replaced, and by what.
  uint8_t spoiled = 0, spoiled_by = 0;

 private:
  Sight sight() const { return {look(server, 0), look(server, 1)}; }

  // What a script takes as it comes, since it is packed by nobody but the library: where it is not, the script fails
  // behind what it has written already.
  static bool is_trusted(const liblock::Script &script, size_t argument) {
    return (&script == &scripts::acquire && argument == 14) ||
           (&script == &scripts::extend && argument >= 4 && (argument - 4) % 13 == 10);
  }

  // One argument is another one than it should be: a number another number, a text another text.
  bool spoil(const liblock::Script &script, Words &arguments) {
    static const char *const kNumbers[] = {"0", "-1", "1", "4503599627370495", "4503599627370496", "9007199254740993"};
    static const char *const kTexts[] = {"", "x", "|", kOtherWho, "0123456789abcdef0123456789abcdef"};
    const uint8_t which = std::exchange(spoiled, uint8_t{0});
    if (which == 0 || arguments.empty()) return false;
    const size_t place = which % arguments.size();
    if (is_trusted(script, place)) return false;
    std::string &argument = arguments[place];
    const bool was_number = is_number(argument);
    argument = was_number ? kNumbers[spoiled_by % std::size(kNumbers)] : kTexts[spoiled_by % std::size(kTexts)];
    return true;
  }

  // What nobody writes ends with its lease; that is now.
  void end_nonsense() {
    for (size_t key = 0; key < kKeys; ++key) {
      if (is[key].lock.starts_with("ll1|") && is[key].record().id.empty()) server.command({"DEL", lock_name(key)});
      const Words promise = split(is[key].promise, '|');
      if (promise.size() != 3 || !consists_of(promise[2], Record::kHex)) server.command({"DEL", name_of(key, 'p')});
    }
  }

  void nobody_is_replaced(bool may_end) const {
    for (size_t key = 0; key < kKeys; ++key) {
      const std::string &before = was[key].lock, &after = is[key].lock;
      const std::string id = was[key].record().id;
      if (before.empty() || (may_end && after.empty())) continue;
      LIBLOCK_ASSERT(id.empty() ? after == before : is[key].is_held_by(id));
    }
  }
};

}  // namespace nodes
