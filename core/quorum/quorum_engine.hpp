// SPDX-License-Identifier: MIT
// The engine of a context over a quorum of servers.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.hpp"
#include "quorum/quorum_options.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

// context: only compared, as the instance of its owners. nullptr: this version has none.
std::unique_ptr<Engine> make_quorum_engine(std::shared_ptr<Runtime> runtime, QuorumOptions options,
                                           const std::string &instance_id, const void *context);

}  // namespace liblock
