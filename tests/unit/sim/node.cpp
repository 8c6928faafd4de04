// SPDX-License-Identifier: MIT
// See node.hpp.
#include "node.hpp"

#include <algorithm>
#include <utility>

namespace liblock_test::sim {

using lua_shim::Reply;

Node::Node(World &world, const std::string &name, uint16_t port)
    : world_(world), port_(port), server_(&clock_us_, name) {
  look_at_clock();
  server_.on_publish = [this](std::string_view channel, std::string_view message) {
    return publish(channel, message);
  };
  server_.on_numsub = [this](std::string_view channel) {
    return static_cast<int>(std::count_if(wires_.begin(), wires_.end(), [&](const auto &wire) {
      return wire->channels.count(std::string(channel)) != 0;
    }));
  };
}

void Node::look_at_clock() { clock_us_ = offset_us_ + world_.now() / 1'000; }

Reply Node::ask(const std::vector<std::string> &words) {
  look_at_clock();
  return server_.command(words);
}

uint64_t Node::count(const std::string &command) const {
  const auto found = counts_.find(command);
  return found == counts_.end() ? 0 : found->second;
}

int Node::publish(std::string_view channel, std::string_view message) {
  int receivers = 0;
  for (const auto &wire : wires_) {
    if (wire->channels.count(std::string(channel)) == 0) continue;
    ++receivers;
    wire->reply(
        encode(Reply::array({Reply::string("message"), Reply::string(channel), Reply::string(message)})));
  }
  return receivers;
}

void Node::serve(Wire &wire, std::string &bytes) {
  while (auto words = take_request(bytes)) {
    if (frozen_) {
      kept_back_.emplace_back(wire.shared_from_this(), std::move(*words));
    } else {
      wire.reply(encode(answer(wire, *words)));
    }
  }
}

Reply Node::answer(Wire &wire, const Words &words) {
  look_at_clock();
  std::string name = words.front();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  ++counts_[name];
  if (name == "subscribe") {
    wire.channels.insert(words.at(1));
    return Reply::array({Reply::string("subscribe"), Reply::string(words[1]), Reply::of(1)});
  }
  // The client is held up until there are so many, which is never, or its time is over.
  if (name == "wait" && server_.replicas < std::stoll(words.at(1)))
    wire.hold_answers(world_.now() + std::stoll(words.at(2)) * kMillisecond);
  if (name == "ping" && !wire.channels.empty())
    return Reply::array({Reply::string("pong"), Reply::string("")});
  return server_.command(words);
}

void Node::forget(Wire &wire) {
  std::erase_if(wires_, [&](const std::shared_ptr<Wire> &other) { return other.get() == &wire; });
}

void Node::stop(Data data) {
  up_ = false;
  kept_back_.clear();
  for (const auto &wire : std::exchange(wires_, {})) wire->end_by_node("it closed the connection");
  if (data == Data::Kept) {
    server_.restart();
  } else {
    server_.wipe();
  }
}

void Node::end_connections(bool subscribers) {
  const auto ends = [&](const std::shared_ptr<Wire> &wire) { return wire->channels.empty() != subscribers; };
  for (const auto &wire : wires_) {
    if (ends(wire)) wire->end_by_node("it closed the connection");
  }
  std::erase_if(wires_, ends);
}

void Node::thaw() {
  frozen_ = false;
  for (auto &[wire, words] : std::exchange(kept_back_, {})) wire->reply(encode(answer(*wire, words)));
}

void Node::lose_answers() {
  for (const auto &wire : wires_) wire->answers_are_lost = true;
}

}  // namespace liblock_test::sim
