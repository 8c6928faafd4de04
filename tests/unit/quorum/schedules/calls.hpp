// SPDX-License-Identifier: MIT
// From a step to the call of a script, and from its answer to what the client knows then.
#pragma once

#include "model.hpp"
#include "schedule.hpp"

namespace schedules {

std::string lock_key(const std::string &key);
std::string side_key(char side, const std::string &key);
std::string who(int64_t epoch, size_t node);
int64_t time_of(Servers &servers, size_t node);

class Calls {
 public:
  Calls(Servers &servers, const Schedule &schedule, const std::map<std::string, std::string> &bodies)
      : servers_(servers), schedule_(schedule), bodies_(bodies) {}

  // As the client says it now, to arrive whenever the schedule says.
  Message compose(Client &client, Message::Kind kind, const Step &step, size_t node);
  // What came back, in words: "OK counts", "BUSY", "set", "OOM". heard: the client learns of it.
  std::vector<std::string> answered(Message &message, const Reply &reply, bool heard);

  // Before any message of it: what a step begins that has more than one message.
  void begin_attempt(Client &client, const Step &step);
  void begin_round(Client &client, const Step &step);
  void begin_change(Client &client, const Step &step);

  // The largest time of a node when they were marked: tokens are written as so much more.
  uint64_t base = 0;
  size_t wins = 0;

 private:
  Words call(const std::string &script, size_t node, const std::vector<std::string> &keys,
             const std::vector<std::string> &arguments) const;
  std::string not_after(const Step &step, size_t node) const;
  Words acquire(const Client &client, const Step &step, size_t node) const;
  Words extend(const Client &client, const Step &step, size_t node) const;
  Words observe(const Client &client, const Step &step) const;
  Words promise(const Client &client, const Step &step, size_t node) const;
  Words about_node(const Client &client, Message::Kind kind, const Step &step, size_t node) const;
  int64_t floor_of(const Client &client, const Step &step) const;
  int64_t silence_of(size_t node) const;
  std::string next_id();
  void heard_acquire(Message &message, const std::vector<std::string> &words, const Reply &reply);
  void heard_extend(Message &message, const Reply &reply);

  Servers &servers_;
  const Schedule &schedule_;
  const std::map<std::string, std::string> &bodies_;
  std::shared_ptr<Round> round_;
  uint64_t ids_ = 0;
  int64_t changes_ = 0;
};

}  // namespace schedules
