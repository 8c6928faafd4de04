-- SPDX-License-Identifier: MIT
-- Part: metadata as it travels.

-- Names and values, each behind its size: "4:name5:value".
local function unpack_words(packed)
  local words, at = {}, 1
  while at <= #packed do
    local size, start = string.match(packed, '^(%d+):()', at)
    words[#words + 1] = string.sub(packed, start, start + size - 1)
    at = start + size
  end
  return words
end
