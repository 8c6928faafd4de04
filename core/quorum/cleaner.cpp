// SPDX-License-Identifier: MIT
// See cleaner.hpp.
#include "quorum/cleaner.hpp"

#include <algorithm>
#include <utility>

#include "base/mutant.hpp"
#include "quorum/instance.hpp"
#include "redis/releasing.hpp"

namespace liblock::quorum {

class Cleaner::Entry final : public ServerCall, public Timer {
 public:
  Entry(Cleaner &cleaner, Node &asked, const LockKeys &lock_keys)
      : node(asked), keys(lock_keys), cleaner_(cleaner) {}
  ~Entry() override { cleaner_.instance_.runtime->cancel(*this); }

  Node &node;
  uint64_t number = 0;
  const LockKeys keys;
  SpareText id;       // of an attempt; empty: nothing is to be deleted
  SpareText line_id;  // empty: it is in no line
  int64_t not_after_us = 0;
  uint64_t generation = 0;
  Nanos ends_at = 0;
  std::shared_ptr<Doubt> doubt;

  void send() {
    if (is_under_way_) return;
    cleaner_.instance_.runtime->cancel(*this);
    if (is_overdue()) return cleaner_.over(this);
    if (!node.is_ready()) return wait(kCleaningPause);
    is_under_way_ = true;
    if (!id.empty()) ++(std::exchange(was_sent_, true) ? counts().undone_again : counts().undone);
    put_release(*this, keys, id, line_id);
    sent_on_ = node.generation();
    node.send(*this);
  }
  void sending(Nanos now) override { sent_at_ = now; }
  bool fits(const Reply &reply) const override { return fits_release(reply, keys.size()); }
  ReplyLimits limits() const override { return limits_of_release(keys.size()); }
  void answered(const Reply &reply) override {
    if (const Reply *wrong = wrong_in_release(reply, 0, keys.size())) {
      const std::string error(wrong->text);
      failed({classify_error(error).status, false, explained(error)});
      return node.link.look_at_error(error);
    }
    is_under_way_ = false;
    const int64_t now_us = time_of_release(reply);
    if (not_after_us > 0 && is_freed(reply, 0)) ++counts().orphans;
    node.observe(now_us, sent_at_, cleaner_.instance_.clock.now());
    if (LIBLOCK_MUTANT(cleaned_once) || now_us > not_after_us || sent_on_ == generation)
      return cleaner_.over(this);
    wait(std::clamp<Nanos>((not_after_us - now_us) * 1'000, kMillisecond, kCleaningPatience));
  }
  void failed(const Failure &failure) override {
    is_under_way_ = false;
    if (failure.status == Status::CLOSED) return;  // whoever stops it deletes it
    wait(kCleaningPause);
  }
  void fire(Nanos) override { send(); }

 private:
  bool is_overdue() const { return cleaner_.instance_.clock.now() >= ends_at; }
  void wait(Nanos time) {
    Runtime &runtime = *cleaner_.instance_.runtime;
    runtime.arm(*this, runtime.now() + time);
  }

  Instance::Counts &counts() const { return cleaner_.instance_.counts_quorum; }

  Cleaner &cleaner_;
  bool was_sent_ = false;
  bool is_under_way_ = false;
  uint64_t sent_on_ = 0;
  Nanos sent_at_ = 0;
};

Cleaner::~Cleaner() { stop(); }

void Cleaner::undo(Node &node, const LockKeys &lock_keys, Bytes id, int64_t not_after_us, uint64_t generation,
                   Nanos ends_at, std::shared_ptr<Doubt> doubt) {
  if (LIBLOCK_MUTANT(no_cleaner)) return;
  auto *entry = new Entry(*this, node, lock_keys);
  entry->id = id;
  entry->not_after_us = not_after_us;
  entry->generation = generation;
  entry->ends_at = ends_at;
  entry->doubt = std::move(doubt);
  begin(entry);
}

void Cleaner::settle(std::shared_ptr<Doubt> doubt) {
  if (doubt == nullptr || doubt.use_count() != 1 || !doubt->is_told) return;
  instance_.events.emit(LIBLOCK_EVENT_DOUBT_ENDED, Status::OK, "a release in doubt has come to its end",
                        doubt->handle, doubt->token);
}

void Cleaner::leave(Node &node, const LockKeys &lock_keys, Bytes line_id) {
  auto *entry = new Entry(*this, node, lock_keys);
  entry->line_id = line_id;
  entry->ends_at = instance_.clock.now() + instance_.options.alive;
  begin(entry);
}

void Cleaner::begin(Entry *entry) {
  entry->number = ++numbers_;
  entries_.emplace(entry->number, entry);
  entry->send();
}

void Cleaner::over(Entry *entry) {
  entries_.erase(entry->number);
  std::shared_ptr<Doubt> doubt = std::move(entry->doubt);
  delete entry;
  settle(std::move(doubt));
  instance_.closing_goes_on();
}

void Cleaner::on_ready(Node &node) {
  const std::map<uint64_t, Entry *> all = entries_;
  for (const auto &[number, entry] : all) {
    if (entries_.count(number) != 0 && &entry->node == &node) entry->send();
  }
}

void Cleaner::stop() {
  for (const auto &[number, entry] : std::exchange(entries_, {})) delete entry;
}

}  // namespace liblock::quorum
