// SPDX-License-Identifier: MIT
// See tls.hpp: the same names in a library that was built without TLS. No config can be made, so no session either.
#include "base/assert.hpp"
#include "redis/tls.hpp"

namespace liblock {

namespace {

constexpr const char *kNoTls =
    "this liblock was built without TLS; build it with OpenSSL 3 and -Dtls=enabled";

}  // namespace

class TlsConfig {};

bool tls_supported() { return false; }

std::shared_ptr<TlsConfig> make_tls_config(const TlsOptions &, std::string &error) {
  error = kNoTls;
  return nullptr;
}

std::unique_ptr<TlsSession> TlsSession::make(std::shared_ptr<TlsConfig>, const std::string &,
                                             std::string &error) {
  error = kNoTls;
  return nullptr;
}

TlsSession::~TlsSession() = default;

// Nobody has a session to call these of.
TlsSession::State TlsSession::receive(Bytes, std::string &) {
  LIBLOCK_ASSERT(tls_supported());
  return state_;
}
TlsSession::State TlsSession::send(Bytes) {
  LIBLOCK_ASSERT(tls_supported());
  return state_;
}
void TlsSession::take_output(std::string &) { LIBLOCK_ASSERT(tls_supported()); }
void TlsSession::shut_down() { LIBLOCK_ASSERT(tls_supported()); }

}  // namespace liblock
