// SPDX-License-Identifier: MIT
// See node_record.hpp.
#include "quorum/node_record.hpp"

#include <algorithm>

#include "base/read_number.hpp"
#include "base/status.hpp"

namespace liblock::quorum {

namespace {

// In the order of the script's answer.
enum Field : size_t { kRecord, kLeft, kWaiting, kMetadata, kHeardOf, kWaiters };

bool take_number(Bytes &rest, int64_t &number) {
  const size_t comma = std::min(rest.find(','), rest.size());
  const bool is_one = read_number(rest.substr(0, comma), number) && number >= 0;
  rest.remove_prefix(std::min(rest.size(), comma + 1));
  return is_one;
}

bool take_state_end(char state, Bytes &rest) {
  if ((state != 'c' && state != 'p') || rest.empty() || rest.front() != ',') return false;
  rest.remove_prefix(1);
  return true;
}

// "@granted_us,lease_ms,state,version,ticket,votes[,standing]"
bool parse_grant(Bytes field, NodeRecord &record) {
  if (field.empty() || field.front() != '@') return false;
  field.remove_prefix(1);
  int64_t version = 0, votes = 0;
  if (!take_number(field, record.since_us) || !take_number(field, record.lease_ms)) return false;
  if (field.empty()) return false;
  const char state = field.front();
  field.remove_prefix(1);
  record.is_promise = state == 'p';
  if (state == 'r' ? !take_number(field, record.restored_us) : !take_state_end(state, field)) return false;
  if (!take_number(field, version) || !take_number(field, record.ticket_us) || !take_number(field, votes))
    return false;
  record.version = static_cast<uint64_t>(version);
  record.votes = static_cast<uint32_t>(std::min<int64_t>(votes, UINT32_MAX));
  if (!field.empty() && !take_number(field, record.standing)) return false;
  return field.empty();
}

bool parse_waiter(const Reply &ticket, Bytes entry, int64_t now_us, WaiterInfo &waiter) {
  Bytes until, instance;
  int64_t until_us = 0;
  if (!next_field(entry, until) || !next_field(entry, instance) || !read_number(until, until_us) ||
      !read_number(ticket.text, waiter.since_us) || waiter.since_us < 0 || until_us < now_us)
    return false;
  waiter.instance = instance;
  waiter.owner = unescape_field(entry);
  waiter.order = LIBLOCK_ORDER_FIFO;
  waiter.waited_ms = std::max<int64_t>(0, now_us - waiter.since_us) / 1'000;
  return true;
}

}  // namespace

bool parse_node_record(Bytes text, NodeRecord &record) {
  Bytes rest = text, head, id, sequence, token, owner, instance, grant;
  for (Bytes *field : {&head, &id, &sequence, &token, &owner, &instance, &grant}) {
    if (!next_field(rest, *field)) return false;
  }
  int64_t number = 0;
  if (head != "ll1" || id.size() != kAttemptIdSize || sequence.size() != 8 || !read_number(token, number) ||
      number <= 0 || !parse_grant(grant, record))
    return false;
  record.id = id;
  record.sequence = sequence;
  record.token = static_cast<uint64_t>(number);
  record.owner = owner;
  record.instance = instance;
  record.value = rest;
  return true;
}

std::string text_of(const NodeRecord &r) {
  const auto number = [](auto n) { return std::to_string(n); };
  const std::string state = r.restored_us != 0 ? "r" + number(r.restored_us) : r.is_promise ? "p" : "c";
  return "ll1|" + r.id + "|" + r.sequence + "|" + number(r.token) + "|" + r.owner + "|" + r.instance + "|@" +
         number(r.since_us) + "," + number(r.lease_ms) + "," + state + "," + number(r.version) + "," +
         number(r.ticket_us) + "," + number(r.votes) + (r.standing != 0 ? "," + number(r.standing) : "") +
         "|" + r.value;
}

KeySeen read_key_seen(const Reply &seen, int64_t now_us) {
  KeySeen key;
  key.now_us = now_us;
  key.is_there = seen.at(kRecord).is(Reply::Kind::Text);
  key.left_ms = seen.at(kLeft).integer;
  key.waiting = seen.at(kWaiting).count();
  key.heard_of = static_cast<int32_t>(seen.at(kHeardOf).integer);
  if (key.is_there && !parse_node_record(seen.at(kRecord).text, key.record)) {
    key.is_foreign = true;
    key.record = {};
    key.record.value = seen.at(kRecord).text;
  }
  const Reply &metadata = seen.at(kMetadata);
  for (size_t i = 0; i + 1 < metadata.elements.size(); i += 2)
    key.metadata.emplace_back(metadata.at(i).text, metadata.at(i + 1).text);
  const Reply &waiters = seen.at(kWaiters);
  for (size_t i = 0; i + 2 < waiters.elements.size(); i += 3) {
    WaiterInfo waiter;
    if (parse_waiter(waiters.at(i + 1), waiters.at(i + 2).text, now_us, waiter))
      key.waiters.emplace_back(waiters.at(i).text, std::move(waiter));
  }
  return key;
}

}  // namespace liblock::quorum
