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
    return static_cast<int>(std::count_if(
        wires_.begin(), wires_.end(), [&](const auto &wire) { return wire->channels.contains(channel); }));
  };
}

int64_t Node::clock_us() const {
  const Nanos since = world_.now() - rate_since_;
  return offset_us_ + world_.now() / 1'000 + since / 1'000'000 * ppm_ / 1'000;
}

void Node::set_rate(int64_t ppm) {
  offset_us_ = clock_us() - world_.now() / 1'000;
  rate_since_ = world_.now();
  ppm_ = ppm;
}

Reply Node::ask(const lua_shim::Args &words) {
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
    if (!wire->channels.contains(channel)) continue;
    ++receivers;
    wire->reply(
        encode(Reply::array({Reply::string("message"), Reply::string(channel), Reply::string(message)})));
  }
  messages += static_cast<uint64_t>(receivers);
  return receivers;
}

void Node::serve(Wire &wire, std::string &bytes) {
  while (auto words = take_request(bytes)) {
    if (frozen_ || work_ != 0) {
      kept_back_.emplace_back(wire.shared_from_this(), std::move(*words));
    } else {
      wire.reply(encode(answer(wire, *words)));
    }
  }
  if (work_ != 0) go_to_work();
}

void Node::go_to_work() {
  if (frozen_ || kept_back_.empty() || std::exchange(is_at_work_, true)) return;
  world_.after(work_, [this] {
    is_at_work_ = false;
    if (frozen_ || kept_back_.empty()) return;
    const auto [wire, words] = std::move(kept_back_.front());
    kept_back_.pop_front();
    wire->reply(encode(answer(*wire, words)));
    go_to_work();
  });
}

Reply Node::answer(Wire &wire, const Words &words) {
  look_at_clock();
  std::string name = words.front();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  ++counts_[name];
  Reply reply = carry_out(wire, name, words);
  if (on_answer) on_answer(words, reply);
  return reply;
}

Reply Node::carry_out(Wire &wire, const std::string &name, const Words &words) {
  if (name == "subscribe") {
    wire.channels.insert(words.at(1));
    return Reply::array({Reply::string("subscribe"), Reply::string(words[1]), Reply::of(1)});
  }
  if (name == "auth") return Reply::status("OK");  // every password is right
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
  up_ = frozen_ = false;  // whoever starts again is not who was frozen
  kept_back_.clear();
  for (const auto &wire : std::exchange(wires_, {})) wire->end_by_node("it closed the connection");
  if (data == Data::Lost || (data == Data::RolledBack && snapshot_ == nullptr)) return server_.wipe();
  server_.restart();
  if (data == Data::RolledBack) server_.load(snapshot_);
}

void Node::take_snapshots_every(Nanos time) {
  const uint64_t series = ++snapshot_series_;
  take_snapshot();
  world_.after(time, [this, time, series] {
    if (series == snapshot_series_) take_snapshots_every(time);
  });
}

void Node::become_another(const Node *data_of) {
  stop(Data::Lost);
  snapshot_ = nullptr;
  if (data_of != nullptr) server_.load(data_of->server_.save());
  start();
}

std::string Node::evict_any() {
  const Reply all = ask({"SCAN", "0", "COUNT", "1000000"});
  const auto &keys = all.items.at(1).items;
  if (keys.empty()) return {};
  std::string key =
      keys[static_cast<size_t>(world_.random.up_to(static_cast<int64_t>(keys.size()) - 1))].text;
  ask({"DEL", key});
  return key;
}

void Node::end_connections(bool subscribers) {
  const auto ends = [&](const std::shared_ptr<Wire> &wire) { return wire->channels.empty() != subscribers; };
  for (const auto &wire : wires_) {
    if (ends(wire)) wire->end_by_node("it closed the connection");
  }
  std::erase_if(wires_, ends);
}

void Node::say_unasked(const std::string &bytes) {
  for (const auto &wire : wires_) {
    if (wire->channels.empty()) wire->reply(bytes);
  }
}

void Node::thaw() {
  frozen_ = false;
  for (auto &[wire, words] : std::exchange(kept_back_, {})) wire->reply(encode(answer(*wire, words)));
}

void Node::lose_answers() {
  for (const auto &wire : wires_) wire->answers_are_lost = true;
}

}  // namespace liblock_test::sim
