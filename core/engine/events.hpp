// SPDX-License-Identifier: MIT
// What an engine tells of itself: that its server came, went or changed. Of acquires and locks it tells their
// traces (trace.hpp).
#pragma once

#include <memory>
#include <string>

#include "engine/instruments.hpp"

namespace liblock {

class Events {
 public:
  explicit Events(std::shared_ptr<Runtime> runtime)
      : instruments_(std::make_shared<Instruments>(std::move(runtime))) {}

  const std::shared_ptr<Instruments> &instruments() const { return instruments_; }
  // From any thread, with no lock held; delivered where callbacks run.
  void emit(int32_t kind, Status status, const std::string &text, Handle lock = 0, uint64_t token = 0) {
    instruments_->server_event(kind, status, text, {lock, token});
  }
  // The same of a quorum. node: its redacted address; empty: of no single one.
  void emit_node(int32_t kind, Status status, const std::string &text, Bytes node, uint64_t count = 0) {
    instruments_->server_event(kind, status, text, {0, 0, node, count});
  }
  // The same, and whoever begins to listen later hears it then: once of each node.
  void emit_standing(int32_t kind, const std::string &text, Bytes node) {
    instruments_->stands(kind, text, node);
  }

 private:
  const std::shared_ptr<Instruments> instruments_;
};

}  // namespace liblock
