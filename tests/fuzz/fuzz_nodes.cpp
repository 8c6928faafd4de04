// SPDX-License-Identifier: MIT
// The scripts of a quorum's nodes in any order, with any time in between, told to a server in memory: clients that
// acquire, agree on tokens, renew, pass on and release, values that change, administrators, operators, observers,
// foreign clients, a server that forgets; and now and then an argument that nobody gives. What must hold stands in the
// heads of nodes/. Three bytes are a step: what, on what, how.
#include "nodes/others.hpp"

namespace {

constexpr size_t kStepsMax = 300;

class Life {
 public:
  void step(uint8_t what, uint8_t on, uint8_t how) {
    switch (what % 20) {
      case 0:
      case 1:
      case 2:
      case 3: return clients_.acquire(on, how);
      case 4:
      case 5: return clients_.release(on, how);
      case 6:
      case 7: return clients_.extend(on, how);
      case 8: return clients_.raise(on, how);
      case 9: return clients_.pass_on(on, how);
      case 10: return others_.promise(on, how);
      case 11: return others_.commit(on, how);
      case 12: return others_.force(on, how);
      case 13: return others_.clear(on, how);
      case 14: return others_.look(on, how);
      case 15: return others_.observe(on, how);
      case 16: return others_.rule(on, how);
      case 17: return others_.disturb(on, how);
      case 18: return spoil(on, how);
      default: node_.now_us += (int64_t{1} << on % 20) * 1'000;
    }
  }
  void check() { node_.check(); }

 private:
  void spoil(uint8_t on, uint8_t how) {
    node_.spoiled = on;
    node_.spoiled_by = how;
  }

  nodes::Node node_;
  nodes::Clients clients_{node_};
  nodes::Others others_{node_, clients_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Life life;
  for (size_t at = 0; at + 2 < size && at < 3 * kStepsMax; at += 3) {
    life.step(data[at], data[at + 1], data[at + 2]);
    life.check();
  }
  return 0;
}
