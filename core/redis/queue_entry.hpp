// SPDX-License-Identifier: MIT
// One request in a queue on the server, as the hash beside the queue has it:
//   ticket|since|lease|order|priority|instance|owner|rest
//     since     waiting, in us by the server's clock
//     order     LIBLOCK_ORDER_… as a number
//     owner     escaped as in records
//     rest      whatever a grant needs besides; not read here, and may be cut off
// Pure.
#pragma once

#include "engine/key_info.hpp"
#include "remote/keyspace.hpp"

namespace liblock {

// now_us: of the server. False: the entry is not understood, and nothing has changed.
bool parse_queue_entry(Bytes entry, int64_t now_us, WaiterInfo &waiter);

}  // namespace liblock
