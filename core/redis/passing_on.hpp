// SPDX-License-Identifier: MIT
// The front of an instance on one server (remote/remote_passing_on.hpp). Loop thread.
#pragma once

#include "remote/remote_passing_on.hpp"

namespace liblock {

class AcquireRequest;
class Instance;

class PassingOn final : public RemotePassingOn {
 public:
  explicit PassingOn(Instance &instance);

  // To the server it goes, with all that stand before it: who looks for deadlocks looks there.
  void send_until(AcquireRequest &request);

 private:
  class HolderCall;
  bool can_tell() const override;
  bool hears() const override;
  bool may_stand(FrontRequest &request) const override;
  void send_word(FrontLine &line, uint64_t tokens) override;
  void send(FrontRequest &request) override;
  void hand(FrontRequest &request, const LeaseRef &lease) override;
  void lose(const LeaseRef &lease) override;
  std::shared_ptr<RemotePassingOn> kept() override;

  Instance &instance_;
};

}  // namespace liblock
