// SPDX-License-Identifier: MIT
// See inspecting.hpp. SCAN finds keys by their prefix; what they hold is then read a few at a time, so that no
// reply is large and no script long.
#include "redis/inspecting.hpp"

#include <algorithm>

#include "engine/engine.hpp"
#include "redis/instance.hpp"
#include "redis/key_names.hpp"

namespace liblock {

namespace {

constexpr size_t kKeysPerLook = 16;
constexpr Bytes kKeysPerScan = "200";

std::unique_ptr<KeyInfo> read_info(const Instance &instance, const std::string &lock_key, const Reply &seen) {
  auto info = std::make_unique<KeyInfo>();
  Bytes key;
  if (instance.keyspace.key_of(lock_key, key)) info->key = key;
  info->is_held = seen.at(0).is(Reply::Kind::Text);
  info->waiters = instance.waiting.shown(lock_key);
  // Of those in other instances only their number is known here.
  const int64_t others = seen.at(2).integer - static_cast<int64_t>(info->waiters.size());
  for (int64_t i = 0; i < std::clamp<int64_t>(others, 0, 65'536); ++i) info->waiters.emplace_back();
  info->remaining_ms = seen.at(1).integer >= 0 ? seen.at(1).integer : -1;
  if (!info->is_held) return info;
  info->hold_count = 1;
  ServerRecord record;
  if (!parse_record(seen.at(0).text, record)) {
    info->value = seen.at(0).text;
    return info;
  }
  info->owner = record.owner;
  info->attempt_id = record.id;
  info->instance = record.instance;
  info->token = record.token;
  info->value = record.value;
  const Reply &metadata = seen.at(3);
  for (size_t i = 0; i + 1 < metadata.elements.size(); i += 2)
    info->metadata.emplace_back(metadata.at(i).text, metadata.at(i + 1).text);
  return info;
}

// A few keys after the other, until all were seen.
class Looking final : public ServerCall {
 public:
  Looking(Instance &instance, std::vector<std::string> lock_keys, Inspection &inspection)
      : instance_(instance), lock_keys_(std::move(lock_keys)), inspection_(inspection) {}
  void next() {
    const size_t until = std::min(lock_keys_.size(), infos_.size() + kKeysPerLook);
    begin(scripts::inspect);
    for (size_t i = infos_.size(); i < until; ++i) {
      key(lock_keys_[i]);
      key(Keyspace::side_key(Keyspace::Side::Queue, lock_keys_[i]));
      key(Keyspace::side_key(Keyspace::Side::Metadata, lock_keys_[i]));
    }
    instance_.link.send(*this);
  }
  bool fits(const Reply &reply) const override { return reply.is(Reply::Kind::Array); }
  ReplyLimits limits() const override { return {kKeysPerLook * 16 * 1'024, kKeysPerLook * 160, 4}; }
  void answered(const Reply &reply) override {
    for (const Reply &seen : reply.elements) {
      if (infos_.size() < lock_keys_.size())
        infos_.push_back(read_info(instance_, lock_keys_[infos_.size()], seen));
    }
    if (reply.elements.empty()) return end(Status::PROTOCOL, "the answer of a script was not understood");
    if (infos_.size() < lock_keys_.size()) return next();
    end(Status::OK, "");
  }
  void failed(const Failure &failure) override { end(failure.status, failure.text); }

 private:
  void end(Status status, const std::string &why) {
    Inspection &inspection = inspection_;
    std::vector<std::unique_ptr<KeyInfo>> infos = std::move(infos_);
    delete this;
    if (status == Status::OK) return inspection.seen(std::move(infos));
    inspection.failed(status, why);
  }
  Instance &instance_;
  const std::vector<std::string> lock_keys_;
  Inspection &inspection_;
  std::vector<std::unique_ptr<KeyInfo>> infos_;
};

// A prefix as a glob pattern that matches it alone.
std::string pattern_of(Bytes prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^') pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern + "*";
}

class Scan final : public Command, public Inspection {
 public:
  Scan(Instance &instance, Ask &ask, AskDone done) : instance_(instance), ask_(ask), done_(std::move(done)) {}
  void send_on(Instance &instance) { instance.link.send(*this); }
  void encode(std::string &wire) const override {
    encode_words(wire,
                 {"SCAN", std::to_string(ask_.number), "MATCH",
                  pattern_of(instance_.keyspace.lock_key(ask_.what == Ask::What::List ? ask_.text : "")),
                  "COUNT", kKeysPerScan, "TYPE", "string"});
  }
  ReplyLimits limits() const override { return {4 * 1'024 * 1'024, 65'536, 4}; }
  void replied(const Reply &reply) override {
    if (reply.is(Reply::Kind::Error)) return end(classify_error(reply.text).status, explained(reply.text));
    const Bytes cursor = reply.at(0).text;
    const Reply &keys = reply.at(1);
    ask_.number = 0;
    for (const char c : cursor) ask_.number = ask_.number * 10 + static_cast<uint64_t>(c - '0');
    std::vector<std::string> found;
    Bytes key;
    for (const Reply &k : keys.elements) {
      if (instance_.keyspace.key_of(k.text, key)) found.emplace_back(k.text);
    }
    if (found.empty()) return end(Status::OK, "");
    inspect(instance_, found, *this);
  }
  void failed(const Failure &failure) override { end(failure.status, failure.text); }
  void seen(std::vector<std::unique_ptr<KeyInfo>> infos) override {
    // Foreign strings that happen to have the prefix are not ours to list, nor is what is gone by now.
    const bool queued_only = ask_.what == Ask::What::List && ask_.flag;
    std::erase_if(infos, [&](const auto &info) {
      return !info->is_held || info->token == 0 || (queued_only && info->waiters.empty());
    });
    ask_.infos = std::move(infos);
    end(Status::OK, "");
  }
  void failed(Status status, const std::string &why) override { end(status, why); }

 private:
  void end(Status status, const std::string &why) {
    const AskDone done = std::move(done_);
    delete this;
    done(status, why);
  }
  Instance &instance_;
  Ask &ask_;
  AskDone done_;
};

class ForceCall final : public ServerCall {
 public:
  ForceCall(Instance &instance, Forced forced, AskDone done)
      : instance_(instance), forced_(std::move(forced)), done_(std::move(done)) {
    begin(scripts::force_release);
    add_names(*this, forced_.lock_key);
    argument(forced_.drops_queue ? Bytes("1") : Bytes("0"));
    argument(forced_.attempt_id);
  }
  // What is granted here later is not what it takes away.
  void sending(Nanos) override {
    named_ = instance_.keeper.find(forced_.lock_key);
    std::erase_if(named_, [&](const LeaseRef &lease) {
      return !forced_.attempt_id.empty() && lease->id != forced_.attempt_id;
    });
  }
  bool fits(const Reply &reply) const override { return reply.is(Reply::Kind::Integer); }
  void answered(const Reply &reply) override {
    instance_.taken_away(forced_.lock_key, named_, forced_.drops_queue);
    end(reply.integer == 1 ? Status::OK : Status::NOT_HELD, "");
  }
  void failed(const Failure &failure) override {
    end(failure.sent ? Status::IN_DOUBT : failure.status, failure.text);
  }

 private:
  void end(Status status, const std::string &why) {
    const AskDone done = std::move(done_);
    delete this;
    done(status, why);
  }
  Instance &instance_;
  const Forced forced_;
  AskDone done_;
  std::vector<LeaseRef> named_;
};

// Page after page, and of each page one lock after the other.
class Clearing {
 public:
  Clearing(Instance &instance, Ask &ask, AskDone done)
      : instance_(instance), ask_(ask), whom_(static_cast<Engine::Whom>(ask.number)), done_(std::move(done)) {
    ask_.number = 0;
  }
  void next_page() {
    (new Scan(instance_, ask_, [this](Status status, const std::string &why) {
      if (status != Status::OK) return end(status, why);
      page_ = std::move(ask_.infos);
      next_lock();
    }))->send_on(instance_);
  }

 private:
  bool fits(const KeyInfo &info) const {
    return whom_ == Engine::Whom::Everybody || (whom_ == Engine::Whom::Owner && info.owner == ask_.text) ||
           (whom_ == Engine::Whom::Instance && info.instance == ask_.text);
  }
  void next_lock() {
    while (!page_.empty() && !fits(*page_.back())) page_.pop_back();
    if (page_.empty()) return ask_.number == 0 ? end(Status::OK, "") : next_page();
    // Whoever has the key by then is not meant, unless everybody is.
    const bool all = whom_ == Engine::Whom::Everybody;
    const KeyInfo &info = *page_.back();
    Forced forced{instance_.keyspace.lock_key(info.key), all ? std::string() : info.attempt_id, all};
    page_.pop_back();
    force_away(instance_, std::move(forced), [this](Status status, const std::string &why) {
      if (status != Status::OK && status != Status::NOT_HELD) return end(status, why);
      if (status == Status::OK) ++ask_.count;
      next_lock();
    });
  }
  void end(Status status, const std::string &why) {
    const AskDone done = std::move(done_);
    delete this;
    done(status, why);
  }
  Instance &instance_;
  Ask &ask_;
  const Engine::Whom whom_;
  AskDone done_;
  std::vector<std::unique_ptr<KeyInfo>> page_;
};

}  // namespace

void inspect(Instance &instance, const std::vector<std::string> &lock_keys, Inspection &inspection) {
  (new Looking(instance, lock_keys, inspection))->next();
}

void list_page(Instance &instance, Ask &ask, AskDone done) {
  (new Scan(instance, ask, std::move(done)))->send_on(instance);
}

void force_away(Instance &instance, Forced forced, AskDone done) {
  instance.link.send(*new ForceCall(instance, std::move(forced), std::move(done)));
}

void clear_locks(Instance &instance, Ask &ask, AskDone done) {
  (new Clearing(instance, ask, std::move(done)))->next_page();
}

}  // namespace liblock
