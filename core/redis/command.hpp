// SPDX-License-Identifier: MIT
// One command on its way to a server: its arguments, encoded as the protocol has them, and what happens when
// it ends. Ends exactly once, on the loop's thread, by replied() or failed(); it belongs to whoever made it and
// must live until then.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/spare_memory.hpp"
#include "base/status.hpp"
#include "redis/call_buffer.hpp"
#include "redis/reply.hpp"
#include "redis/scripts.hpp"

namespace liblock {

// Appends an argument as a bulk string.
void encode_bulk(std::string &wire, Bytes text);

// Why there is no reply.
struct Failure {
  Status status = Status::CONNECT;
  bool sent = false;  // it may have been, or may yet be, carried out
  std::string text;
  bool passes = status == Status::CONNECT || status == Status::READ_ONLY;  // the same may succeed soon
};

class Command : public OfSpareMemory {
 public:
  virtual void replied(const Reply &reply) = 0;
  virtual void failed(const Failure &failure) = 0;
  virtual void encode(std::string &wire) const = 0;
  // How much it asks for, once it is encoded: what a server has to do goes by that, about.
  virtual size_t words() const { return 1; }
  // What its reply may make us hold.
  virtual ReplyLimits limits() const { return {}; }
  // Its bytes are on their way at this time.
  virtual void sending(Nanos) {}
  // Whether it lets others of its kind join it until then. Who says so takes that back in sending(), ends_growth() and
  // failed(), before anybody is told: nobody may join what is gone.
  virtual bool begins_to_grow() { return false; }
  virtual void ends_growth() {}
  // Whether what joins one that grows may pass this one, which was asked for before. It may lose its turn by that to
  // one who waits already.
  virtual bool may_be_passed() const { return false; }
  // Scripts whose body went over this connection: the first of a kind takes its body with it. An answer that the
  // server does not know a script would put the call behind others that were sent after it.
  using Scripts = std::vector<const Script *>;
  virtual void add_scripts(Scripts &) {}

 protected:
  virtual ~Command() = default;

 private:
  friend class Connection;
  friend class CommandQueue;
  Command *next_ = nullptr;
  Nanos sent_at_ = 0;
  size_t words_ = 0;  // of those that are under way

 protected:
  Nanos more_time_ = 0;  // that the server takes on purpose, beyond the command time-out
};

// Commands in order, linked through themselves.
class CommandQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  size_t size() const { return size_; }
  Command *front() const { return head_; }
  void push(Command &command) {
    command.next_ = nullptr;
    (tail_ != nullptr ? tail_->next_ : head_) = &command;
    tail_ = &command;
    ++size_;
  }
  Command *pop() {
    Command *command = head_;
    head_ = command->next_;
    if (head_ == nullptr) tail_ = nullptr;
    --size_;
    return command;
  }

 private:
  Command *head_ = nullptr;
  Command *tail_ = nullptr;
  size_t size_ = 0;
};

// A script with its keys and arguments: EVALSHA, and once EVAL where the server does not know it.
class ScriptCall : public Command {
 public:
  // First all keys, then all arguments.
  void begin(const Script &script);
  // In sending(): with the script's body where that was asked for.
  void begin_again(const Script &script);
  void key(Bytes name);
  void key(Bytes head, Bytes middle, Bytes tail);  // the name in parts
  void argument(Bytes text);
  void argument(Bytes head, Bytes middle, Bytes tail);  // one, in parts
  void argument(int64_t number);

  void add_scripts(Scripts &sent) override;
  void encode(std::string &wire) const override;
  size_t words() const override { return keys_ + arguments_; }
  // The answer was NOSCRIPT: sends the body with it from now on.
  void use_body() { with_body_ = true; }
  bool has_body() const { return with_body_; }
  const Script &script() const { return *script_; }

 protected:
  ~ScriptCall() override = default;

 private:
  void append(Bytes text);
  void append(Bytes head, Bytes middle, Bytes tail);

  const Script *script_ = nullptr;
  size_t keys_ = 0;
  size_t arguments_ = 0;
  bool with_body_ = false;
  CallBuffer encoded_;  // keys and arguments
};

// Any other command, made of plain words.
void encode_words(std::string &wire, std::initializer_list<Bytes> words);

}  // namespace liblock
