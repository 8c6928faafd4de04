// SPDX-License-Identifier: MIT
// What only a quorum has: its making, its nodes, and reads that name one of them.
#include "quorum/node_list.hpp"

#include "async.hpp"
#include "refusals.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

constexpr char kNoQuorum[] = "this context is no quorum; open \"quorum:URL,URL,URL\"";

// After all else was found in order.
Status must_be_quorum(const liblock_context *context, std::string &message) {
  if (context->rep->options().kind.is_quorum) return Status::OK;
  message = kNoQuorum;
  return Status::UNSUPPORTED;
}

Status fill_init(const liblock_context *context, int32_t flags, Ask &ask, std::string &message) {
  if (const Status status = usable(context, message); status != Status::OK) return status;
  if ((flags & ~LIBLOCK_QUORUM_INIT_FORCE) != 0) {
    return refused(message, "flags must be 0 or LIBLOCK_QUORUM_INIT_FORCE");
  }
  ask.what = Ask::What::QuorumInit;
  ask.flag = (flags & LIBLOCK_QUORUM_INIT_FORCE) != 0;
  return must_be_quorum(context, message);
}

struct NodeArrays {
  const char *const *servers;
  size_t server_count;
  const char *const *observers;
  size_t observer_count;
  int32_t votes;
};

bool read_texts(const char *const *texts, size_t count, std::vector<Bytes> &read) {
  if ((texts == nullptr) != (count == 0) || count > kNodesMax) return false;
  for (size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) return false;
    read.emplace_back(texts[i]);
  }
  return true;
}

Status check_change(const NodeArrays &given, const std::vector<Bytes> &servers,
                    const std::vector<Bytes> &observers, std::string &message) {
  if (!servers.empty()) {
    const Status status = check_nodes(servers, observers, message);
    return status == Status::OK ? check_votes(given.votes, servers.size(), message) : status;
  }
  if (!observers.empty()) {
    return refused(message, "observers need servers: both are named anew, or neither");
  }
  if (given.votes >= LIBLOCK_VOTES_ALL && given.votes <= static_cast<int32_t>(kNodesMax)) return Status::OK;
  return refused(message, "votes must be 1 to 15, LIBLOCK_VOTES_ALL, or 0 for a majority");
}

Status fill_change(const liblock_context *context, const NodeArrays &given, Ask &ask, std::string &message) {
  if (const Status status = usable(context, message); status != Status::OK) return status;
  std::vector<Bytes> servers, observers;
  if (!read_texts(given.servers, given.server_count, servers) ||
      !read_texts(given.observers, given.observer_count, observers)) {
    return refused(message, "a list of servers or observers is NULL, empty, or longer than 15");
  }
  if (const Status status = check_change(given, servers, observers, message); status != Status::OK)
    return status;
  ask.what = Ask::What::SetNodes;
  ask.change.keeps_nodes = servers.empty();
  ask.change.votes = given.votes;
  ask.change.servers.assign(servers.begin(), servers.end());
  ask.change.observers.assign(observers.begin(), observers.end());
  return must_be_quorum(context, message);
}

// node: as the caller names one; NULL: none.
Status fill_node(const liblock_context *context, const char *node, Ask &ask, std::string &message) {
  if (node == nullptr) return Status::OK;
  return read_node_name(node, ask.node, message) ? must_be_quorum(context, message)
                                                 : Status::INVALID_ARGUMENT;
}

Status fill_read(const liblock_context *context, Bytes key, int32_t mode, const char *node, Ask &ask,
                 std::string &message) {
  if (const Status status = usable(context, message); status != Status::OK) return status;
  if (const char *why = wrong_key(key.data(), key.size())) return refused(message, why);
  if (mode < LIBLOCK_READ_NEAREST || mode > LIBLOCK_READ_QUORUM ||
      (mode == LIBLOCK_READ_QUORUM && node != nullptr)) {
    return refused(message, "mode must be LIBLOCK_READ_NEAREST, _MASTER or _QUORUM, and node NULL for the last");
  }
  ask.what = Ask::What::Read;
  ask.keys.emplace_back(key);
  ask.from = static_cast<Ask::From>(mode);
  if (const Status status = fill_node(context, node, ask, message); status != Status::OK) return status;
  if (context->rep->engine().talks_to_server()) return Status::OK;
  message = "a local context has no server to read from; use liblock_inspect";
  return Status::UNSUPPORTED;
}

Status fill_wait_held(const liblock_context *context, Bytes key, const char *node, int64_t wait_ms, Ask &ask,
                      std::string &message) {
  if (const Status status = usable(context, message); status != Status::OK) return status;
  if (const char *why = wrong_key(key.data(), key.size())) return refused(message, why);
  if (!read_wait(wait_ms, ask.wait)) return refused(message, kWrongWait);
  ask.what = Ask::What::WaitHeld;
  ask.keys.emplace_back(key);
  ask.flag = true;
  return fill_node(context, node, ask, message);
}

// The info that an ask brought, for the caller.
void hand_out(Ask &ask, liblock_info **info) {
  if (info != nullptr && !ask.infos.empty()) *info = new liblock_info{std::move(ask.infos.front())};
}

liblock_node shown(const NodeView &view) {
  liblock_node node{};
  node.struct_size = sizeof node;
  node.address = {view.address.data(), view.address.size()};
  node.id = {view.id.data(), view.id.size()};
  node.why = {view.why.data(), view.why.size()};
  node.quarantine_left_ms = view.quarantine_left_ms;
  node.round_trip_us = view.round_trip_us;
  node.clock_offset_ms = view.clock_offset_ms;
  node.lag_ms = view.lag_ms;
  node.state = view.state;
  node.is_observer = view.is_observer;
  return node;
}

template <size_t size>
void copy_into(char (&field)[size], const std::string &text) {
  static_cast<void>(copy_text(text, field, size, nullptr));
}

liblock_quorum_state sum_of(const QuorumView &view) {
  liblock_quorum_state sum{};
  sum.epoch = view.epoch;
  sum.max_ttl_ms = view.max_ttl_ms;
  copy_into(sum.cluster_id, view.cluster_id);
  copy_into(sum.config_hash, view.config_hash);
  sum.votes = view.votes;
  sum.configuring = view.is_configuring;
  for (const NodeView &node : view.nodes) {
    sum.observers += node.is_observer;
    if (node.is_observer || node.is_in_vain) continue;
    ++sum.nodes;
    const bool is_down = node.state == LIBLOCK_NODE_DOWN, is_refused = node.state == LIBLOCK_NODE_REFUSED;
    sum.up += !is_down;
    sum.voting += node.state == LIBLOCK_NODE_UP && view.why_none_counts.empty();
    sum.quarantined += !is_down && !is_refused && node.state != LIBLOCK_NODE_UP;
  }
  return sum;
}

}  // namespace

liblock_status liblock_quorum_init(liblock_context *context, int32_t flags, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    WaitedAsk ask(Ask::What::QuorumInit);
    const Status status = fill_init(context, flags, ask, outcome.message);
    return status == Status::OK ? context->rep->ask(ask, true, outcome) : status;
  });
}
liblock_status liblock_quorum_init_async(liblock_context *context, int32_t flags,
                                         liblock_completions *completions, liblock_callback callback,
                                         void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    std::string ignored;
    return fill_init(context, flags, ask, ignored);
  });
}

liblock_status liblock_quorum_set_nodes(liblock_context *context, const char *const *servers,
                                        size_t server_count, const char *const *observers,
                                        size_t observer_count, int32_t votes, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    WaitedAsk ask(Ask::What::SetNodes);
    const NodeArrays given{servers, server_count, observers, observer_count, votes};
    const Status status = fill_change(context, given, ask, outcome.message);
    return status == Status::OK ? context->rep->ask(ask, true, outcome) : status;
  });
}
liblock_status liblock_quorum_set_nodes_async(liblock_context *context, const char *const *servers,
                                              size_t server_count, const char *const *observers,
                                              size_t observer_count, int32_t votes,
                                              liblock_completions *completions, liblock_callback callback,
                                              void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    std::string ignored;
    return fill_change(context, {servers, server_count, observers, observer_count, votes}, ask, ignored);
  });
}

void liblock_quorum_state_init(liblock_quorum_state *state, size_t struct_size) {
  init_struct(state, struct_size, liblock_quorum_state{});
}

liblock_status liblock_quorum_status(liblock_context *context, liblock_quorum_state *state,
                                     liblock_node_callback callback, void *user_data,
                                     liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    if (state != nullptr && (state->struct_size < sizeof(size_t) || state->struct_size > 65'536))
      return refused(outcome, "state.struct_size is not set: its init function sets it");
    if (const Status status = must_be_quorum(context, outcome.message); status != Status::OK) return status;
    WaitedAsk ask(Ask::What::QuorumStatus);
    if (const Status status = context->rep->ask(ask, false, outcome); status != Status::OK) return status;
    if (ask.quorum == nullptr) return Status::INTERNAL;
    outcome.notice = ask.message;
    if (state != nullptr) init_struct(state, state->struct_size, sum_of(*ask.quorum));
    if (callback == nullptr) return Status::OK;
    for (const NodeView &view : ask.quorum->nodes) {
      const liblock_node node = shown(view);
      if (callback(&node, user_data) != 0) break;
    }
    return Status::OK;
  });
}

liblock_status liblock_read(liblock_context *context, const void *key, size_t key_size, int32_t mode,
                            const char *node, liblock_info **info, liblock_result *result) {
  if (info != nullptr) *info = nullptr;
  return guarded_result(result, [&](Outcome &outcome) {
    if (const char *why = wrong_place(info)) return refused(outcome, why);
    WaitedAsk ask(Ask::What::Read);
    Status status = fill_read(context, bytes(key, key_size), mode, node, ask, outcome.message);
    if (status == Status::OK) status = context->rep->ask(ask, false, outcome);
    if (status == Status::OK) hand_out(ask, info);
    return status;
  });
}
liblock_status liblock_read_async(liblock_context *context, const void *key, size_t key_size, int32_t mode,
                                  const char *node, liblock_completions *completions,
                                  liblock_callback callback, void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    std::string ignored;
    return fill_read(context, bytes(key, key_size), mode, node, ask, ignored);
  });
}

liblock_status liblock_wait_held_on(liblock_context *context, const void *key, size_t key_size,
                                    const char *node, int64_t wait_ms, liblock_info **info,
                                    liblock_result *result) {
  if (info != nullptr) *info = nullptr;
  return guarded_result(result, [&](Outcome &outcome) {
    WaitedAsk ask(Ask::What::WaitHeld);
    Status status = fill_wait_held(context, bytes(key, key_size), node, wait_ms, ask, outcome.message);
    if (status == Status::OK) status = context->rep->ask(ask, ask.wait != 0, outcome);
    if (status == Status::OK) hand_out(ask, info);
    if (status == Status::TIMEOUT && outcome.message.empty()) outcome.message = "nobody holds the key yet";
    return status;
  });
}
liblock_status liblock_wait_held_on_async(liblock_context *context, const void *key, size_t key_size,
                                          const char *node, int64_t wait_ms, liblock_completions *completions,
                                          liblock_callback callback, void *user_data,
                                          liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    std::string ignored;
    return fill_wait_held(context, bytes(key, key_size), node, wait_ms, ask, ignored);
  });
}
