// SPDX-License-Identifier: MIT
// See configuration.hpp.
#include "quorum/configuration.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/read_number.hpp"

namespace liblock::quorum {

namespace {

constexpr Bytes kHead = "ll1c";
constexpr int kFields = 8;

// Fixed, since records are compared by different processes; a hash of bytes as they lie in memory would do as well for
// nodes of one kind of machine, but not for all.
uint64_t fnv(Bytes text, uint64_t state) {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return state ^ (state >> 29);
}
constexpr uint64_t kSeed = 0xcbf29ce484222325u;

std::string hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

bool is_plain(char c) {
  const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_word || Bytes("./:-_[]?@").find(c) != Bytes::npos;
}

std::string escaped(Bytes text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      out.push_back(c);
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

bool unescape(Bytes text, std::string &out) {
  out.clear();
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out.push_back(text[at]);
      continue;
    }
    unsigned code = 0;
    if (at + 2 >= text.size()) return false;
    const auto read = std::from_chars(text.data() + at + 1, text.data() + at + 3, code, 16);
    if (read.ptr != text.data() + at + 3) return false;
    out.push_back(static_cast<char>(code));
    at += 2;
  }
  return true;
}

Bytes take_until(Bytes &rest, char mark) {
  const size_t end = std::min(rest.find(mark), rest.size());
  const Bytes part = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return part;
}

std::string text_of(const Members &members) {
  if (members.all.empty()) return {};
  std::string text = std::to_string(members.votes);
  for (const Member &member : members.all) text += " " + escaped(member.id) + "=" + escaped(member.address);
  return text;
}

bool parse_members(Bytes text, Members &members) {
  members = {};
  if (text.empty()) return true;
  if (!read_number(take_until(text, ' '), members.votes)) return false;
  while (!text.empty()) {
    Bytes word = take_until(text, ' ');
    Member member;
    if (!unescape(take_until(word, '='), member.id) || !unescape(word, member.address)) return false;
    if (member.id.empty() || member.address.empty()) return false;
    members.all.push_back(std::move(member));
  }
  const size_t count = members.all.size();
  return count <= kNodesMax && members.votes >= majority_of(count) && members.votes <= count;
}

}  // namespace

const Member *Configuration::find_address(const std::string &address) const {
  for (const Members *members : {&now, &next}) {
    for (const Member &member : members->all) {
      if (member.address == address) return &member;
    }
  }
  return nullptr;
}

const Member *Configuration::find_id(Bytes id) const {
  for (const Members *members : {&now, &next}) {
    for (const Member &member : members->all) {
      if (member.id == id) return &member;
    }
  }
  return nullptr;
}

std::string Configuration::to_text() const {
  std::string text(kHead);
  text += "|" + cluster + "|" + std::to_string(epoch) + "|" + std::to_string(max_ttl_ms) + "|" +
          (trusts_disk ? "1" : "0") + "|" + text_of(now) + "|" + text_of(next) + "|";
  for (size_t i = 0; i < observers.size(); ++i) text += (i == 0 ? "" : " ") + escaped(observers[i]);
  return text;
}

std::string Configuration::who(const std::string &node_id) const {
  return cluster + "|" + std::to_string(epoch) + "|" + hex(fnv(to_text(), kSeed)) + "|" + node_id;
}

Configuration Configuration::first(std::vector<std::string> addresses, uint32_t votes, int64_t max_ttl_ms,
                                   bool trusts_disk) {
  std::sort(addresses.begin(), addresses.end());
  Configuration made;
  uint64_t low = kSeed, high = ~kSeed;
  for (const std::string &address : addresses) {
    made.now.all.push_back({"n" + std::to_string(made.now.all.size() + 1), address});
    low = fnv(address + " ", low);
    high = fnv(address + " ", high);
  }
  made.cluster = hex(high) + hex(low);
  made.max_ttl_ms = max_ttl_ms;
  made.trusts_disk = trusts_disk;
  made.now.votes = votes != 0 ? votes : majority_of(addresses.size());
  return made;
}

bool Configuration::parse(Bytes text, Configuration &configuration) {
  Configuration read;
  if (std::count(text.begin(), text.end(), '|') != kFields - 1 || take_until(text, '|') != kHead)
    return false;
  read.cluster = take_until(text, '|');
  const bool has_epoch = read_number(take_until(text, '|'), read.epoch);
  const bool has_ttl = read_number(take_until(text, '|'), read.max_ttl_ms);
  const Bytes trusts = take_until(text, '|');
  read.trusts_disk = trusts == "1";
  if (!has_epoch || !has_ttl || read.max_ttl_ms < 1 || (trusts != "0" && trusts != "1")) return false;
  if (!parse_members(take_until(text, '|'), read.now) || !parse_members(take_until(text, '|'), read.next))
    return false;
  while (!text.empty()) {
    std::string address;
    if (!unescape(take_until(text, ' '), address) || address.empty()) return false;
    read.observers.push_back(std::move(address));
  }
  if (read.cluster.size() != 32 || read.now.all.empty()) return false;
  configuration = std::move(read);
  return true;
}

bool Configuration::parse_who(Bytes who, Identity &identity) {
  identity.cluster = take_until(who, '|');
  const bool has_epoch = read_number(take_until(who, '|'), identity.epoch);
  identity.hash = take_until(who, '|');
  identity.node = who;
  return has_epoch && identity.cluster.size() == 32 && !identity.node.empty();
}

}  // namespace liblock::quorum
