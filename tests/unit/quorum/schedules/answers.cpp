// SPDX-License-Identifier: MIT
// What a client makes of answers; see calls.hpp.
#include <algorithm>

#include "calls.hpp"
#include "remote/lease.hpp"

namespace schedules {

using Kind = Message::Kind;
using liblock::kMillisecond;

namespace {

const Reply &item(const Reply &reply, size_t at) {
  if (at >= reply.items.size()) throw Failure("an answer is too short: " + reply.to_text());
  return reply.items[at];
}

std::string counting(const Reply &vote) { return vote.is(1) ? "counts" : "silent"; }

constexpr size_t kExtendFields = 5;  // of each key

std::vector<std::string> words_of_extend(const Reply &reply) {
  std::vector<std::string> words = {"OK", counting(item(reply, 2))};
  for (size_t at = 3; at < reply.items.size(); at += kExtendFields) {
    const int64_t code = reply.items[at].integer;
    words.emplace_back(code == 1    ? "set"
                       : code == 2  ? "anew"
                       : code == 0  ? "other"
                       : code == -1 ? "stale"
                                    : "gone");
    if (item(reply, at + 2).integer != 0) words.push_back("newer=" + item(reply, at + 3).text);
    const int64_t knows = item(reply, at + 4).integer;
    if (code > 0) words.emplace_back(knows < 0 ? "restored" : knows > 0 ? "knows_no_newer" : "says_nothing");
  }
  return words;
}

std::vector<std::string> words_of_hello(const Reply &reply) {
  if (item(reply, 1).text.empty()) return {"unmarked"};
  std::vector<std::string> words;
  words.emplace_back(item(reply, 5).is(1) ? "needs_floor" : "has_floor");
  words.emplace_back(item(reply, 4).integer > item(reply, 0).integer ? "waits" : "waited");
  return words;
}

// Whatever the script is, the answer in words.
std::vector<std::string> words_of(Kind kind, const Reply &reply) {
  if (reply.is_error()) return {split(reply.text, ' ').front()};
  const bool is_release = kind == Kind::Release || kind == Kind::Leave;
  if (is_release && reply.items.empty()) return {"freed"};  // all of them
  const std::string head = item(reply, 0).text;
  switch (kind) {
    case Kind::Force:
      if (head != "OK") return {head};
      return {head, item(reply, 2).is(1) ? "gone" : "kept", "away=" + std::to_string(item(reply, 3).integer)};
    case Kind::Observe:
      return {"OK"};
    case Kind::Read:
      return {head.empty() ? "OK" : head};
    case Kind::Hello:
      return words_of_hello(reply);
    case Kind::Release:
    case Kind::Leave: {
      std::vector<std::string> words;
      for (size_t at = 1; at < reply.items.size(); ++at)
        words.emplace_back(!reply.items[at].text.empty() ? "wrong" : reply.items[at].is(1) ? "freed" : "nothing");
      return words;
    }
    case Kind::Commit:
      return {item(reply, 1).is(1) ? "written" : "refused"};
    case Kind::Acquire:
      if (head == "OK") return {head, counting(item(reply, 3))};
      if (head == "BUSY")
        return {head, item(reply, 8).is(-1) ? "kept" : "held",
                "place=" + std::to_string(item(reply, 5).integer)};
      return {head};
    case Kind::Raise:
      if (head == "OK") return {head, counting(item(reply, 2))};
      return {head};
    case Kind::Extend:
      return head == "OK" ? words_of_extend(reply) : std::vector<std::string>{head};
    case Kind::Promise: {
      static const char *const kWhy[] = {"free", "differs", "promised", "too_small"};
      if (head == "NO") return {head, kWhy[item(reply, 2).integer & 3]};
      if (head == "OK") return {head, item(reply, 4).is(1) ? counting(item(reply, 2)) : "restored"};
      return {head};
    }
    default:
      return {head};
  }
}

}  // namespace

void Calls::heard_acquire(Message &message, const std::vector<std::string> &words, const Reply &reply) {
  Ballot &ballot = message.attempt->ballot;
  const NodeSet bit = NodeSet{1} << message.node;
  if (reply.is_error()) return ballot.unknown(bit);
  const auto saw = [&](const Reply &number) {
    if (number.integer > 0) message.client->seen = std::max(message.client->seen, uint64_t(number.integer));
  };
  if (words.front() == "BUSY") saw(item(reply, 4));
  if (words.front() != "OK") return ballot.refused(bit);
  saw(item(reply, 2));
  saw(item(reply, 4));
  ballot.granted(message.node, uint64_t(item(reply, 2).integer), item(reply, 3).is(1), message.asked_at);
}

// As Keeper counts: an answer that the lock is its own there, vote or not, while the lease is valid yet.
void Calls::heard_extend(Message &message, const Reply &reply) {
  Attempt &attempt = *message.attempt;
  Round &round = *message.round;
  if (reply.is_error() || item(reply, 0).text != "OK") return;
  bool is_ours = true;
  for (size_t at = 3; at < reply.items.size(); at += kExtendFields)
    is_ours = is_ours && reply.items[at].integer > 0;
  for (size_t at = 3; at < reply.items.size(); at += kExtendFields) {
    if (item(reply, at + 4).integer < 0) attempt.restored_us[message.node] = -item(reply, at + 4).integer;
    if (item(reply, at + 2).integer <= attempt.version) continue;
    attempt.version = item(reply, at + 2).integer;
    attempt.value = item(reply, at + 3).text;
  }
  if (is_ours) round.ours |= NodeSet{1} << message.node;
  const bool is_in_time = attempt.is_won && !attempt.is_over && servers_.now() < attempt.valid_until;
  if (round.is_over || !is_in_time || !schedule_.rule.is_reached(round.ours)) return;
  round.is_over = true;
  attempt.valid_until =
      std::max(attempt.valid_until, round.asked_at + liblock::Lease::trusted(round.ttl_ms * kMillisecond));
}

std::vector<std::string> Calls::answered(Message &message, const Reply &reply, bool heard) {
  const std::vector<std::string> words = words_of(message.kind, reply);
  const NodeSet bit = NodeSet{1} << message.node;
  if (!heard) {
    if (message.kind == Kind::Acquire) message.attempt->ballot.unknown(bit);
    return words;
  }
  const bool is_ok = words.front() == "OK";
  switch (message.kind) {
    case Kind::Acquire:
      heard_acquire(message, words, reply);
      break;
    case Kind::Raise:
      if (is_ok) {
        message.attempt->ballot.raised(bit, words.at(1) == "counts");
      } else {
        message.attempt->ballot.not_raised(bit);
      }
      break;
    case Kind::Extend:
      heard_extend(message, reply);
      break;
    case Kind::Promise:
      if (!is_ok || words.back() == "restored") break;
      message.change->promised |= bit;
      message.change->lock_id = item(reply, 3).text;
      break;
    case Kind::Commit:
      if (words.front() == "written") message.change->written |= bit;
      break;
    default:
      break;
  }
  return words;
}

}  // namespace schedules
