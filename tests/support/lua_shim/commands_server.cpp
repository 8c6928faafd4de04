// SPDX-License-Identifier: MIT
// Commands about the server and the connection. There is one data base, and INFO says only what the library
// looks at.
#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

struct Section {
  std::string_view name;
  std::string text;
};

std::vector<Section> info_sections(const Internals &in) {
  const Server &server = in.server;
  return {
      {"server", "# Server\r\nredis_version:" + server.redis_version + "\r\nredis_mode:standalone\r\n" +
                     (server.hides_run_id ? "" : "run_id:" + in.run_id + "\r\n")},
      {"memory", "# Memory\r\nmaxmemory:" + std::to_string(server.maxmemory) +
                     "\r\nmaxmemory_policy:" + server.maxmemory_policy + "\r\n"},
      {"persistence", std::string("# Persistence\r\nloading:") + (server.loading ? "1" : "0") + "\r\n"},
      {"replication",
       std::string("# Replication\r\nrole:") + (server.read_only ? "slave" : "master") + "\r\n"},
  };
}

}  // namespace

Reply run_time(const Call &call) {
  constexpr int64_t kSecond = 1'000'000;
  const int64_t now = call.data().now_us();
  return Reply::array(
      {Reply::string(std::to_string(now / kSecond)), Reply::string(std::to_string(now % kSecond))});
}

Reply run_ping(const Call &call) {
  if (call.count() > 2) return wrong_count("ping");
  return call.count() == 2 ? Reply::string(call[1]) : Reply::status("PONG");
}

Reply run_echo(const Call &call) { return Reply::string(call[1]); }

Reply run_publish(const Call &call) {
  const auto &hook = call.in.server.on_publish;
  return Reply::of(hook ? hook(call[1], call[2]) : 0);
}

Reply run_pubsub_numsub(const Call &call) {
  const auto &hook = call.in.server.on_numsub;
  std::vector<Reply> counts;
  for (size_t i = 2; i < call.count(); ++i) {
    const int count = hook ? hook(call[i]) : 0;
    if (count < 0)
      return Reply::error("NOPERM this user has no permissions to run the 'pubsub|numsub' command");
    counts.push_back(Reply::string(call[i]));
    counts.push_back(Reply::of(count));
  }
  return Reply::array(std::move(counts));
}

Reply run_info(const Call &call) {
  std::string text;
  for (const Section &section : info_sections(call.in)) {
    bool wanted = call.count() == 1;
    for (size_t i = 1; i < call.count(); ++i) {
      wanted |= same_name(call[i], section.name) || same_name(call[i], "all") ||
                same_name(call[i], "default") || same_name(call[i], "everything");
    }
    if (!wanted) continue;
    if (!text.empty()) text += "\r\n";
    text += section.text;
  }
  return Reply::string(text);
}

Reply run_select(const Call &call) {
  int64_t number = 0;
  if (!parse_int(call[1], number)) return not_an_integer();
  if (number != static_cast<int32_t>(number)) {
    return Reply::error("ERR value is out of range, value must between -2147483648 and 2147483647");
  }
  return number == 0 ? Reply::ok() : Reply::error("ERR DB index is out of range");
}

Reply run_client_setname(const Call &call) {
  for (const char c : call[2]) {
    if (c < '!' || c > '~') {
      return Reply::error("ERR Client names cannot contain spaces, newlines or special characters.");
    }
  }
  return Reply::ok();
}

Reply run_wait(const Call &call) {
  if (call.in.server.read_only) {
    return Reply::error(
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica "
        "is "
        "configured to be writable (which is not the default) writes to replicas are just local and are not "
        "propagated.");
  }
  int64_t wanted = 0;
  int64_t timeout = 0;
  if (!parse_int(call[1], wanted)) return not_an_integer();
  if (!parse_int(call[2], timeout)) return Reply::error("ERR timeout is not an integer or out of range");
  if (timeout < 0) return Reply::error("ERR timeout is negative");
  return Reply::of(call.in.server.replicas);
}

}  // namespace liblock_test::lua_shim
