// SPDX-License-Identifier: MIT
// A server's side of the protocol: requests out of a stream of bytes, replies into one. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lua_shim/reply.hpp"

namespace liblock_test::sim {

using Words = std::vector<std::string>;

// Takes one request off the front; nothing while it is not there whole. Aborts on what no client of ours sends.
std::optional<Words> take_request(std::string &bytes);
std::string encode(const lua_shim::Reply &reply);

}  // namespace liblock_test::sim
