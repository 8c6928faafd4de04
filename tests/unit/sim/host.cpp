// SPDX-License-Identifier: MIT
// See host.hpp.
#include "host.hpp"

#include <utility>

#include "base/assert.hpp"
#include "node.hpp"

namespace liblock_test::sim {

Host::Host(World &world, std::string name) : world_(world), name_(std::move(name)) {}

Nanos Host::local() const {
  const Nanos since = world_.now() - rate_since_;
  if (ppm_ == 0) return local_since_ + since;
  return local_since_ + since + since / 1'000'000 * ppm_ + since % 1'000'000 * ppm_ / 1'000'000;
}

void Host::set_rate(int64_t ppm) {
  local_since_ = local();
  rate_since_ = world_.now();
  ppm_ = ppm;
  wake_is_known_ = false;
}

void Host::jump_clock(Nanos ahead) {
  local_since_ += ahead;
  behind_ += ahead;
  if (is_asleep_) asleep_since_ += ahead;
  show_time();
}

// The first moment at which the runtime's clock shows that.
Nanos Host::true_time(Nanos timer_time) const {
  const Nanos ahead = timer_time - now();
  if (ahead <= 0) return world_.now();
  return world_.now() + ahead - ahead / (1'000'000 + ppm_) * ppm_ + std::abs(ppm_) / 1'000 + 1;
}

Nanos Host::next_wake() const {
  if (paused_ || timers_.earliest() == liblock::kNever) return liblock::kNever;
  // Rounding may leave a rest.
  if (!std::exchange(wake_is_known_, true) || wake_ <= world_.now()) wake_ = true_time(timers_.earliest());
  return wake_;
}

bool Host::arm(liblock::Timer &timer, Nanos at) {
  wake_is_known_ = false;
  return timers_.arm(timer, at);
}

bool Host::cancel(liblock::Timer &timer) {
  wake_is_known_ = false;
  return timers_.cancel(timer);
}

void Host::post(liblock::Notice *notice) {
  notices_.push_back(notice);
  wants_turn_ = true;
}

void Host::run_on_loop(liblock::LoopTask &task) {
  inbox_.push(task);
  wants_turn_ = true;
}

liblock::ByteStream *Host::make_stream(liblock::ByteStream::Listener &listener) {
  wires_.push_back(std::make_shared<Wire>(*this, listener));
  return wires_.back().get();
}

Link &Host::link_to(const Node &node) {
  while (links_.size() < node.port()) links_.push_back(std::make_unique<Link>(*this));
  return *links_[node.port() - 1u];
}

void Host::turn() {
  show_time();  // a clock goes on, whoever does not
  if (paused_) return;
  bool is_busy = true;
  for (int rounds = 0; is_busy; ++rounds) {
    LIBLOCK_ASSERT(rounds < 100'000);  // a timer that arms itself for now, for ever
    is_busy = wants_turn_ = false;     // what a task asks for anew waits for the next turn
    inbox_.run_all();
    for (size_t i = 0; i < wires_.size(); ++i) is_busy |= wires_[i]->turn();  // more may come meanwhile
    if (liblock::Timer *timer = timers_.pop_due(now()); timer != nullptr) {
      is_busy = true;
      wake_is_known_ = false;
      timer->fire(now());
    }
    for (liblock::Notice *notice : std::exchange(notices_, {})) {
      is_busy = true;
      notice->deliver();
      notice->dispose();
    }
  }
  if (std::exchange(has_closed_wires_, false))
    std::erase_if(wires_, [](const std::shared_ptr<Wire> &wire) { return wire->is_closed(); });
}

void Host::go_on() {
  paused_ = false;
  if (std::exchange(is_asleep_, false)) behind_ += local() - asleep_since_;
  wants_turn_ = true;
  wake_is_known_ = false;
}

void Host::suspend() {
  paused_ = true;
  if (!std::exchange(is_asleep_, true)) asleep_since_ = local();
}

void Host::break_connections() {
  for (const auto &wire : wires_)
    wire->break_off(world_.random.up_to(1) == 0 ? liblock::kNever : world_.now() - 1);
}

void Host::mend() {
  cut_ = false;
  for (const auto &link : links_) link->resume();
}

void Host::kill() {
  for (const auto &wire : wires_) wire->orphan(world_.random.up_to(1) == 0);
  paused_ = cut_ = killed_ = true;
}

void Host::mend_if_alive() {
  go_on();
  if (!killed_) mend();
}

Host::~Host() {
  for (liblock::Notice *notice : notices_) notice->dispose();
}

}  // namespace liblock_test::sim
