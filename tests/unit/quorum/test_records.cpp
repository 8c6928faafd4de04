// SPDX-License-Identifier: MIT
// What nodes keep of locks and of their configuration, as bytes: what is written is read again, and what somebody else
// has bent is refused, field by field.
#include "../support/unit.hpp"
#include "quorum/configuration.hpp"
#include "quorum/node_record.hpp"

using namespace liblock;
using quorum::Configuration;
using Identity = Configuration::Identity;
using quorum::KeySeen;
using quorum::NodeRecord;

namespace {

const std::string kId(32, 'a');
const std::string kHead = "ll1|" + kId + "|00000001|7|owner|instance|";
const std::string kCluster(32, 'c');

bool is_record(const std::string &text) {
  NodeRecord record;
  return quorum::parse_node_record(text, record);
}
bool has_grant(const std::string &grant) { return is_record(kHead + grant + "|"); }

// Its fields from the epoch on.
bool is_configuration(const std::string &fields, Configuration *read = nullptr) {
  Configuration here;
  return Configuration::parse("ll1c|" + kCluster + "|" + fields, read == nullptr ? here : *read);
}

Reply text(Bytes of) { return {Reply::Kind::Text, 0, of, {}}; }
Reply number(int64_t of) { return {Reply::Kind::Integer, of, {}, {}}; }
Reply array(std::span<const Reply> of) { return {Reply::Kind::Array, 0, {}, of}; }

// One who stands in line, as a node tells of him.
size_t waiters_of(const std::vector<Reply> &told) {
  const std::vector<Reply> seen = {Reply(), number(-2), number(1), array({}), number(-1), array(told)};
  return quorum::read_key_seen(array(seen), 5'000).waiters.size();
}

}  // namespace

UNIT_TEST(a_record_is_read_as_it_was_written) {
  for (const std::string grant :
       {"@5,1000,c,2,9,3", "@5,1000,p,2,9,0", "@5,1000,r77,2,9,0", "@5,0,c,2,9,0,4"}) {
    const std::string whole = kHead + grant + "|a|value";
    NodeRecord record;
    EXPECT(quorum::parse_node_record(whole, record));
    EXPECT(quorum::text_of(record) == whole);
    EXPECT(record.value == "a|value" && record.token == 7 && record.ticket_us == 9);
  }
}

UNIT_TEST(a_record_with_a_bent_head_is_a_foreign_string) {
  const std::string grant = "@5,1000,c,2,9,3|";
  EXPECT(is_record(kHead + grant));
  EXPECT(!is_record("ll2" + kHead.substr(3) + grant));
  EXPECT(!is_record("ll1|short|00000001|7|owner|instance|" + grant));
  EXPECT(!is_record("ll1|" + kId + "|1|7|owner|instance|" + grant));
  for (const std::string token : {"", "x", "0", "-7", "7x", "99999999999999999999"})
    EXPECT(!is_record("ll1|" + kId + "|00000001|" + token + "|owner|instance|" + grant));
  for (size_t size = 0; size < (kHead + grant).size(); ++size)
    EXPECT(!is_record((kHead + grant).substr(0, size)));
}

UNIT_TEST(a_record_with_a_bent_grant_is_a_foreign_string) {
  EXPECT(has_grant("@5,1000,c,2,9,3,4"));
  for (const char *grant :
       {"", "5,1000,c,2,9,3", "@x,1000,c,2,9,3", "@5,x,c,2,9,3", "@5,1000,", "@5,1000,q,2,9,3", "@5,1000,c",
        "@5,1000,cc,2", "@5,1000,rx,2,9,3", "@5,1000,c,x,9,3", "@5,1000,c,2,x,3", "@5,1000,c,2,9,x",
        "@5,1000,c,2,9,3,x", "@5,1000,c,2,9,3,4,5", "@-5,1000,c,2,9,3", "@5,1000,c,2,9,-3"})
    EXPECT(!has_grant(grant));
}

UNIT_TEST(who_stands_in_line_is_told_of_where_his_entry_is_one_and_he_lives) {
  EXPECT(waiters_of({text("id"), text("1000"), text("9000|instance|owner")}) == 1);
  for (const char *entry : {"", "9000", "9000|instance", "x|instance|owner", "4999|instance|owner"})
    EXPECT(waiters_of({text("id"), text("1000"), text(entry)}) == 0);
  EXPECT(waiters_of({text("id"), text("soon"), text("9000|instance|owner")}) == 0);
  EXPECT(waiters_of({text("id"), text("1000")}) == 0);
}

UNIT_TEST(a_foreign_string_is_a_value_and_nothing_else) {
  const std::vector<Reply> metadata = {text("name"), text("value"), text("half")};
  const std::vector<Reply> seen = {text("theirs"),  number(40), number(-3),
                                   array(metadata), number(0),  array({})};
  const KeySeen key = quorum::read_key_seen(array(seen), 5'000);
  EXPECT(key.is_there && key.is_foreign && key.record.value == "theirs" && key.record.id.empty());
  EXPECT(key.waiting == 0 && key.left_ms == 40 && key.heard_of == 0 && key.metadata.size() == 1);
}

UNIT_TEST(a_configuration_with_several_observers_is_read_as_it_was_written) {
  Configuration made =
                    Configuration::first({"redis://a b:1/0", "redis://b:1/0", "redis://c:1/0"}, 0, 1, true),
                read;
  made.observers = {"redis://d|e:1/0", "redis://F:1/0"};
  EXPECT(Configuration::parse(made.to_text(), read));
  EXPECT(read == made && read.observers == made.observers);
}

UNIT_TEST(a_configuration_with_a_bent_field_is_refused) {
  EXPECT(is_configuration("1|1|0|1 n1=a||"));
  for (const char *fields : {"x|1|0|1 n1=a||",   "1x|1|0|1 n1=a||", "|1|0|1 n1=a||",       "1|x|0|1 n1=a||",
                             "1|0|0|1 n1=a||",   "1|-1|0|1 n1=a||", "1|1|2|1 n1=a||",      "1|1||1 n1=a||",
                             "1|1|0|||",         "1|1|0|x n1=a||",  "1|1|0|1||",           "1|1|0|1 n1||",
                             "1|1|0|1 =a||",     "1|1|0|1 n1=||",   "1|1|0|1 n%=a||",      "1|1|0|1 n1=%4||",
                             "1|1|0|1 n1=%g0||", "1|1|0|2 n1=a||",  "1|1|0|1 n1=a n2=b||", "1|1|0|1 n1=a|x|",
                             "1|1|0|1 n1=a||%",  "1|1|0|1 n1=a|||"})
    EXPECT(!is_configuration(fields));
  Configuration read;
  EXPECT(!Configuration::parse("ll1d|" + kCluster + "|1|1|0|1 n1=a||", read));
  EXPECT(!Configuration::parse("ll1c|" + kCluster + "|1|1|0|1 n1=a||b  ", read));  // an observer without an address
  EXPECT(!Configuration::parse("ll1c|short|1|1|0|1 n1=a||", read));
}

UNIT_TEST(more_nodes_than_there_may_be_are_refused) {
  const auto of = [](size_t count) {
    std::string members = std::to_string(count / 2 + 1);
    for (size_t i = 0; i < count; ++i) members += " n" + std::to_string(i) + "=a" + std::to_string(i);
    return "1|1|0|" + members + "||";
  };
  EXPECT(is_configuration(of(kNodesMax)));
  EXPECT(!is_configuration(of(kNodesMax + 1)));
}

UNIT_TEST(who_a_node_says_that_it_is_has_all_its_parts) {
  Identity identity;
  EXPECT(Configuration::parse_who(kCluster + "|3|hash|n1", identity) && identity.node == "n1");
  for (const std::string who : {"short|3|hash|n1", "", "|"}) EXPECT(!Configuration::parse_who(who, identity));
  for (const char *rest : {"|x|hash|n1", "||hash|n1", "|3|hash|", "|3|hash"})
    EXPECT(!Configuration::parse_who(kCluster + rest, identity));
}

UNIT_MAIN("records of a quorum's nodes", cmocka_unit_test(a_record_is_read_as_it_was_written),
          cmocka_unit_test(a_record_with_a_bent_head_is_a_foreign_string),
          cmocka_unit_test(a_record_with_a_bent_grant_is_a_foreign_string),
          cmocka_unit_test(who_stands_in_line_is_told_of_where_his_entry_is_one_and_he_lives),
          cmocka_unit_test(a_foreign_string_is_a_value_and_nothing_else),
          cmocka_unit_test(a_configuration_with_several_observers_is_read_as_it_was_written),
          cmocka_unit_test(a_configuration_with_a_bent_field_is_refused),
          cmocka_unit_test(more_nodes_than_there_may_be_are_refused),
          cmocka_unit_test(who_a_node_says_that_it_is_has_all_its_parts))
