// SPDX-License-Identifier: MIT
// The owners that stand for threads: one per thread and context, made when LIBLOCK_OWNER_THREAD is first
// used, closed when the thread exits, before anybody who joins it returns.
#pragma once

#include <memory>

namespace liblock {

class Context;
class Owner;

std::shared_ptr<Owner> owner_of_this_thread(Context &context);

}  // namespace liblock
