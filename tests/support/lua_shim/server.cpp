// SPDX-License-Identifier: MIT
// The public face: calls are handed to the dispatcher.
#include "server.hpp"

#include "internals.hpp"
#include "sha1.hpp"

namespace liblock_test::lua_shim {

namespace {

Reply evaluate(Internals &in, const Evaluation &evaluation) {
  const std::string_view words[] = {evaluation.by_sha1 ? "evalsha" : "eval"};
  Reply refused = refusal(in.server, find_command(words)->flags | in.interpreter.declared_flags(evaluation));
  return refused.is_error() ? refused : in.interpreter.run(evaluation);
}

}  // namespace

void Internals::begin_run() { run_id = sha1_hex(name + "/" + std::to_string(starts++)); }

Server::Server(const int64_t *clock_us, std::string_view name)
    : internals_(std::make_unique<Internals>(*this, clock_us, name)) {
  internals_->begin_run();
}

Server::~Server() = default;

Reply Server::command(const Args &argv) { return dispatch(*internals_, argv); }

Reply Server::eval(std::string_view body, const Args &keys, const Args &args) {
  return evaluate(*internals_, {body, false, false, keys, args});
}

Reply Server::evalsha(std::string_view sha1, const Args &keys, const Args &args) {
  return evaluate(*internals_, {sha1, true, false, keys, args});
}

void Server::wipe() {
  internals_->data.clear();
  restart();
}

void Server::restart() {
  internals_->interpreter.restart();
  internals_->begin_run();
}

Server::Snapshot Server::save() const { return std::make_shared<const Dataset>(internals_->data); }

void Server::load(const Snapshot &snapshot) { internals_->data.take_keys_of(*snapshot); }

const std::string &Server::run_id() const { return internals_->run_id; }

}  // namespace liblock_test::lua_shim
