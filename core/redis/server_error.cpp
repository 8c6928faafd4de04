// SPDX-License-Identifier: MIT
// See server_error.hpp. Redis 7 and Valkey put the code first; Redis 6.2 wraps an error that a script ran into
// in a text of its own, where the code stands behind "-" or a space.
#include "redis/server_error.hpp"

namespace liblock {

namespace {

struct Known {
  Bytes code;
  ServerError error;
};

constexpr Known kKnown[] = {
    {"NOSCRIPT", {Status::SERVER, true, false, true}},
    {"WRONGTYPE", {Status::WRONG_TYPE, false, false, false}},
    {"READONLY", {Status::READ_ONLY, true, true, false}},
    {"MASTERDOWN", {Status::READ_ONLY, true, true, false}},
    {"NOAUTH", {Status::AUTH, false, true, false}},
    {"WRONGPASS", {Status::AUTH, false, true, false}},
    {"NOPERM", {Status::AUTH, false, false, false}},
    {"MOVED", {Status::UNSUPPORTED, false, false, false}},
    {"ASK", {Status::UNSUPPORTED, false, false, false}},
    {"CROSSSLOT", {Status::UNSUPPORTED, false, false, false}},
    {"LOADING", {Status::SERVER, true, false, false}},
    {"BUSY", {Status::SERVER, true, false, false}},
    {"OOM", {Status::SERVER, true, false, false}},
    {"MISCONF", {Status::SERVER, true, false, false}},
    {"NOREPLICAS", {Status::SERVER, true, false, false}},
    {"CLUSTERDOWN", {Status::SERVER, true, false, false}},
    {"TRYAGAIN", {Status::SERVER, true, false, false}},
    {"UNKILLABLE", {Status::SERVER, true, false, false}},
};

const ServerError *find_code(Bytes code) {
  for (const Known &known : kKnown) {
    if (known.code == code) return &known.error;
  }
  return nullptr;
}

// Inside the text of Redis 6.2: "ERR Error running script (call to f_…): @user_script:4: WRONGTYPE …".
const ServerError *find_wrapped(Bytes text) {
  if (text.find("rror running script") == Bytes::npos) return nullptr;
  for (const Known &known : kKnown) {
    const size_t at = text.find(known.code);
    if (at != Bytes::npos && at > 0 && (text[at - 1] == ' ' || text[at - 1] == '-')) return &known.error;
  }
  return nullptr;
}

}  // namespace

ServerError classify_error(Bytes text) {
  if (const ServerError *error = find_code(text.substr(0, text.find(' '))); error != nullptr) return *error;
  if (const ServerError *error = find_wrapped(text); error != nullptr) return *error;
  if (text.find("max number of clients") != Bytes::npos) return {Status::CONNECT, true, true, false};
  if (text.find("invalid password") != Bytes::npos || text.find("AUTH") != Bytes::npos)
    return {Status::AUTH, false, true, false};
  return {};
}

std::string shown(Bytes text) {
  constexpr size_t kMost = 200;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    if (out.size() + 4 > kMost) {
      out += "…";
      break;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      out.push_back(c);
    } else {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

}  // namespace liblock
