-- SPDX-License-Identifier: MIT
-- Part: the names that belong to one key, which stand together among KEYS, behind the node's own.
local kNames = 7
local function names(n)
  local at = 2 + (n - 1) * kNames
  return {
    lock = KEYS[at], fence = KEYS[at + 1], metadata = KEYS[at + 2], tickets = KEYS[at + 3], alive = KEYS[at + 4],
    claim = KEYS[at + 5], promise = KEYS[at + 6],
  }
end
