// SPDX-License-Identifier: MIT
// TLS as a filter of bytes: what came from the peer goes in, plain text and what must go to the peer come out. There
// is no socket, thread or clock in here; who has those decides when bytes move and how long a handshake may take.
//
// A session belongs to one thread at a time; a config is only read once it is made, and may be shared by sessions of
// any thread. States go one way: Handshaking -> Open -> Closed, or Failed from either of the first two, and a session
// that is over takes and gives nothing more, but for the last output (an alert, or the close_notify).
//
// Not even one byte of plain text leaves before the peer was verified. Open is no promise that the peer took our
// certificate: in TLS 1.3 its refusal comes after that, and the session Fails. An end of the connection that was not
// announced (state still Handshaking or Open) is a truncation, which only the caller can see.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/hash.hpp"

// OpenSSL's own types, so that nobody else has to see its headers.
struct bio_st;
struct ssl_st;

namespace liblock {

// Was the library built with TLS? If not, no config can be made, and the error says so.
bool tls_supported();

struct TlsOptions {
  std::string ca_file;           // PEM; with neither this nor ca_path, the system's store of CAs is used
  std::string ca_path;           // a folder as c_rehash makes it
  std::string certificate_file;  // PEM, our certificate and its chain; together with key_file
  std::string key_file;          // PEM, not encrypted
  std::string server_name;       // instead of the host, for what is asked for (SNI) and what is verified
  bool verify = true;            // false: any certificate will do, so that anyone may be the peer
};

class TlsConfig;

// One per context; the files are read once, here. nullptr, and in `error` cause and cure, when they cannot be used.
std::shared_ptr<TlsConfig> make_tls_config(const TlsOptions &options, std::string &error);

class TlsSession {
 public:
  enum class State : uint8_t { Handshaking, Open, Closed, Failed };

  // What may wait for the end of the handshake. One byte more, and the session Fails.
  static constexpr size_t kUnsentMax = 1 << 20;

  // The client's side of one connection to this host; there is output at once. nullptr and `error` when the host is
  // nothing that a certificate could be verified against.
  static std::unique_ptr<TlsSession> make(std::shared_ptr<TlsConfig> config, const std::string &host,
                                          std::string &error);
  ~TlsSession();
  TlsSession(const TlsSession &) = delete;
  TlsSession &operator=(const TlsSession &) = delete;

  // Appends what came decrypted. There may be output afterwards in every state, also Failed.
  State receive(Bytes ciphertext, std::string &plain);
  // Before Open it is kept and goes out after the handshake; from then on it is output at once, all of it: the caller
  // bounds what it sends.
  State send(Bytes plain);
  // Appends what must be written to the peer now.
  void take_output(std::string &out);
  // Ends our side: close_notify when Open. What has not been sent by then is dropped.
  void shut_down();

  State state() const { return state_; }
  // Why it Failed: the verification's own reason, the peer's alert ..., and the cure. Else empty.
  const std::string &error() const { return error_; }

 private:
  explicit TlsSession(std::shared_ptr<TlsConfig> config);
  static int certificate_asked(ssl_st *, void *session);
  bool begin(const std::string &host, std::string &error);
  void shake_hands();
  void read(std::string &plain);
  size_t write(Bytes plain);
  void flush();
  void settle(int result);
  void give_up(std::string why);
  void drop_unsent();
  bool peer_is_verified() const;
  std::string reason() const;

  const std::shared_ptr<TlsConfig> config_;
  ssl_st *ssl_ = nullptr;
  bio_st *in_ = nullptr;   // what came from the peer; ssl_ owns it
  bio_st *out_ = nullptr;  // what must go to the peer; ssl_ owns it
  std::string name_;       // whom the peer must prove to be
  std::string unsent_;     // plain text on its way into ssl_
  std::string error_;
  State state_ = State::Handshaking;
  bool certificate_asked_ = false;  // the peer asked for one of ours
  bool anything_came_ = false;
  bool plain_text_came_ = false;  // the first byte began no record of TLS
};

}  // namespace liblock
