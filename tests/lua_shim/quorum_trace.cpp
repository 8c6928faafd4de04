// SPDX-License-Identifier: MIT
// See quorum_trace.hpp. A script that is new here is called with words of all kinds until somebody gives it a form.
#include "quorum_trace.hpp"

#include <iterator>
#include <stdexcept>

#include "../unit/quorum/schedules/script_bodies.hpp"

namespace liblock_test {

namespace {

// With the time that stands behind all arguments.
const char kTime[] =
    "*: local time = redis.call('TIME')\\nlocal since = time[1] .. string.sub('00000', #time[2]) .. time[2] "
    "=> local since = ARGV[#ARGV]";
const std::string kKeys[] = {"liblock:a", "liblock:b"};

std::string text(int64_t number) { return std::to_string(number); }

void add_names(Words &words, const std::string &key, bool all) {
  words.push_back(key);
  for (const char side : {all ? 'f' : 'd', 'm', 'k', 'a', 'c', 'p'}) {
    if (all || side == 'd' || side == 'm') words.push_back(std::string("ll1:") + side + ":{" + key + "}");
  }
}

}  // namespace

QuorumTrace::QuorumTrace(uint64_t seed)
    : random_(seed), bodies_(schedules::load_scripts({schedules::Replacement::parse(kTime)})) {}

std::string QuorumTrace::one_of(std::initializer_list<const char *> list) {
  return list.begin()[below(list.size())];
}
std::string QuorumTrace::who() { return below(12) == 0 ? one_of({"c|2|h2|n1", ""}) : "c|1|h1|n1"; }
std::string QuorumTrace::id() { return std::string(31, '0') + one_of({"1", "2", "a"}); }
std::string QuorumTrace::waiter() {
  return below(3) == 0 ? "" : std::string(31, 'f') + one_of({"1", "2", "3", "4"});
}
std::string QuorumTrace::not_after() { return text(now_us_ + (below(15) == 0 ? -1 : 1'000'000)); }
std::string QuorumTrace::token() {
  if (below(150) == 0) return one_of({"4503599627370495", "4503599627370496", "1"});
  return text(now_us_ - 20 + static_cast<int64_t>(below(40)));
}
std::string QuorumTrace::record() {
  return "ll1|" + id() + "|0000000" + one_of({"0", "1"}) + "|" + token() + "|me|i1|@" + text(now_us_) + "," +
         ttl() + one_of({",c,", ",c,", ",p,", ",r7,"}) + one_of({"0", "1", "2"}) + ",5," +
         one_of({"0", "2"}) + "|" + one_of({"", "v", "x|y"});
}

Words QuorumTrace::extended(size_t keys) {
  Words words = {who(), boot(), not_after(), one_of({"renew", "set", "only"})};
  for (size_t i = 0; i < keys; ++i) {
    for (const std::string &field :
         {id(), "0000000" + one_of({"0", "1", "2"}), below(40) == 0 ? text(2 * kLongestTtlMs) : ttl(),
          token(), one_of({"0", "1", "2"}), one_of({"me", "%7C"}), one_of({"i1", "i2"}), ttl(),
          text(int64_t(below(9))), one_of({"", "v", "w"}), one_of({"", "1:a1:b"}), one_of({"0", "2"}),
          one_of({"0", "1", "7"})})
      words.push_back(field);
  }
  return words;
}

Words QuorumTrace::taking_away(const std::string &script) {
  if (script == "force")
    return {who(),
            boot(),
            not_after(),
            ttl(),
            below(2) == 0 ? "" : id(),
            one_of({"0", "9"}),
            below(3) == 0 ? "0" : token(),
            one_of({"0", "0", "1"})};
  return {who(),
          boot(),
          not_after(),
          ttl(),
          one_of({"all", "owner", "instances"}),
          one_of({"0", "0", "1000000"}),
          one_of({"0", "1"}),
          one_of({"me", "i1", "i2"})};
}

Words QuorumTrace::acquiring() {
  return {who(),
          boot(),
          not_after(),
          id(),
          below(40) == 0 ? text(2 * kLongestTtlMs) : ttl(),
          below(30) == 0 ? "4503599627370000" : token(),
          one_of({"me", "you"}),
          one_of({"i1", "i2"}),
          text(now_us_ + int64_t(below(50))),
          waiter(),
          ttl(),
          below(4) == 0 ? "1" : "0",
          one_of({"c", "c", "p"}),
          one_of({"", "v", "a|b"}),
          one_of({"", "", "1:a1:b2:cc0:"}),
          one_of({"0", "1"}),
          one_of({"0", "2"}),
          one_of({"1", "1", "4"})};
}

Words QuorumTrace::arguments(const std::string &script, size_t keys) {
  Words words;
  const auto ids = [&] {
    for (size_t i = 0; i < keys; ++i) words.push_back(id());
    return words;
  };
  const std::string longest = text(kLongestTtlMs);
  if (script == "acquire") return acquiring();
  if (script == "raise") return words = {who(), boot(), token(), one_of({"1", "1", "4"})}, ids();
  if (script == "pass_on")
    return {who(),
            boot(),
            id(),
            token(),
            one_of({"me", "you"}),
            one_of({"i1", "i2"}),
            text(now_us_ + int64_t(below(50))),
            below(30) == 0 ? "4503599627370496" : token(),
            one_of({"0", "0", "3"})};
  if (script == "extend") return extended(keys);
  if (script == "release") return words = {ttl(), waiter()}, ids();
  if (script == "hello") return {boot()};
  if (script == "mark")
    return {who(),
            boot(),
            one_of({"record", ""}),
            longest,
            below(5) == 0 ? "1" : "0",
            one_of({"join", "begin", "replace"})};
  if (script == "floor") return {who(), boot(), token(), below(3) == 0 ? longest : "0"};
  if (script == "configure")
    return {one_of({"c|1|h1|n1", "c|2|h2|n1", "c|0|h|n1 c|2|h2|n1"}), one_of({"c|1|h1|n1", "c|2|h2|n1"}),
            boot(), "record", longest};
  if (script == "decide")
    return {who(), boot(), one_of({"1a", "2b", "2c", "3d"}), one_of({"", "", "record", "another"})};
  if (script == "read")
    return {one_of({"", "c|1|h1|n1", "c|2|h2|n1"}), text(int64_t(below(4))), one_of({"0", "1"})};
  if (script == "promise" || script == "commit") {
    const std::string number = one_of({"1", "2", "3", "4", "5", "6"}),
                      change = std::string(31, '0') + one_of({"b", "c"});
    const bool by_id = below(2) == 0 || script == "commit";
    words = script == "commit"
                ? Words{change, below(5) == 0 ? "0" : "1", number, one_of({"w", "v"})}
                : Words{who(), boot(), not_after(), change, ttl(), number, by_id ? "id" : "value"};
    if (by_id) return ids();
    for (size_t i = 0; i < keys; ++i) words.push_back(one_of({"v", "w"}));
    return words;
  }
  if (script == "force" || script == "clear") return taking_away(script);
  if (script == "observe") {
    for (size_t i = 0; i < keys; ++i) {
      for (const std::string &field :
           {id(), token(), below(3) == 0 ? std::string() : record(), ttl(), one_of({"", "1:a1:b"})})
        words.push_back(field);
    }
    return words;
  }
  for (int i = 0; i < 12; ++i)
    words.push_back(below(2) == 0 ? id() : one_of({"", "1", "v", "c|1|h1|n1", "boot1"}));
  return words;
}

// What evictions, other clients and administrators do.
Words QuorumTrace::disturbance() {
  Words names;
  add_names(names, kKeys[below(2)], true);
  switch (below(6)) {
    case 0:
      return {"SET", names[0], "somebody", "PX", ttl()};
    case 1:
      return {"LPUSH", names[below(names.size())], "x"};
    case 2:
      return {"SET", names[1], one_of({"5", "no number"}), "PX", ttl()};
    case 3:
      return {"HDEL", "ll1:node", one_of({"max_ttl_ms", "who"})};
    default:
      return {"DEL", names[below(names.size())]};
  }
}

Words QuorumTrace::next() {
  now_us_ += static_cast<int64_t>(below(3));
  if (below(150) == 0) now_us_ += 2'000 * kLongestTtlMs;
  if (below(300) == 0) now_us_ -= 1'000'000;
  if (below(60) == 0) return disturbance();
  if (below(500) == 0) return {"FLUSHALL"};
  // Half of all calls are of those that there are most of.
  auto script = std::next(bodies_.begin(), static_cast<std::ptrdiff_t>(below(bodies_.size())));
  if (below(2) == 0) script = bodies_.find(one_of({"acquire", "acquire", "extend", "release"}));
  const std::string &name = script->first;
  ++calls_[name];
  const bool is_of_node =
      name == "hello" || name == "mark" || name == "floor" || name == "configure" || name == "decide";
  const size_t keys = is_of_node ? 0 : name == "force" || name == "pass_on" ? 1 : 1 + below(2);
  Words words = {"EVAL", script->second, ""};
  const bool has_node = name != "observe";
  if (has_node) words.push_back("ll1:node");
  const size_t first = below(2);
  for (size_t i = 0; i < keys; ++i) add_names(words, kKeys[(first + i) % 2], has_node);
  words[2] = text(static_cast<int64_t>(words.size()) - 3);
  for (const std::string &word : arguments(name, keys)) words.push_back(word);
  words.push_back(text(now_us_));
  return words;
}

}  // namespace liblock_test
