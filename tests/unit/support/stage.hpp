// SPDX-License-Identifier: MIT
// A world with an owner without a name and the requests that a test makes, which it lets go of at its end.
#pragma once

#include "manual.hpp"
#include "unit.hpp"

namespace unit {

struct Stage {
  World world;
  std::shared_ptr<liblock::LocalOwner> nobody = world.owner("");
  std::vector<Request *> requests;

  explicit Stage(const liblock::TableOptions &options = World::no_deadlock_search()) : world(options) {}
  Stage(const Stage &) = delete;
  Stage &operator=(const Stage &) = delete;
  ~Stage() {
    for (Request *request : requests) request->unpin();
  }
  liblock::LockTable &table() { return *world.table; }
  Request *ask(liblock::LocalOwner &who, std::vector<liblock::Bytes> keys,
               const liblock::AcquireParams &params = {}) {
    requests.push_back(world.ask(who, std::move(keys), params));
    return requests.back();
  }
  Request *ask(std::vector<liblock::Bytes> keys, const liblock::AcquireParams &params = {}) {
    return ask(*nobody, std::move(keys), params);
  }
  liblock::Handle take(std::vector<liblock::Bytes> keys, const liblock::AcquireParams &params = {}) {
    Request *request = ask(std::move(keys), params);
    EXPECT(request->done && request->grant.status == liblock::Status::OK);
    return request->grant.handle;
  }
  liblock::Status release(liblock::Handle h) { return table().release(*nobody, h); }
  // Of a request that was granted.
  void end(Request *request) {
    EXPECT(request->done && request->grant.status == liblock::Status::OK);
    EXPECT(release(request->grant.handle) == liblock::Status::OK);
  }
};

}  // namespace unit
