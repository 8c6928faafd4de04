// SPDX-License-Identifier: MIT
// Options by kind of context: what each defaults to, and what a quorum cannot do, with what to use instead.
#include "context/options.hpp"

#include "../support/unit.hpp"

using namespace liblock;

namespace {

ContextOptions opened(const ContextKind &kind, const liblock_context_options *given = nullptr) {
  ContextOptions read;
  std::string message;
  EXPECT(read_context_options(given, kind, read, message) == Status::OK);
  return read;
}

bool says(const std::string &message, const char *part) { return message.find(part) != std::string::npos; }

// What check and explanation say of an acquire over a quorum.
struct Checked {
  explicit Checked(const liblock_acquire_options &o, const ContextOptions &context = opened(kQuorumKind))
      : status(check_acquire_options(o, context)),
        message(status == Status::OK ? "" : explain_acquire_options(o, context)) {}
  Status status;
  std::string message;
};

liblock_acquire_options usual() { return default_acquire_options(); }

}  // namespace

UNIT_TEST(a_node_of_a_quorum_has_200_ms_for_an_answer_and_one_server_a_second) {
  EXPECT(opened(kQuorumKind).server.command_timeout_ms == 200);
  EXPECT(opened(kServerKind).server.command_timeout_ms == 1'000);
  EXPECT(opened(kQuorumKind).server.connect_timeout_ms == 1'000);
  liblock_context_options given = default_context_options();
  given.command_timeout_ms = 300;
  EXPECT(opened(kQuorumKind, &given).server.command_timeout_ms == 300);
}

UNIT_TEST(the_defaults_of_a_quorum) {
  const ContextOptions quorum = opened(kQuorumKind);
  EXPECT(quorum.table.prefix == "liblock:" && quorum.nodes.votes == 0);
  EXPECT(quorum.nodes.restart_policy == LIBLOCK_RESTART_QUARANTINE && quorum.nodes.clock_step_ms == 500);
  EXPECT(quorum.nodes.max_ttl_ms == 60'000);
}

UNIT_TEST(without_a_max_ttl_of_its_own_a_context_leaves_the_bound_to_its_quorum) {
  liblock_acquire_options o = usual();
  o.ttl_ms = 86'400'000;
  EXPECT(Checked(o).status == Status::OK);
  o.ttl_ms = 86'400'001;
  EXPECT(Checked(o).status == Status::INVALID_ARGUMENT);
  liblock_context_options given = default_context_options();
  given.max_ttl_ms = 90'000;
  const ContextOptions bounded = opened(kQuorumKind, &given);
  EXPECT(bounded.nodes.max_ttl_ms == 90'000);
  o.ttl_ms = 90'000;
  EXPECT(Checked(o, bounded).status == Status::OK);
  o.ttl_ms = 90'001;
  EXPECT(Checked(o, bounded).status == Status::INVALID_ARGUMENT);
}

UNIT_TEST(a_quorum_knows_fifo_and_any_and_says_where_the_others_are) {
  liblock_acquire_options o = usual();
  for (const int32_t order : {LIBLOCK_ORDER_FIFO, LIBLOCK_ORDER_ANY}) {
    o.order = order;
    EXPECT(Checked(o).status == Status::OK);
  }
  for (const int32_t order : {LIBLOCK_ORDER_LIFO, LIBLOCK_ORDER_PRIORITY}) {
    o.order = order;
    const Checked checked(o);
    EXPECT(checked.status == Status::UNSUPPORTED && says(checked.message, "one server"));
  }
  o.order = 4;
  EXPECT(Checked(o).status == Status::INVALID_ARGUMENT);
}

UNIT_TEST(a_quorum_has_no_lease_without_an_end) {
  liblock_acquire_options o = usual();
  o.ttl_ms = LIBLOCK_TTL_NONE;
  const Checked checked(o);
  EXPECT(checked.status == Status::UNSUPPORTED && says(checked.message, "LIBLOCK_TTL_AUTO"));
  EXPECT(says(explain_ttl(LIBLOCK_TTL_NONE, opened(kQuorumKind)), "LIBLOCK_TTL_AUTO"));
  EXPECT(Checked(o, opened(kServerKind)).status == Status::OK);
  o.ttl_ms = LIBLOCK_TTL_AUTO;
  EXPECT(Checked(o).status == Status::OK);
}

UNIT_TEST(a_quorum_waits_for_votes_and_not_for_replicas) {
  liblock_acquire_options o = usual();
  o.replicas = 1;
  const Checked checked(o);
  EXPECT(checked.status == Status::UNSUPPORTED && says(checked.message, "votes"));
}

UNIT_TEST(nodes_are_a_quorums_alone) {
  const char *const nodes[] = {"redis://a", "redis://b", "redis://c", "redis://d"};
  liblock_acquire_options o = usual();
  o.nodes = nodes;
  o.node_count = 4;
  EXPECT(Checked(o).status == Status::OK);
  EXPECT(Checked(o, opened(kServerKind)).status == Status::UNSUPPORTED);
  EXPECT(Checked(o, opened(kLocalKind)).status == Status::UNSUPPORTED);
  const char *const missing[] = {"redis://a", nullptr};
  o.nodes = missing;
  o.node_count = 2;
  EXPECT(Checked(o).status == Status::INVALID_ARGUMENT);
  o.node_count = 0;
  EXPECT(Checked(o).status == Status::INVALID_ARGUMENT);
  o.nodes = nullptr;
  o.node_count = 1;
  EXPECT(Checked(o).status == Status::INVALID_ARGUMENT);
}

UNIT_TEST(votes_of_a_lock_are_more_than_half_of_its_nodes) {
  const char *const nodes[] = {"redis://a", "redis://b", "redis://c", "redis://d"};
  liblock_acquire_options o = usual();
  o.nodes = nodes;
  o.node_count = 4;
  for (const int32_t votes : {0, LIBLOCK_VOTES_ALL, 3, 4}) {
    o.votes = votes;
    EXPECT(Checked(o).status == Status::OK);
  }
  for (const int32_t votes : {-2, 1, 2, 5}) {
    o.votes = votes;
    EXPECT(Checked(o).status == Status::INVALID_ARGUMENT);
  }
  o.nodes = nullptr;  // of all there are: the engine knows how many
  o.node_count = 0;
  for (int32_t votes = -1; votes <= 15; ++votes) {
    o.votes = votes;
    EXPECT(Checked(o).status == Status::OK);
  }
  o.votes = 16;
  EXPECT(Checked(o).status == Status::INVALID_ARGUMENT);
}

UNIT_TEST(one_server_and_a_local_context_are_one_vote) {
  liblock_acquire_options o = usual();
  for (const ContextKind &kind : {kLocalKind, kServerKind}) {
    for (const int32_t votes : {0, LIBLOCK_VOTES_ALL, 1}) {
      o.votes = votes;
      EXPECT(Checked(o, opened(kind)).status == Status::OK);
    }
    o.votes = 2;
    const Checked checked(o, opened(kind));
    EXPECT(checked.status == Status::INVALID_ARGUMENT && says(checked.message, "votes"));
  }
}

UNIT_TEST(what_an_acquire_says_of_votes_reaches_the_engine) {
  liblock_acquire_options o = usual();
  o.votes = 4;
  o.on_nodes_mismatch = LIBLOCK_NODES_MISMATCH_FAIL;
  const AcquireParams p = acquire_params(o, opened(kQuorumKind));
  EXPECT(p.votes == 4 && p.on_nodes_mismatch == LIBLOCK_NODES_MISMATCH_FAIL && p.nodes == nullptr);
}

UNIT_MAIN("options", cmocka_unit_test(a_node_of_a_quorum_has_200_ms_for_an_answer_and_one_server_a_second),
          cmocka_unit_test(the_defaults_of_a_quorum),
          cmocka_unit_test(without_a_max_ttl_of_its_own_a_context_leaves_the_bound_to_its_quorum),
          cmocka_unit_test(a_quorum_knows_fifo_and_any_and_says_where_the_others_are),
          cmocka_unit_test(a_quorum_has_no_lease_without_an_end),
          cmocka_unit_test(a_quorum_waits_for_votes_and_not_for_replicas),
          cmocka_unit_test(nodes_are_a_quorums_alone),
          cmocka_unit_test(votes_of_a_lock_are_more_than_half_of_its_nodes),
          cmocka_unit_test(one_server_and_a_local_context_are_one_vote),
          cmocka_unit_test(what_an_acquire_says_of_votes_reaches_the_engine))
