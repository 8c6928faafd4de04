// SPDX-License-Identifier: MIT
// The instances of a table: the contexts that are open on it, and those that were closed and left locks behind, which
// stay on the list as zombies until these are cleared.
#include <algorithm>

#include "base/wall_clock.hpp"
#include "local/lock_table.hpp"

namespace liblock {

void LockTable::add_instance(const LocalOwner &unnamed) {
  const std::lock_guard lock(owners_mutex_);
  instances_.push_back({unnamed.instance(), unnamed.instance_id(), kNever});
}

void LockTable::instance_closed(const LocalOwner &unnamed, bool left_locks) {
  const Nanos now = clock_.now();
  const std::lock_guard lock(owners_mutex_);
  for (Member &member : instances_) {
    if (left_locks && member.closed_at == kNever && member.instance == unnamed.instance())
      member.closed_at = now;
  }
  std::erase_if(instances_, [&](const Member &member) {
    return member.closed_at == kNever && member.instance == unnamed.instance();
  });
}

uint64_t LockTable::forget_zombies() {
  const std::lock_guard lock(owners_mutex_);
  return std::erase_if(instances_, [](const Member &member) { return member.closed_at != kNever; });
}

void LockTable::list_instances(const LocalOwner &self, bool zombies_only, std::vector<InstanceInfo> &out) {
  const Nanos now = clock_.now();
  const std::lock_guard lock(owners_mutex_);
  for (const bool zombies : {true, false}) {
    for (const Member &member : instances_) {
      if ((member.closed_at != kNever) != zombies || (zombies_only && !zombies)) continue;
      const Nanos silent = zombies ? std::max<Nanos>(0, now - member.closed_at) : 0;
      const bool is_self = !zombies && member.instance == self.instance();
      out.push_back(
          {member.id, wall_us_ago(silent), silent / kMillisecond, -1, zombies ? 0 : 1, zombies, is_self});
    }
  }
}

}  // namespace liblock
