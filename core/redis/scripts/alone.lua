-- SPDX-License-Identifier: MIT
-- Part: what is done for one among many keys. What is wrong with it is its answer, and the others go on; a server may
-- say it at any length. An answer of 0 is true here, as every number is.
local function alone(act, n)
  local went_well, answer = pcall(act, n)
  return went_well and answer or string.sub(is_error(answer) or tostring(answer), 1, 256)
end
