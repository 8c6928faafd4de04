// SPDX-License-Identifier: MIT
// See address.hpp. No message quotes the URL: where it cannot be taken apart, any part may be the password.
#include "redis/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/read_number.hpp"

namespace liblock {

namespace {

constexpr size_t kUrlMax = 4'096;
constexpr int kDbMax = 65'535;
constexpr uint16_t kUsualPort = 6'379;

bool starts_with(Bytes text, Bytes prefix) { return text.substr(0, prefix.size()) == prefix; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// %XX as in RFC 3986; false where two hexadecimal digits are missing.
bool unescape(Bytes text, std::string &out) {
  out.reserve(text.size());  // it may be a password
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return false;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

template <typename Number>
bool read_within(Bytes text, int64_t least, int64_t most, Number &out) {
  int64_t value = 0;
  if (!read_number(text, value) || value < least || value > most) return false;
  out = static_cast<Number>(value);
  return true;
}

const char *read_credentials(Bytes text, ServerAddress &address) {
  const size_t colon = text.find(':');
  std::string user, password;
  const bool fine = unescape(text.substr(0, colon), user) &&
                    (colon == Bytes::npos || unescape(text.substr(colon + 1), password));
  if (fine) {
    address.user = user;
    address.password = Secret(password);
  }
  wipe(password);
  if (!fine)
    return "user or password has a '%' that is not followed by two hexadecimal digits; write '%' as %25";
  return nullptr;
}

const char *read_host(Bytes text, ServerAddress &address) {
  Bytes port;
  if (starts_with(text, "[")) {
    const size_t close = text.find(']');
    if (close == Bytes::npos) return "the IPv6 address has no closing ']'";
    address.target.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.empty() && port[0] != ':')
      return "after the ']' of an IPv6 address comes ':' and a port, or nothing";
    if (!port.empty()) port.remove_prefix(1);
  } else {
    if (text.find(',') != Bytes::npos)
      return "a list of servers is a quorum's, as in quorum:redis://a,redis://b,redis://c";
    const size_t colon = text.find(':');
    if (colon != Bytes::npos && text.find(':', colon + 1) != Bytes::npos)
      return "an IPv6 address must stand in brackets, as in redis://[::1]:6379";
    address.target.host = text.substr(0, colon);
    if (colon != Bytes::npos) port = text.substr(colon + 1);
  }
  if (address.target.host.empty()) return "the host is empty";
  for (const char c : address.target.host) {
    if (c <= ' ' || c == 0x7f) return "the host has a space or a control character";
  }
  if (!port.empty() && !read_within(port, 1, 65'535, address.target.port))
    return "the port is not 1 to 65535";
  return nullptr;
}

const char *read_unix(Bytes text, ServerAddress &address) {
  const size_t question = text.find('?');
  const Bytes query = question == Bytes::npos ? Bytes() : text.substr(question + 1);
  if (!unescape(text.substr(0, question), address.target.path))
    return "the path has a '%' that is not followed by two hexadecimal digits; write '%' as %25";
  if (address.target.path.empty() || address.target.path[0] != '/')
    return "the path of a unix socket must be absolute, as in unix:///run/redis.sock";
  if (address.target.path.find('\0') != std::string::npos) return "the path has a NUL byte";
  if (address.target.path.size() > 107) return "the path of the unix socket is longer than 107 bytes";
  if (query.empty()) return nullptr;
  if (!starts_with(query, "db=") || !read_within(query.substr(3), 0, kDbMax, address.db))
    return "after the path only ?db=N is known, N from 0 to 65535";
  return nullptr;
}

const char *read_network(Bytes text, ServerAddress &address) {
  address.target.port = kUsualPort;
  if (text.find('?') != Bytes::npos)
    return "a query ('?') is not known here: the database stands in the path, redis://HOST/3, all else in the "
           "options";
  const size_t slash = text.find('/', text.rfind('@') == Bytes::npos ? 0 : text.rfind('@'));
  const Bytes authority = text.substr(0, slash);
  const Bytes db = slash == Bytes::npos ? Bytes() : text.substr(slash + 1);
  const size_t at = authority.rfind('@');
  if (at != Bytes::npos) {
    if (const char *problem = read_credentials(authority.substr(0, at), address); problem != nullptr)
      return problem;
  }
  if (const char *problem = read_host(at == Bytes::npos ? authority : authority.substr(at + 1), address);
      problem != nullptr)
    return problem;
  if (!db.empty() && !read_within(db, 0, kDbMax, address.db))
    return "the database is not a number from 0 to 65535";
  return nullptr;
}

// By its addresses, and by the one name that every resolver knows: others, such as db.localhost, some of them ask for.
bool is_loopback(Bytes host) {
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, std::string(host).c_str(), &ipv6) == 1)
    return IN6_IS_ADDR_LOOPBACK(&ipv6) || (IN6_IS_ADDR_V4MAPPED(&ipv6) && ipv6.s6_addr[12] == 127);
  if (starts_with(host, "127.")) return host.find_first_not_of("0123456789.") == Bytes::npos;
  if (host.ends_with('.')) host.remove_suffix(1);
  constexpr Bytes kName = "localhost";
  const auto is_same = [](char a, char b) { return (a | 0x20) == b; };  // in lower case
  return std::equal(host.begin(), host.end(), kName.begin(), kName.end(), is_same);
}

}  // namespace

std::string ServerAddress::redacted() const {
  if (!target.path.empty()) return "unix://" + target.path + "?db=" + std::to_string(db);
  const bool is_ipv6 = target.host.find(':') != std::string::npos;
  return (tls ? "rediss://" : "redis://") + (is_ipv6 ? "[" + target.host + "]" : target.host) + ":" +
         std::to_string(target.port) + "/" + std::to_string(db);
}

bool ServerAddress::sends_cleartext_password() const {
  return !tls && target.path.empty() && !password.empty() && !is_loopback(target.host);
}

Status read_server_url(Bytes url, ServerAddress &address, std::string &message) {
  const char *problem;
  if (url.size() > kUrlMax) {
    problem = "it is longer than 4,096 bytes";
  } else if (starts_with(url, "unix://")) {
    problem = read_unix(url.substr(7), address);
  } else {
    address.tls = starts_with(url, "rediss://");
    problem = read_network(url.substr(address.tls ? 9 : 8), address);
  }
  if (problem == nullptr) return Status::OK;
  message = std::string("the url cannot be used: ") + problem;
  return Status::INVALID_ARGUMENT;
}

}  // namespace liblock
