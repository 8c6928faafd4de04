// SPDX-License-Identifier: MIT
// The end of a call that is its own: made with new, freed when its answer has come.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/status.hpp"

namespace liblock {

// Of a call that somebody asked for.
using AskDone = std::function<void(Status, const std::string &why)>;

// The call goes first: whoever hears of its end may free all that it refers to.
template <typename Call, typename... Results>
void end_call(Call *call, std::function<void(Results...)> &done_of_it,
              std::type_identity_t<Results>... results) {
  const std::function<void(Results...)> done = std::move(done_of_it);
  delete call;
  done(std::forward<Results>(results)...);
}

}  // namespace liblock
