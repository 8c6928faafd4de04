// SPDX-License-Identifier: MIT
// A lock on its way from one process to another, as text that is as good as the lock itself:
//   HEAD attempt id|token|number of the last change|1 = has metadata|number of keys|size:lock key …
// The records on servers stay as they are: their attempt id is what both know. HEAD is the engine's own, so that no
// lock is adopted where it is not. Loop thread.
#pragma once

#include <functional>

#include "engine/ask.hpp"
#include "remote/ending.hpp"
#include "remote/lease.hpp"

namespace liblock {

class Keyspace;
class RemoteInstance;

std::string exported(const Lease &lease);
// False: it was not built so, or is under another prefix.
bool read_exported(Bytes text, const Keyspace &keyspace, Lease &lease);

// Of a lock that is held. The text into ask.text, its size into ask.count; then it is no lock of ours any more. Else
// ask.message says why.
Status export_lock(RemoteInstance &instance, Ask &ask, const std::function<std::string(const Lease &)> &head);
// The lease has all that the text says; its terms are those of the call.
void adopt_lock(RemoteInstance &instance, Ask &ask, const LeaseRef &lease, AskDone done);

}  // namespace liblock
