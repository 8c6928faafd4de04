// SPDX-License-Identifier: MIT
// Votes and configurations, without any node.
#include "quorum/ballot.hpp"
#include "support/unit.hpp"

using liblock::quorum::Ballot;
using liblock::quorum::Configuration;
using liblock::quorum::QuorumRule;
using Verdict = Ballot::Verdict;

const QuorumRule kThreeOfFive(0b11111, 3);

UNIT_TEST(a_quorum_with_one_token_wins_at_once) {
  Ballot ballot(kThreeOfFive);
  ballot.asked(0b11111);
  ballot.granted(0, 7, true, 100);
  ballot.granted(1, 7, true, 90);
  EXPECT(ballot.verdict() == Verdict::Open);
  ballot.granted(4, 7, true, 110);
  EXPECT(ballot.verdict() == Verdict::Won);
  EXPECT(ballot.token() == 7);
  EXPECT(ballot.asked_at() == 90);
}

UNIT_TEST(different_tokens_are_raised_to_the_largest) {
  Ballot ballot(kThreeOfFive);
  ballot.asked(0b00111);
  ballot.granted(0, 7, true, 100);
  ballot.granted(1, 9, true, 100);
  ballot.granted(2, 5, true, 100);
  EXPECT(ballot.verdict() == Verdict::Raise);
  EXPECT(ballot.raise() == 0b00111);
  EXPECT(ballot.token() == 9);
  ballot.raised(0b001, true);
  ballot.raised(0b010, true);
  EXPECT(ballot.verdict() == Verdict::Open);
  ballot.not_raised(0b100);
  EXPECT(ballot.verdict() == Verdict::Failed);
}

UNIT_TEST(a_vote_that_does_not_count_makes_no_quorum) {
  Ballot ballot(kThreeOfFive);
  ballot.asked(0b11111);
  ballot.granted(0, 7, true, 100);
  ballot.granted(1, 7, true, 100);
  ballot.granted(2, 7, false, 100);
  ballot.refused(0b01000);
  EXPECT(ballot.verdict() == Verdict::Open);
  ballot.refused(0b10000);
  EXPECT(ballot.verdict() == Verdict::Failed);
}

UNIT_TEST(a_node_that_refused_and_is_asked_again_may_decide) {
  Ballot ballot(kThreeOfFive);
  ballot.asked(0b00111);
  ballot.granted(0, 7, true, 100);
  ballot.granted(1, 7, true, 100);
  ballot.refused(0b00100);
  EXPECT(ballot.verdict() == Verdict::Failed);
  ballot.asked(0b00100);
  EXPECT(ballot.verdict() == Verdict::Open);
  ballot.granted(2, 7, true, 120);
  EXPECT(ballot.verdict() == Verdict::Won);
}

UNIT_TEST(a_joint_configuration_needs_both_quorums) {
  QuorumRule rule(0b00111, 2);
  rule.also(0b11100, 2);
  EXPECT(!rule.is_reached(0b00011));
  EXPECT(rule.is_reached(0b01101));
  EXPECT(rule.is_reached(0b01101 | 0b10));
  EXPECT(!rule.meets_all(0b00011));
  EXPECT(rule.meets_all(0b01111));
}

UNIT_TEST(a_node_that_is_not_known_here_counts_among_those_that_may_know_more) {
  const QuorumRule rule(0b01111, 3, 5);
  EXPECT(!rule.meets_all(0b00011));
  EXPECT(rule.meets_all(0b00111));
}

UNIT_TEST(a_configuration_is_what_its_record_says) {
  Configuration made =
      Configuration::first({"redis://b:1/0", "redis://a:1/0", "unix:///x y%|,=z"}, 0, 60'000, false);
  EXPECT(made.now.all.front().address == "redis://a:1/0" && made.now.votes == 2);
  made.observers = {"redis://o:1/0"};
  made.epoch = 7;
  Configuration read;
  EXPECT(Configuration::parse(made.to_text(), read));
  EXPECT(read == made);
  made.next = made.now;
  EXPECT(Configuration::parse(made.to_text(), read) && read == made && read.is_joint());
  EXPECT(made.who("n1") == read.who("n1"));
}

UNIT_TEST(who_names_the_same_servers_in_another_order_means_the_same_quorum) {
  const Configuration one = Configuration::first({"redis://a:1/0", "redis://b:1/0"}, 0, 60'000, false);
  const Configuration other = Configuration::first({"redis://b:1/0", "redis://a:1/0"}, 0, 60'000, false);
  EXPECT(one.who("n1") == other.who("n1"));
  EXPECT(one.who("n1") !=
         Configuration::first({"redis://b:1/0", "redis://c:1/0"}, 0, 60'000, false).who("n1"));
}

UNIT_TEST(what_is_no_record_is_no_configuration) {
  Configuration read;
  const std::string good =
      Configuration::first({"redis://a:1/0", "redis://b:1/0", "redis://c:1/0"}, 0, 1, true).to_text();
  for (size_t size = 0; size < good.size(); ++size) EXPECT(!Configuration::parse(good.substr(0, size), read));
  for (const char *text : {"", "ll1c", "ll1c|x|1|1|0|1 n1=a||", "ll1|",
                           "ll1c|0123456789abcdef0123456789abcdef|1|1|0|1 n1=a n2=b n3=c||"})
    EXPECT(!Configuration::parse(text, read));
}

UNIT_MAIN("quorum ballots and configurations", cmocka_unit_test(a_quorum_with_one_token_wins_at_once),
          cmocka_unit_test(different_tokens_are_raised_to_the_largest),
          cmocka_unit_test(a_vote_that_does_not_count_makes_no_quorum),
          cmocka_unit_test(a_node_that_refused_and_is_asked_again_may_decide),
          cmocka_unit_test(a_joint_configuration_needs_both_quorums),
          cmocka_unit_test(a_node_that_is_not_known_here_counts_among_those_that_may_know_more),
          cmocka_unit_test(a_configuration_is_what_its_record_says),
          cmocka_unit_test(who_names_the_same_servers_in_another_order_means_the_same_quorum),
          cmocka_unit_test(what_is_no_record_is_no_configuration))
