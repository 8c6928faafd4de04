// SPDX-License-Identifier: MIT
// Where a server is and who we are there, from a URL:
//   redis://[user[:password]@]host[:port][/db]    rediss:// the same over TLS    unix:///path[?db=N]
// Credentials are taken out at once; only the redacted form may ever be printed. Pure.
#pragma once

#include <string>
#include <utility>

#include "base/hash.hpp"
#include "base/status.hpp"
#include "base/wipe.hpp"
#include "runtime/byte_stream.hpp"

namespace liblock {

// Text that leaves no copy behind in memory that it gave back.
class Secret {
 public:
  Secret() = default;
  explicit Secret(Bytes text) : text_(text) {}
  Secret(const Secret &other) : text_(other.text_) {}
  Secret(Secret &&other) noexcept { swap(other); }
  Secret &operator=(Secret other) noexcept {
    swap(other);
    return *this;
  }
  ~Secret() { wipe(text_); }
  bool empty() const { return text_.empty(); }
  Bytes reveal() const { return text_; }

 private:
  // Short strings live inside the object: both sides are overwritten where they were.
  void swap(Secret &other) noexcept { text_.swap(other.text_); }

  std::string text_;
};

struct ServerAddress {
  StreamTarget target;
  bool tls = false;
  std::string user;
  Secret password;
  int db = 0;
  // For people: scheme, host, port and db.
  std::string redacted() const;
  // Whether anybody between here and the server's host could read the password.
  bool sends_cleartext_password() const;
};

// message: cause and cure, without anything that could be part of a password.
Status read_server_url(Bytes url, ServerAddress &address, std::string &message);

}  // namespace liblock
