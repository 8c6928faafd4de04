// SPDX-License-Identifier: MIT
// The other end of a session under test: OpenSSL's server side on memory, and a wire that carries what both have to
// say until they fall silent, in pieces as small as one likes.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "forge.hpp"
#include "redis/tls.hpp"

namespace peer {

struct Wish {
  const forge::Identity *identity = nullptr;    // none: only ciphers without certificates
  const forge::Identity *clients_ca = nullptr;  // a client certificate of this CA is asked for
  int version_min = TLS1_2_VERSION;
  int version_max = TLS1_3_VERSION;
  const char *ciphers = nullptr;
};

class Server {
 public:
  explicit Server(const Wish &wish) : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
    SSL_CTX *const c = context_.get();
    forge::must(c != nullptr, "make a server");
    SSL_CTX_set_min_proto_version(c, wish.version_min);
    SSL_CTX_set_max_proto_version(c, wish.version_max);
    if (wish.ciphers != nullptr) forge::must(SSL_CTX_set_cipher_list(c, wish.ciphers) == 1, "choose ciphers");
    if (wish.identity != nullptr) {
      forge::must(SSL_CTX_use_certificate(c, wish.identity->certificate.get()) == 1, "use a certificate");
      forge::must(SSL_CTX_use_PrivateKey(c, wish.identity->key.get()) == 1, "use a key");
    }
    if (wish.clients_ca != nullptr) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(c), wish.clients_ca->certificate.get());
      SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    ssl_.reset(SSL_new(c), SSL_free);
    SSL_set_bio(ssl(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl());
  }

  SSL *ssl() { return ssl_.get(); }
  bool is_open() { return SSL_is_init_finished(ssl()) == 1; }
  // What the client asked for by name; empty when it did not.
  std::string asked_name() {
    const char *name = SSL_get_servername(ssl(), TLSEXT_NAMETYPE_host_name);
    return name != nullptr ? name : "";
  }

  void receive(std::string_view bytes) {
    ERR_clear_error();
    if (!bytes.empty()) BIO_write(SSL_get_rbio(ssl()), bytes.data(), static_cast<int>(bytes.size()));
    char buffer[4096];
    size_t size = 0;
    while (SSL_read_ex(ssl(), buffer, sizeof buffer, &size) == 1) got.append(buffer, size);
    ERR_clear_error();
  }
  void send(std::string_view plain) {
    size_t sent = 0;
    forge::must(SSL_write_ex(ssl(), plain.data(), plain.size(), &sent) == 1 && sent == plain.size(), "send");
  }
  std::string take_output() {
    std::string out(BIO_ctrl_pending(SSL_get_wbio(ssl())), '\0');
    if (!out.empty()) BIO_read(SSL_get_wbio(ssl()), out.data(), static_cast<int>(out.size()));
    return out;
  }
  bool heard_close() { return (SSL_get_shutdown(ssl()) & SSL_RECEIVED_SHUTDOWN) != 0; }

  std::string got;

 private:
  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<SSL> ssl_;
};

inline std::string output_of(liblock::TlsSession &client) {
  std::string out;
  client.take_output(out);
  return out;
}

// Carries both ways until nobody has anything to say; what the client decrypted is appended to `got`.
inline void carry(liblock::TlsSession &client, Server &server, std::string &got, size_t piece = SIZE_MAX) {
  for (;;) {
    const std::string there = output_of(client);
    for (size_t at = 0; at < there.size(); at += std::min(piece, there.size() - at)) {
      server.receive(std::string_view(there).substr(at, piece));
    }
    const std::string back = server.take_output();
    for (size_t at = 0; at < back.size(); at += std::min(piece, back.size() - at)) {
      client.receive(std::string_view(back).substr(at, piece), got);
    }
    if (there.empty() && back.empty()) return;
  }
}

}  // namespace peer
