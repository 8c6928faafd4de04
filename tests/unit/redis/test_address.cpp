// SPDX-License-Identifier: MIT
// URLs of servers: what each form means, what is refused, and that no message shows a secret.
#include "redis/address.hpp"

#include "support/unit.hpp"

using namespace liblock;

namespace {

ServerAddress read(Bytes url) {
  ServerAddress address;
  std::string message;
  EXPECT(read_server_url(url, address, message) == Status::OK);
  return address;
}

}  // namespace

UNIT_TEST(host_port_and_database_have_their_usual_values) {
  const ServerAddress bare = read("redis://example");
  EXPECT(bare.target.host == "example" && bare.target.port == 6'379 && bare.db == 0 && !bare.tls);
  const ServerAddress full = read("rediss://example:7000/12");
  EXPECT(full.target.host == "example" && full.target.port == 7'000 && full.db == 12 && full.tls);
  EXPECT(read("redis://example/").db == 0);
}

UNIT_TEST(ipv6_addresses_stand_in_brackets) {
  EXPECT(read("redis://[::1]").target.host == "::1");
  EXPECT(read("redis://[fe80::1]:7000/2").target.port == 7'000);
  EXPECT(read("redis://[::1]:7000").redacted() == "redis://[::1]:7000/0");
}

UNIT_TEST(unix_sockets_have_a_path_and_maybe_a_database) {
  const ServerAddress address = read("unix:///run/a%20b.sock?db=3");
  EXPECT(address.target.path == "/run/a b.sock" && address.db == 3);
}

UNIT_TEST(credentials_are_unescaped_and_may_hold_anything) {
  const ServerAddress both = read("redis://me:p%40ss%3Aword%2F@host/1");
  EXPECT(both.user == "me" && both.password.reveal() == "p@ss:word/" && both.target.host == "host" &&
         both.db == 1);
  const ServerAddress one = read("redis://:p@ss@host");
  EXPECT(one.user.empty() && one.password.reveal() == "p@ss");
  EXPECT(read("redis://me:@host").password.empty());
}

UNIT_TEST(the_printable_form_has_no_credentials) {
  EXPECT(read("redis://me:secret@host:1/2").redacted() == "redis://host:1/2");
  EXPECT(read("unix:///s?db=1").redacted() == "unix:///s?db=1");
}

UNIT_TEST(a_password_is_in_the_open_where_it_leaves_the_host_without_tls) {
  for (const Bytes url : {"redis://:pw@host", "redis://me:pw@10.0.0.1:7000", "redis://:pw@127.example.org",
                          "redis://:pw@notlocalhost", "redis://:pw@[fe80::1]", "redis://:pw@localhost.example.org",
                          "redis://:pw@db.localhost", "redis://:pw@[::ffff:10.0.0.1]", "redis://:pw@localhost.."})
    EXPECT(read(url).sends_cleartext_password());
  for (const Bytes url : {"redis://host", "redis://me@host", "rediss://:pw@host", "unix:///run/redis.sock",
                          "redis://:pw@127.0.0.1", "redis://:pw@127.9.9.9:7000", "redis://:pw@[::1]",
                          "redis://:pw@LocalHost", "redis://:pw@localhost.", "redis://:pw@[::ffff:127.0.0.1]",
                          "redis://:pw@[0:0:0:0:0:0:0:1]"})
    EXPECT(!read(url).sends_cleartext_password());
}

UNIT_TEST(what_cannot_be_taken_apart_is_refused_without_quoting_it) {
  const Bytes wrong[] = {"redis://",
                         "redis://:1",
                         "redis://secret@",
                         "redis://host:0",
                         "redis://host:65536",
                         "redis://host:1x",
                         "redis://host/db",
                         "redis://host/-1",
                         "redis://host/65536",
                         "redis://host/99999999999999999999",
                         "redis://[::1",
                         "redis://[::1]x",
                         "redis://::1",
                         "redis://me:secret%@host",
                         "redis://me:secret%zz@host",
                         "redis://a b",
                         "redis://host?db=1",
                         "unix://relative",
                         "unix://",
                         "unix:///s?x=1",
                         "unix:///s?db=x",
                         "unix:///%00s",
                         "unix:///%"};
  for (const Bytes url : wrong) {
    ServerAddress address;
    std::string message;
    EXPECT(read_server_url(url, address, message) == Status::INVALID_ARGUMENT);
    EXPECT(!message.empty() && message.find("secret") == std::string::npos);
  }
  ServerAddress address;
  std::string message;
  EXPECT(read_server_url("redis://" + std::string(5'000, 'h'), address, message) == Status::INVALID_ARGUMENT);
  EXPECT(read_server_url("unix:///" + std::string(107, 'p'), address, message) == Status::INVALID_ARGUMENT);
}

UNIT_TEST(a_secret_can_be_copied_moved_and_assigned) {
  Secret one(Bytes("a secret that is longer than a short string"));
  Secret two(one);
  EXPECT(two.reveal() == one.reveal());
  const Secret three(std::move(two));
  one = three;
  EXPECT(one.reveal() == three.reveal() && !one.empty() && Secret().empty());
}

UNIT_MAIN("address", cmocka_unit_test(host_port_and_database_have_their_usual_values),
          cmocka_unit_test(ipv6_addresses_stand_in_brackets),
          cmocka_unit_test(unix_sockets_have_a_path_and_maybe_a_database),
          cmocka_unit_test(credentials_are_unescaped_and_may_hold_anything),
          cmocka_unit_test(the_printable_form_has_no_credentials),
          cmocka_unit_test(a_password_is_in_the_open_where_it_leaves_the_host_without_tls),
          cmocka_unit_test(what_cannot_be_taken_apart_is_refused_without_quoting_it),
          cmocka_unit_test(a_secret_can_be_copied_moved_and_assigned))
