// SPDX-License-Identifier: MIT
// See connection.hpp. What a user's callback does to the connection (it may drop or stop it) is noticed by its
// state and its stream: after each call out, nothing of before is trusted.
#include "redis/connection.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/wipe.hpp"
#include "redis/greeting.hpp"
#include "redis/server_error.hpp"
#include "redis/tls.hpp"

namespace liblock {

namespace {

constexpr int64_t kPauseFirstMs = 25;
constexpr int64_t kPauseMostMs = 2'000;
constexpr size_t kGreetingRoom =
    4'096;  // more than it takes: what grows leaves a copy of the password behind
constexpr Nanos kPingInterval = 1'000 * kMillisecond;
constexpr char kClosed[] = "the context is closed";

}  // namespace

// Finds a subscription out that is half open: nothing else is ever asked on it.
class Connection::Ping final : public Command {
 public:
  void replied(const Reply &) override { is_under_way = false; }
  void failed(const Failure &) override { is_under_way = false; }
  void encode(std::string &wire) const override { encode_words(wire, {"PING"}); }
  bool is_under_way = false;
  Nanos next_at = 0;
};

class Connection::Greeting final : public liblock::Greeting {
 public:
  explicit Greeting(Connection &connection)
      : liblock::Greeting(connection.options_.address, connection.options_.name, connection.channel_),
        connection_(connection) {}
  void step_done() override { connection_.greeted(); }
  void refused(Status status, const std::string &why) override { connection_.drop(status, why); }
  Nanos now() override { return connection_.clock_.now(); }

 private:
  Connection &connection_;
};

Connection::Connection(Runtime &runtime, const Clock &clock, Random &random, const ConnectionOptions &options,
                       std::string channel, User &user)
    : runtime_(runtime),
      clock_(clock),
      random_(random),
      options_(options),
      channel_(std::move(channel)),
      user_(user) {}

Connection::~Connection() {
  LIBLOCK_ASSERT(state_ == State::Stopped || state_ == State::Idle);
  wipe(out_);
}

void Connection::want() {
  if (state_ == State::Idle) open();
}

void Connection::send(Command &command) {
  switch (state_) {
    case State::Ready:
      if (!waiting_.empty() || !has_room()) return put_behind(command);
      write(command);
      set_timer();
      return;
    case State::Idle:
    case State::Opening:
    case State::Greeting:
      waiting_.push(command);
      want();
      return;
    case State::Pausing:
      return command.failed({last_status_, false, last_error_});
    case State::Stopped:
      return command.failed({Status::CLOSED, false, kClosed});
  }
}

void Connection::write(Command &command) {
  if (!command.may_be_passed()) end_growth();
  sent_.push(command);
  if (unfilled_ == nullptr) unfilled_ = &command;
  stream_->request_fill();
  stream_->expect_answers(true);
  if (growing_ != nullptr) return encode(command, behind_);
  // What waits behind it must not be passed by what would join it.
  if (state_ == State::Ready && waiting_.empty() && command.begins_to_grow()) {
    growing_ = &command;
  } else {
    encode(command, out_);
  }
}

void Connection::put_behind(Command &command) {
  if (!command.may_be_passed()) {
    end_growth();
    if (growing_in_wait_ != nullptr) std::exchange(growing_in_wait_, nullptr)->ends_growth();
  }
  if (command.begins_to_grow()) growing_in_wait_ = &command;
  waiting_.push(command);
}

void Connection::write_more() {
  while (state_ == State::Ready && !waiting_.empty() && has_room()) {
    if (waiting_.front() == growing_in_wait_) growing_in_wait_ = nullptr;
    write(*waiting_.pop());
  }
}

void Connection::fit_room() {
  const size_t answered = std::exchange(words_answered_, 0);
  if (waiting_.empty() || answered == 0) return;
  const Nanos took = runtime_.now() - answered_since_;
  took_least_ = std::min(took_least_, took);
  const Nanos in_line = took - took_least_;
  const Nanos in_line_most = options_.command_timeout - std::min(took_least_, options_.command_timeout);
  if (in_line < in_line_most / 4) room_ = std::min(kRoomMost, room_ + answered);
  if (in_line > in_line_most / 2) room_ = std::max(kRoomLeast, room_ / 2);
}

void Connection::encode(Command &command, std::string &wire) {
  command.sending(clock_.now());
  command.add_scripts(scripts_sent_);
  command.encode(wire);
  command.words_ = command.words();
  words_ += command.words_;
}

void Connection::end_growth() {
  if (growing_ == nullptr) return;
  encode(*std::exchange(growing_, nullptr), out_);
  out_ += behind_;
  behind_.clear();
}

void Connection::open() {
  state_ = State::Opening;
  deadline_ = runtime_.now() + options_.connect_timeout;
  excuses_left_ = kExcusesMost;
  reader_ = std::make_unique<ReplyReader>();
  scripts_sent_.clear();
  tls_.reset();
  if (options_.tls != nullptr) {
    std::string error;
    tls_ = TlsSession::make(options_.tls, options_.address.target.host, error);
    if (tls_ == nullptr) return drop(Status::CONNECT, error);
  }
  set_timer();
  stream_ = runtime_.make_stream(*this);
  stream_->open(options_.address.target);
}

void Connection::on_open() {
  state_ = State::Greeting;
  greeting_ = std::make_unique<Greeting>(*this);
  out_.reserve(kGreetingRoom);
  // All of it at once: nothing in it depends on an earlier answer.
  greeting_->begin([this](Command &step) { write(step); });
  stream_->request_fill();
}

void Connection::greeted() {
  state_ = State::Ready;
  was_ever_ready_ = true;
  failures_ = 0;
  deadline_ = kNever;
  took_least_ = runtime_.now() - answered_since_;
  if (!channel_.empty()) {
    ping_ = std::make_unique<Ping>();
    ping_->next_at = runtime_.now() + kPingInterval;
  }
  // What is said on a new connection goes before all that waited for it.
  CommandQueue waited = std::exchange(waiting_, {});
  user_.on_ready(greeting_->info());
  while (!waited.empty()) send(*waited.pop());
  set_timer();
}

bool Connection::decrypt(std::string_view &bytes) {
  if (tls_ == nullptr) return true;
  decrypted_.clear();
  const TlsSession::State after = tls_->receive(bytes, decrypted_);
  stream_->request_fill();  // the handshake may have something to say
  if (after == TlsSession::State::Failed) {
    drop(Status::CONNECT, tls_->error());
    return false;
  }
  if (after == TlsSession::State::Closed && decrypted_.empty()) {
    drop(Status::CONNECT, "it closed the connection");
    return false;
  }
  bytes = decrypted_;
  return true;
}

void Connection::on_bytes(std::string_view bytes) {
  ByteStream *const stream = stream_;
  if (!decrypt(bytes) || bytes.empty()) return;
  bool fine = reader_->feed(bytes);
  while (fine && stream_ == stream) {
    reader_->allow(sent_.empty() ? ReplyLimits() : sent_.front()->limits());
    const Reply *reply = reader_->next();
    if (reply == nullptr) break;
    handle(*reply);
  }
  if (stream_ != stream) return;
  if (reader_->is_broken())
    return drop(reader_->lacks_memory() ? Status::CONNECT : Status::PROTOCOL, reader_->error());
  fit_room();
  write_more();
  stream_->expect_answers(!sent_.empty());
  set_timer();
}

void Connection::handle(const Reply &reply) {
  if (!channel_.empty() && reply.is(Reply::Kind::Array) && reply.at(0).text == "message") {
    user_.on_message(reply.at(2).text);
    return;
  }
  if (sent_.empty() || sent_.front() == unfilled_) {
    // Before it closes a connection that it does not want, a server says why without being asked.
    const ServerError error = classify_error(reply.is(Reply::Kind::Error) ? reply.text : Bytes());
    drop(reply.is(Reply::Kind::Error) ? error.status : Status::PROTOCOL,
         reply.is(Reply::Kind::Error) ? explained(reply.text) : "a reply that nobody asked for");
    return;
  }
  Command &command = *sent_.pop();
  words_ -= command.words_;
  words_answered_ += command.words_;
  answered_since_ = command.sent_at_;
  excuses_left_ = kExcusesMost;
  command.replied(reply);
}

void Connection::on_end(const std::string &why) {
  const bool is_strange = state_ == State::Greeting && tls_ == nullptr;
  drop(Status::CONNECT, is_strange ? why + "; is that the port of a Redis server, and one without TLS?" : why);
}

void Connection::fill(std::string &wire) {
  end_growth();
  const Nanos now = unfilled_ != nullptr ? runtime_.now() : 0;
  for (Command *command = std::exchange(unfilled_, nullptr); command != nullptr; command = command->next_)
    command->sent_at_ = now;
  set_timer();
  if (tls_ == nullptr) {
    if (wire.empty()) {
      wire.swap(out_);
    } else {
      wire += out_;
    }
    out_.clear();
    return;
  }
  if (!out_.empty()) {
    const TlsSession::State after = tls_->send(out_);
    out_.clear();
    if (after == TlsSession::State::Failed) return drop(Status::CONNECT, tls_->error());
  }
  tls_->take_output(wire);
}

void Connection::drop(Status status, const std::string &why, uint32_t failures) {
  if (state_ == State::Stopped || state_ == State::Pausing || state_ == State::Idle) return;
  failures_ = std::max(failures_, failures);
  if (stream_ != nullptr) std::exchange(stream_, nullptr)->close();
  wipe(out_);
  last_status_ = status;
  last_error_ = place() + ": " + why;
  pause();
  fail_all(status, last_error_);
  if (state_ == State::Pausing) user_.on_down(status, last_error_);
}

void Connection::fail_all(Status status, const std::string &why) {
  growing_ = growing_in_wait_ = nullptr;
  unfilled_ = nullptr;
  words_ = words_answered_ = 0;
  took_least_ = kNever;
  behind_.clear();
  CommandQueue sent = std::exchange(sent_, {}), waiting = std::exchange(waiting_, {});
  // The end of one may close the context: those behind it must not begin anything anew.
  const auto fail = [&](Command &command, bool was_sent) {
    const bool is_stopped = state_ == State::Stopped;
    command.failed({is_stopped ? Status::CLOSED : status, was_sent, is_stopped ? kClosed : why});
  };
  while (!sent.empty()) fail(*sent.pop(), true);
  while (!waiting.empty()) fail(*waiting.pop(), false);
}

void Connection::pause() {
  state_ = State::Pausing;
  // The first failure of a connection that worked is tried again at once, nearly.
  const int64_t most = std::min(kPauseMostMs, kPauseFirstMs << std::min<uint32_t>(failures_, 10));
  ++failures_;
  deadline_ = runtime_.now() + nanos_from_ms(most / 2 + random_.up_to(most / 2));
  set_timer();
}

void Connection::stop() {
  if (state_ == State::Stopped) return;
  state_ = State::Stopped;
  if (stream_ != nullptr) std::exchange(stream_, nullptr)->close();
  runtime_.cancel(*this);
  fail_all(Status::CLOSED, "the context is closed");
}

void Connection::set_timer() {
  Nanos at = deadline_;
  if (is_owed() || is_connecting()) at = std::min(at, looks_again_at());
  if (state_ == State::Ready && ping_ != nullptr && !ping_->is_under_way) at = std::min(at, ping_->next_at);
  // A timer that is armed for earlier finds out by itself that it came too soon.
  if (at < armed_for_) arm_at(at);
}

void Connection::arm_at(Nanos at) {
  armed_for_ = at;
  runtime_.arm(*this, at);
}

Nanos Connection::owed_until() const {
  const Command &first = *sent_.front();
  return std::max(first.sent_at_, excused_at_) + options_.command_timeout + first.more_time_;
}

// Not only when the time is over: whoever stood still before it has heard as little.
Nanos Connection::looks_again_at() const {
  if (is_connecting()) {
    const Nanos since = std::max(deadline_ - options_.connect_timeout, looked_at_);
    return std::min(deadline_, since + options_.connect_timeout / kLooks);
  }
  const Nanos since = std::max({sent_.front()->sent_at_, excused_at_, looked_at_});
  return std::min(owed_until(), since + options_.command_timeout / kLooks);
}

// A few times, and then for as long as it owes one: a loop that is always late would wait for ever.
void Connection::excuse(Nanos now, Nanos late) {
  const Nanos timeout = is_connecting() ? options_.connect_timeout : options_.command_timeout;
  if (!(is_owed() || is_connecting()) || late < timeout / kLooks || excuses_left_ == 0) return;
  --excuses_left_;
  excused_at_ = now;
  if (is_connecting()) deadline_ = now + timeout;
}

void Connection::fire(Nanos now) {
  const Nanos late = now - std::exchange(armed_for_, kNever);
  if (state_ == State::Stopped) return;
  if (state_ == State::Pausing && now >= deadline_) {
    deadline_ = kNever;
    state_ = State::Idle;
    if (user_.still_wanted()) open();
    return;
  }
  looked_at_ = now;
  excuse(now, late);
  if (is_connecting() && now >= deadline_) {
    // A server without TLS waits for the end of what it takes for a command.
    const char *hint =
        tls_ != nullptr && state_ == State::Greeting ? "; for a port without TLS it is redis://" : "";
    return drop(Status::CONNECT, std::string("it did not answer within connect_timeout_ms") + hint);
  }
  if (is_owed() && now >= owed_until()) {
    room_ = kRoomLeast;
    return drop(Status::CONNECT, "it did not answer within command_timeout_ms");
  }
  if (state_ == State::Ready && ping_ != nullptr && !ping_->is_under_way && now >= ping_->next_at) {
    ping_->next_at = now + kPingInterval;
    if (user_.still_wanted()) {
      ping_->is_under_way = true;
      write(*ping_);
    }
  }
  set_timer();
}

}  // namespace liblock
