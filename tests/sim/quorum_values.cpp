// SPDX-License-Identifier: MIT
// See quorum_run.hpp. Locks that carry a value, which their holders and everybody who knows it change, read and release
// by. Each value is written once, so that whoever reads one knows which write it was; in the end it is asked whether
// all of that could have been done at one moment each (intervals/registers.hpp).
#include <algorithm>

#include "quorum_run.hpp"

namespace unit {

using liblock_test::RegisterOp;
using What = Ask::What;

namespace {

// "k0/17:3" is the third text of the register "k0/17".
std::string register_of(const std::string &text) { return text.substr(0, text.rfind(':')); }

// It has left everything as it was. Else nobody knows, unless it is OK.
bool did_nothing(Status status) {
  return status == Status::BUSY || status == Status::NO_QUORUM || status == Status::QUARANTINED ||
         status == Status::NOT_OWNER || status == Status::NOT_HELD;
}

}  // namespace

std::string QuorumRun::begin_value(const std::string &key) {
  const std::string name = key + "/" + std::to_string(values_.size());
  const std::string text = name + ":0";
  values_[name] = {key, "", text, text, operations_.size()};
  operations_.push_back({name, "", text, world_.now()});
  return name;
}

void QuorumRun::value_granted(const std::string &name, const std::string &id) {
  Value &value = values_.at(name);
  value.id = id;
  value_of_id_[id] = name;
  operations_[value.first].until = world_.now();
  operations_[value.first].end = RegisterOp::End::Done;
}

size_t QuorumRun::begin_write(Value &value, const std::string &name, const std::string &expected) {
  value.before = value.newest;
  value.newest = name + ":" + std::to_string(value.texts++);
  operations_.push_back({name, expected, value.newest, world_.now()});
  return operations_.size() - 1;
}

void QuorumRun::write_ended(size_t at, const std::string &name, Status status, bool is_sure) {
  RegisterOp &op = operations_[at];
  say("%s is %s", op.to_text().c_str(), liblock::status_name(static_cast<liblock_status>(status)));
  if (status == Status::OK) {
    op.end = RegisterOp::End::Done;
    op.until = world_.now();
  } else if (is_sure && did_nothing(status)) {
    op.end = RegisterOp::End::Nothing;
    Value &value = values_.at(name);
    if (value.newest == op.writes) value.newest = value.before;
  }
}

void QuorumRun::act_on_value(const Hold &hold) {
  const std::string name = hold.value;
  // Sometimes two at once, who are in each other's way.
  for (int64_t count = 1 + roll(3) / 2; count > 0; --count) {
    const int64_t what = roll(20);
    if (what < 6)
      update(hold);
    else if (what < 12)
      update_by_value(name);
    else if (what < 19)
      read_value(name);
    else
      release_by_value(name);
  }
}

void QuorumRun::update(const Hold &hold) {
  const std::string name = hold.value;
  const size_t op = begin_write(values_.at(name), name, "");
  const std::string text = operations_[op].writes;
  ask(
      hold.process, "update", What::Update,
      [&](Ask &asked) {
        asked.lock = hold.wanted->grant().handle;
        asked.text = text;
      },
      // A lock may be lost between its change and the answer to whoever asked for it.
      [this, op, name](Question &ended) {
        write_ended(op, name, ended.status, ended.status != Status::NOT_HELD);
      });
}

void QuorumRun::update_by_value(const std::string &name) {
  const std::vector<size_t> able = free_processes();
  if (able.empty()) return;
  const size_t by = able[static_cast<size_t>(roll(static_cast<int64_t>(able.size())))];
  Value &value = values_.at(name);
  const std::string expected = one_in(4) ? value.before : value.newest;
  const size_t op = begin_write(value, name, expected);
  const std::string text = operations_[op].writes;
  ask(
      by, "update_key", What::UpdateKey,
      [&](Ask &asked) {
        asked.keys = {value.key};
        asked.text = expected;
        asked.value = text;
      },
      [this, op, name](Question &ended) { write_ended(op, name, ended.status, true); });
}

void QuorumRun::read_value(const std::string &name) {
  const std::vector<size_t> able = free_processes();
  if (able.empty()) return;
  const size_t by = able[static_cast<size_t>(roll(static_cast<int64_t>(able.size())))];
  const Nanos from = world_.now();
  ask(
      by, "read", What::Read,
      [&](Ask &asked) {
        asked.keys = {values_.at(name).key};
        asked.from = Ask::From::Quorum;
      },
      [this, from](Question &ended) { value_was_read(ended, from); });
}

void QuorumRun::value_was_read(const Question &asked, Nanos from) {
  if (asked.status != Status::OK) return;
  const auto &info = *asked.infos.front();
  const auto carries = value_of_id_.find(info.attempt_id);
  const bool is_judged = values_.contains(register_of(info.value));
  if (carries != value_of_id_.end() && carries->second != register_of(info.value) && judges_values())
    wrong("the lock that has the values of " + carries->second + " shows " + info.value);
  if (!is_judged) return;
  say("%s is read", info.value.c_str());
  operations_.push_back({register_of(info.value), info.value, "", from, world_.now(), RegisterOp::End::Done});
  Value &value = values_.at(register_of(info.value));
  if (value.newest != info.value && one_in(2)) value.before = info.value;
}

// Whoever knows the value ends the lock, and its holder may not hear of it before he renews.
void QuorumRun::release_by_value(const std::string &name) {
  const std::vector<size_t> able = free_processes();
  if (able.empty()) return;
  const size_t by = able[static_cast<size_t>(roll(static_cast<int64_t>(able.size())))];
  const Value &value = values_.at(name);
  const std::string id = value.id;
  Taking &taking = takings_[id];
  if (taking.open++ == 0 && !taking.may_have_happened) taking.since = world_.now();
  say("p%zu releases %s by its value", by, value.newest.c_str());
  ask(
      by, "release_key", What::ReleaseKey,
      [&](Ask &asked) {
        asked.keys = {value.key};
        asked.text = value.newest;
      },
      [this, id](Question &ended) {
        Taking &ends = takings_.at(id);
        --ends.open;
        // No node was asked to, since the lock was not found as expected.
        if (ended.nodes != 0) ends.may_have_happened = true;
        if (ends.open == 0 && !ends.may_have_happened) takings_.erase(id);
      });
}

bool QuorumRun::is_taken(const Hold &hold) const { return takings_.contains(hold.id); }

// What forgets unseen, and clocks that step, may forget a promise; where only clocks are left, all is forgotten.
bool QuorumRun::judges_values() const {
  return !swarm_.is_outside() && !swarm_.evictions && !swarm_.steps && !watch_.is_by_clock();
}

void QuorumRun::judge_values() {
  if (!judges_values()) return;
  counters_["value_operations_judged"] += operations_.size();
  for (const std::string &bad : liblock_test::not_at_one_moment(operations_)) {
    ++counters_["bad_values"];
    wrong(bad);
  }
}

}  // namespace unit
