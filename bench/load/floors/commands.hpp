// SPDX-License-Identifier: MIT
// Commands that were put together before the clock starts: what a client costs that has nothing to do but send them.
// They come from files, as bench/harness writes them: for each its size and a line feed, then its bytes as they go out,
// and before all of them what the answer to each is when it succeeds: its size, how it begins and how it ends. Another
// answer is that of a lock that was busy, or late, and ends the program: a floor of failing commands is none.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../settings.hpp"

namespace liblock_bench {

struct Commands {
  size_t reply_size = 0;
  std::string reply_head, reply_tail;
  std::vector<std::string> all;

  void must_succeed(std::string_view replies) const {
    for (; !replies.empty(); replies.remove_prefix(reply_size)) {
      const std::string_view reply = replies.substr(0, reply_size);
      if (reply.size() != reply_size || !reply.starts_with(reply_head) || !reply.ends_with(reply_tail))
        Settings::fail("another answer than that of success: " + std::string(replies.substr(0, 300)));
    }
  }

  // The first `count` of them in one piece.
  std::string joined(size_t count) const {
    std::string batch;
    for (size_t i = 0; i < count; ++i) batch += all[i];
    return batch;
  }
};

inline Commands read_commands(const std::string &path, size_t least) {
  std::ifstream file(path, std::ios::binary);
  Commands commands;
  size_t size = 0, head = 0, tail = 0;
  file >> commands.reply_size >> head >> tail;
  file.get();
  for (const auto &[part, length] :
       {std::pair{&commands.reply_head, head}, std::pair{&commands.reply_tail, tail}}) {
    part->resize(length);
    file.read(part->data(), static_cast<std::streamsize>(length));
  }
  while (file >> size && file.get() == '\n') {
    commands.all.emplace_back(size, '\0');
    file.read(commands.all.back().data(), static_cast<std::streamsize>(size));
  }
  if (commands.all.size() < least) Settings::fail(path + " has too few commands");
  return commands;
}

}  // namespace liblock_bench
