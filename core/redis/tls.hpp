#pragma once
#include <memory>
#include <string>
#include "base/hash.hpp"
namespace liblock {
bool tls_supported();
struct TlsOptions {
  std::string ca_file, ca_path, certificate_file, key_file, server_name;
  bool verify = true;
};
class TlsConfig;
std::shared_ptr<TlsConfig> make_tls_config(const TlsOptions &, std::string &error);
class TlsSession {
 public:
  enum class State : uint8_t { Handshaking, Open, Closed, Failed };
  static std::unique_ptr<TlsSession> make(std::shared_ptr<TlsConfig>, const std::string &host,
                                          std::string &error);
  State receive(Bytes ciphertext, std::string &plain);
  State send(Bytes plain);
  void take_output(std::string &out);
  void shut_down();
  const std::string &error() const;
};
}  // namespace liblock
