-- SPDX-License-Identifier: MIT
-- Part: the names that belong to one key, which stand together among KEYS.
local kNames = 7
local function names(at)
  return {
    lock = KEYS[at], fence = KEYS[at + 1], queue = KEYS[at + 2], entries = KEYS[at + 3], anyone = KEYS[at + 4],
    metadata = KEYS[at + 5], gap = KEYS[at + 6],
  }
end
