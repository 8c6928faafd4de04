-- SPDX-License-Identifier: MIT
-- Part: what the other parts are written with.

-- A whole number; not a string. As Lua 5.1 would write a large one, its last digits are lost; what prints doubles
-- prints exactly these, and takes a server five times as long. The same one is printed again and again.
local printed, digits_of_it
local function digits(number)
  if number == printed then return digits_of_it end
  printed = number
  if number < 1000000 or number >= 2147483647000000 then
    digits_of_it = string.format('%.0f', number)
  else
    digits_of_it = string.format('%d%06d', number / 1000000, number % 1000000)
  end
  return digits_of_it
end

local function is_error(answer) return type(answer) == 'table' and answer.err end
