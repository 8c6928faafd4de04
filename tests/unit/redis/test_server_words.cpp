// SPDX-License-Identifier: MIT
// The small pure parts: error texts, names and records on the server, its clock, commands as bytes.
#include <memory>
#include <vector>

#include "redis/command.hpp"
#include "redis/key_names.hpp"
#include "redis/server_clock.hpp"
#include "redis/server_error.hpp"
#include "remote/keyspace.hpp"
#include "support/unit.hpp"

using namespace liblock;

UNIT_TEST(error_texts_are_told_apart_by_their_code) {
  EXPECT(classify_error("WRONGTYPE Operation against a key").status == Status::WRONG_TYPE);
  EXPECT(classify_error("READONLY You can't write").wrong_server);
  EXPECT(classify_error("NOSCRIPT No matching script").no_script);
  EXPECT(classify_error("NOPERM this user").status == Status::AUTH);
  EXPECT(classify_error("WRONGPASS invalid").status == Status::AUTH);
  EXPECT(classify_error("LOADING Redis is loading").passes);
  EXPECT(classify_error("OOM command not allowed").passes);
  EXPECT(classify_error("MOVED 1 127.0.0.1:1").status == Status::UNSUPPORTED);
  EXPECT(classify_error("ERR max number of clients reached").status == Status::CONNECT);
  EXPECT(classify_error("ERR whatever").status == Status::SERVER && !classify_error("ERR whatever").passes);
  EXPECT(classify_error("").status == Status::SERVER);
}

UNIT_TEST(an_answer_to_auth_is_told_in_our_words_since_it_may_repeat_the_password) {
  const auto why = [](Bytes text) { return std::string(refusal_of_auth(text).why); };
  EXPECT(why("WRONGPASS invalid username-password pair, or S3cret") == "WRONGPASS");
  for (const char *text : {"ERR unknown command 'AUTH', with args beginning with: 'S3cret'", "S3cret", ""})
    EXPECT(refusal_of_auth(text).status == Status::AUTH && why(text).find("S3cret") == std::string::npos);
  EXPECT(why("ERR AUTH <password> called without any password configured for the default user.").find("none set") !=
         std::string::npos);
  EXPECT(why("ERR Client sent AUTH, but no password is set").find("none set") != std::string::npos);
  EXPECT(refusal_of_auth("ERR max number of clients reached").status == Status::CONNECT);
}

UNIT_TEST(errors_that_redis_6_wraps_are_found_inside) {
  const auto wrapped = [](const char *text) {
    return classify_error("ERR Error running script (call to f_0123): @user_script:4: " + std::string(text))
        .status;
  };
  EXPECT(wrapped("WRONGTYPE Operation against a key") == Status::WRONG_TYPE);
  EXPECT(wrapped("-READONLY You can't write against a read only replica.") == Status::READ_ONLY);
  EXPECT(wrapped("-OOM command not allowed when used memory > 'maxmemory'.") == Status::SERVER);
  EXPECT(classify_error("@user_script: 16: -READONLY You can't write.").status == Status::READ_ONLY);
}

UNIT_TEST(what_a_server_says_is_shown_printable_and_cut) {
  EXPECT(shown("a\r\nb\x1b[31m\\") == "a\\x0d\\x0ab\\x1b[31m\\x5c");
  EXPECT(shown(std::string(1'000, 'x')).size() < 210);
}

UNIT_TEST(side_keys_are_different_for_different_keys) {
  const std::string keys[] = {"a", "{a}", "a}", "{a", "a}b", "", "ll1:f:{a}"};
  for (const std::string &one : keys) {
    for (const std::string &other : keys) {
      const bool same =
          Keyspace::side_key(Keyspace::Side::Fence, one) == Keyspace::side_key(Keyspace::Side::Fence, other);
      EXPECT(same == (one == other));
    }
    EXPECT(Keyspace::side_key(Keyspace::Side::Fence, one) != Keyspace::side_key(Keyspace::Side::Queue, one));
    Bytes back;
    const std::string queue = Keyspace::side_key(Keyspace::Side::Queue, one);
    EXPECT(Keyspace::lock_key_of(queue, back) == !one.empty() && (one.empty() || back == one));
  }
  Bytes lock_key;
  for (const char *other : {"", "ll1:", "ll1:q:{}", "ll1:q:{a", "ll1:q{a}", "ll2:q:{a}", "a"})
    EXPECT(!Keyspace::lock_key_of(other, lock_key));
}

UNIT_TEST(lock_keys_that_look_like_side_keys_are_reserved) {
  EXPECT(Keyspace("").is_reserved("ll1:x") && Keyspace("ll").is_reserved("1:x") &&
         Keyspace("ll1:").is_reserved("x"));
  EXPECT(!Keyspace("liblock:").is_reserved("ll1:x") && !Keyspace("").is_reserved("ll1") &&
         !Keyspace("").is_reserved("x"));
  Bytes key;
  EXPECT(Keyspace("p:").key_of("p:k", key) && key == "k");
  EXPECT(!Keyspace("p:").key_of("q:k", key) && !Keyspace("p:").key_of("p:", key) &&
         !Keyspace("").key_of("ll1:f:{k}", key));
}

UNIT_TEST(records_say_who_holds_and_foreign_strings_do_not) {
  const std::string id(32, 'a');
  ServerRecord record;
  const std::string text =
      "ll1|" + id + "|00000001|123|" + escape_field("in/1/a|b%\n") + "|in|value|with|bars";
  EXPECT(parse_record(text, record));
  EXPECT(record.id == id && record.token == 123 && record.owner == "in/1/a|b%\n" && record.instance == "in");
  EXPECT(record.value == "value|with|bars");
  for (const std::string &foreign :
       {std::string("somebody"), std::string(), std::string("ll1|short|00000001|1|o|i|"),
        "ll1|" + id + "|00000001|x|o|i|v", "ll1|" + id + "|1|1|o|i|v", "ll1|" + id})
    EXPECT(!parse_record(foreign, record));
}

UNIT_TEST(the_servers_clock_is_never_thought_to_be_ahead) {
  ServerClock clock;
  EXPECT(clock.not_after(5'000, 1'000) == 1);   // not known: will be refused, and told
  clock.observe(1'000'000, 10 * kMillisecond);  // read up to 10 ms ago
  EXPECT(clock.not_after(10 * kMillisecond, 0) == 1'000'000);
  clock.observe(1'005'000, 12 * kMillisecond);  // a quicker answer is the better one
  EXPECT(clock.not_after(12 * kMillisecond, 0) == 1'005'000);
  clock.observe(1'005'500, 20 * kMillisecond);  // a slower one is not
  EXPECT(clock.not_after(20 * kMillisecond, 0) == 1'013'000);
  clock.observe(500, 21 * kMillisecond);
  EXPECT(clock.not_after(21 * kMillisecond, 0) == 1'014'000);
  ServerClock stepped;
  stepped.observe(100'000'000, kMillisecond);
  stepped.observe(1'000'000, 2 * kMillisecond);  // set back by far: believed at once
  EXPECT(stepped.not_after(2 * kMillisecond, 3 * kMillisecond) == 1'003'000);
}

namespace {

struct Call final : ScriptCall {
  void replied(const Reply &) override {}
  void failed(const Failure &) override {}
};

}  // namespace

UNIT_TEST(a_side_key_is_sent_in_parts_as_it_is_sent_whole) {
  const Script script{"name", "digest", "body"};
  using Side = Keyspace::Side;
  for (const std::string &lock_key : {std::string(), std::string("f:{f}"), std::string(600, 'k')}) {
    Call whole, parts;
    whole.begin(script);
    parts.begin(script);
    for (const Side side : {Side::Queue, Side::Claim, Side::Fence}) {
      whole.key(Keyspace::side_key(side, lock_key));
      add_side_key(parts, side, lock_key);
    }
    std::string sent, expected;
    parts.encode(sent);
    whole.encode(expected);
    EXPECT(sent == expected && sent.find("ll1:c:{" + lock_key + "}") != std::string::npos);
  }
}

UNIT_TEST(a_script_call_is_sent_by_its_digest_and_once_with_its_body) {
  const Script script{"name", "digest", "body"};
  Call call;
  call.begin(script);
  call.key("k\r\n");
  call.argument(int64_t{-5});
  std::string wire;
  call.encode(wire);
  EXPECT(wire == "*5\r\n$7\r\nEVALSHA\r\n$6\r\ndigest\r\n$1\r\n1\r\n$3\r\nk\r\n\r\n$2\r\n-5\r\n");
  call.use_body();
  wire.clear();
  call.encode(wire);
  EXPECT(wire == "*5\r\n$4\r\nEVAL\r\n$4\r\nbody\r\n$1\r\n1\r\n$3\r\nk\r\n\r\n$2\r\n-5\r\n");
}

UNIT_TEST(an_argument_of_any_length_is_sent_whole) {
  const Script script{"name", "digest", "body"};
  for (const size_t size : {0, 1, 9, 10, 95, 96, 97, 99, 100, 5'000}) {
    Call call;
    call.begin(script);
    call.argument(std::string(size, 'x'));
    call.argument(INT64_MIN);
    std::string wire;
    call.encode(wire);
    EXPECT(wire == "*5\r\n$7\r\nEVALSHA\r\n$6\r\ndigest\r\n$1\r\n0\r\n$" + std::to_string(size) + "\r\n" +
                       std::string(size, 'x') + "\r\n$20\r\n-9223372036854775808\r\n");
  }
}

// Around the size that buffers have, in steps that end before, at and behind it.
UNIT_TEST(a_call_of_many_arguments_keeps_those_that_were_there_before_it_grew) {
  const Script script{"name", "digest", "body"};
  for (const size_t count : {30, 31, 32, 33, 64, 400}) {
    Call call;
    call.begin(script);
    std::string wanted = "*" + std::to_string(3 + count) + "\r\n$7\r\nEVALSHA\r\n$6\r\ndigest\r\n$1\r\n0\r\n";
    for (size_t i = 0; i < count; ++i) {
      const std::string text = std::to_string(10'000 + i) + std::string(21, 'y');
      call.argument(text);
      wanted += "$26\r\n" + text + "\r\n";
    }
    std::string wire;
    call.encode(wire);
    EXPECT(wire == wanted);
  }
}

UNIT_TEST(calls_under_way_at_once_do_not_share_their_bytes_and_one_that_is_begun_again_starts_anew) {
  const Script script{"name", "digest", "body"};
  std::vector<std::unique_ptr<Call>> calls;
  for (int round = 0; round < 2; ++round) {
    for (int64_t i = 0; i < 300; ++i) {  // more than a thread keeps
      calls.push_back(std::make_unique<Call>());
      calls.back()->begin(script);
      calls.back()->argument("forgotten");
      calls.back()->begin(script);
      calls.back()->argument(round * 1'000 + i);
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      const std::string number = std::to_string(static_cast<size_t>(round) * 1'000 + i);
      std::string wire;
      calls[i]->encode(wire);
      EXPECT(wire.ends_with("$1\r\n0\r\n$" + std::to_string(number.size()) + "\r\n" + number + "\r\n"));
      EXPECT(wire.starts_with("*4\r\n"));
    }
    calls.clear();
  }
}

UNIT_MAIN("server words", cmocka_unit_test(error_texts_are_told_apart_by_their_code),
          cmocka_unit_test(an_answer_to_auth_is_told_in_our_words_since_it_may_repeat_the_password),
    cmocka_unit_test(errors_that_redis_6_wraps_are_found_inside),
          cmocka_unit_test(what_a_server_says_is_shown_printable_and_cut),
          cmocka_unit_test(side_keys_are_different_for_different_keys),
          cmocka_unit_test(a_side_key_is_sent_in_parts_as_it_is_sent_whole),
          cmocka_unit_test(lock_keys_that_look_like_side_keys_are_reserved),
          cmocka_unit_test(records_say_who_holds_and_foreign_strings_do_not),
          cmocka_unit_test(the_servers_clock_is_never_thought_to_be_ahead),
          cmocka_unit_test(a_script_call_is_sent_by_its_digest_and_once_with_its_body),
          cmocka_unit_test(an_argument_of_any_length_is_sent_whole),
          cmocka_unit_test(a_call_of_many_arguments_keeps_those_that_were_there_before_it_grew),
          cmocka_unit_test(
              calls_under_way_at_once_do_not_share_their_bytes_and_one_that_is_begun_again_starts_anew))
