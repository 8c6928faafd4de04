// SPDX-License-Identifier: MIT
// Credentials. A password in a url ends at the '@' before the host; a quorum's url has several. In a url that is
// printed or wiped everything between the ':' behind the user and that '@' becomes one '*' each, so that lengths stay.
#include "credentials.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "exit_code.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

// Calls mask(first, size) for each password in the text.
template <typename Mask>
void each_password(const std::string &text, Mask mask) {
  for (size_t scheme = text.find("://"); scheme != std::string::npos; scheme = text.find("://", scheme)) {
    scheme += 3;
    // The '@' may stand unescaped in a password: the last one before the host's end counts.
    const size_t end = text.find_first_of("/,?", scheme);
    const std::string authority = text.substr(scheme, end == std::string::npos ? end : end - scheme);
    const size_t at = authority.rfind('@'), colon = authority.find(':');
    if (at != std::string::npos && colon < at) mask(scheme + colon + 1, at - colon - 1);
  }
}

std::string from_environment(const char *name) {
  const char *value = getenv(name);
  return value != nullptr ? value : "";
}

std::string read_password(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  if (!file || (!std::getline(file, line) && !file.eof())) {
    throw Failure(kUsage, "--password-file: cannot read " + printable(path) +
                              "; give a file whose first line is "
                              "the password");
  }
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0) {
    say("warning: everybody on this machine can read " + printable(path) + "; chmod 600 it");
  }
  return line;
}

bool is_digit(unsigned char byte) { return std::isdigit(byte) != 0; }

// Where a url cannot be taken apart, any part may be the password: behind each colon stands what is none.
bool has_no_password(std::string_view url) {
  if (url.find('@') != std::string_view::npos) return false;
  if (url.starts_with("quorum:")) url.remove_prefix(7);
  for (size_t colon = url.find(':'); colon != std::string_view::npos; colon = url.find(':', colon + 1)) {
    const std::string_view rest = url.substr(colon + 1);
    if (rest.starts_with("//")) continue;
    const std::string_view port = rest.substr(0, rest.find_first_of("/,?:"));
    const bool has_host = colon > 0 && url[colon - 1] != '/';
    if (!has_host || !std::all_of(port.begin(), port.end(), is_digit)) return false;
  }
  return true;
}

// HOST:PORT, as redis-cli shows a server.
bool is_host_and_port(std::string_view url) {
  const size_t colon = url.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  const std::string_view host = url.substr(0, colon), port = url.substr(colon + 1);
  const auto is_of_a_name = [](unsigned char byte) {
    return std::isalnum(byte) != 0 || byte == '.' || byte == '-' || byte == '_';
  };
  return std::all_of(host.begin(), host.end(), is_of_a_name) && !port.empty() && port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), is_digit);
}

}  // namespace

void find_credentials(Settings &settings) {
  settings.url_is_of_environment = settings.url.empty();
  if (settings.url_is_of_environment) settings.url = from_environment("LIBLOCK_URL");
  if (settings.url.empty()) {
    throw Failure(kUsage, "no server is named; say --url redis://HOST or set LIBLOCK_URL");
  }
  settings.password = settings.password_file.empty() ? from_environment("LIBLOCK_PASSWORD")
                                                     : read_password(settings.password_file);
  settings.password_is_of_environment = settings.password_file.empty() && !settings.password.empty();
}

void wipe_passwords(int argc, char **argv) {
  bool was_there = false;
  for (int n = 1; n < argc && std::string(argv[n]) != "--"; n++) {
    each_password(argv[n], [&](size_t first, size_t size) {
      for (size_t at = first; at < first + size; at++) argv[n][at] = '*';
      was_there = was_there || size > 0;
    });
  }
  if (was_there) {
    say("warning: a password in the command line can be seen by others on this machine; use LIBLOCK_PASSWORD "
        "or "
        "--password-file");
  }
}

std::string without_password(const std::string &url) {
  std::string out = url;
  each_password(url, [&](size_t first, size_t size) { out.replace(first, size, size, '*'); });
  return out;
}

std::string of_environment(const Settings &settings) {
  if (!settings.url_is_of_environment) return "";
  return has_no_password(settings.url) ? " (LIBLOCK_URL is " + printable(settings.url) + ")"
                                       : " (the url is that of LIBLOCK_URL)";
}

std::string refusal_of_url(const Settings &settings, const std::string &message) {
  if (is_host_and_port(settings.url))
    return "the url has no scheme; say redis://" + settings.url + of_environment(settings);
  const bool is_of_url = message.starts_with("the url") || message.starts_with("server ");
  return is_of_url ? message + of_environment(settings) : message;
}

}  // namespace lockctl
