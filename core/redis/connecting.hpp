// SPDX-License-Identifier: MIT
// From a server's URL to all that a connection needs to know. Pure, but for the certificates that it reads.
#pragma once

#include <string>

#include "redis/connection.hpp"
#include "redis/tls.hpp"

namespace liblock {

// What all servers of a context have in common.
struct ConnectionDefaults {
  std::string user;  // instead of one in the url, where not empty
  Secret password;   // the same
  std::string name;
  Nanos connect_timeout = 1'000 * kMillisecond;
  Nanos command_timeout = 1'000 * kMillisecond;
  TlsOptions tls;
  std::shared_ptr<TlsConfig> tls_config;  // made for the first server that needs it
};

// message: cause and cure, without anything that could be part of a password.
Status connection_to(Bytes url, ConnectionDefaults &defaults, ConnectionOptions &connection,
                     std::string &message);

}  // namespace liblock
