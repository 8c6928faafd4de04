// SPDX-License-Identifier: MIT
// Calls of the C interface in any order on local contexts: what is there, what is over, what never was. Each answers
// with a status that its docstring names, a request that was accepted ends exactly once, nobody holds what another
// holds, tokens of a key rise, who holds is seen to hold until he gives back or is robbed, and at the end nothing is
// left. No call waits, and no lease is so short that it ends. The first byte says how contexts are opened (stage.cpp);
// behind it a byte is a call, the next two say on what and how. All that is exported is called, as check_calls.py sees.
#include <iterator>

#include "calls/ending.hpp"

namespace {

using calls::Stage;

constexpr size_t kCallsMax = 256;

// How the next acquire is special, or on which context the next calls are made.
void prepare(Stage &s, uint8_t on, uint8_t how) {
  if (on % 4 == 0) s.take_turns();
  s.season = on;
  s.season_more = how;
}

void call(Stage &s, uint8_t which, uint8_t on, uint8_t how) {
  using namespace calls;
  static void (*const kCalls[])(Stage &, uint8_t, uint8_t) = {
      try_key,   try_key,        try_keys,   ask,      ask,       cancel,     release,    release,  extend,
      update,    look_at,        look_at,    inspect,  take_away, pass_on,    list,       owner,    global,
      prepare,   prepare,        ask_more,   watch,    wait,      call_later, call_later, by_value, release_keys,
      list_each, list_instances, read_texts, clear,    sweep,     measure,    listen,     reopen,   ask_quorum,
      queue,     queue,          give_nothing};
  kCalls[which % std::size(kCalls)](s, on, how);
  s.read_ends();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Stage stage(size > 0 ? data[0] : 0);
  for (size_t at = 1; at + 2 < size && at < 3 * kCallsMax; at += 3) call(stage, data[at], data[at + 1], data[at + 2]);
  return 0;
}
