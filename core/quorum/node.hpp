// SPDX-License-Identifier: MIT
// One server of a quorum: its link, what it says it is, and how far it is trusted. Loop thread.
//
//   state      meaning                                                        left by
//   Connecting nothing is known of it yet, or it is being reached again       an answer to hello; a failure
//   Down       it cannot be reached; it is tried again and again              a connection
//   Refused    it must not be part of this quorum: why() says it              the next connection
//   Waiting    it answers; which configuration it belongs to is not settled   Membership
//   Ready      it is asked                                                    the end of its connection; CONFIG
#pragma once

#include <memory>
#include <string>

#include "quorum/configuration.hpp"
#include "quorum/node_figures.hpp"
#include "redis/link.hpp"

namespace liblock::quorum {

class Instance;

constexpr int64_t kTokensEnd = int64_t{1} << 52;  // from there on, numbers of scripts are not exact

// What a node says of itself.
struct Hello {
  std::string who;  // empty: it has no mark
  Configuration configuration;
  int64_t silent_until_us = 0;  // by its clock
  bool needs_floor = false;
  uint64_t high = 0;
  uint64_t floor = 0;
  bool never_voted() const { return needs_floor && floor == 0; }  // since it has its mark
};

class Node final : private Link::User {
 public:
  enum class State : uint8_t { Connecting, Down, Refused, Waiting, Ready };

  Node(Instance &instance, size_t index, const ConnectionOptions &options);

  void start() { link.connect(); }
  void send(ServerCall &call) { link.send(call); }
  // An answer that carried its time, asked for and processed at these times.
  void observe(int64_t server_us, Nanos asked_at, Nanos now);
  // A vote of it that does not count; or an answer that it is another than was thought: no node until it has said it.
  void look_again();
  // There may be news of the others. Until it has said so it is what it was, for all who count on it meanwhile.
  void ask_anew();
  // It was told another one to be.
  void was_marked();
  // False: it was told so often what it is to be, and did not keep to it, that once more would be in vain.
  bool may_be_told() { return told_++ < kTellingsMost; }
  void set_ready(const std::string &node_id);
  void set_waiting() { state_ = State::Waiting; }
  // By the max_ttl that is known by now: where it jumped before the quorum has said what it is, that was not the
  // quorum's.
  Nanos stepped_until() const;
  // It will not do: its connection ends, and it is looked at anew later.
  void refuse(Status status, const std::string &why);

  NodeSet bit() const { return NodeSet{1} << index; }
  State state() const { return state_; }
  bool is_connected() const { return state_ == State::Ready || state_ == State::Waiting; }
  bool is_ready() const { return state_ == State::Ready; }
  // What it said last is being asked anew.
  bool is_asked() const { return is_asking_; }
  // It is connected, and its word what it is comes before the answer to what is sent now.
  bool is_saying() const { return state_ == State::Connecting && is_asking_; }
  // Whether more will be known of it soon.
  bool is_on_its_way() const {
    return state_ == State::Connecting || state_ == State::Waiting || (is_ready() && is_asking_);
  }
  // Its clock was seen to jump: it gives no vote for a new grant before that time of ours.
  bool is_stepped(Nanos now) const { return has_stepped_ && now < stepped_until(); }
  bool is_silent(Nanos now) const { return hello_.needs_floor || now < silent_until_; }
  Nanos silent_until() const { return silent_until_; }
  const Hello &hello() const { return hello_; }
  // The node that has its server by another name, when it was there last.
  const Node *same_as() const { return same_as_; }
  // Somebody may hold a lock by a vote of it: it was seen voting, or its mark went or may have gone since.
  bool may_have_voted() const { return may_have_voted_; }
  // Refused for what it is, such as another node's server or one of another quorum, and not for how it is set now: the
  // url may name another server than was meant.
  bool is_misnamed() const {
    return state_ == State::Refused && trouble_ == Status::INVALID_ARGUMENT && !evicts_;
  }
  const std::string &why() const { return why_; }
  Status trouble() const { return trouble_; }
  const std::string &boot() const { return boot_; }
  // What every mutating call says of it.
  const std::string &who() const { return who_; }
  void set_who(std::string who) {
    if (who != who_) ++who_changes_;
    who_ = std::move(who);
  }
  uint64_t who_changes() const { return who_changes_; }
  // Of its connection: what was sent on the same one is carried out in order.
  uint64_t generation() const { return generation_; }
  // In its time, when a request that is sent now must not be carried out any more.
  int64_t not_after(Nanos now, Nanos allowance) { return link.server_clock().not_after(now, allowance); }

  const size_t index;
  const ConnectionOptions options;
  const std::string address;
  std::string id;            // in the configuration; empty: it is not part of it
  uint32_t candidacies = 0;  // of changes under way that are to make it part of the next one
  // When this boot of it was first seen here, for the end of its silence.
  Nanos boot_seen_at = 0;
  const std::shared_ptr<NodeFigures> figures = std::make_shared<NodeFigures>();
  int64_t offset_us = 0;  // of its clock before ours
  Link link;

 private:
  class HelloCall;
  void on_connected(const ServerInfo &info, bool another) override;
  void on_disconnected(Status status, const std::string &text) override;
  void on_listening() override;
  void on_message(Bytes message) override;
  bool needs_server() override;
  bool needs_messages() override;
  std::string unfit(const ServerInfo &info) const;
  const Node *with_boot(const std::string &boot) const;
  void said(const Hello &hello, int64_t now_us);
  void remember_votes();

  Instance &instance_;
  State state_ = State::Connecting;
  std::string why_;
  Status trouble_ = Status::CONNECT;
  std::string boot_;
  std::string who_;
  uint64_t who_changes_ = 0;
  uint64_t generation_ = 0;
  Hello hello_;
  Nanos silent_until_ = 0;  // by our clock
  bool has_stepped_ = false;
  Nanos stepped_at_ = 0;  // the last time
  bool has_offset_ = false;
  Nanos offset_at_ = 0;
  bool is_asking_ = false;
  bool was_up_ = false;
  bool evicts_ = false;  // when it was connected last
  bool may_have_voted_ = false;
  const Node *same_as_ = nullptr;                  // nodes stay for as long as their instance
  std::string marked_boot_;                        // under which it had a mark last
  static constexpr uint32_t kRefusalsCounted = 4;  // a few hundred ms between two looks
  uint32_t refusals_ = 0;                          // since it was ready last
  static constexpr uint32_t kTellingsMost = 32;    // others that tell it something else at the same time are few
  uint32_t told_ = 0;                              // what it is to be, since it was connected or ready last
};

}  // namespace liblock::quorum
