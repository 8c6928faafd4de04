// SPDX-License-Identifier: MIT
// `lockctl quorum`: founding a quorum, how its nodes are, and giving it others. Addresses are shown as the library has
// them: without user and password.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "clock.hpp"
#include "commands.hpp"
#include "context.hpp"
#include "credentials.hpp"
#include "exit_code.hpp"
#include "text.hpp"
#include "wording.hpp"

namespace lockctl {
namespace {

constexpr int kBetweenMs = 50, kLooksMax = 40;
constexpr int64_t kSayAfterMs = 500;  // a wait that is shorter is not worth a line

Context open_quorum(const Settings &settings) {
  if (!is_quorum(settings)) {
    throw Failure(kUnsuitable, "that is no quorum; say --url quorum:redis://HOST,redis://HOST,redis://HOST" +
                                   of_environment(settings));
  }
  return open_context(settings);
}

const char *state_name(int32_t state) {
  switch (state) {
    case LIBLOCK_NODE_UP:
      return "up";
    case LIBLOCK_NODE_DOWN:
      return "down";
    case LIBLOCK_NODE_QUARANTINED:
      return "quarantined";
    case LIBLOCK_NODE_NEEDS_FLOOR:
      return "needs_floor";
    case LIBLOCK_NODE_STEPPED:
      return "stepped";
    case LIBLOCK_NODE_REFUSED:
      return "refused";
    default:
      return "unknown";
  }
}

int32_t add_node(const liblock_node *node, void *user_data) {
  static_cast<std::vector<Record> *>(user_data)->push_back(
      Record()
          .set("address", std::string(bytes(node->address.data, node->address.size)))
          .set("id", std::string(bytes(node->id.data, node->id.size)))
          .set("state", std::string(state_name(node->state)))
          .set("observer", node->is_observer == 1)
          .set("quarantine_left_ms", node->quarantine_left_ms)
          .set("round_trip_us", node->round_trip_us)
          .set("clock_offset_ms", node->clock_offset_ms)
          .set("lag_ms", node->lag_ms)
          .set("why", reworded(bytes(node->why.data, node->why.size))));
  return 0;
}

const std::string &text_at(const Record &record, size_t n) {
  return std::get<std::string>(record.fields[n].second);
}
int64_t number_at(const Record &record, size_t n) { return std::get<int64_t>(record.fields[n].second); }

// A reason is as long as it must be: on a terminal, where it would break the columns, each has a line below them. It
// begins with the address of its node. The library's message has the same reasons, as far as it has room for them.
void print_nodes(const std::vector<Record> &nodes) {
  const bool is_narrow = is_terminal(STDOUT_FILENO);
  std::vector<std::string> heading = {"NODE", "STATE", "SILENT FOR", "ROUND TRIP", "CLOCK"};
  if (!is_narrow) heading.emplace_back("WHY");
  Table table(heading);
  for (const Record &node : nodes) {
    const bool is_observer = std::get<bool>(node.fields[3].second);
    const int64_t round_trip = number_at(node, 5);
    std::vector<std::string> row = {
        printable(text_at(node, 0)), text_at(node, 2) + (is_observer ? " observer" : ""),
        number_at(node, 4) > 0 ? for_people(number_at(node, 4)) : "-",
        round_trip < 0 ? "-" : with_commas(static_cast<uint64_t>(round_trip)) + " us",
        std::to_string(number_at(node, 6)) + " ms"};
    if (!is_narrow) row.push_back(printable(text_at(node, 8)));
    table.add(std::move(row));
  }
  table.flush();
  for (const Record &node : nodes) {
    if (is_narrow && !text_at(node, 8).empty()) std::printf("%s\n", printable(text_at(node, 8)).c_str());
  }
}

void print(const liblock_quorum_state &state, const std::vector<Record> &nodes, const std::string &message) {
  std::printf("%u of %u nodes vote, %u must grant: %s\n", state.voting, state.nodes, state.votes,
              can_grant(state) ? coloured(Colour::green, "locks can be granted").c_str()
                               : coloured(Colour::red, "no lock can be granted").c_str());
  std::printf("cluster %s, epoch %llu, longest lease %s%s\n",
              state.cluster_id[0] ? state.cluster_id : "not known yet",
              static_cast<unsigned long long>(state.epoch), for_people(state.max_ttl_ms).c_str(),
              state.configuring == 1 ? ", a change of nodes is under way" : "");
  print_nodes(nodes);
  // No node says why, where too few of the named servers belong to the quorum.
  const auto is_up = [](const Record &node) {
    return text_at(node, 2) == "up" && !std::get<bool>(node.fields[3].second);
  };
  if (state.voting == 0 && std::any_of(nodes.begin(), nodes.end(), is_up))
    std::printf("%s\n", printable(message).c_str());
}

struct Seen {
  liblock_quorum_state state;
  std::vector<Record> nodes;
  std::string message;
};

Seen look(liblock_context *context) {
  liblock_ping(context, nullptr);  // what is told is what was seen last: that is to be now
  Seen seen;
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_quorum_state_init(&seen.state, sizeof seen.state);
  expect(liblock_quorum_status(context, &seen.state, add_node, &seen.nodes, &result), result);
  seen.message = message_in(result);
  return seen;
}

// After a change the nodes are seen as they have become when each has been asked once more.
template <typename Settled>
Seen look_until(liblock_context *context, Settled settled) {
  Seen seen = look(context);
  for (int n = 0; n < kLooksMax && !settled(seen); n++) {
    poll(nullptr, 0, kBetweenMs);
    seen = look(context);
  }
  return seen;
}

void show(Seen seen, bool json) {
  if (json) {
    const liblock_quorum_state &state = seen.state;
    std::puts(to_json(Record()
                          .set("can_grant", can_grant(seen.state))
                          .set("cluster", std::string(state.cluster_id))
                          .set("epoch", state.epoch)
                          .set("max_ttl_ms", state.max_ttl_ms)
                          .set("votes", uint64_t{state.votes})
                          .set("voting", uint64_t{state.voting})
                          .set("configuring", state.configuring == 1)
                          .set("message", seen.message)
                          .set("nodes", std::move(seen.nodes)))
                  .c_str());
  } else {
    print(seen.state, seen.nodes, seen.message);
  }
}

bool has_settled(const Seen &seen) { return can_grant(seen.state) && seen.state.quarantined == 0; }

std::string progress_of(const Seen &seen) {
  int64_t left_ms = 0;
  for (const Record &node : seen.nodes) left_ms = std::max(left_ms, number_at(node, 4));
  return "lockctl: " + std::to_string(seen.state.voting) + " of " + std::to_string(seen.state.nodes) +
         " nodes vote" + (left_ms > 0 ? ", the last in " + for_people(left_ms) : "") + " …";
}

std::vector<const char *> pointers(const std::vector<std::string> &texts) {
  std::vector<const char *> out;
  for (const auto &text : texts) out.push_back(text.c_str());
  return out;
}

}  // namespace

int quorum_init(const Arguments &arguments) {
  const Context context = open_quorum(arguments.settings);
  if (arguments.quorum.force &&
      !is_confirmed(arguments.quorum.yes,
                    "Locks that are held on these servers are forgotten. Found it anew?")) {
    return kNothing;
  }
  liblock_result result = LIBLOCK_RESULT_INIT;
  expect(liblock_quorum_init(context.get(), arguments.quorum.force ? LIBLOCK_QUORUM_INIT_FORCE : 0, &result),
         result);
  const auto all_vote = [](const Seen &seen) { return seen.state.voting == seen.state.nodes; };
  show(look_until(context.get(), all_vote), arguments.settings.json);
  return kDone;
}

int quorum_status(const Arguments &arguments) {
  const Context context = open_quorum(arguments.settings);
  Seen seen = look(context.get());
  const int code = can_grant(seen.state) ? kDone : kUnavailable;
  show(std::move(seen), arguments.settings.json);
  return code;
}

// Each process counts the silence of a node by its own clock, and tells the node when it is over: who comes and goes
// never counts to the end. This one stays. A node that is down or refused is not waited for, unless it is needed.
int quorum_wait(const Arguments &arguments) {
  const bool json = arguments.settings.json;
  const Context context = open_quorum(arguments.settings);
  const int64_t began = now_ms(), for_ms = arguments.quorum.for_ms;
  const auto rest_ms = [&] { return for_ms < 0 ? kBetweenMs : began + for_ms - now_ms(); };
  Seen seen = look(context.get());
  for (bool has_said = json; !has_settled(seen) && rest_ms() > 0; seen = look(context.get())) {
    if (!has_said && now_ms() - began >= kSayAfterMs) {
      has_said = true;
      for (const Record &node : seen.nodes) {
        if (!text_at(node, 8).empty()) say("waiting: " + printable(text_at(node, 8)));
      }
    }
    if (has_said && !json) show_progress(progress_of(seen));
    poll(nullptr, 0, static_cast<int>(std::min<int64_t>(kBetweenMs, rest_ms())));
  }
  show_progress("");
  const int code = can_grant(seen.state) ? kDone : kUnavailable;
  show(std::move(seen), json);
  return code;
}

int quorum_set_nodes(const Arguments &arguments) {
  const QuorumOptions &options = arguments.quorum;
  Settings settings = arguments.settings;
  settings.votes = 0;  // --votes is of the new nodes
  const Context context = open_quorum(settings);
  if (is_terminal(2)) {
    say("changing the nodes takes a little longer than the longest lease; where it is broken off, the same "
        "command "
        "goes on");
  }
  const auto nodes = pointers(options.nodes), observers = pointers(options.observers);
  liblock_result result = LIBLOCK_RESULT_INIT;
  expect(liblock_quorum_set_nodes(context.get(), nodes.data(), nodes.size(), observers.data(),
                                  observers.size(), arguments.settings.votes, &result),
         result);
  const auto all_vote = [&](const Seen &seen) {
    return seen.state.nodes == nodes.size() && seen.state.voting == seen.state.nodes;
  };
  show(look_until(context.get(), all_vote), settings.json);
  return kDone;
}

}  // namespace lockctl
