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
    {"WRONGTYPE",
     {Status::WRONG_TYPE, false, false, false,
      "something that is no lock is stored there; set another prefix"}},
    {"READONLY", {Status::READ_ONLY, true, true, false, "give the address of the master"}},
    {"MASTERDOWN", {Status::READ_ONLY, true, true, false, "give the address of the master"}},
    {"NOAUTH",
     {Status::AUTH, false, true, false,
      "give the password in the url, redis://:PASSWORD@host, or as option"}},
    {"WRONGPASS", {Status::AUTH, false, true, false}},
    {"NOPERM",
     {Status::AUTH, false, false, false, "docs/operations.md has the rights, for the prefix that is set"}},
    {"MOVED", {Status::UNSUPPORTED, false, false, false, "a cluster; give a server of its own"}},
    {"ASK", {Status::UNSUPPORTED, false, false, false, "a cluster; give a server of its own"}},
    {"CROSSSLOT", {Status::UNSUPPORTED, false, false, false, "a cluster; give a server of its own"}},
    {"LOADING", {Status::SERVER, true, false, false}},
    {"BUSY", {Status::SERVER, true, false, false, "a script of somebody holds it up; SCRIPT KILL ends it"}},
    {"OOM", {Status::SERVER, true, false, false, "raise maxmemory; set maxmemory-policy noeviction"}},
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

// Inside the text of Redis 6.2: "ERR Error running script (call to f_…): @user_script:4: WRONGTYPE …"; and where a
// script hands on what it caught: "@user_script: 4: -READONLY …".
const ServerError *find_wrapped(Bytes text) {
  if (text.find("rror running script") == Bytes::npos && !text.starts_with("@user_script:")) return nullptr;
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

AuthRefusal refusal_of_auth(Bytes text) {
  struct Answer {
    Bytes part;
    AuthRefusal refusal;
  };
  static constexpr Answer kAnswers[] = {
      {"WRONGPASS", {Status::AUTH, "WRONGPASS"}},
      {"invalid password", {Status::AUTH, "wrong password"}},
      {"without any password configured", {Status::AUTH, "it has none set; leave the password out"}},
      {"no password is set", {Status::AUTH, "it has none set; leave the password out"}},
      {"wrong number of arguments", {Status::AUTH, "it knows no users, as before Redis 6; leave the user out"}},
      {"unknown command", {Status::AUTH, "it knows no AUTH; see its rename-command, or what stands before it"}},
      {"NOPERM", {Status::AUTH, "NOPERM"}},
      {"max number of clients", {Status::CONNECT, "max number of clients reached; raise its maxclients"}},
      {"DENIED", {Status::AUTH, "DENIED, it is in protected mode; set a password there, or bind it to an address"}},
      {"LOADING", {Status::SERVER, "LOADING, it reads its data"}},
  };
  for (const Answer &answer : kAnswers) {
    if (text.find(answer.part) != Bytes::npos) return answer.refusal;
  }
  return {Status::AUTH, "an error that is not shown, since it may repeat them; AUTH in redis-cli says it"};
}

std::string explained(Bytes text) {
  const Bytes cure = classify_error(text).cure;
  return shown(text) + (cure.empty() ? "" : " (" + std::string(cure) + ")");
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
