// SPDX-License-Identifier: MIT
// The servers of a quorum as they are written: what is read, what is refused, and that no message shows a secret.
#include "quorum/node_list.hpp"

#include "../support/unit.hpp"

using namespace liblock;

namespace {

struct Read {
  explicit Read(Bytes text, std::vector<Bytes> observed_by = {}) {
    ConnectionDefaults defaults;
    defaults.user = "me";
    defaults.name = "name";
    defaults.command_timeout = 200 * kMillisecond;
    status = read_nodes(split_servers(text), observed_by, defaults, nodes, observers, message);
  }
  Status status = Status::INTERNAL;
  std::vector<ConnectionOptions> nodes, observers;
  std::string message;
};

bool says(const std::string &message, const char *part) { return message.find(part) != std::string::npos; }

}  // namespace

UNIT_TEST(servers_are_read_in_their_order_with_what_they_have_in_common) {
  const Read read("redis://b:1/2,unix:///run/a.sock?db=3,redis://[::1]", {"redis://c"});
  EXPECT(read.status == Status::OK && read.message.empty());
  EXPECT(read.nodes.size() == 3 && read.observers.size() == 1);
  EXPECT(read.nodes[0].address.redacted() == "redis://b:1/2");
  EXPECT(read.nodes[1].address.redacted() == "unix:///run/a.sock?db=3");
  EXPECT(read.nodes[2].address.redacted() == "redis://[::1]:6379/0");
  EXPECT(read.observers[0].address.redacted() == "redis://c:6379/0");
  for (const ConnectionOptions &node : read.nodes)
    EXPECT(node.address.user == "me" && node.name == "name" && node.command_timeout == 200 * kMillisecond);
}

UNIT_TEST(a_comma_within_a_url_is_written_with_a_percent_sign) {
  const Read read("redis://u:a%2Cb@x,unix:///a%2Cb");
  EXPECT(read.status == Status::OK);
  EXPECT(read.nodes[0].address.password.reveal() == "a,b");
  EXPECT(read.nodes[1].address.target.path == "/a,b");
}

UNIT_TEST(one_server_twice_is_refused_however_it_is_written) {
  for (const Bytes twice : {"redis://a,redis://b,redis://a:6379", "redis://a/0,redis://a/1",
                            "redis://a,redis://A", "redis://u:p@a,redis://a", "unix:///s,unix:///s?db=1"}) {
    const Read read(twice);
    EXPECT(read.status == Status::INVALID_ARGUMENT && says(read.message, "are the same: "));
  }
  EXPECT(Read("redis://a:1,redis://a:2").status == Status::OK);
  const Read observed("redis://a,redis://b", {"redis://c", "redis://b"});
  EXPECT(observed.status == Status::INVALID_ARGUMENT &&
         says(observed.message, "server 2 and observer 2 are"));
}

UNIT_TEST(what_is_no_url_is_refused_by_its_number_and_not_quoted) {
  const Bytes wrong[] = {"",
                         "redis://a,",
                         "redis://a,redis://secret b",
                         "redis://a,\tredis://secret",
                         "redis://a,secret",
                         "redis://a,redis://user:secret,more@b",
                         "redis://a,redis://secret:0",
                         "redis://a,local:secret",
                         "redis://a,quorum:redis://secret"};
  for (const Bytes text : wrong) {
    const Read read(text);
    EXPECT(read.status == Status::INVALID_ARGUMENT && says(read.message, "server "));
    EXPECT(!says(read.message, "secret") && !says(read.message, "more"));
  }
  EXPECT(says(Read("redis://a,redis://b,c").message, "server 3 begins with none of"));
}

UNIT_TEST(there_are_1_to_15_servers_and_at_most_15_observers) {
  std::string text = "redis://0";
  for (int i = 1; i < 15; ++i) text += ",redis://" + std::to_string(i);
  EXPECT(Read(text).status == Status::OK);
  EXPECT(Read(text + ",redis://15").status == Status::INVALID_ARGUMENT);
  std::vector<std::string> kept;
  for (int i = 0; i < 16; ++i) kept.push_back("redis://z" + std::to_string(i));
  std::vector<Bytes> observers(kept.begin(), kept.end() - 1);
  EXPECT(Read("redis://a", observers).status == Status::OK);
  observers.push_back(kept.back());
  EXPECT(Read("redis://a", observers).status == Status::INVALID_ARGUMENT);
}

UNIT_TEST(votes_are_more_than_half_and_at_most_all) {
  std::string message;
  for (size_t nodes = 1; nodes <= kNodesMax; ++nodes) {
    for (int32_t votes = -3; votes <= 17; ++votes) {
      const bool is_enough =
          votes > 0 && static_cast<size_t>(votes) <= nodes && static_cast<size_t>(votes) * 2 > nodes;
      const bool is_valid = is_enough || votes == 0 || votes == LIBLOCK_VOTES_ALL;
      EXPECT(votes_are_valid(votes, nodes) == is_valid);
      EXPECT((check_votes(votes, nodes, message) == Status::OK) == is_valid);
      if (!is_valid) continue;
      const uint32_t needed = votes_needed(votes, nodes);
      EXPECT(needed * 2 > nodes && needed <= nodes);
    }
    EXPECT(votes_needed(0, nodes) == nodes / 2 + 1 && votes_needed(LIBLOCK_VOTES_ALL, nodes) == nodes);
  }
  EXPECT(check_votes(2, 4, message) == Status::INVALID_ARGUMENT);
  EXPECT(message == "votes is 2; of 4 servers use 3 to 4, LIBLOCK_VOTES_ALL, or 0 for a majority");
}

UNIT_TEST(a_node_is_named_by_its_address_without_credentials_or_by_its_id) {
  std::string name, message;
  EXPECT(read_node_name("redis://me:secret@a", name, message) && name == "redis://a:6379/0");
  EXPECT(read_node_name("unix:///s", name, message) && name == "unix:///s?db=0");
  EXPECT(read_node_name("0123456789abcdef", name, message) && name == "0123456789abcdef");
  EXPECT(read_node_name(std::string(64, 'a'), name, message));
  const std::string too_long(65, 'a');
  for (const Bytes wrong : {Bytes(), Bytes("a b"), Bytes("a\n"), Bytes(too_long), Bytes("redis://secret:0"),
                            Bytes("local://secret"), Bytes("redis://a,redis://secret")}) {
    message.clear();
    EXPECT(!read_node_name(wrong, name, message) && !message.empty() && !says(message, "secret"));
  }
}

UNIT_MAIN("node_list", cmocka_unit_test(servers_are_read_in_their_order_with_what_they_have_in_common),
          cmocka_unit_test(a_comma_within_a_url_is_written_with_a_percent_sign),
          cmocka_unit_test(one_server_twice_is_refused_however_it_is_written),
          cmocka_unit_test(what_is_no_url_is_refused_by_its_number_and_not_quoted),
          cmocka_unit_test(there_are_1_to_15_servers_and_at_most_15_observers),
          cmocka_unit_test(votes_are_more_than_half_and_at_most_all),
          cmocka_unit_test(a_node_is_named_by_its_address_without_credentials_or_by_its_id))
