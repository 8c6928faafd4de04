// SPDX-License-Identifier: MIT
// Warns of a password that goes to another host without TLS. It is so for as long as there is the address, whether or
// not the server lets anybody in: told to whoever listens, from the beginning on.
#pragma once

#include "engine/events.hpp"
#include "redis/address.hpp"

namespace liblock {

// node: its redacted address; empty: of the one server. Throws std::bad_alloc.
inline void warn_of_cleartext(Events &events, const ServerAddress &address, Bytes node) {
  if (!address.sends_cleartext_password()) return;
  events.emit_standing(LIBLOCK_EVENT_CLEARTEXT_PASSWORD,
                       "the password goes to " + address.redacted() +
                           " in clear text, which anybody in between can read; use rediss:// or a unix socket",
                       node);
}

}  // namespace liblock
