// SPDX-License-Identifier: MIT
// An identity that holds and waits. Named owners were opened by the caller (or stand for a thread) and may
// reenter; the one unnamed owner of an instance stands for all locks that belong to their handle alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace liblock {

class Owner {
 public:
  Owner(const void *instance, std::string instance_id, uint64_t number, std::string_view name, bool named)
      : instance_(instance),
        instance_id_(std::move(instance_id)),
        id_(named ? instance_id_ + "/" + std::to_string(number) + "/" + std::string(name) : instance_id_),
        named_(named) {}
  virtual ~Owner() = default;
  Owner(const Owner &) = delete;
  Owner &operator=(const Owner &) = delete;

  const void *instance() const { return instance_; }  // only ever compared
  const std::string &instance_id() const { return instance_id_; }
  const std::string &id() const { return id_; }
  bool named() const { return named_; }

  // Set before its holds and waits are ended, and read under the lock that a grant takes: what is granted
  // later sees it.
  std::atomic<bool> closed{false};
  // OWNER_CLOSED was told, which is once, however often it is closed.
  mutable std::atomic<bool> close_told{false};
  // Its instance was closed with on_close = LEAVE.
  std::atomic<bool> zombie{false};

 private:
  const void *const instance_;
  const std::string instance_id_;
  const std::string id_;
  const bool named_;
};

}  // namespace liblock
