// SPDX-License-Identifier: MIT
// See link.hpp.
#include "redis/link.hpp"

namespace liblock {

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
  if (info.role == "slave") return distrust(Status::READ_ONLY, "it is a read-only replica");
  if (info.time_us != 0) server_clock_.observe(info.time_us, clock_.now());
  const bool another = !run_id_.empty() && !info.run_id.empty() && info.run_id != run_id_;
  if (!info.run_id.empty()) run_id_ = info.run_id;
  user_.on_connected(info, another);
}

void Link::stop() {
  commands_.stop();
  messages_.stop();
  durable_.stop();
}

void Link::descriptors(std::function<void(int)> visit) const {
  for (const Connection *connection : {&commands_, &messages_, &durable_}) {
    if (const int fd = connection->descriptor(); fd >= 0) visit(fd);
  }
}

}  // namespace liblock
