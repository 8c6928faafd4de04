// SPDX-License-Identifier: MIT
// See wire.hpp.
#include "wire.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "../settings.hpp"
#include "address.hpp"

namespace liblock_bench {

namespace {

int connected(int descriptor, const sockaddr *address, socklen_t size, const std::string &url) {
  if (descriptor < 0 || connect(descriptor, address, size) != 0) Settings::fail("cannot connect to " + url);
  return descriptor;
}

}  // namespace

Wire::Wire(const std::string &url) {
  const Address address = read_address(url);
  if (address.port == 0) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (address.place.size() >= sizeof name.sun_path) Settings::fail("too long a path: " + address.place);
    std::memcpy(name.sun_path, address.place.c_str(), address.place.size());
    descriptor_ = connected(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
                            reinterpret_cast<sockaddr *>(&name), sizeof name, url);
    return;
  }
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(address.port));
  inet_pton(AF_INET, address.place.c_str(), &name.sin_addr);
  descriptor_ = connected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), reinterpret_cast<sockaddr *>(&name),
                          sizeof name, url);
  const int on = 1;
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Wire::~Wire() { close(descriptor_); }

void Wire::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written <= 0) Settings::fail("the connection ended while writing");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void Wire::read_exactly(size_t size) {
  // Room for more than is expected, so that too long an answer is seen and not left for the next one.
  if (read_.size() < size + 4096) read_.resize(size + 4096);
  size_ = 0;
  while (size_ < size) {
    const ssize_t got = ::read(descriptor_, read_.data() + size_, read_.size() - size_);
    if (got <= 0) Settings::fail("the connection ended while reading");
    size_ += static_cast<size_t>(got);
  }
  if (size_ > size)
    Settings::fail("another answer than that of success: " + std::string(last().substr(0, 300)));
}

}  // namespace liblock_bench
