// SPDX-License-Identifier: MIT
// Texts that live as long as the process. The message of a completion is one: it is copied out of its queue by value,
// any number of readers may keep it, and nobody says when he is done with it.
// Invariants: a text that was given never moves or changes. There are kLastingTextsMax at most, so that a server which
// answers every call differently takes no more memory than that. Any thread, without a lock: a fork in the middle of
// it leaves nothing behind that a child would wait for.
#pragma once

#include <cstddef>
#include <string_view>

namespace liblock {

constexpr size_t kLastingTextsMax = 1024;
constexpr size_t kLastingTextBytesMax = 255;

// The same text again, or as many words of it as there is room for in one, and "…". nullptr: it is empty, or there is
// no room left.
const char *lasting_text(std::string_view text);

}  // namespace liblock
