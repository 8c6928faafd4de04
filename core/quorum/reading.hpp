// SPDX-License-Identifier: MIT
// Looking at keys on the nodes: what a quorum of them says, or what one of them does. Where a quorum does not agree, it
// is asked again for as long as a command may take; then nobody knows. Loop thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/ask.hpp"
#include "quorum/key_votes.hpp"
#include "remote/ending.hpp"
#include "remote/inspection.hpp"

namespace liblock::quorum {

class Instance;

// So many keys in one call.
inline constexpr size_t kKeysPerLook = 64;

struct ReadHow {
  bool needs_value = false;    // it is decided only when a quorum has the same value as well
  bool takes_unknown = false;  // what is not decided comes as that, where a quorum answers
  bool tells_unheard = false;
  bool of_all = false;               // what each node that answers has is to be known
  uint32_t waiters = 0;              // so many are named
  std::optional<QuorumRule> rule{};  // what makes a lock count; else rule_of_key()
};

struct KeysRead {
  Status status = Status::OK;
  std::string why;
  std::vector<KeyVotes> keys;
};

// At most kKeysPerLook.
void read_keys(Instance &instance, std::vector<std::string> lock_keys, const ReadHow &how,
               std::function<void(KeysRead)> done);

// What makes a change of this key's lock count: a lock of our own may be on some of the nodes only.
QuorumRule rule_of_key(const Instance &instance, Bytes lock_key);
// The same for what changes it: in a joint configuration the new nodes must have it as well.
QuorumRule changing_rule_of_key(const Instance &instance, Bytes lock_key);

void inspect(Instance &instance, Bytes lock_key, Inspection &inspection);
// The same with the value, with what this instance alone knows of a lock of its own, and, when wanted, with who waits.
void inspect_in_detail(Instance &instance, Bytes lock_key, bool with_waiters, Inspection &inspection);
// As ask.from and ask.node say.
void read_as_asked(Instance &instance, const Ask &ask, Inspection &inspection);

// How many stand in line for it within instances, as far as is known.
size_t standing_for(const Instance &instance, Bytes lock_key, const KeyVotes &key);

// Whether that instance may be gone, by what is known of this lock of it.
bool is_zombie(const Instance &instance, const KeyVotes &key);

}  // namespace liblock::quorum
