// SPDX-License-Identifier: MIT
// A client without a library: sends commands over one connection from a host and writes down what it hears.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host.hpp"
#include "resp.hpp"

namespace liblock_test::sim {

class Talker final : private liblock::ByteStream::Listener {
 public:
  Talker(Host &host, uint16_t port) : stream_(host.make_stream(*this)) { stream_->open({{}, "sim", port}); }
  ~Talker() { close(); }
  Talker(const Talker &) = delete;
  Talker &operator=(const Talker &) = delete;

  void say(const Words &words) {
    std::vector<lua_shim::Reply> items;
    for (const std::string &word : words) items.push_back(lua_shim::Reply::string(word));
    to_say_ += encode(lua_shim::Reply::array(std::move(items)));
    if (stream_ != nullptr && is_open) stream_->request_fill();
  }
  void close() {
    if (stream_ != nullptr) stream_->close();
    stream_ = nullptr;
  }
  // Since the last such question that was answered with yes.
  bool has_heard(const std::string &text) {
    const bool has = heard.find(text) != std::string::npos;
    if (has) heard.clear();
    return has;
  }

  std::string heard;  // as it came
  std::string end;    // why the connection ended
  bool is_open = false;

 private:
  void on_open() override {
    is_open = true;
    stream_->request_fill();
  }
  void on_bytes(std::string_view bytes) override { heard += bytes; }
  void on_end(const std::string &why) override {
    end = why;
    close();
  }
  void fill(std::string &wire) override { wire += std::exchange(to_say_, {}); }

  liblock::ByteStream *stream_;
  std::string to_say_;
};

}  // namespace liblock_test::sim
