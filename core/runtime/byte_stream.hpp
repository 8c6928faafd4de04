// SPDX-License-Identifier: MIT
// A connection to a server as a stream of bytes, as the engines see it: libuv's in production, one that ends
// in the test's own server in tests. Everything here happens on the loop's thread.
//
//   state      left by
//   Idle       open()
//   Opening    on_open(), or on_end() when no address can be reached
//   Open       on_end(): the peer closed, or an error
//   any        close(): nothing is told any more, and the stream frees itself
//
// Writes are collected: after request_fill() the listener is asked once, when the loop is about to sleep, for
// all that it wants to send, so that a turn of the loop costs one system call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace liblock {

struct StreamTarget {
  std::string path;  // of a unix socket; empty: TCP
  std::string host;  // a name, or an address as text
  uint16_t port = 0;
};

class ByteStream {
 public:
  class Listener {
   public:
    virtual void on_open() = 0;
    virtual void on_bytes(std::string_view bytes) = 0;
    // Why it ended, for people. Once; afterwards only close() may be called.
    virtual void on_end(const std::string &why) = 0;
    // Appends what is to be sent. At the end of each turn in which that was asked for, also while the peer takes
    // nothing.
    virtual void fill(std::string &wire) = 0;

   protected:
    ~Listener() = default;
  };

  virtual void open(const StreamTarget &target) = 0;
  virtual void request_fill() = 0;
  // Whether an answer to something that was sent is still to come: while one is, more waits for the loop's next turn.
  virtual void expect_answers(bool) {}
  virtual void close() = 0;

 protected:
  virtual ~ByteStream() = default;
};

}  // namespace liblock
