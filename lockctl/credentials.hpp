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

// What is said behind a refusal of the url: " (LIBLOCK_URL is …)", nothing where the command line has it.
std::string of_environment(const Settings &settings);
// Why nothing could be opened, as the library tells it; of a url more: the form that was meant, and where it is from.
std::string refusal_of_url(const Settings &settings, const std::string &message);

}  // namespace lockctl
