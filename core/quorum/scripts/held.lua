-- SPDX-License-Identifier: MIT
-- Part: whether what is there is held under an attempt.
local function is_of(held, id) return type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. id end
