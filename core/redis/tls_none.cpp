#include "redis/tls.hpp"
namespace liblock {
class TlsConfig {};
bool tls_supported() { return false; }
std::shared_ptr<TlsConfig> make_tls_config(const TlsOptions &, std::string &error) {
  error = "built without TLS";
  return nullptr;
}
std::unique_ptr<TlsSession> TlsSession::make(std::shared_ptr<TlsConfig>, const std::string &,
                                             std::string &error) {
  error = "built without TLS";
  return nullptr;
}
TlsSession::State TlsSession::receive(Bytes, std::string &) { return State::Failed; }
TlsSession::State TlsSession::send(Bytes) { return State::Failed; }
void TlsSession::take_output(std::string &) {}
void TlsSession::shut_down() {}
const std::string &TlsSession::error() const {
  static const std::string none;
  return none;
}
}  // namespace liblock
