// SPDX-License-Identifier: MIT
// fork and exec; the child asks to be killed when its parent's thread is gone.
#include "redis_process.hpp"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace liblock_test {

using lua_shim::Reply;

namespace {

constexpr auto kStartLimit = std::chrono::seconds(20);

Reply reply_of(const redisReply &reply) {
  const std::string_view text(reply.str == nullptr ? "" : reply.str, reply.str == nullptr ? 0 : reply.len);
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      return Reply::of(reply.integer);
    case REDIS_REPLY_STRING:
      return Reply::string(text);
    case REDIS_REPLY_STATUS:
      return Reply::status(text);
    case REDIS_REPLY_ERROR:
      return Reply::error(text);
    case REDIS_REPLY_ARRAY:
      break;
    default:
      return Reply::nil();
  }
  Reply array = Reply::array();
  for (size_t i = 0; i < reply.elements; ++i) array.items.push_back(reply_of(*reply.element[i]));
  return array;
}

std::string make_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "liblock-redis-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
  return pattern;
}

[[noreturn]] void become_server(const std::string &directory, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || chdir(directory.c_str()) != 0) _exit(127);
  const std::string socket = directory + "/socket";
  execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket.c_str(), "--save", "",
         "--appendonly", "no", "--databases", "1", "--logfile", "log", "--daemonize", "no", nullptr);
  _exit(127);
}

}  // namespace

// Delegates, so that the destructor tidies up when the start fails.
RedisProcess::RedisProcess() : RedisProcess(make_directory()) { start(); }

RedisProcess::~RedisProcess() {
  unsubscribe();
  if (client_ != nullptr) redisFree(client_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void RedisProcess::start() {
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become_server(directory_, parent);
  if (pid_ < 0) throw std::runtime_error("fork failed");
  const auto limit = std::chrono::steady_clock::now() + kStartLimit;
  while (!connect()) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      throw std::runtime_error("redis-server ended at once");
    }
    if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("redis-server does not answer");
    std::this_thread::yield();
  }
}

bool RedisProcess::connect() {
  client_ = redisConnectUnix((directory_ + "/socket").c_str());
  if (client_ != nullptr && client_->err == 0) return true;
  if (client_ != nullptr) redisFree(client_);
  client_ = nullptr;
  return false;
}

Reply RedisProcess::command(std::span<const std::string> argv) {
  std::vector<const char *> words;
  std::vector<size_t> sizes;
  for (const std::string &word : argv) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  void *raw = redisCommandArgv(client_, static_cast<int>(words.size()), words.data(), sizes.data());
  if (raw == nullptr) throw std::runtime_error("redis-server hung up");
  auto *reply = static_cast<redisReply *>(raw);
  Reply result = reply_of(*reply);
  freeReplyObject(reply);
  return result;
}

void RedisProcess::take_snapshot() {
  if (!command({"SAVE"}).is_ok()) throw std::runtime_error("redis-server does not save");
  const std::filesystem::path directory(directory_);
  std::filesystem::copy_file(directory / "dump.rdb", directory / "snapshot",
                             std::filesystem::copy_options::overwrite_existing);
}

void RedisProcess::restart(Data data) {
  if (data == Data::Kept && !command({"SAVE"}).is_ok())
    throw std::runtime_error("redis-server does not save");
  unsubscribe();
  redisFree(client_);
  client_ = nullptr;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  const std::filesystem::path directory(directory_);
  std::filesystem::remove(directory / "socket");
  if (data != Data::Kept) std::filesystem::remove(directory / "dump.rdb");
  if (data == Data::RolledBack) std::filesystem::copy_file(directory / "snapshot", directory / "dump.rdb");
  start();
  while (command({"PING"}).is_error()) std::this_thread::yield();  // it may be loading yet
  std::filesystem::remove(directory / "dump.rdb");
}

void RedisProcess::subscribe(const std::string &channel) {
  redisContext *subscriber = redisConnectUnix((directory_ + "/socket").c_str());
  if (subscriber == nullptr || subscriber->err != 0)
    throw std::runtime_error("no connection to subscribe by");
  subscribers_.push_back(subscriber);
  void *raw = redisCommand(subscriber, "SUBSCRIBE %s", channel.c_str());
  if (raw == nullptr) throw std::runtime_error("redis-server hung up");
  freeReplyObject(raw);
}

void RedisProcess::unsubscribe() {
  for (redisContext *subscriber : subscribers_) redisFree(subscriber);
  subscribers_.clear();
}

void RedisProcess::drain() {
  char bytes[4096];
  for (const redisContext *subscriber : subscribers_) {
    while (recv(subscriber->fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
  }
}

}  // namespace liblock_test
