// SPDX-License-Identifier: MIT
// See quorum_watch.hpp.
#include "quorum_watch.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/mutant.hpp"
#include "quorum/scripts.hpp"
#include "remote/keyspace.hpp"

namespace unit {

namespace {

using liblock_test::lua_shim::Reply;
using liblock_test::sim::Words;

// The script of a call, by its digest or its body; nullptr: it is none of ours.
const liblock::Script *script_of(const Words &words) {
  namespace s = liblock::quorum::scripts;
  static const std::array kAll = {&s::acquire, &s::commit, &s::configure, &s::extend, &s::floor,
                                  &s::hello,   &s::mark,   &s::promise,   &s::raise,  &s::read,
                                  &s::release, &s::force,  &s::pass_on};
  static const auto known = [] {
    std::unordered_map<std::string_view, const liblock::Script *> by_text;
    for (const liblock::Script *script : kAll) {
      const liblock::Script &known_as = LIBLOCK_MUTATED(*script);
      by_text[known_as.sha1] = by_text[known_as.body] = script;
    }
    return by_text;
  }();
  const auto found = words.size() < 3 ? known.end() : known.find(words[1]);
  return found == known.end() ? nullptr : found->second;
}

size_t count_keys(const Words &words) { return std::stoul(words[2]); }
const std::string &argument(const Words &words, size_t number) {
  return words.at(2 + count_keys(words) + number);
}
const Reply &item(const Reply &reply, size_t index) {
  static const Reply nothing;
  return index < reply.items.size() ? reply.items[index] : nothing;
}

}  // namespace

void QuorumWatch::watch(Node &node) {
  State &state = states_[&node];
  node.on_answer = [this, &node, &state](const Words &words, const Reply &reply) {
    saw(node, state, words, reply);
  };
}

bool QuorumWatch::is_last_to_know(const Node &node) const { return count_forgetful(&node) + 1 >= votes_; }

size_t QuorumWatch::count_forgetful(const Node *without) const {
  const auto count = std::count_if(voters_.begin(), voters_.end(), [&](const Node *voter) {
    const auto state = states_.find(voter);
    return voter != without && state != states_.end() && state->second.forgot;
  });
  return static_cast<size_t>(count);
}

void QuorumWatch::set_voters(const std::vector<Node *> &voters, size_t votes) {
  voters_ = voters;
  votes_ = votes;
  look_at_clock();
}

void QuorumWatch::forgot(const Node &node) {
  states_[&node].forgot = true;
  look_at_clock();
}

void QuorumWatch::look_at_clock() {
  if (count_forgetful(nullptr) < votes_ || is_by_clock_) return;
  is_by_clock_ = true;
  ++counters_["lives_by_clock"];
}

void QuorumWatch::wrote(const Node &node, const std::string &id) {
  const auto gave_back = gave_back_.find(id);
  if (gave_back == gave_back_.end() || world_.now() <= gave_back->second || !carried_out_late_.empty())
    return;
  carried_out_late_ =
      "n" + std::to_string(node.port()) + " has a lock again that was given back: " + id.substr(0, 6);
}

void QuorumWatch::saw(Node &node, State &state, const Words &words, const Reply &reply) {
  if (reply.is_error()) return void(++counters_["error_" + reply.text.substr(0, reply.text.find(' '))]);
  if (words[0] != "EVALSHA" && words[0] != "EVAL") return;
  const liblock::Script *const script = script_of(words);
  if (script == nullptr) return void(++counters_["scripts_unknown"]);
  const std::string name(script->name);
  ++counters_["calls_" + name];
  if (item(reply, 0).text == "CONFIG") return void(++counters_["config_refused"]);
  if (item(reply, 0).text == "TTL") return void(++counters_["ttl_refused"]);
  if (item(reply, 0).text == "LATE") return void(++counters_["late_refused_" + name]);
  saw_script(node, state, name, words, reply);
  if ((name == "configure" || name == "mark") && on_configured) on_configured();
}

void QuorumWatch::saw_script(Node &node, State &state, const std::string &name, const Words &words,
                             const Reply &reply) {
  if (name == "acquire") return saw_acquire(node, state, words, reply);
  if (name == "extend") return saw_extend(node, words, reply);
  if (name == "release") return saw_release(node, state, words, reply);
  const std::string &what = item(reply, 0).text;
  if (name == "raise") {
    ++counters_[what == "OK" ? "raised" : "raise_gone"];
    if (what == "OK" && item(reply, 2).is(int64_t{0})) ++counters_["raise_withheld"];
  } else if (name == "pass_on") {
    ++counters_[what == "OK" ? "holder_told" : "holder_gone"];
    if (what == "OK") ++counters_[item(reply, 2).is(1) ? "tokens_reserved" : "tokens_withheld"];
    if (item(reply, 3).is(1)) ++counters_["outsiders_seen"];
  } else if (name == "floor") {
    ++counters_[what == "OK" ? "floor_told" : "floor_too_early"];
    if (what == "OK") state.forgot = false;
  } else if (name == "mark") {
    ++counters_[what == "OK" ? "marked" : "mark_is_there"];
    if (what == "OK" && argument(words, 6) != "join") state.forgot = false;
  } else if (name == "hello") {
    if (item(reply, 1).text.empty()) ++counters_["hello_without_mark"];
    if (item(reply, 5).is(1)) ++counters_["hello_of_silent"];
  }
}

void QuorumWatch::saw_acquire(Node &node, State &state, const Words &words, const Reply &reply) {
  const uint64_t removed =
      node.server().members_removed - std::exchange(state.removed, node.server().members_removed);
  if (item(reply, 0).text == "OK") {
    ++counters_["votes"];
    wrote(node, argument(words, 4));
    if (item(reply, 3).is(int64_t{0})) ++counters_["votes_withheld"];
    for (size_t key = 1; key < count_keys(words); key += 7) {
      const auto claim = state.claims.find(words.at(3 + key));
      if (claim == state.claims.end()) continue;
      ++counters_[item(reply, 1).integer > claim->second ? "claims_expired" : "claims_taken"];
      state.claims.erase(claim);
    }
    return;
  }
  const bool is_held = item(reply, 8).integer >= 0;
  ++counters_[is_held ? "busy_held" : "busy_kept_for_another"];
  counters_["dead_pruned"] += removed;
}

void QuorumWatch::saw_extend(Node &node, const Words &words, const Reply &reply) {
  if (item(reply, 2).is(int64_t{0})) ++counters_["renewed_by_silent"];
  constexpr size_t kFields = 5, kAsked = 13;
  for (size_t at = 3; at < reply.items.size(); at += kFields) {
    const int64_t code = reply.items[at].integer;
    const size_t of_lock = 5 + (at - 3) / kFields * kAsked;
    const bool is_settled = argument(words, of_lock + kAsked - 1).size() > 1;
    if (code > 0 && item(reply, at + 4).integer < 0) ++counters_["value_restored"];
    if (code > 0 && item(reply, at + 4).integer >= 0 && is_settled) ++counters_["value_settled"];
    ++counters_[code == 1    ? "lease_set"
                : code == 2  ? "lock_written_anew"
                : code == -1 ? "stale_refused"
                             : "lock_of_another"];
    if (code == 2) wrote(node, argument(words, of_lock));
  }
}

void QuorumWatch::saw_release(Node &node, State &state, const Words &words, const Reply &reply) {
  state.removed = node.server().members_removed;
  for (size_t key = 1, at = 1; key < count_keys(words); key += 7, ++at) {
    const bool is_freed = reply.items.empty() || item(reply, at).is(1);  // the time alone: all were
    const int64_t now_us = reply.items.empty() ? reply.integer : item(reply, 0).integer;
    ++counters_[is_freed ? "freed" : "freed_nothing"];
    const Reply claim = node.ask({"PTTL", words.at(3 + key + 5)});
    if (is_freed && claim.integer > 0) {
      ++counters_["claims"];
      state.claims[words.at(3 + key)] = now_us + claim.integer * 1'000;
    }
  }
}

}  // namespace unit
