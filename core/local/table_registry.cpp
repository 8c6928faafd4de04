// SPDX-License-Identifier: MIT
// See table_registry.hpp. The register is made once and never destroyed: contexts may outlive static
// destructors.
#include "local/table_registry.hpp"

#include <algorithm>
#include <map>

namespace liblock {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<LockTable>> tables;  // guarded by mutex, as is token_floor
  uint64_t token_floor = 0;
  Random random;
};

Registry &registry() {
  static Registry *the_registry = new Registry;
  return *the_registry;
}

}  // namespace

OpenedTable open_table(const std::string &name, const TableOptions &options, Clock clock) {
  Registry &r = registry();
  const std::lock_guard lock(r.mutex);
  OpenedTable opened;
  if (!name.empty()) {
    if (const auto found = r.tables.find(name); found != r.tables.end()) opened.table = found->second.lock();
    if (opened.table != nullptr) {
      if (!(opened.table->options() == options)) return {Status::OPTIONS_MISMATCH, nullptr, false};
      return opened;
    }
  }
  opened.table = std::make_shared<LockTable>(options, clock, r.token_floor, r.random.next());
  opened.fresh = true;
  if (!name.empty()) r.tables[name] = opened.table;
  return opened;
}

void close_table(std::shared_ptr<LockTable> table) {
  Registry &r = registry();
  const std::lock_guard lock(r.mutex);
  r.token_floor = std::max(r.token_floor, table->highest_token());
  const std::weak_ptr<LockTable> watched = table;
  table.reset();
  if (!watched.expired()) return;
  for (auto at = r.tables.begin(); at != r.tables.end();) {
    at = at->second.expired() ? r.tables.erase(at) : std::next(at);
  }
}

void lock_tables_for_fork() { registry().mutex.lock(); }
void unlock_tables_after_fork() { registry().mutex.unlock(); }

void forget_tables_after_fork() {
  // The tables themselves may be in the middle of a change; they are left as they are, unreachable.
  registry().tables.clear();
  registry().mutex.unlock();
}

}  // namespace liblock
