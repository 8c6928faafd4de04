// SPDX-License-Identifier: MIT
// Blank records, kept per thread, so that a compound acquire neither allocates nor takes a lock for its
// record once warm. A record may be given back on another thread than it came from; a thread keeps a few and
// frees the rest.
#pragma once

#include "local/record.hpp"

namespace liblock {

// Throws std::bad_alloc.
Record *take_blank_record();
// Clears it, but keeps the memory of its vectors and strings for the next of the same shape.
void give_back_record(Record *record);

}  // namespace liblock
