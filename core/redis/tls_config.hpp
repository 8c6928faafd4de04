// SPDX-License-Identifier: MIT
// What the parts of TLS share, and only they include: the config with OpenSSL's context in it, and the care for
// OpenSSL's queue of errors. The queue belongs to the thread, so also to the program around us: it is empty before our
// calls, since OpenSSL takes old errors in it for new ones, and none of ours stays behind in it.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "redis/tls.hpp"

namespace liblock {

struct CleanErrors {
  CleanErrors() { ERR_clear_error(); }
  ~CleanErrors() { ERR_clear_error(); }
  CleanErrors(const CleanErrors &) = delete;
  CleanErrors &operator=(const CleanErrors &) = delete;
};

struct FreeSslContext {
  void operator()(SSL_CTX *context) const { SSL_CTX_free(context); }
};

class TlsConfig {
 public:
  using Context = std::unique_ptr<SSL_CTX, FreeSslContext>;
  TlsConfig(Context context, const TlsOptions &options)
      : context_(std::move(context)),
        server_name_(options.server_name),
        verify_(options.verify),
        has_certificate_(!options.certificate_file.empty()) {}

  SSL_CTX *context() const { return context_.get(); }
  const std::string &server_name() const { return server_name_; }
  bool verify() const { return verify_; }
  bool has_certificate() const { return has_certificate_; }

 private:
  const Context context_;
  const std::string server_name_;
  const bool verify_;
  const bool has_certificate_;
};

}  // namespace liblock
