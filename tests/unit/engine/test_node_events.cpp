// SPDX-License-Identifier: MIT
// What is told of the nodes of a quorum: by events and in the log, with the node's address.
#include <vector>

#include "../support/manual.hpp"
#include "../support/unit.hpp"
#include "engine/events.hpp"

using namespace liblock;

namespace {

struct Heard {
  int32_t kind, level;
  liblock_status status;
  std::string node, message;
  uint64_t count;
};

void on_event(const liblock_event *e, void *user_data) {
  const std::string node(static_cast<const char *>(e->node.data), e->node.size);
  static_cast<std::vector<Heard> *>(user_data)->push_back(
      {e->kind, 0, e->status, node, e->message, e->count});
}

void on_entry(const liblock_log_entry *e, void *user_data) {
  std::string node;
  for (size_t i = 0; i < e->field_count; ++i) {
    const liblock_log_field &field = e->fields[i];
    if (std::string_view(field.name) == "node")
      node.assign(static_cast<const char *>(field.text.data), field.text.size);
  }
  static_cast<std::vector<Heard> *>(user_data)->push_back({0, e->level, 0, node, e->message, 0});
}

struct Listening {
  Listening() {
    events.instruments()->events().listen(~uint64_t{0}, on_event, &heard, nullptr);
    events.instruments()->log().listen(LIBLOCK_LOG_DEBUG, on_entry, &written);
  }
  Events events{std::make_shared<unit::ManualRuntime>()};
  std::vector<Heard> heard, written;
};

}  // namespace

UNIT_TEST(an_event_of_a_node_has_its_address_and_the_reason) {
  Listening listening;
  listening.events.emit_node(LIBLOCK_EVENT_NODE_DOWN, Status::CONNECT, "no answer", "redis://a:6379/0");
  EXPECT(listening.heard.size() == 1);
  const Heard &heard = listening.heard[0];
  EXPECT(heard.kind == LIBLOCK_EVENT_NODE_DOWN && heard.status == LIBLOCK_CONNECT);
  EXPECT(heard.node == "redis://a:6379/0" && heard.message == "no answer" && heard.count == 0);
}

UNIT_TEST(an_event_of_the_whole_quorum_counts_its_nodes_and_names_none) {
  Listening listening;
  listening.events.emit_node(LIBLOCK_EVENT_CONFIGURED, Status::OK, "epoch 2", {}, 5);
  EXPECT(listening.heard.size() == 1);
  EXPECT(listening.heard[0].count == 5 && listening.heard[0].node.empty());
}

UNIT_TEST(the_log_warns_of_nodes_that_do_not_vote_and_informs_of_those_that_do_again) {
  Listening listening;
  const int32_t good[] = {LIBLOCK_EVENT_NODE_UP, LIBLOCK_EVENT_NODE_REJOINED, LIBLOCK_EVENT_CONFIGURED};
  const int32_t bad[] = {LIBLOCK_EVENT_NODE_DOWN, LIBLOCK_EVENT_NODE_QUARANTINED, LIBLOCK_EVENT_NODE_STEPPED,
                         LIBLOCK_EVENT_CLOCK_DERIVED};
  for (const int32_t kind : good) listening.events.emit_node(kind, Status::OK, "good", "redis://a:1/0");
  for (const int32_t kind : bad) listening.events.emit_node(kind, Status::OK, "bad", "redis://b:1/0");
  EXPECT(listening.written.size() == 7);
  for (size_t i = 0; i < 7; ++i) {
    const Heard &entry = listening.written[i];
    EXPECT(entry.level == (i < 3 ? LIBLOCK_LOG_INFO : LIBLOCK_LOG_WARNING));
    EXPECT(entry.node == (i < 3 ? "redis://a:1/0" : "redis://b:1/0"));
  }
}

UNIT_TEST(an_event_of_one_server_has_no_node) {
  Listening listening;
  listening.events.emit(LIBLOCK_EVENT_CONNECTED, Status::OK, "here", 7, 9);
  EXPECT(listening.heard.size() == 1 && listening.heard[0].node.empty());
}

UNIT_MAIN("node_events", cmocka_unit_test(an_event_of_a_node_has_its_address_and_the_reason),
          cmocka_unit_test(an_event_of_the_whole_quorum_counts_its_nodes_and_names_none),
          cmocka_unit_test(the_log_warns_of_nodes_that_do_not_vote_and_informs_of_those_that_do_again),
          cmocka_unit_test(an_event_of_one_server_has_no_node))
