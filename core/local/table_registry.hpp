// SPDX-License-Identifier: MIT
// The named tables of this process. A name is its table's as long as some context has it open, or was closed, left
// locks there and is not freed; whatever else still refers to a table keeps its memory alone. One that is opened again
// later starts its tokens above all that any table of the process has given out, so that they never go back.
#pragma once

#include <memory>
#include <string>

#include "local/lock_table.hpp"

namespace liblock {

struct OpenedTable {
  Status status = Status::OK;
  std::shared_ptr<LockTable> table;
  bool fresh = false;  // made by this call
};

// name empty: a table of one's own. Thread-safe. Each that was opened is left once.
OpenedTable open_table(const std::string &name, const TableOptions &options, Clock clock);
// Its tokens are remembered; with the last one to leave it, its name is free.
void leave_table(LockTable &table);

// pthread_atfork: the child starts without named tables.
void lock_tables_for_fork();
void unlock_tables_after_fork();
void forget_tables_after_fork();

}  // namespace liblock
