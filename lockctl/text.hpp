// SPDX-License-Identifier: MIT
// Bytes and times as text for people. Keys and values are any bytes: what a terminal could take for a command, and what
// is no UTF-8, is shown as \xHH, so that nothing that stands on a server can move the cursor of who looks at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockctl {

std::string_view bytes(const void *data, size_t size);

bool is_utf8(std::string_view text);
std::string printable(std::string_view text);
std::string hexadecimal(std::string_view text);

// In single quotes, as every shell takes it for one word.
std::string quoted(std::string text);

// Columns that printable text takes in a terminal, and its beginning that fits into so many.
size_t columns_of(std::string_view text);
std::string clipped(std::string_view text, size_t columns);

// "850ms", "2.3s", "4m05s", "3h12m", "5d03h"; -1 is "-".
std::string for_people(int64_t milliseconds);
// The local time of day of microseconds since 1970, to the second; 0 is "-".
std::string time_of_day(int64_t microseconds);
// "12,345"
std::string with_commas(uint64_t number);

// "250ms", "30s", "5m", "2h", "1d" and "0"; anything else is a Failure that names the option.
int64_t parse_duration_ms(const std::string &option, const std::string &text);

}  // namespace lockctl
