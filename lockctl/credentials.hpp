// SPDX-License-Identifier: MIT
// Where the url and the password come from, and that the password is shown nowhere. Sought in this order: --url, then
// LIBLOCK_URL; --password-file, then LIBLOCK_PASSWORD, then the url itself.
#pragma once

#include <string>

#include "arguments.hpp"

namespace lockctl {

// Fills in what the command line left open. Failure where no server is named, or the file cannot be read.
void find_credentials(Settings &settings);

// Overwrites the passwords of urls in argv, which everybody on this machine can read, and warns that they stood there.
void wipe_passwords(int argc, char **argv);

// The url as it may be printed.
std::string without_password(const std::string &url);

}  // namespace lockctl
