// SPDX-License-Identifier: MIT
// What a keeper asks the server about leases: calls for several leases each, whose arguments are written when they
// are sent, since other keys of a lease may be given back until then, and since changes are numbered in the order of
// sending. Loop thread.
#pragma once

#include "redis/keeper.hpp"

namespace liblock {

class Keeper::Call : public ServerCall {
 public:
  void failed(const Failure &failure) override;

 protected:
  struct Item {
    LeaseRef lease;
    uint32_t change = 0;
    LockKeys keys;  // that were held when it was sent
    // As they were before, where the call sets them.
    Nanos ttl_before = kNever, ends_before = kNever;
    bool renews_before = false;
  };
  Call(Keeper &keeper, const std::vector<LeaseRef> &leases, AskDone done);

  void put_keys();
  void put_ids(Bytes head);
  size_t count_keys() const;
  // The next number, of all of them.
  void take_number();
  // From there on an answer has a lease for each key.
  bool has_leases(const Reply &reply, size_t from) const;
  // Of the keys of one lease in an answer: -3 when one is not held any more, else the least, -1 = no expiry.
  static int64_t worst_of(const Reply &reply, const Item &item, size_t &at);
  void end(Status status, const std::string &why);

  Keeper &keeper_;
  const AskDone done_;
  SpareVector<Item> items_;
  uint32_t change_ = 0;
};

// Sets ends anew, or renews.
class Keeper::ExtendCall final : public Call {
 public:
  ExtendCall(Keeper &keeper, const std::vector<LeaseRef> &leases, const Extension *extension, AskDone done);
  void sending(Nanos now) override;
  bool fits(const Reply &reply) const override;
  void answered(const Reply &reply) override;
  void failed(const Failure &failure) override;

 private:
  Nanos ttl(Nanos now) const;
  void take_effect(Item &item);
  void refused(const Item &item);
  void owe(Lease &lease) const;
  void owe_again(Lease &lease) const;

  const bool by_renewal_;
  const Extension extension_;
  // Of a renewal: as all of its leases had it when they were put together. Until it is sent one may get another.
  const Nanos ttl_of_all_, hold_until_of_all_;
  const Nanos asked_at_;
  Nanos sent_at_ = 0;
  bool was_sent_ = false;
};

class Keeper::VerifyCall final : public Call {
 public:
  VerifyCall(Keeper &keeper, const std::vector<LeaseRef> &leases, AskDone done)
      : Call(keeper, leases, std::move(done)) {}
  void sending(Nanos now) override;
  bool fits(const Reply &reply) const override;
  void answered(const Reply &reply) override;
  void failed(const Failure &failure) override;

 private:
  Nanos sent_at_ = 0;
};

class Keeper::UpdateCall final : public Call {
 public:
  UpdateCall(Keeper &keeper, const std::vector<LeaseRef> &leases, std::string value, AskDone done)
      : Call(keeper, leases, std::move(done)), value_(std::move(value)) {}
  void sending(Nanos now) override;
  bool fits(const Reply &reply) const override;
  void answered(const Reply &reply) override;

 private:
  const std::string value_;
};

}  // namespace liblock
