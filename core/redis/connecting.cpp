// SPDX-License-Identifier: MIT
// See connecting.hpp.
#include "redis/connecting.hpp"

namespace liblock {

Status connection_to(Bytes url, ConnectionDefaults &defaults, ConnectionOptions &connection,
                     std::string &message) {
  if (const Status status = read_server_url(url, connection.address, message); status != Status::OK)
    return status;
  if (!defaults.user.empty()) connection.address.user = defaults.user;
  if (!defaults.password.empty()) connection.address.password = defaults.password;
  connection.name = defaults.name;
  connection.connect_timeout = defaults.connect_timeout;
  connection.command_timeout = defaults.command_timeout;
  if (!connection.address.tls) return Status::OK;
  if (!tls_supported()) {
    message = "this library was built without TLS; build it with -Dtls=enabled (OpenSSL)";
    return Status::UNSUPPORTED;
  }
  if (defaults.tls_config == nullptr) defaults.tls_config = make_tls_config(defaults.tls, message);
  connection.tls = defaults.tls_config;
  return connection.tls != nullptr ? Status::OK : Status::INVALID_ARGUMENT;
}

}  // namespace liblock
