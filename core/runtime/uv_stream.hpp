// SPDX-License-Identifier: MIT
// A byte stream over libuv: TCP to each of a name's addresses in turn, or a unix socket. Descriptors are
// CLOEXEC and Nagle's delay is off. Frees itself when all its handles are closed; a name that is still being
// looked up delays that, and nothing else.
#pragma once

#include <uv.h>

#include <atomic>
#include <vector>

#include "base/list.hpp"
#include "runtime/byte_stream.hpp"

namespace liblock {

class UvStream final : public ByteStream {
 public:
  // What the streams of one loop share.
  struct Loop {
    uv_loop_t *uv;
    // Whose thread it runs on: a caller's is kept from SIGPIPE.
    enum class Thread : uint8_t { Ours, Callers } whose;
    std::atomic<uint32_t> unanswered{0};  // streams that expect an answer; written by who runs the loop
    // Of who runs the loop.
    uint32_t unsent = 0;   // streams that are to be asked what they want to send
    bool is_new = false;  // there is a socket of which the kernel is told by the loop's next turn alone
  };
  // Across a fork no socket of a stream comes or goes; the child closes all that it has inherited.
  static void lock_for_fork();
  static void unlock_after_fork();
  static void close_all_after_fork();

  UvStream(Loop &loop, Listener &listener);
  void open(const StreamTarget &target) override;
  void request_fill() override;
  void expect_answers(bool expects) override;
  void close() override;

 private:
  struct Sockets;
  static Sockets sockets;

  ~UvStream() override;
  void look_up(const StreamTarget &target);
  int descriptor() const;
  void connect_next();
  int make_socket(bool is_unix);
  int connect_socket(bool is_unix);
  void connected(int status);
  void came(ssize_t count, const char *bytes);
  void set_unsent(bool is_unsent);
  void flush();
  int try_write();
  void write_rest(size_t from);
  void hold_signal();
  void let_signal_go(int status);
  void end(const std::string &what, int status);
  void close_socket();
  void closed_one();
  uv_stream_t *socket() { return reinterpret_cast<uv_stream_t *>(&socket_); }

  static constexpr size_t kReadSize = 64 * 1024;

  using Thread = Loop::Thread;
  Loop &shared_;
  uv_loop_t *const loop_;
  Listener *listener_;  // nullptr once closed or ended
  union {
    uv_tcp_t tcp;
    uv_pipe_t pipe;
  } socket_{};
  // Of those that have a socket, and its descriptor: guarded by the mutex of all sockets.
  ListLinks<UvStream> links_;
  int inherited_ = -1;
  uv_prepare_t before_sleep_{};
  uv_connect_t connecting_{};
  uv_write_t writing_{};
  std::vector<sockaddr_storage> addresses_;
  size_t next_address_ = 0;
  std::string path_;
  std::string wire_;     // being filled, or waiting for a write to end
  std::string sending_;  // what the pending write refers to
  std::vector<char> input_;
  bool has_socket_ = false;
  bool socket_closing_ = false;
  bool is_open_ = false;
  bool is_writing_ = false;
  bool is_unsent_ = false;
  bool is_unanswered_ = false;
  bool closing_ = false;
  int handles_open_ = 1;  // before_sleep_, and the socket
};

}  // namespace liblock
