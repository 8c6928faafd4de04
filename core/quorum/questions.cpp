// SPDX-License-Identifier: MIT
// What an instance asks its nodes when remote/asking.hpp hands a call on to it. Loop thread.
#include "quorum/by_value.hpp"
#include "quorum/changing.hpp"
#include "quorum/clearing.hpp"
#include "quorum/forcing.hpp"
#include "quorum/founding.hpp"
#include "quorum/handing_over.hpp"
#include "quorum/instance.hpp"
#include "quorum/reading.hpp"
#include "quorum/reconfiguring.hpp"
#include "quorum/verifying.hpp"
#include "quorum/walking.hpp"

namespace liblock::quorum {

void Instance::verify_leases(const std::vector<LeaseRef> &leases, AskDone done) {
  if (done == nullptr) return verifying_all.ask_now(leases);  // nobody else asks again
  verify(*this, leases, std::move(done));
}

void Instance::ping(AskDone done) { quorum::ping(*this, std::move(done)); }

void Instance::inspect(Bytes lock_key, Inspection &inspection) {
  quorum::inspect(*this, lock_key, inspection);
}

void Instance::inspect_in_detail(Bytes lock_key, bool with_waiters, Inspection &inspection) {
  quorum::inspect_in_detail(*this, lock_key, with_waiters, inspection);
}

void Instance::read(const Ask &ask, Inspection &inspection) { read_as_asked(*this, ask, inspection); }

void Instance::update_leases(const std::vector<LeaseRef> &leases, const std::string &value, AskDone done) {
  quorum::update_leases(*this, leases, value, std::move(done));
}

void Instance::start_other(Ask &ask, AskDone done) {
  switch (ask.what) {
    case Ask::What::QuorumInit:
      return found(*this, ask.flag, std::move(done));
    case Ask::What::SetNodes:
      return reconfigure(*this, ask.change, std::move(done));
    case Ask::What::List:
      return list_step(*this, ask, std::move(done));
    case Ask::What::ListInstances:
      return done(Status::UNSUPPORTED,
                  "on the nodes of a quorum nobody says that he lives; who is gone is seen by his locks: "
                  "liblock_list_each with zombies_only");
    case Ask::What::Clear:
      return clear(*this, ask, std::move(done));
    case Ask::What::Export: {
      passing_on.tell_now(holds.find(ask.lock)->parts.front().lock_key());
      const Status status = export_held(*this, ask);
      return done(status, ask.message);
    }
    case Ask::What::Adopt:
      return adopt_exported(*this, ask, std::move(done));
    case Ask::What::ForceRelease:
      return force_release(*this, ask, std::move(done));
    case Ask::What::ReleaseKey:
      return release_key(*this, ask, std::move(done));
    case Ask::What::ExtendKey:
      return extend_key(*this, ask, std::move(done));
    case Ask::What::UpdateKey:
      return update_key(*this, ask, std::move(done));
    default:
      return done(Status::UNSUPPORTED, "");
  }
}

}  // namespace liblock::quorum
