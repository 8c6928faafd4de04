// SPDX-License-Identifier: MIT
// What a table with a few keys does, said as plainly as possible and without a line of the table's code:
// requests of named owners that reenter, wait in order of arrival, take all keys at once or those before the
// first busy one, and wait for no key that their owner has come to hold.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace model {

enum class State { Waiting, Held, Busy, Canceled, Released };

struct Request {
  int owner;
  std::vector<int> keys;  // ascending
  State state = State::Waiting;
  std::vector<int> taken = {};
  bool took_any = false;  // that its owner did not hold
  bool has(int key) const { return std::find(taken.begin(), taken.end(), key) != taken.end(); }
};

inline constexpr int kKeysMax = 4;

class Table {
 public:
  std::vector<Request> requests;

  void acquire(int owner, std::vector<int> keys, bool try_once) {
    requests.push_back({owner, std::move(keys)});
    advance(static_cast<int>(requests.size()) - 1, try_once);
    do_the_rest();
  }
  void release(int request) {
    give_back(request);
    requests[request].state = State::Released;
    do_the_rest();
  }
  void cancel(int request) {
    leave_queues(request);
    requests[request].state = State::Canceled;
    give_back(request);
    do_the_rest();
  }
  // -1: nobody.
  int holder(int key) const {
    for (const Request &r : requests) {
      if (r.has(key)) return r.owner;
    }
    return -1;
  }
  std::vector<int> waiting_owners(int key) const {
    std::vector<int> owners;
    for (const int r : queues_[key]) owners.push_back(requests[r].owner);
    return owners;
  }

 private:
  void advance(int number, bool try_once) {
    Request &r = requests[number];
    std::vector<int> wanted;
    std::optional<int> busy;
    bool takes_any = false;
    for (const int key : r.keys) {
      if (r.has(key)) continue;
      const int who = holder(key);
      if (who != -1 && who != r.owner && !busy) busy = key;
      if (!busy) wanted.push_back(key);
      if (!busy && who == -1) takes_any = true;
    }
    if (busy && try_once) {
      r.state = State::Busy;
      return;
    }
    r.taken.insert(r.taken.end(), wanted.begin(), wanted.end());
    r.took_any = r.took_any || takes_any;
    if (busy) {
      queues_[*busy].push_back(number);
      if (r.took_any) let_own_go_on(r.owner, r.keys);
    } else {
      r.state = State::Held;
      to_do_.push_back({number, true});
    }
  }
  void let_own_go_on(int owner, const std::vector<int> &keys) {
    std::vector<int> own;
    for (const int key : keys) {
      if (holder(key) != owner) continue;
      for (const int r : queues_[key]) {
        if (requests[r].owner == owner) own.push_back(r);
      }
    }
    for (const int r : own) {
      leave_queues(r);
      to_do_.push_back({r, false});
    }
  }
  void leave_queues(int request) {
    for (auto &queue : queues_) queue.erase(std::remove(queue.begin(), queue.end(), request), queue.end());
  }
  // A key without holder goes to the first who waits for it; who has one key of several goes on once all are
  // given back.
  void give_back(int number) {
    const std::vector<int> keys = requests[number].keys;
    for (const int key : keys) {
      auto &taken = requests[number].taken;
      const auto held = std::find(taken.begin(), taken.end(), key);
      if (held == taken.end()) continue;
      taken.erase(held);
      if (holder(key) != -1 || queues_[key].empty()) continue;
      const int next = queues_[key].front();
      queues_[key].pop_front();
      requests[next].taken.push_back(key);
      requests[next].took_any = true;
      const bool is_whole = requests[next].keys.size() == 1;
      if (is_whole) requests[next].state = State::Held;
      to_do_.push_back({next, is_whole});
    }
  }
  // What has ended looks for others of its owner; what was handed one of several keys, or has left its queue, goes on.
  void do_the_rest() {
    while (!to_do_.empty()) {
      const auto [next, has_ended] = to_do_.front();
      to_do_.pop_front();
      const Request &r = requests[next];
      if (!has_ended) {
        advance(next, false);
      } else if (r.took_any) {
        let_own_go_on(r.owner, r.keys);
      }
    }
  }

  std::deque<int> queues_[kKeysMax];
  std::deque<std::pair<int, bool>> to_do_;
};

}  // namespace model
