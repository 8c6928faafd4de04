// SPDX-License-Identifier: MIT
// See registers.hpp.
#include "registers.hpp"

#include <algorithm>
#include <map>

namespace liblock_test {

namespace {

using End = RegisterOp::End;

// What is known of one value: whoever wrote, saw or replaced it did so while it was the value.
struct Life {
  const RegisterOp *writer = nullptr;
  const RegisterOp *replaced_by = nullptr;
  bool is_real = false;  // somebody saw it, or was told that it is written
  int64_t first_end = RegisterOp::kNobodyKnows;
  int64_t last_begin = INT64_MIN;

  void took_part(const RegisterOp &op) {
    first_end = std::min(first_end, op.until);
    last_begin = std::max(last_begin, op.from);
  }
  bool must_be_before(const Life &other) const { return first_end < other.last_begin; }
};

class Register {
 public:
  explicit Register(std::vector<std::string> &wrong) : wrong_(wrong) {}
  void add(const RegisterOp &op) { ops_.push_back(&op); }
  void judge() {
    for (const RegisterOp *op : ops_) {
      if (!op->writes.empty()) lives_[op->writes].writer = op;
    }
    while (find_what_is_real()) {}
    for (const RegisterOp *op : ops_) {
      if (happened(*op)) take_part(*op);
    }
    std::erase_if(lives_, [](const auto &life) { return !life.second.is_real; });
    judge_order();
  }

 private:
  bool happened(const RegisterOp &op) const {
    if (op.end != End::Doubt) return op.end == End::Done;
    const auto life = lives_.find(op.writes);
    return life != lives_.end() && life->second.is_real;
  }
  // What was in doubt has happened when somebody who did something saw it.
  bool find_what_is_real() {
    bool found = false;
    for (const RegisterOp *op : ops_) {
      if (!happened(*op)) continue;
      for (const std::string *value : {&op->reads, &op->writes}) {
        if (value->empty() || lives_[*value].is_real) continue;
        lives_[*value].is_real = found = true;
      }
    }
    return found;
  }
  void take_part(const RegisterOp &op) {
    if (!op.writes.empty()) lives_[op.writes].took_part(op);
    if (op.reads.empty()) return;
    Life &seen = lives_[op.reads];
    seen.took_part(op);
    if (op.writes.empty()) return;
    if (seen.replaced_by != nullptr)
      complain("one value replaced twice: ", *seen.replaced_by, op);
    else
      seen.replaced_by = &op;
  }
  void judge_order() {
    for (const auto &[value, life] : lives_) {
      if (life.writer == nullptr) {
        wrong_.push_back("a value that nobody wrote: " + value);
        continue;
      }
      if (life.writer->end == End::Nothing)
        wrong_.push_back("seen, and its writer was told that it is not there: " + life.writer->to_text());
      if (life.first_end < life.writer->from)
        wrong_.push_back("seen before it was written: " + life.writer->to_text());
      judge_pairs(value, life);
    }
  }
  void judge_pairs(const std::string &value, const Life &life) {
    for (auto other = lives_.upper_bound(value); other != lives_.end(); ++other) {
      if (other->second.writer == nullptr) continue;
      if (life.must_be_before(other->second) && other->second.must_be_before(life))
        complain("each before the other: ", *life.writer, *other->second.writer);
    }
    if (life.replaced_by == nullptr) return;
    const auto next = lives_.find(life.replaced_by->writes);
    if (next == lives_.end()) return;
    if (next->second.must_be_before(life)) complain("back again: ", *life.writer, *life.replaced_by);
    for (const auto &[between, third] : lives_) {
      const bool is_third = &third != &life && &third != &next->second && third.writer != nullptr;
      if (is_third && life.must_be_before(third) && third.must_be_before(next->second))
        complain("replaced although another was there: ", *life.replaced_by, *third.writer);
    }
  }
  void complain(const char *what, const RegisterOp &first, const RegisterOp &second) {
    wrong_.push_back(what + first.to_text() + " and " + second.to_text());
  }

  std::vector<std::string> &wrong_;
  std::vector<const RegisterOp *> ops_;
  std::map<std::string, Life> lives_;
};

}  // namespace

std::string RegisterOp::to_text() const {
  const std::string end_text = until == kNobodyKnows ? "?" : std::to_string(until);
  return name + " " + (reads.empty() ? "-" : reads) + ">" + (writes.empty() ? "-" : writes) + " " +
         std::to_string(from) + " " + end_text;
}

std::vector<std::string> not_at_one_moment(const std::vector<RegisterOp> &ops) {
  std::vector<std::string> wrong;
  std::map<std::string, Register> registers;
  for (const RegisterOp &op : ops) registers.try_emplace(op.name, wrong).first->second.add(op);
  for (auto &[name, one] : registers) one.judge();
  return wrong;
}

}  // namespace liblock_test
