// SPDX-License-Identifier: MIT
// What an error reply of a server means for a lock: the status that the caller gets, and whether the same
// request may succeed soon. Its text comes from outside: it is shown escaped and cut. Pure.
#pragma once

#include <string>

#include "base/hash.hpp"
#include "base/status.hpp"

namespace liblock {

struct ServerError {
  Status status = Status::SERVER;
  bool passes = false;        // waiting may help: a server that loads, is busy, has no memory …
  bool wrong_server = false;  // this is not the server that grants: connect anew before the next request
  bool no_script = false;     // EVALSHA of a script that the server has forgotten
  Bytes cure = {};            // what to do about it, where the error itself does not say so
};

ServerError classify_error(Bytes text);

// What a server answered to AUTH, in our words: its own may repeat what was sent there, the password.
struct AuthRefusal {
  Status status = Status::AUTH;
  Bytes why = {};
};
AuthRefusal refusal_of_auth(Bytes text);

// For people: printable, at most 200 bytes; an error with its cure.
std::string shown(Bytes text);
std::string explained(Bytes error);

}  // namespace liblock
