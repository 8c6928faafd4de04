// SPDX-License-Identifier: MIT
// See host.hpp.
#include "host.hpp"

#include <utility>

#include "base/assert.hpp"
#include "world.hpp"

namespace liblock_test::sim {

Nanos Host::local() const {
  const Nanos since = world_.now() - rate_since_;
  return local_since_ + since + since / 1'000'000 * ppm_ + since % 1'000'000 * ppm_ / 1'000'000;
}

void Host::set_rate(int64_t ppm) {
  local_since_ = local();
  rate_since_ = world_.now();
  ppm_ = ppm;
}

// The first moment at which its clock shows that.
Nanos Host::true_time(Nanos local_time) const {
  const Nanos ahead = local_time - local();
  if (ahead <= 0) return world_.now();
  return world_.now() + ahead - ahead / (1'000'000 + ppm_) * ppm_ + std::abs(ppm_) / 1'000 + 1;
}

Nanos Host::next_wake() const {
  if (paused_ || timers_.earliest() == liblock::kNever) return liblock::kNever;
  return true_time(timers_.earliest());
}

liblock::ByteStream *Host::make_stream(liblock::ByteStream::Listener &listener) {
  wires_.push_back(std::make_shared<Wire>(*this, listener));
  return wires_.back().get();
}

void Host::turn() {
  now_.store(local());  // a clock goes on, whoever does not
  if (paused_) return;
  bool is_busy = true;
  for (int rounds = 0; is_busy; ++rounds) {
    LIBLOCK_ASSERT(rounds < 100'000);  // a timer that arms itself for now, for ever
    is_busy = false;
    inbox_.run_all();
    const std::vector<std::shared_ptr<Wire>> wires = wires_;
    for (const auto &wire : wires) is_busy |= wire->turn();
    if (liblock::Timer *timer = timers_.pop_due(local()); timer != nullptr) {
      is_busy = true;
      timer->fire(local());
    }
    for (liblock::Notice *notice : std::exchange(notices_, {})) {
      is_busy = true;
      notice->deliver();
      notice->dispose();
    }
  }
  std::erase_if(wires_, [](const std::shared_ptr<Wire> &wire) { return wire->is_done(); });
}

void Host::break_connections() {
  for (const auto &wire : wires_) wire->break_off(world_.random.up_to(1) == 0);
}

void Host::mend() {
  cut_ = false;
  const std::vector<std::shared_ptr<Wire>> wires = wires_;
  for (const auto &wire : wires) wire->resume();
}

void Host::kill() {
  paused_ = cut_ = killed_ = true;
  for (const auto &wire : wires_) wire->orphan(world_.random.up_to(1) == 0);
}

void Host::mend_if_alive() {
  paused_ = false;
  if (!killed_) mend();
}

Host::~Host() {
  for (liblock::Notice *notice : notices_) notice->dispose();
}

}  // namespace liblock_test::sim
