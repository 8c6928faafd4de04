// SPDX-License-Identifier: MIT
// The exit codes of lockctl, the one table of them: scripts and the manual count on these numbers. Those of
// <sysexits.h> are used in its sense, so that they stay clear of the small numbers that commands end with themselves.
#pragma once

#include <liblock/liblock.h>

#include <stdexcept>
#include <string>

namespace lockctl {

enum ExitCode : int {
  kDone = 0,
  kNothing = 1,  // the answer is no: nobody holds the key, nothing was there to be taken away, not confirmed
  kUsage = 64,   // the command line, or a value in it, is wrong
  kUnavailable = 69,  // the server, or enough nodes of the quorum, cannot be asked now
  kInternal = 70,     // an error inside lockctl or the library
  kSystem = 71,       // the system refused a process, a pipe, a terminal, or to take the output
  kBusy = 75,         // somebody else has the lock, and the permitted wait is over: try again later
  kRefused = 77,      // the server refused the credentials, or a right is missing
  kUnsuitable = 78,   // this server, quorum or key cannot do that: it takes a change, not another try
  kLost = 79,         // run: the lock was lost, or could not be renewed in time, and the command was ended
  kCannotRun = 126,   // run: the command is there and cannot be run
  kNoCommand = 127,   // run: there is no such command
  kSignal = 128       // + the number of the signal that ended the command, or lockctl while it waited
};

// What a call's status is as an exit code.
ExitCode exit_code_of(liblock_status status);

// Ends the command: caught in main, which prints the message and exits with the code.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode exit_code, const std::string &message, liblock_status cause = LIBLOCK_OK)
      : std::runtime_error(message), code(exit_code), status(cause) {}
  const ExitCode code;
  const liblock_status status;  // OK = no call of the library failed
};

}  // namespace lockctl
