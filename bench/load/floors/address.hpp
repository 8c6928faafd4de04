// SPDX-License-Identifier: MIT
// Where a server is, out of a url as the library takes it, without user, password and database.
#pragma once

#include <cstdlib>
#include <string>

#include "../settings.hpp"

namespace liblock_bench {

struct Address {
  std::string place;  // an IPv4 address, or the path of a unix socket
  int port = 0;       // 0: a unix socket
};

inline Address read_address(const std::string &url) {
  static const std::string tcp = "redis://", unix_socket = "unix://";
  if (url.starts_with(unix_socket))
    return {url.substr(unix_socket.size(), url.find('?') - unix_socket.size()), 0};
  const size_t colon = url.rfind(':');
  if (!url.starts_with(tcp) || colon < tcp.size()) Settings::fail("not a url of a server: " + url);
  return {url.substr(tcp.size(), colon - tcp.size()),
          static_cast<int>(std::strtol(url.c_str() + colon + 1, nullptr, 10))};
}

}  // namespace liblock_bench
