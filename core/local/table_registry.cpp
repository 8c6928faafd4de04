// SPDX-License-Identifier: MIT
// See table_registry.hpp. The register is made once and never destroyed: contexts may outlive static
// destructors.
#include "local/table_registry.hpp"

#include <algorithm>
#include <map>

namespace liblock {

namespace {

struct Named {
  std::weak_ptr<LockTable> table;
  const LockTable *which;  // only compared
  size_t contexts;         // that have not left it
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Named> tables;  // guarded by mutex, as is token_floor
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
    const auto found = r.tables.find(name);
    if (found != r.tables.end()) opened.table = found->second.table.lock();
    if (opened.table != nullptr) {
      if (!(opened.table->options() == options)) return {Status::OPTIONS_MISMATCH, nullptr, false};
      ++found->second.contexts;
      return opened;
    }
  }
  opened.table = std::make_shared<LockTable>(options, clock, r.token_floor, r.random.next());
  opened.fresh = true;
  if (!name.empty()) r.tables[name] = {opened.table, opened.table.get(), 1};
  return opened;
}

void leave_table(LockTable &table) {
  Registry &r = registry();
  const std::lock_guard lock(r.mutex);
  r.token_floor = std::max(r.token_floor, table.highest_token());
  const auto found = std::find_if(r.tables.begin(), r.tables.end(),
                                  [&table](const auto &named) { return named.second.which == &table; });
  if (found != r.tables.end() && --found->second.contexts == 0) r.tables.erase(found);
}

void lock_tables_for_fork() { registry().mutex.lock(); }
void unlock_tables_after_fork() { registry().mutex.unlock(); }

void forget_tables_after_fork() {
  // The tables themselves may be in the middle of a change; they are left as they are, unreachable.
  registry().tables.clear();
  registry().mutex.unlock();
}

}  // namespace liblock
