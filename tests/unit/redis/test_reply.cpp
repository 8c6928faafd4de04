// SPDX-License-Identifier: MIT
// Replies: each kind, cut at every byte, and what a server that means no good may make us hold.
#include "redis/reply.hpp"

#include "base/random.hpp"
#include "support/unit.hpp"

using namespace liblock;

namespace {

std::string shape(const Reply &reply) {
  switch (reply.kind) {
    case Reply::Kind::Nil:
      return "nil";
    case Reply::Kind::Integer:
      return std::to_string(reply.integer);
    case Reply::Kind::Array: {
      std::string text = "[";
      for (const Reply &element : reply.elements) text += shape(element) + " ";
      return text + "]";
    }
    default:
      return (reply.is(Reply::Kind::Error)    ? "!"
              : reply.is(Reply::Kind::Status) ? "+"
                                              : "") +
             std::string(reply.text);
  }
}

std::string read_all(ReplyReader &reader) {
  std::string text;
  while (const Reply *reply = reader.next()) text += shape(*reply) + "\n";
  return text;
}

// What a piece brings to its end. Its bytes are gone behind it, as those of a stream are.
std::string read_piece(ReplyReader &reader, const std::string &bytes) {
  std::vector<char> piece(bytes.begin(), bytes.end());
  EXPECT(reader.feed({piece.data(), piece.size()}));
  const std::string text = read_all(reader);
  std::fill(piece.begin(), piece.end(), '#');
  return text;
}

// Why bytes are refused; empty when they are not.
std::string refusal(const std::string &bytes, const ReplyLimits &limits = {}) {
  ReplyReader reader;
  reader.allow(limits);
  if (reader.feed(bytes)) {
    while (reader.next() != nullptr) {}
  }
  return reader.error();
}

}  // namespace

UNIT_TEST(every_kind_of_reply_is_read) {
  ReplyReader reader;
  using namespace std::string_literals;
  EXPECT(read_piece(reader, "+OK\r\n-ERR no\r\n:-42\r\n$5\r\na\r\nb\0\r\n$-1\r\n*-1\r\n*0\r\n"s) ==
         "+OK\n!ERR no\n-42\na\r\nb\0\nnil\nnil\n[]\n"s);
  EXPECT(read_piece(reader, "*3\r\n:1\r\n*2\r\n$0\r\n\r\n+x\r\n$-1\r\n") == "[1 [ +x ] nil ]\n");
}

UNIT_TEST(replies_may_come_cut_at_any_byte) {
  const std::string bytes = "*3\r\n$3\r\nabc\r\n*1\r\n+de\r\n:7\r\n+OK\r\n";
  const std::string shapes = "[abc [+de ] 7 ]\n+OK\n";
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    ReplyReader reader;
    std::string text = read_piece(reader, bytes.substr(0, cut));
    text += read_piece(reader, bytes.substr(cut));
    EXPECT(text == shapes);
  }
  ReplyReader reader;
  std::string text;
  for (const char byte : bytes) text += read_piece(reader, std::string(1, byte));
  EXPECT(text == shapes);
}

UNIT_TEST(no_text_of_a_reply_that_came_whole_is_copied) {
  ReplyReader reader;
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += "*2\r\n$30\r\n" + std::string(30, 'a') + "\r\n+status\r\n-ERR no\r\n";
  EXPECT(reader.feed(bytes));
  const auto is_in_place = [&](const Reply &reply, const char *text) {
    const auto from = static_cast<size_t>(reply.text.data() - bytes.data());
    return from < bytes.size() && bytes.compare(from, reply.text.size(), text) == 0;
  };
  int replies = 0;
  while (const Reply *reply = reader.next()) {
    if (reply->is(Reply::Kind::Array)) {
      EXPECT(is_in_place(reply->at(0), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") && is_in_place(reply->at(1), "status"));
    } else {
      EXPECT(is_in_place(*reply, "ERR no"));
    }
    ++replies;
  }
  EXPECT(replies == 200);
}

UNIT_TEST(a_text_that_came_in_two_pieces_outlives_the_first_and_those_before_it_too) {
  ReplyReader reader;
  EXPECT(read_piece(reader, "+OK\r\n*4\r\n$3\r\nabc\r\n*2\r\n$2\r\nde\r\n$0\r\n\r\n$4\r\nfg") == "+OK\n");
  EXPECT(read_piece(reader, "hi\r\n") == "");
  EXPECT(read_piece(reader, "$3\r\njkl\r\n+OK\r\n") == "[abc [de  ] fghi jkl ]\n+OK\n");
}

UNIT_TEST(what_is_kept_of_a_reply_in_pieces_is_within_its_bounds) {
  ReplyReader reader;
  reader.allow({16, 4, 2});
  EXPECT(read_piece(reader, "*3\r\n$8\r\n01234567\r\n$8\r\n012345") == "");
  EXPECT(read_piece(reader, "67\r\n$0\r\n\r\n") == "[01234567 01234567  ]\n");
  EXPECT(read_piece(reader, "*3\r\n$8\r\n01234567\r\n$8\r\n012345") == "" && !reader.is_broken());
  EXPECT(read_piece(reader, "67\r\n$1\r\n8\r\n") == "" && reader.is_broken());
}

UNIT_TEST(an_element_behind_the_end_reads_as_nil) {
  ReplyReader reader;
  EXPECT(reader.feed("*1\r\n:1\r\n"));
  const Reply *reply = reader.next();
  EXPECT(reply != nullptr && reply->at(0).integer == 1 && reply->at(1).is(Reply::Kind::Nil));
}

UNIT_TEST(bounds_hold_at_the_bound_and_one_beyond) {
  const ReplyLimits limits{16, 4, 2};
  EXPECT(refusal("$16\r\n0123456789abcdef\r\n", limits).empty());
  EXPECT(!refusal("$17\r\n0123456789abcdefg\r\n", limits).empty());
  EXPECT(refusal("*3\r\n:1\r\n:2\r\n:3\r\n", limits).empty());
  EXPECT(!refusal("*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", limits).empty());
  EXPECT(refusal("*1\r\n*1\r\n:1\r\n", limits).empty());
  EXPECT(!refusal("*1\r\n*1\r\n*1\r\n:1\r\n", limits).empty());
}

UNIT_TEST(a_server_cannot_make_us_allocate_by_announcing) {
  EXPECT(!refusal("*4294967295\r\n").empty());
  EXPECT(!refusal("*2147483647\r\n").empty());
  EXPECT(!refusal("$-5\r\n").empty());
  EXPECT(!refusal("*-5\r\n").empty());
  EXPECT(!refusal("\xff\xfe").empty());
  std::string deep;
  for (int i = 0; i < 1'000; ++i) deep += "*1\r\n";
  EXPECT(!refusal(deep).empty());
  EXPECT(!refusal("+" + std::string(200'000, 'x')).empty());
  EXPECT(!refusal("$1000000000\r\n" + std::string(200'000, 'x')).empty());
}

UNIT_TEST(a_broken_reader_stays_broken) {
  ReplyReader reader;
  EXPECT(reader.feed("nonsense\r\n") && reader.next() == nullptr);
  const std::string why = reader.error();
  EXPECT(!why.empty() && !reader.feed("+OK\r\n") && reader.next() == nullptr && reader.error() == why);
}

UNIT_TEST(a_number_that_no_server_counts_to_is_cut_and_one_that_is_no_time_is_told) {
  const auto read = [](const char *bytes) {
    ReplyReader reader;
    EXPECT(reader.feed(bytes));
    const Reply *reply = reader.next();
    EXPECT(reply != nullptr);
    return std::pair(reply->count(), reply->is_time());
  };
  EXPECT(read(":9223372036854775807\r\n") == std::pair(size_t{1'000'000}, false));
  EXPECT(read(":-9223372036854775808\r\n") == std::pair(size_t{0}, false));
  EXPECT(read(":1790000000000000\r\n") == std::pair(size_t{1'000'000}, true));
  EXPECT(read(":7\r\n") == std::pair(size_t{7}, true));
  EXPECT(read("+OK\r\n") == std::pair(size_t{0}, false));
}

UNIT_TEST(random_bytes_are_refused_or_read_and_never_harm) {
  Random random(7);
  const char kinds[] = "+-:$*\r\n0123456789abc";
  const uint64_t rounds = unit::scaled(20'000, 200'000, 2'000'000);
  for (uint64_t round = 0; round < rounds; ++round) {
    ReplyReader reader;
    std::string bytes;
    for (int64_t left = random.up_to(60); left > 0; --left)
      bytes.push_back(kinds[random.up_to(static_cast<int64_t>(sizeof kinds) - 2)]);
    if (!reader.feed(bytes)) continue;
    for (int i = 0; i < 100 && reader.next() != nullptr; ++i) {}
  }
}

UNIT_MAIN("reply", cmocka_unit_test(every_kind_of_reply_is_read),
          cmocka_unit_test(replies_may_come_cut_at_any_byte),
          cmocka_unit_test(no_text_of_a_reply_that_came_whole_is_copied),
          cmocka_unit_test(a_text_that_came_in_two_pieces_outlives_the_first_and_those_before_it_too),
          cmocka_unit_test(what_is_kept_of_a_reply_in_pieces_is_within_its_bounds),
          cmocka_unit_test(an_element_behind_the_end_reads_as_nil),
          cmocka_unit_test(bounds_hold_at_the_bound_and_one_beyond),
          cmocka_unit_test(a_server_cannot_make_us_allocate_by_announcing),
          cmocka_unit_test(a_broken_reader_stays_broken),
          cmocka_unit_test(a_number_that_no_server_counts_to_is_cut_and_one_that_is_no_time_is_told),
          cmocka_unit_test(random_bytes_are_refused_or_read_and_never_harm))
