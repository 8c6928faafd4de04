// SPDX-License-Identifier: MIT
// See link.hpp.
#include "redis/link.hpp"

#include <algorithm>
#include <utility>

namespace liblock {

namespace {

constexpr uint32_t kRefusalsCounted = 4;  // a few hundred ms between two tries
constexpr char kReplica[] = "it is a read-only replica";
constexpr char kAnother[] = "it is another server than the one for commands";

}  // namespace

class Link::RoleCheck final : public Command {
 public:
  explicit RoleCheck(Link &link) : link_(link) { link_.is_checking_role_ = true; }
  void encode(std::string &wire) const override { encode_words(wire, {"INFO", "replication"}); }
  void replied(const Reply &reply) override {
    link_.is_checking_role_ = false;
    const bool is_replica = reply.is(Reply::Kind::Text) && reply.text.find("role:slave") != Bytes::npos;
    Link &link = link_;
    delete this;
    if (is_replica) link.distrust(Status::READ_ONLY, kReplica);
  }
  void failed(const Failure &) override {
    link_.is_checking_role_ = false;
    delete this;
  }

 private:
  ~RoleCheck() override = default;
  Link &link_;
};

void ServerCall::replied(const Reply &reply) {
  if (!reply.is(Reply::Kind::Error)) {
    if (fits(reply)) return answered(reply);
    Connection &on = *on_;
    const std::string what = "an answer that no script of ours gives";
    failed({Status::PROTOCOL, true, what, false});
    return on.drop(Status::PROTOCOL, what);
  }
  const ServerError error = classify_error(reply.text);
  if (error.no_script && !has_body()) {
    use_body();
    on_->send(*this);
    return;
  }
  Connection &on = *on_;
  const std::string text = explained(reply.text);
  Failure failure{error.status, false, text};
  failure.passes = error.passes;
  failed(failure);  // may be the end of this call
  if (error.wrong_server) on.drop(error.status, text);
}

Link::Link(Runtime &runtime, const Clock &clock, Random &random, const ConnectionOptions &options,
           const std::string &channel, User &user)
    : clock_(clock),
      user_(user),
      commands_(runtime, clock, random, options, {}, commands_user_),
      messages_(runtime, clock, random, options, channel, messages_user_),
      durable_(runtime, clock, random, options, {}, durable_user_) {}

void Link::send_on(Connection &connection, ServerCall &call) {
  call.on_ = &connection;
  connection.send(call);
}

void Link::look_at_error(Bytes text) {
  const ServerError error = classify_error(text);
  if (error.wrong_server) distrust(error.status, explained(text));
}

void Link::commands_ready(const ServerInfo &info) {
  if (info.role == "slave") return refuse(commands_, commands_server_, Status::READ_ONLY, kReplica);
  commands_server_.refusals = 0;
  if (info.time_us != 0) server_clock_.observe(info.time_us, clock_.now());
  // As a replica it may have taken over the data of another one.
  const bool was_replica = std::exchange(was_replica_, false);
  bool another = (was_replica && has_served_) || is_another(info.run_id);
  has_served_ = true;
  if (!info.run_id.empty()) commands_server_.run_id = info.run_id;
  // First, so that whoever asks on this one does not count on words from there; and what came over those is verified.
  if (messages_.ready() && is_another(messages_server_.run_id)) {
    another = true;
    refuse(messages_, messages_server_, Status::CONNECT, kAnother);
  }
  if (durable_.ready() && is_another(durable_server_.run_id)) {
    another = true;
    refuse(durable_, durable_server_, Status::CONNECT, kAnother);
  }
  user_.on_connected(info, another);
}

void Link::messages_ready(const ServerInfo &info) {
  if (!is_of_our_server(messages_, messages_server_, info)) return;
  ++subscriptions_;
  user_.on_listening();
}

bool Link::is_of_our_server(Connection &connection, Server &server, const ServerInfo &info) {
  server.run_id = info.run_id;
  const bool is_replica = info.role == "slave";
  if (is_replica || (commands_.ready() && is_another(server.run_id))) {
    refuse(connection, server, is_replica ? Status::READ_ONLY : Status::CONNECT, is_replica ? kReplica : kAnother);
    if (!is_replica) check_role();
    return false;
  }
  server.refusals = 0;
  return true;
}

void Link::check_role() {
  if (!is_checking_role_) commands_.send(*new RoleCheck(*this));
}

bool Link::is_another(const std::string &run_id) const {
  return !commands_server_.run_id.empty() && !run_id.empty() && run_id != commands_server_.run_id;
}

void Link::refuse(Connection &connection, Server &server, Status status, const std::string &why) {
  connection.drop(status, why, std::min(server.refusals++, kRefusalsCounted));
}

void Link::stop() {
  commands_.stop();
  messages_.stop();
  durable_.stop();
}

}  // namespace liblock
