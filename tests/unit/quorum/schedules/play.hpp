// SPDX-License-Identifier: MIT
// Plays one schedule. After every step it is checked, whatever the schedule expects:
//   - no key has two clients whose leases are valid
//   - no key was ever won twice with one token, nor with a lower one than somebody had won it with before the attempt
//     began
#pragma once

#include <list>

#include "calls.hpp"

namespace schedules {

class Play {
 public:
  Play(Servers &servers, const Schedule &schedule, const std::map<std::string, std::string> &bodies)
      : servers_(servers), schedule_(schedule), calls_(servers, schedule, bodies) {}
  // Throws Failure, or what servers throw.
  void run();

 private:
  struct Win {
    std::string key, client;
    uint64_t token;
  };
  struct Live {
    Client *client;
    std::shared_ptr<Attempt> attempt;
  };

  void set_up();
  void run_step(const Step &step);
  void of_world(const Step &step);
  void of_client(Client &client, const Step &step);
  void send(Client &client, const Step &step);
  std::vector<Message> compose(Client &client, const Step &step);
  void deliver(Message message, const Step &step);
  void look_for_wins();
  void won(const Live &live);
  void check_exclusion() const;

  void expect(const Step &step);
  bool holds_for_client(Client &client, const Step &step);
  void expect_of_key(const Step &step, const std::string &key, size_t node);
  std::string relative(uint64_t token) const;
  uint64_t token_of(const std::string &text);
  Client &client(const std::string &name);
  Client &client_whose(const Step &step);
  Attempt &attempt_of(const std::string &name);

  Servers &servers_;
  const Schedule &schedule_;
  Calls calls_;
  std::list<Client> clients_;
  std::vector<Live> attempts_;
  std::vector<Win> wins_;
  std::map<std::string, Message> under_way_;
};

}  // namespace schedules
