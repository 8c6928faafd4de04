// SPDX-License-Identifier: MIT
// See quorum_engine.hpp.
#include "quorum/quorum_engine.hpp"

#include <utility>

#include "base/parking.hpp"
#include "engine/event_queue.hpp"
#include "quorum/instance.hpp"
#include "remote/remote_engine.hpp"

namespace liblock {

namespace {

class QuorumEngine final : public EngineOf<quorum::Request> {
 public:
  QuorumEngine(const std::shared_ptr<quorum::Instance> &instance, const void *context)
      : EngineOf(instance, context), quorum_(instance) {}

  // Waits until it is known of every node how it is; the connections' time-outs are its bound.
  Status begin(bool may_wait, std::string &message) override {
    if (!may_wait) {
      run_once(*quorum_->runtime, [instance = quorum_] { instance->start(); });
      return Status::OK;
    }
    struct Opened {
      Parking parking;
      Status status = Status::OK;
      std::string text;
    } opened;
    const auto end = [&opened](Status status, const std::string &text) {
      opened.status = status;
      opened.text = text;
      opened.parking.unpark();
    };
    run_once(*quorum_->runtime, [instance = quorum_, end] {
      instance->start();
      instance->when_opened(end);
    });
    while (!opened.parking.park()) {}
    message = std::move(opened.text);
    return opened.status;
  }
  Status quorum_status(Ask &ask) override {
    ask.quorum = quorum_->board.view(quorum_->clock.now(), ask.message);
    return Status::OK;
  }

 private:
  const std::shared_ptr<quorum::Instance> quorum_;
};

}  // namespace

std::unique_ptr<Engine> make_quorum_engine(std::shared_ptr<Runtime> runtime, QuorumOptions options,
                                           const std::string &instance_id, const void *context) {
  const auto instance =
      std::make_shared<quorum::Instance>(std::move(runtime), std::move(options), instance_id,
                                         Clock::suspend_aware(), Random().next(), wall_clock_us);
  return std::make_unique<QuorumEngine>(instance, context);
}

}  // namespace liblock
