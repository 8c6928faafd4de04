// SPDX-License-Identifier: MIT
// See scanning.hpp.
#include "redis/scanning.hpp"

#include <algorithm>

#include "redis/dead_waiters.hpp"
#include "redis/instance.hpp"

namespace liblock {

namespace {

// Foreign strings that happen to have the prefix are not ours to list, nor is what is gone by now.
bool is_wanted(const KeyInfo &info, const Ask &ask) {
  const bool is_ours = info.is_held && info.token != 0;
  if (!ask.position.is_second_round) return is_ours;
  return info.waiter_count() != 0 && (ask.which == Ask::Which::Queues || !is_ours);
}

class ListStep final : public Inspection {
 public:
  ListStep(Instance &instance, Ask &ask, AskDone done)
      : instance_(instance), ask_(ask), done_(std::move(done)) {}
  void begin() {
    ListPosition &at = ask_.position;
    if (ask_.which == Ask::Which::Queues) at.is_second_round = true;
    if (!at.found.empty()) return look();
    if (std::exchange(at.is_round_over, false)) at.is_second_round = true;
    ++ask_.tally.steps;
    scan(instance_.link, instance_.keyspace, at.is_second_round ? Scanned::Queues : Scanned::Locks, ask_.text,
         at.next, ask_.batch, [this](Page page) { scanned(std::move(page)); });
  }
  void seen(std::vector<std::unique_ptr<KeyInfo>> infos) override {
    std::erase_if(infos, [this](const auto &info) { return !is_wanted(*info, ask_); });
    infos_ = std::move(infos);
    if (ask_.flag) return keep_zombies();
    show();
  }
  void failed(Status status, const std::string &why) override { end(status, why); }

 private:
  void show() {
    ask_.infos = std::move(infos_);
    // Those that were looked at are forgotten only now, so that a failed step can be made again.
    ListPosition &at = ask_.position;
    at.found.resize(at.found.size() - std::min(at.found.size(), kKeysPerLook));
    went_on();
  }
  // A key whose holder is one needs no look at who waits, unless it is about those.
  bool is_zombie_by_holder(const KeyInfo &info) const {
    return info.is_zombie && ask_.which != Ask::Which::Queues;
  }
  void keep_zombies() {
    std::vector<std::string> queues;
    std::erase_if(infos_, [&](const auto &info) {
      if (is_zombie_by_holder(*info)) return false;
      if (ask_.which == Ask::Which::Locks || info->waiter_count() == 0) return true;
      queues.push_back(instance_.keyspace.lock_key(info->key));
      return false;
    });
    if (queues.empty()) return show();
    find_dead_waiters(instance_, queues, [this](DeadWaiters seen) {
      if (seen.status != Status::OK) return end(seen.status, seen.why);
      size_t next = 0;
      std::erase_if(infos_,
                    [&](const auto &info) { return !is_zombie_by_holder(*info) && !seen.found[next++]; });
      show();
    });
  }
  void scanned(Page page) {
    if (page.status != Status::OK) return end(page.status, page.why);
    ListPosition &at = ask_.position;
    const bool is_first = at.next == 0;
    at.next = page.next;
    at.is_round_over = page.next == 0;
    at.found = std::move(page.lock_keys);
    // Of this instance, which have no queue on the server.
    if (is_first && ask_.which == Ask::Which::Queues)
      instance_.passing_on.add_lines_alone(ask_.text, at.found);
    if (!at.found.empty()) return look();
    went_on();
  }
  void went_on() {
    ListPosition &at = ask_.position;
    at.at_end =
        at.is_round_over && at.found.empty() && (ask_.which != Ask::Which::Keys || at.is_second_round);
    end(Status::OK, "");
  }
  void look() {
    const std::vector<std::string> &found = ask_.position.found;
    const auto first = found.end() - static_cast<ptrdiff_t>(std::min(found.size(), kKeysPerLook));
    inspect_listed(instance_, std::vector<std::string>(first, found.end()), ask_.flag, *this);
  }
  void end(Status status, const std::string &why) { end_call(this, done_, status, why); }
  Instance &instance_;
  Ask &ask_;
  AskDone done_;
  std::vector<std::unique_ptr<KeyInfo>> infos_;
};

}  // namespace

void list_step(Instance &instance, Ask &ask, AskDone done) {
  (new ListStep(instance, ask, std::move(done)))->begin();
}

}  // namespace liblock
