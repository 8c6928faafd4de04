// SPDX-License-Identifier: MIT
// The front of an instance over a quorum (remote/remote_passing_on.hpp). A lease that goes from hand to hand stays what
// it is on the nodes: the same attempt, reserved by a quorum until the same end. Whoever has it is alone as its first
// holder was, and loses it as he would have. Loop thread.
//
// Tokens. Each hand has a larger one, of a block that is reserved as raise.lua raises a token: a quorum of nodes whose
// votes count had the key under this attempt while they raised their registers, and the largest number they know, to
// the last of the block. A grant does so with its own token (acquire.lua; raise.lua where they differ), and each word
// who holds the key now (pass_on.lua), which gives the next block; none of it is given out before that quorum has
// answered. So nobody who is granted the key later gets a token that is not larger than all that were given out here:
//   - he counts a quorum, and one node n of it is among those that reserved. Where n granted it to him behind that, it
//     gave him more than its register; the largest of those he counts is his token.
//   - where n granted it to him before, n had lost his grant when it reserved, since it had this attempt then. It was
//     given up, or its lease had run out, by when he cannot count it; or n forgot it, and is silent for longer than
//     his lease lasts, so that it would not have counted as reserving.
//   - an n that forgets its register later does not vote before it has heard the largest number that others know, of
//     whom one reserved as well (recovery.hpp). A register that expires leaves that number in its place.
// And each hand is while the lease lasts, which is over when he is granted the key. Nodes that were brought in by
// another configuration are told that number as well, before they count alone.
//
// A register says for which attempt it was raised: where a node has lost the lock alone, its renewals may still write
// it anew. Whoever is granted the key there, or takes it away, writes another register.
#pragma once

#include "quorum/configuration.hpp"
#include "remote/remote_passing_on.hpp"

namespace liblock::quorum {

class Instance;

class PassingOn final : public RemotePassingOn {
 public:
  explicit PassingOn(Instance &instance);

 private:
  class HolderRound;
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

}  // namespace liblock::quorum
