// SPDX-License-Identifier: MIT
// See handing_over.hpp.
#include "quorum/handing_over.hpp"

#include <algorithm>

#include "base/read_number.hpp"
#include "quorum/instance.hpp"
#include "quorum/node_list.hpp"
#include "quorum/reading.hpp"
#include "remote/handing_over.hpp"

namespace liblock::quorum {

namespace {

constexpr Bytes kExported = "llq1|";
constexpr char kNotExported[] =
    "this is no lock that liblock_export gave from a context of this quorum with this prefix";
constexpr uint64_t kAhead = 4096;  // as in away.lua: what may have been given from hand to hand, and told to nobody

bool read_head(const Instance &instance, Bytes &rest, GrantLease &lease) {
  if (rest.substr(0, kExported.size()) != kExported) return false;
  rest.remove_prefix(kExported.size());
  Bytes votes, names;
  int64_t number = 0;
  if (!next_field(rest, votes) || !next_field(rest, names) || !read_number(votes, number) ||
      number < LIBLOCK_VOTES_ALL || number > static_cast<int64_t>(kNodesMax))
    return false;
  lease.votes = static_cast<int32_t>(number);
  if (names.empty()) return true;
  std::vector<std::string> ids;
  for (const Bytes id : split_servers(names)) ids.emplace_back(id);
  return instance.membership.find(ids, lease.subset);
}

// Else the nodes would be told of tokens that nobody has given out, and go on from there.
bool is_token_of(const KeysRead &read, const GrantLease &lease) {
  return std::all_of(read.keys.begin(), read.keys.end(), [&](const KeyVotes &key) {
    return lease.token <= key.largest_token() + kAhead && lease.token < static_cast<uint64_t>(kTokensEnd);
  });
}

// What the records have beside that, of all keys alike. False: they are not all of this lock.
bool complete(const KeysRead &read, GrantLease &lease) {
  for (const KeyVotes &key : read.keys) {
    if (key.verdict() != KeyVotes::Verdict::Held || key.record().id != lease.id) return false;
  }
  // Of several keys one may have been changed alone, by its value; the newest is everybody's from now on.
  const KeyVotes &newest = *std::max_element(
      read.keys.begin(), read.keys.end(),
      [](const KeyVotes &a, const KeyVotes &b) { return a.record().version < b.record().version; });
  lease.value = newest.record().value;
  lease.version = newest.record().version;
  lease.ticket_us = newest.record().ticket_us;
  lease.votes_shown = newest.record().votes;
  lease.metadata = newest.packed_metadata();
  return true;
}

}  // namespace

Status export_held(Instance &instance, Ask &ask) {
  return export_lock(instance, ask, [&instance](const Lease &remote) {
    const auto &lease = static_cast<const GrantLease &>(remote);
    std::string names;
    for (const auto &node : instance.nodes()) {
      const bool is_of = lease.subset != kEveryNode && (lease.subset & node->bit()) != 0;
      if (is_of) names += (names.empty() ? "" : ",") + node->id;
    }
    return std::string(kExported) + std::to_string(lease.votes) + "|" + names + "|";
  });
}

void adopt_exported(Instance &instance, Ask &ask, AskDone done) {
  const auto lease = std::make_shared<GrantLease>(instance.keeper);
  Bytes rest = ask.text;
  if (!read_head(instance, rest, *lease) || !read_exported(rest, instance.keyspace, *lease))
    return done(Status::INVALID_ARGUMENT, kNotExported);
  const auto owner =
      std::static_pointer_cast<RemoteOwner>(ask.owner != nullptr ? ask.owner : instance.unnamed.lock());
  lease->owner = owner->field;
  // As if it had been granted here: whoever enters it again compares the nodes.
  lease->granted_over = instance.membership.rule(lease->subset, lease->votes).nodes();
  for (const auto &node : instance.nodes()) lease->asked |= node->bit();
  std::vector<std::string> lock_keys = lease->names.strings();
  if (lock_keys.size() > kKeysPerLook)
    return done(Status::UNSUPPORTED, "a lock on more than 64 keys cannot be adopted over a quorum");
  // The value need not be agreed on: it may be that only a holder's renewals can bring that about.
  ReadHow how;
  how.rule = instance.membership.rule(lease->subset, lease->votes);
  read_keys(instance, std::move(lock_keys), how, [&instance, &ask, lease, done](const KeysRead &read) {
    if (read.status != Status::OK) return done(read.status, read.why);
    if (!instance.membership.is_vouched_for()) {
      const Failure why = instance.membership.why_not_vouched_for();
      return done(why.status, why.text);
    }
    if (!complete(read, *lease)) return done(Status::LOST, "");
    if (!is_token_of(read, *lease)) return done(Status::INVALID_ARGUMENT, kNotExported);
    instance.membership.use();
    adopt_lock(instance, ask, lease, done);
  });
}

}  // namespace liblock::quorum
