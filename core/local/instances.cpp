// SPDX-License-Identifier: MIT
// The instances of a table: the contexts that are open on it, and those that were closed and left locks behind, which
// stay on the list as zombies until these are cleared.
#include <algorithm>

#include "base/wall_clock.hpp"
#include "local/lock_table.hpp"

namespace liblock {

void LockTable::add_instance(const LocalOwner &unnamed, Instance &instance) {
  const std::lock_guard lock(owners_mutex_);
  instances_.push_back({unnamed.instance(), &instance, unnamed.instance_id(), kNever});
  sweep_what_was_left();
}

// With owners_mutex_, which every context takes before it is gone. Leases that were left end with nobody who would ask
// for them: some context sweeps, also where it has used no lease itself.
void LockTable::sweep_what_was_left() {
  if (!leases_used.load()) return;
  const auto is_open = [](const Member &member) { return member.closed_at == kNever; };
  if (std::all_of(instances_.begin(), instances_.end(), is_open)) return;
  const auto sweeper = std::find_if(instances_.begin(), instances_.end(), is_open);
  if (sweeper != instances_.end()) sweeper->sweeper->sweep_from_now_on();
}

// With owners_mutex_. All that a named owner holds stands in its list; what an unnamed one holds is known to the keys
// alone.
void LockTable::forget_idle_owners() {
  std::erase_if(zombies_, [](const std::shared_ptr<LocalOwner> &zombie) {
    const std::lock_guard lock(zombie->mutex);
    return zombie->named() && zombie->records.empty();
  });
}

void LockTable::instance_closed(const LocalOwner &unnamed, bool left_locks, bool left_unnamed) {
  const Nanos now = clock_.now();
  const std::lock_guard lock(owners_mutex_);
  for (Member &member : instances_) {
    if (left_locks && member.closed_at == kNever && member.instance == unnamed.instance())
      member.closed_at = now;
  }
  std::erase_if(instances_, [&](const Member &member) {
    return member.closed_at == kNever && member.instance == unnamed.instance();
  });
  if (!left_unnamed) std::erase_if(zombies_, [&](const auto &zombie) { return zombie.get() == &unnamed; });
  forget_idle_owners();
  sweep_what_was_left();
}

bool LockTable::has_zombies() {
  const std::lock_guard lock(owners_mutex_);
  return std::any_of(instances_.begin(), instances_.end(),
                     [](const Member &member) { return member.closed_at != kNever; });
}

uint64_t LockTable::forget_zombies() {
  const std::lock_guard lock(owners_mutex_);
  forget_idle_owners();
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
