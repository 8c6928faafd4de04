-- SPDX-License-Identifier: MIT
-- Part: what is done for one among many keys. What is wrong with it is its answer, and the others go on.
local function alone(act, n)
  local went_well, answer = pcall(act, n)
  return went_well and answer or is_error(answer) or tostring(answer)
end
