// SPDX-License-Identifier: MIT
// One connection to a server, that commands are pipelined on. Everything happens on the loop's thread.
//
//   state     meaning                                      left by
//   Idle      nobody wants it                              want()
//   Opening   name, TCP or unix socket, TLS                open, or the connect time-out
//   Greeting  AUTH, SELECT, CLIENT SETNAME, INFO, TIME     the last answer; an error; the connect time-out
//   Ready     commands go out and are answered in order    the peer's end, a broken reply, the command time-out
//   Pausing   a back-off after a failure                   the timer
//   Stopped   for good                                     -
//
// A command that was sent when the connection ends has failed as `sent`: it is never sent again here, since it
// may have been carried out. One that was not sent waits while the connection is being made, and fails when
// that failed. The reply of a command that took too long can never be given to another one: the connection
// goes with it.
//
// So much is under way at most that a server which answers all the time answers each command long before its time-out,
// which counts from when it was sent: the rest waits here, in order. Whoever has much to ask would otherwise lose a
// connection that works, and ask all of it again on the next one. How much that is shows while there is a rest: it
// grows by what was answered after less than a quarter of the time-out in line, and is halved where that was more than
// half of it (as TCP's window begins, and gives way). The fastest answer, beginning with those of the greeting, shows
// the way there and back, which is no part of that.
//
// A time-out counts from when the stream has the bytes, and is the server's: where the loop itself turned late, it is
// heard once more before the connection ends.
//
// A command that grows has its place among those that were sent, and is encoded when the turn of the loop ends, or
// when something is sent that must not be passed by what joins it; one that waits grows until then, too.
#pragma once

#include <memory>

#include "base/random.hpp"
#include "redis/address.hpp"
#include "redis/command.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class TlsConfig;
class TlsSession;

struct ConnectionOptions {
  ServerAddress address;
  std::string name;  // for CLIENT SETNAME; empty: none
  Nanos connect_timeout = 1'000 * kMillisecond;
  Nanos command_timeout = 1'000 * kMillisecond;
  std::shared_ptr<TlsConfig> tls;  // nullptr: plain
};

// What a server said of itself in the greeting.
struct ServerInfo {
  std::string run_id;
  std::string role;             // master, slave; empty: it did not say
  std::string eviction_policy;  // of maxmemory
  bool has_memory_bound = false;
  int64_t time_us = 0;  // its clock, since 1970; 0: it did not say
  Nanos asked_at = 0;   // when that was asked for

  bool may_evict() const {
    return has_memory_bound && !eviction_policy.empty() && eviction_policy != "noeviction";
  }
};

class Connection final : private ByteStream::Listener, private Timer {
 public:
  class User {
   public:
    virtual void on_ready(const ServerInfo &info) = 0;
    // It ended, or could not be made; status says why. It tries again as long as somebody wants it.
    virtual void on_down(Status status, const std::string &text) = 0;
    virtual bool still_wanted() = 0;
    // A message of a subscribed channel.
    virtual void on_message(Bytes) {}

   protected:
    ~User() = default;
  };

  // channel: not empty: subscribes to it, and takes no other commands than PING.
  Connection(Runtime &runtime, const Clock &clock, Random &random, const ConnectionOptions &options,
             std::string channel, User &user);
  ~Connection();

  // Makes the connection where there is none.
  void want();
  void send(Command &command);
  // After it nothing is told any more; commands under way fail.
  void stop();
  bool ready() const { return state_ == State::Ready; }
  size_t waiting() const { return waiting_.size(); }
  bool was_ever_ready() const { return was_ever_ready_; }
  // Ends it as the peer would have: for a server that is not what it was. failures: as if so many attempts to reach it
  // had failed.
  void drop(Status status, const std::string &why, uint32_t failures = 0);

 private:
  // In words of commands: an acquire has some 20.
  static constexpr size_t kRoomLeast = 1'024;
  static constexpr size_t kRoomMost = 8'192;
  static constexpr Nanos kLooks = 8;  // at the loop, within the command time-out: so late it stands still
  static constexpr uint32_t kExcusesMost = 4;
  enum class State : uint8_t { Idle, Opening, Greeting, Ready, Pausing, Stopped };
  class Greeting;
  class Ping;

  void on_open() override;
  void on_bytes(std::string_view bytes) override;
  void on_end(const std::string &why) override;
  void fill(std::string &wire) override;
  void fire(Nanos now) override;

  void open();
  void greeted();
  void handle(const Reply &reply);
  bool decrypt(std::string_view &bytes);
  void write(Command &command);
  void put_behind(Command &command);
  void write_more();
  bool has_room() const { return words_ < room_; }
  void fit_room();
  void encode(Command &command, std::string &wire);
  void end_growth();
  void fail_all(Status status, const std::string &why);
  void pause();
  void set_timer();
  // An answer is awaited, and since when is known.
  bool is_owed() const { return state_ == State::Ready && !sent_.empty() && sent_.front() != unfilled_; }
  bool is_connecting() const { return state_ == State::Opening || state_ == State::Greeting; }
  Nanos owed_until() const;
  Nanos looks_again_at() const;
  void excuse(Nanos now, Nanos late);
  void arm_at(Nanos at);
  std::string place() const { return options_.address.redacted(); }

  Runtime &runtime_;
  const Clock &clock_;
  Random &random_;
  const ConnectionOptions options_;
  const std::string channel_;
  User &user_;
  State state_ = State::Idle;
  ByteStream *stream_ = nullptr;
  std::unique_ptr<TlsSession> tls_;
  std::unique_ptr<ReplyReader> reader_;
  std::unique_ptr<Greeting> greeting_;
  std::unique_ptr<Ping> ping_;
  std::string out_;             // encoded, not given to the stream yet
  Command *growing_ = nullptr;  // of sent_; it comes behind out_
  std::string behind_;          // what comes behind that
  std::string decrypted_;       // scratch
  Command::Scripts scripts_sent_;
  CommandQueue waiting_;  // for Ready, or for its turn
  Command *growing_in_wait_ = nullptr;  // of waiting_
  CommandQueue sent_;
  Command *unfilled_ = nullptr;  // of sent_: the first that the stream does not have yet
  Nanos excused_at_ = 0;         // the loop had turned late
  uint32_t excuses_left_ = kExcusesMost;  // until the next answer
  Nanos looked_at_ = 0;                   // whether the loop turns
  size_t words_ = 0;  // of sent_, but for the one that grows
  size_t room_ = kRoomLeast;
  size_t words_answered_ = 0;  // of what came last
  Nanos answered_since_ = 0;   // when the last of it had been sent
  Nanos took_least_ = kNever;  // an answer, on this connection
  Nanos deadline_ = kNever;  // of Opening and Greeting, or the end of Pausing
  Nanos armed_for_ = kNever;
  uint32_t failures_ = 0;  // since it was ready last
  bool was_ever_ready_ = false;
  std::string last_error_;
  Status last_status_ = Status::CONNECT;
};

}  // namespace liblock
