-- SPDX-License-Identifier: MIT
-- Part: what the other parts are written with.

-- As Lua 5.1 would write a large number, its last digits are lost.
local function digits(number) return string.format('%.0f', number) end

local function is_error(answer) return type(answer) == 'table' and answer.err end
