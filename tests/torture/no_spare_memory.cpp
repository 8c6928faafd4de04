// SPDX-License-Identifier: MIT
// In place of the library's core/base/spare_memory.cpp: every block comes from the allocator and goes back to it. What
// a thread keeps for later grows when threads happen to need more at once than before, which a count of blocks cannot
// tell from a leak; and what is kept cannot fail.
#include "base/spare_memory.hpp"

namespace liblock {

void *take_spare(size_t size) { return ::operator new(size); }
void give_back_spare(void *memory, size_t) noexcept { ::operator delete(memory); }

}  // namespace liblock
