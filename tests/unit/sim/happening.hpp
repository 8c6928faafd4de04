// SPDX-License-Identifier: MIT
// Things that will happen, in order of their time, those of one time in the order in which they were asked for; and
// a number that follows from all that did happen, so that two runs can be compared.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace liblock_test::sim {

using liblock::Nanos;

class Happenings {
 public:
  template <typename Do>
  void add(Nanos when, Do what) {
    heap_.push_back({when, made_++, std::make_unique<One<Do>>(std::move(what))});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Nanos earliest() const { return heap_.empty() ? liblock::kNever : heap_.front().when; }
  void run_first() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const std::unique_ptr<Any> what = std::move(heap_.back().what);
    heap_.pop_back();
    what->run();
  }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual void run() = 0;
  };
  template <typename Do>
  struct One final : Any {
    explicit One(Do of) : what(std::move(of)) {}
    void run() override { what(); }
    Do what;
  };
  struct Entry {
    Nanos when;
    uint64_t number;
    std::unique_ptr<Any> what;
  };
  static bool later(const Entry &a, const Entry &b) {
    return a.when != b.when ? a.when > b.when : a.number > b.number;
  }

  std::vector<Entry> heap_;
  uint64_t made_ = 0;
};

class Trace {
 public:
  void add(uint64_t number) {
    value_ = (value_ ^ number) * 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 32;
  }
  void add(std::string_view bytes) { add(static_cast<uint64_t>(std::hash<std::string_view>()(bytes))); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

}  // namespace liblock_test::sim
