// SPDX-License-Identifier: MIT
// See mutation.hpp.
#include "mutation.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/mutant.hpp"
#include "lua_shim/sha1.hpp"
#include "quorum/scripts.hpp"

namespace unit {

namespace {

const Mutant *current = nullptr;

const char *const kLateTest = "if now > tonumber(ARGV[3]) then return {'LATE', now} end";
const char *const kTtlTest =
    "if tonumber(ARGV[5]) > mark.max_ttl_ms then return {'TTL', now, mark.max_ttl_ms} end";
const char *const kVotes =
    "local function votes(now) return (now >= mark.silent_until and not mark.needs_floor) and 1 or 0 end";

const std::vector<Mutant> kAll = {
    {"no_quarantine",
     "a restarted node's votes count as soon as it has a floor, which it is told at once",
     "",
     {{"*", kVotes, "local function votes(now) return mark.needs_floor and 0 or 1 end"},
      {"floor", "if now < mark.silent_until then return {'EARLY', now, mark.silent_until} end", ""}}},
    {"votes_always",
     "a node's votes count whatever it has forgotten",
     "",
     {{"*", kVotes, "local function votes(now) return 1 end"}}},
    {"ignored_votes", "the client counts votes that the node says do not count", "", {}},
    {"boot_ignored",
     "a node does not notice that it was restarted",
     "",
     {{"*", "if known[2] ~= boot then", "if false then"}}},
    {"no_floor",
     "a node that has forgotten votes without a floor once its silence is over",
     "",
     {{"*", "mark.silent_until, mark.needs_floor = longest, true", "mark.silent_until = longest"},
      {"mark", "joins and '1' or '0', 'high', high", "'0', 'high', high"}}},
    {"floor_at_once",
     "the floor is read and told without waiting for attempts of before",
     "",
     {{"floor", "if now < mark.silent_until then return {'EARLY', now, mark.silent_until} end", ""}}},
    {"raise_by_silent",
     "a raised token counts where the node does not vote",
     "",
     {{"raise", "return {'OK', now, votes(now)}", "return {'OK', now, 1}"}}},
    {"no_raise", "a quorum with different tokens is enough", "", {}},
    {"raise_without_id",
     "a token is raised whoever holds the key",
     "",
     {{"raise", "if not is_of(held, ARGV[n + 4]) then return {'GONE', now} end",
       "if not held then return {'GONE', now} end"}}},
    {"one_vote_less", "one vote less is enough", "", {}},
    {"validity_from_reply",
     "a lease counts from when it was answered, not from when it was asked for",
     "",
     {}},
    {"never_too_late", "an attempt that took longer than its lease is granted", "", {}},
    {"release_without_id",
     "a release deletes the key whoever holds it",
     "",
     {{"release", "if is_of(held, ARGV[n + 2]) then", "if held then"}}},
    {"late_acquire", "an acquire is carried out however late it comes", "", {{"acquire", kLateTest, ""}}},
    {"late_extend", "an extend is carried out however late it comes", "", {{"extend", kLateTest, ""}}},
    {"long_leases", "leases may be longer than the silence after a restart", "", {{"acquire", kTtlTest, ""}}},
    {"anew_without_register",
     "a lost key is written anew although somebody else had it meanwhile",
     "",
     {{"extend", "elseif is_last then", "else"}}},
    {"tokens_not_reserved",
     "a grant reserves no tokens for those to whom it is passed on",
     "",
     {{"acquire", "local last = token - 1 + tokens", "local last = token"},
      {"raise", "local last = token - 1 + tokens", "local last = token"}}},
    {"words_reserve_nothing",
     "a node that is told who holds a key reserves no tokens for the next",
     "",
     {{"pass_on", "if register_of(key) < last then", "if false then"}}},
    {"register_without_high",
     "a register that is gone counts as nothing",
     "",
     {{"*", "return text and (tonumber(text) or reserved_in(text)) or mark.high",
       "return text and (tonumber(text) or reserved_in(text)) or 0"}}},
    {"floor_ignored",
     "a grant need not exceed the floor",
     "",
     {{"acquire", "math.max(register_of(keys[n]), mark.floor) + 1", "register_of(keys[n]) + 1"}}},
    {"late_renewal", "a renewal revives what has ended", "", {}},
    {"renewal_by_fewer", "one node's answer moves the end of a lease", "", {}},
    {"no_poll_timer", "who waits looks again only when he is called", "", {}},
    {"no_cleaner", "attempts that were given up are not undone", "", {}},
    {"cleaned_once", "what may still be carried out is undone only once", "", {}},
    {"dead_stay_in_line",
     "a dead waiter keeps its place",
     "",
     {{"*", "if until_us and tonumber(until_us) >= now then return first[1], tonumber(first[2]) end",
       "if until_us then return first[1], tonumber(first[2]) end"}}},
};

}  // namespace

const std::vector<Mutant> &all_mutants() { return kAll; }

void switch_on(const Mutant *mutant) {
  current = mutant;
  if (mutant == nullptr) return;
  namespace s = liblock::quorum::scripts;
  for (const Mutant::Change &change : mutant->changes) {
    bool is_there = false;
    for (const liblock::Script *script :
         {&s::acquire, &s::extend, &s::floor, &s::hello, &s::mark, &s::pass_on, &s::raise, &s::release})
      is_there = is_there || script->body.find(change.from) != std::string_view::npos;
    if (is_there) continue;
    std::fprintf(stderr, "mutant %s: no script has the line: %s\n", mutant->name.c_str(), change.from);
    std::abort();
  }
}

}  // namespace unit

namespace liblock::mutant {

namespace {

struct Changed {
  std::string name, body, sha1;
  liblock::Script script;
};

std::string replaced(std::string text, const unit::Mutant::Change &change, bool must) {
  const std::string from = change.from;
  const size_t at = text.find(from);
  if (at == std::string::npos) {
    if (!must) return text;
    std::fprintf(stderr, "mutant %s: %s has no such line: %s\n", unit::current->name.c_str(), change.script,
                 change.from);
    std::abort();
  }
  return text.replace(at, from.size(), change.to);
}

}  // namespace

bool is_on(const char *name) { return unit::current != nullptr && unit::current->name == name; }

const Script &mutated(const Script &script) {
  if (unit::current == nullptr || unit::current->changes.empty()) return script;
  static std::map<std::pair<const unit::Mutant *, const Script *>, std::unique_ptr<Changed>> all;
  std::unique_ptr<Changed> &changed = all[{unit::current, &script}];
  if (changed == nullptr) {
    changed = std::make_unique<Changed>();
    changed->name = script.name;
    changed->body = script.body;
    for (const auto &change : unit::current->changes) {
      const bool is_for_all = std::string_view(change.script) == "*";
      if (is_for_all || script.name == change.script)
        changed->body = replaced(changed->body, change, !is_for_all);
    }
    changed->sha1 = liblock_test::lua_shim::sha1_hex(changed->body);
    changed->script = {changed->name, changed->sha1, changed->body};
  }
  return changed->script;
}

}  // namespace liblock::mutant
