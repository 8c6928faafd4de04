// SPDX-License-Identifier: MIT
// What the library says, for those who have lockctl instead of a program: it names its own calls and options as cures,
// and here they become the commands and options that stand for them. The one place where that is known.
#pragma once

#include <liblock/liblock.h>

#include <string>
#include <string_view>

namespace lockctl {

// "begin … with liblock_quorum_init" as "begin … with lockctl quorum init". What lockctl has no word for stays.
std::string reworded(std::string_view text);

// The message of a result, reworded.
std::string message_in(const liblock_result &result);

}  // namespace lockctl
