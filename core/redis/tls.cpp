// SPDX-License-Identifier: MIT
// See tls.hpp. OpenSSL reads from one memory BIO and writes to another; it "would block" when the first is empty, and
// that is what a turn ends with. Whatever else a call of it says ends the session.
#include "redis/tls.hpp"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "redis/tls_config.hpp"
#include "redis/tls_reason.hpp"

namespace liblock {

namespace {

bool is_address(const std::string &name) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 || inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

// As certificates name it: without the dot that ends a full name, without the interface of an IPv6 address.
std::string bare_name(const std::string &host) {
  std::string name = host;
  const size_t zone = name.find('%');
  if (zone != std::string::npos && is_address(name.substr(0, zone))) name.resize(zone);
  if (!name.empty() && name.back() == '.') name.pop_back();
  return name;
}

// OpenSSL takes no name for "any name will do" and a name that begins with a dot for all names that end so.
bool names_one_server(const std::string &name) {
  return !name.empty() && name.front() != '.' && name.find('\0') == std::string::npos;
}

// The types of records that TLS has: change of ciphers, alert, handshake, data.
bool begins_a_record(char first) { return first >= 20 && first <= 23; }

}  // namespace

TlsSession::TlsSession(std::shared_ptr<TlsConfig> config) : config_(std::move(config)) {}

TlsSession::~TlsSession() {
  const CleanErrors clean;
  drop_unsent();
  SSL_free(ssl_);
}

std::unique_ptr<TlsSession> TlsSession::make(std::shared_ptr<TlsConfig> config, const std::string &host,
                                             std::string &error) {
  const CleanErrors clean;
  std::unique_ptr<TlsSession> session(new TlsSession(std::move(config)));
  if (!session->begin(host, error)) return nullptr;
  session->shake_hands();
  if (session->state_ == State::Failed) {
    error = session->error_;
    return nullptr;
  }
  return session;
}

bool TlsSession::begin(const std::string &host, std::string &error) {
  name_ = bare_name(config_->server_name().empty() ? host : config_->server_name());
  if (!names_one_server(name_) && (config_->verify() || !name_.empty())) {
    error =
        "the server has no name that its certificate could be verified against; give the host or server_name";
    return false;
  }
  error = "no memory for a TLS session; free some";
  ssl_ = SSL_new(config_->context());
  if (ssl_ == nullptr) return false;
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl_, in_, out_);
  if (in_ == nullptr || out_ == nullptr) return false;
  SSL_set_connect_state(ssl_);
  SSL_set_cert_cb(ssl_, certificate_asked, this);

  X509_VERIFY_PARAM *const wanted = SSL_get0_param(ssl_);
  // What a subject calls its common name was never a host name, and "www*.example.com" is not what anybody means.
  X509_VERIFY_PARAM_set_hostflags(wanted,
                                  X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool address = is_address(name_);
  error = "the host or server_name cannot be the name of a server; give one that a certificate can have";
  if (!name_.empty()) {
    if (address ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name_.c_str()) != 1
                : X509_VERIFY_PARAM_set1_host(wanted, name_.data(), name_.size()) != 1 ||
                      SSL_set_tlsext_host_name(ssl_, name_.c_str()) != 1) {
      return false;
    }
  }
  error.clear();
  return true;
}

int TlsSession::certificate_asked(ssl_st *, void *session) {
  static_cast<TlsSession *>(session)->certificate_asked_ = true;
  return 1;
}

TlsSession::State TlsSession::receive(Bytes ciphertext, std::string &plain) {
  if (state_ > State::Open || ciphertext.empty()) return state_;
  const CleanErrors clean;
  if (!anything_came_) plain_text_came_ = !begins_a_record(ciphertext.front());
  anything_came_ = true;
  size_t taken = 0;
  if (BIO_write_ex(in_, ciphertext.data(), ciphertext.size(), &taken) != 1 || taken != ciphertext.size()) {
    give_up("no memory for what the server sent; free some");
    return state_;
  }
  if (state_ == State::Handshaking) shake_hands();
  if (state_ == State::Open) read(plain);
  if (state_ == State::Open) flush();
  return state_;
}

void TlsSession::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) {
    settle(result);
  } else if (config_->verify() && !peer_is_verified()) {
    give_up("the server agreed on TLS without a certificate; give it one, and ciphers that use it");
  } else {
    state_ = State::Open;
  }
}

// OpenSSL asks for no certificate where the ciphers have none, and a lax openssl.cnf lets such ciphers in.
bool TlsSession::peer_is_verified() const {
  return SSL_get0_peer_certificate(ssl_) != nullptr && SSL_get_verify_result(ssl_) == X509_V_OK;
}

void TlsSession::read(std::string &plain) {
  char record[16384];  // the longest there is
  for (;;) {
    ERR_clear_error();
    size_t size = 0;
    const int result = SSL_read_ex(ssl_, record, sizeof record, &size);
    if (result != 1) {
      settle(result);
      return;
    }
    plain.append(record, size);
  }
}

TlsSession::State TlsSession::send(Bytes plain) {
  if (state_ > State::Open || plain.empty()) return state_;
  const CleanErrors clean;
  if (state_ == State::Handshaking && plain.size() > kUnsentMax - unsent_.size()) {
    give_up(
        "more than 1 MiB waits for the TLS handshake to end; wait for the connection before sending more");
    return state_;
  }
  const size_t sent = state_ == State::Open && unsent_.empty() ? write(plain) : 0;
  if (state_ <= State::Open) unsent_.append(plain.substr(sent));
  return state_;
}

// How much of it went into records: all, unless OpenSSL wants to hear from the peer first.
size_t TlsSession::write(Bytes plain) {
  size_t sent = 0;
  while (sent < plain.size()) {
    ERR_clear_error();
    size_t size = 0;
    const int result = SSL_write_ex(ssl_, plain.data() + sent, plain.size() - sent, &size);
    if (result != 1) {
      settle(result);
      break;
    }
    sent += size;
  }
  return sent;
}

void TlsSession::flush() {
  if (unsent_.empty()) return;
  const size_t sent = write(unsent_);
  if (sent >= unsent_.size()) {
    drop_unsent();
  } else {
    unsent_.erase(0, sent);
  }
}

void TlsSession::take_output(std::string &out) {
  const CleanErrors clean;
  const size_t before = out.size();
  const size_t waiting = BIO_ctrl_pending(out_);
  size_t size = 0;
  out.resize(before + waiting);
  if (waiting > 0 && BIO_read_ex(out_, out.data() + before, waiting, &size) != 1) size = 0;
  out.resize(before + size);
}

void TlsSession::shut_down() {
  if (state_ > State::Open) return;
  const CleanErrors clean;
  if (state_ == State::Open) SSL_shutdown(ssl_);
  state_ = State::Closed;
  drop_unsent();
}

// What it means that a call of OpenSSL did not succeed.
void TlsSession::settle(int result) {
  const int kind = SSL_get_error(ssl_, result);
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return;
  if (kind != SSL_ERROR_ZERO_RETURN) {
    give_up(reason());
  } else if (state_ == State::Handshaking) {
    give_up("the server hung up before TLS was agreed on; its log may say why");
  } else {
    SSL_shutdown(ssl_);  // the answer to its close_notify
    state_ = State::Closed;
    drop_unsent();
  }
}

std::string TlsSession::reason() const {
  return tls_reason(
      {SSL_get_verify_result(ssl_), name_, plain_text_came_, certificate_asked_, config_->has_certificate()});
}

void TlsSession::give_up(std::string why) {
  state_ = State::Failed;
  error_ = std::move(why);
  drop_unsent();
}

// It may hold a password, which should not outlive its use.
void TlsSession::drop_unsent() {
  OPENSSL_cleanse(unsent_.data(), unsent_.size());
  std::string().swap(unsent_);
}

}  // namespace liblock
