// SPDX-License-Identifier: MIT
// How calls end: one that somebody asked for, and one that is its own, made with new, freed when its answer has come.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/status.hpp"

namespace liblock {

// How many nodes of a quorum did what was asked of how many; nodes 0: they were not counted.
struct Confirmed {
  uint8_t votes = 0;
  uint8_t nodes = 0;
};

// Told how a call ended that somebody asked for. Made of whatever takes a status and a text, or the count as well.
class AskDone {
 public:
  AskDone() = default;
  AskDone(std::nullptr_t) {}
  template <typename Told>
  requires(!std::same_as<Told, AskDone> && std::invocable<Told &, Status, const std::string &, Confirmed>)
      AskDone(Told told)
      : told_(std::move(told)) {}
  template <typename Told>
  requires(!std::same_as<Told, AskDone> && std::invocable<Told &, Status, const std::string &>)
      AskDone(Told told)
      : told_([told = std::move(told)](Status status, const std::string &why, Confirmed) mutable {
          told(status, why);
        }) {}
  void operator()(Status status, const std::string &why, Confirmed confirmed = {}) const {
    told_(status, why, confirmed);
  }
  bool operator==(std::nullptr_t) const { return told_ == nullptr; }

 private:
  std::function<void(Status, const std::string &why, Confirmed)> told_;
};

// The call goes first: whoever hears of its end may free all that it refers to.
template <typename Call, typename... Results>
void end_call(Call *call, std::function<void(Results...)> &done_of_it,
              std::type_identity_t<Results>... results) {
  const std::function<void(Results...)> done = std::move(done_of_it);
  delete call;
  done(std::forward<Results>(results)...);
}

template <typename Call>
void end_call(Call *call, AskDone &done_of_it, Status status, const std::string &why) {
  const std::string kept = why;  // it may be the call's
  const AskDone done = std::move(done_of_it);
  delete call;
  done(status, kept);
}

}  // namespace liblock
