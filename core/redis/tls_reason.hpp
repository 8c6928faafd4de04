// SPDX-License-Identifier: MIT
// Why a TLS session failed, in words that fit a result's message: the cause first, then the cure. The cause is looked
// for in OpenSSL's queue of errors, so ask right after the call that failed, and once.
#pragma once

#include <string>

namespace liblock {

struct TlsFailure {
  long verification;       // an X509_V_ code
  std::string name;        // whom the peer had to prove to be
  bool plain_text;         // what came was no TLS from its first byte on
  bool certificate_asked;  // the peer asked for a certificate of ours
  bool certificate_given;  // and we have one
};

std::string tls_reason(const TlsFailure &failure);

}  // namespace liblock
