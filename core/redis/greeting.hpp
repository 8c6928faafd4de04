// SPDX-License-Identifier: MIT
// What a connection says first: who we are, which database, what it is called, and questions about the server.
// All goes out at once. Only AUTH, SELECT and SUBSCRIBE must succeed; a server that does not let us ask about
// it can still keep locks.
#pragma once

#include <array>

#include "base/read_number.hpp"
#include "redis/connection.hpp"
#include "redis/server_error.hpp"

namespace liblock {

class Greeting {
 public:
  Greeting(const ServerAddress &address, Bytes name, Bytes channel)
      : address_(address), name_(name), channel_(channel) {}
  virtual ~Greeting() = default;

  template <typename Write>
  void begin(Write write) {
    asked_at_ = now();
    for (size_t i = 0; i < kSteps; ++i) {
      steps_[i].greeting = this;
      steps_[i].number = static_cast<Number>(i);
      if (steps_[i].is_needed()) last_ = i;
    }
    for (Step &step : steps_) {
      if (step.is_needed()) write(step);
    }
  }
  const ServerInfo &info() const { return info_; }

 protected:
  virtual void step_done() = 0;  // of the last one
  virtual void refused(Status status, const std::string &why) = 0;
  virtual Nanos now() = 0;

 private:
  enum Number : uint8_t {
    Auth,
    Select,
    SetName,
    InfoServer,
    InfoReplication,
    InfoMemory,
    Time,
    Subscribe,
    kSteps
  };

  struct Step final : public Command {
    Greeting *greeting = nullptr;
    Number number = Auth;

    bool is_needed() const { return greeting->needs(number); }
    void encode(std::string &wire) const override { greeting->encode_step(number, wire); }
    void replied(const Reply &reply) override { greeting->answered(number, reply); }
    void failed(const Failure &) override {}
  };

  bool needs(Number number) const {
    switch (number) {
      case Auth:
        return !address_.user.empty() || !address_.password.empty();
      case Select:
        return address_.db != 0 && channel_.empty();
      case SetName:
        return !name_.empty();
      case InfoServer:
      case InfoReplication:
        return true;
      case Subscribe:
        return !channel_.empty();
      default:
        return channel_.empty();
    }
  }
  void encode_step(Number number, std::string &wire) const {
    switch (number) {
      case Auth:
        if (address_.user.empty()) return encode_words(wire, {"AUTH", address_.password.reveal()});
        return encode_words(wire, {"AUTH", address_.user, address_.password.reveal()});
      case Select:
        return encode_words(wire, {"SELECT", std::to_string(address_.db)});
      case SetName:
        return encode_words(wire, {"CLIENT", "SETNAME", name_});
      case InfoServer:
        return encode_words(wire, {"INFO", "server"});
      case InfoReplication:
        return encode_words(wire, {"INFO", "replication"});
      case InfoMemory:
        return encode_words(wire, {"INFO", "memory"});
      case Time:
        return encode_words(wire, {"TIME"});
      default:
        return encode_words(wire, {"SUBSCRIBE", channel_});
    }
  }
  void answered(Number number, const Reply &reply) {
    if (reply.is(Reply::Kind::Error) && number == Auth) {
      const AuthRefusal refusal = refusal_of_auth(reply.text);
      return refused(refusal.status, auth_failed() + std::string(refusal.why));
    }
    if (reply.is(Reply::Kind::Error) && (number == Select || number == Subscribe))
      return refused(classify_error(reply.text).status, what_failed(number) + explained(reply.text));
    // Without credentials, everything is refused: the first refusal says so.
    if (reply.is(Reply::Kind::Error) && classify_error(reply.text).wrong_server)
      return refused(classify_error(reply.text).status, explained(reply.text));
    if (number == Time) {
      read_time(reply);
    } else if (reply.is(Reply::Kind::Text)) {
      read_info(reply.text);
    }
    if (number == last_) step_done();
  }
  std::string what_failed(Number number) const {
    if (number != Select) return {};
    return "database " + std::to_string(address_.db) + " (how many there are, its `databases` says): ";
  }
  std::string auth_failed() const {
    // redis://word@host names a user; many mean a password.
    const bool only_user = !address_.user.empty() && address_.password.empty();
    return only_user ? "it refused the user (a password stands behind a colon, redis://:PASSWORD@host): "
                     : "it refused user or password: ";
  }
  void read_time(const Reply &reply) {
    int64_t seconds = 0, micros = 0;
    if (!read_number(reply.at(0).text, seconds) || !read_number(reply.at(1).text, micros)) return;
    if (seconds <= 0 || seconds > 9'000'000'000 || micros < 0 || micros > 999'999) return;
    info_.time_us = seconds * 1'000'000 + micros;
    info_.asked_at = asked_at_;
  }
  void read_info(Bytes text) {
    while (!text.empty()) {
      const size_t end = text.find("\r\n");
      const Bytes line = text.substr(0, end);
      const size_t colon = line.find(':');
      if (colon != Bytes::npos) read_info_line(line.substr(0, colon), line.substr(colon + 1));
      text = end == Bytes::npos ? Bytes() : text.substr(end + 2);
    }
  }
  void read_info_line(Bytes name, Bytes value) {
    if (name == "run_id") info_.run_id = value;
    if (name == "role") info_.role = value;
    if (name == "maxmemory_policy") info_.eviction_policy = value;
    if (name == "maxmemory") info_.has_memory_bound = value != "0";
  }

  const ServerAddress &address_;
  const Bytes name_;
  const Bytes channel_;
  ServerInfo info_;
  Nanos asked_at_ = 0;
  std::array<Step, kSteps> steps_;
  size_t last_ = 0;
};

}  // namespace liblock
