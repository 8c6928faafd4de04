// SPDX-License-Identifier: MIT
// See uv_stream.hpp. A socket that failed to connect is closed before the next address is tried: libuv cannot
// use one twice.
#include "runtime/uv_stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "base/wipe.hpp"
#include "runtime/lookup.hpp"
#include "runtime/pipe_signal.hpp"

namespace liblock {

namespace {

UvStream *self_of(void *handle) { return static_cast<UvStream *>(static_cast<uv_handle_t *>(handle)->data); }
UvStream *self_of_request(void *request) {
  return static_cast<UvStream *>(static_cast<uv_req_t *>(request)->data);
}

bool numeric_address(const std::string &host, uint16_t port, sockaddr_storage &out) {
  std::memset(&out, 0, sizeof out);
  return uv_ip4_addr(host.c_str(), port, reinterpret_cast<sockaddr_in *>(&out)) == 0 ||
         uv_ip6_addr(host.c_str(), port, reinterpret_cast<sockaddr_in6 *>(&out)) == 0;
}

// With what is to be seen to, where that is always the same.
std::string refusal(int status) {
  const std::string what = std::string("it does not accept a connection: ") + uv_strerror(status);
  if (status == UV_ECONNREFUSED)
    return what + "; is a server running, and listening at this address and port?";
  if (status == UV_ENOENT) return what + "; is a server running, and is this the path of its unixsocket?";
  if (status == UV_EACCES) return what + "; may this user connect there (to a unixsocket: write to it)?";
  return what;
}

}  // namespace

struct UvStream::Sockets {
  std::mutex mutex;  // a leaf: held while a socket is made and connected, and while one is closed
  List<UvStream, &UvStream::links_> all;
};
constinit UvStream::Sockets UvStream::sockets;

void UvStream::lock_for_fork() { sockets.mutex.lock(); }

void UvStream::unlock_after_fork() { sockets.mutex.unlock(); }

// What libuv knows of them may have been in the middle of a change.
void UvStream::close_all_after_fork() {
  while (const UvStream *stream = sockets.all.pop_front()) ::close(stream->inherited_);
}

UvStream::UvStream(Loop &loop, Listener &listener)
    : shared_(loop), loop_(loop.uv), listener_(&listener), input_(kReadSize) {
  uv_prepare_init(loop_, &before_sleep_);
  before_sleep_.data = this;
  connecting_.data = writing_.data = this;
}

// What was sent first may have been a password, and a connection that broke soon has sent little else over it. What
// came may repeat it.
UvStream::~UvStream() {
  wipe(wire_);
  wipe(sending_);
  explicit_bzero(input_.data(), input_.size());
}

void UvStream::open(const StreamTarget &target) {
  if (!target.path.empty()) {
    path_ = target.path;
    connect_next();
    return;
  }
  sockaddr_storage address;
  if (numeric_address(target.host, target.port, address)) {
    addresses_.push_back(address);
    connect_next();
    return;
  }
  look_up(target);
}

void UvStream::look_up(const StreamTarget &target) {
  const auto found = [this](int status, std::vector<sockaddr_storage> addresses) {
    addresses_ = std::move(addresses);
    if (closing_) return closed_one();
    --handles_open_;
    if (status != 0) return end("its name cannot be resolved", status);
    connect_next();
  };
  const int status = Lookup::begin(loop_, target.host, target.port, found);
  if (status != 0) return end("its name cannot be looked up", status);
  ++handles_open_;
}

void UvStream::connect_next() {
  LIBLOCK_ASSERT(!has_socket_);
  shared_.is_new = true;
  const bool is_unix = !path_.empty();
  if (const int status = make_socket(is_unix); status != 0) return end("no socket can be had", status);
  if (const int status = connect_socket(is_unix); status != 0) connected(status);
}

int UvStream::make_socket(bool is_unix) {
  const int status = is_unix ? uv_pipe_init(loop_, &socket_.pipe, 0) : uv_tcp_init(loop_, &socket_.tcp);
  if (status != 0) return status;
  socket()->data = this;
  has_socket_ = true;
  socket_closing_ = false;
  ++handles_open_;
  return 0;
}

// Nothing is called back before the loop's next turn.
int UvStream::connect_socket(bool is_unix) {
  const auto done = [](uv_connect_t *request, int result) {
    UvStream *self = self_of_request(request);
    if (!self->closing_) or_end_without_memory([=] { self->connected(result); });
  };
  const std::lock_guard lock(sockets.mutex);
  int status = 0;
  if (is_unix) {
    uv_pipe_connect(&connecting_, &socket_.pipe, path_.c_str(), done);
  } else {
    const auto *address = reinterpret_cast<const sockaddr *>(&addresses_[next_address_++]);
    status = uv_tcp_connect(&connecting_, &socket_.tcp, address, done);
  }
  inherited_ = descriptor();
  if (inherited_ >= 0) sockets.all.push_back(this);
  return status;
}

void UvStream::connected(int status) {
  if (status == UV_ECANCELED) return;
  if (status != 0) {
    if (next_address_ >= addresses_.size()) return end(refusal(status), 0);
    close_socket();  // goes on with the next address
    return;
  }
  if (path_.empty()) uv_tcp_nodelay(&socket_.tcp, 1);
  const auto room = [](uv_handle_t *handle, size_t, uv_buf_t *buffer) {
    UvStream *self = self_of(handle);
    *buffer = uv_buf_init(self->input_.data(), static_cast<unsigned>(self->input_.size()));
  };
  const auto came = [](uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer) {
    or_end_without_memory([=] { self_of(stream)->came(count, buffer->base); });
  };
  status = uv_read_start(socket(), room, came);
  if (status != 0) return end("it cannot be read from", status);
  shared_.is_new = true;
  is_open_ = true;
  listener_->on_open();
}

void UvStream::came(ssize_t count, const char *bytes) {
  if (count > 0 && listener_ != nullptr) {
    listener_->on_bytes({bytes, static_cast<size_t>(count)});
  } else if (count < 0) {
    end(count == UV_EOF ? "it closed the connection" : "the connection broke", static_cast<int>(count));
  }
}

void UvStream::request_fill() {
  if (closing_ || !is_open_ || is_unsent_) return;
  set_unsent(true);
  uv_prepare_start(&before_sleep_, [](uv_prepare_t *handle) {
    uv_prepare_stop(handle);
    self_of(handle)->set_unsent(false);
    or_end_without_memory([handle] { self_of(handle)->flush(); });
  });
}

void UvStream::expect_answers(bool expects) {
  if (expects == is_unanswered_) return;
  is_unanswered_ = expects;
  const uint32_t before = shared_.unanswered.load(std::memory_order_relaxed);
  shared_.unanswered.store(expects ? before + 1 : before - 1, std::memory_order_relaxed);
}

void UvStream::set_unsent(bool is_unsent) {
  if (is_unsent == is_unsent_) return;
  is_unsent_ = is_unsent;
  shared_.unsent += is_unsent ? 1 : -1;
}

void UvStream::flush() {
  if (listener_ == nullptr) return;
  listener_->fill(wire_);
  if (wire_.empty() || listener_ == nullptr) return;
  if (is_writing_) return;  // its end comes back here
  const int written = try_write();
  if (written < 0 && written != UV_EAGAIN) return end("it cannot be written to", written);
  const size_t done = written < 0 ? 0 : static_cast<size_t>(written);
  if (done < wire_.size()) write_rest(done);
  wire_.clear();
}

// As libuv does it, but without SIGPIPE: two system calls less than holding that back.
int UvStream::try_write() {
  ssize_t written;
  do {
    written = send(descriptor(), wire_.data(), wire_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (written < 0 && errno == EINTR);
  return written < 0 ? uv_translate_sys_error(errno) : static_cast<int>(written);
}

void UvStream::hold_signal() {
  if (shared_.whose == Thread::Callers) PipeSignal::hold();
}

void UvStream::let_signal_go(int status) {
  if (shared_.whose == Thread::Callers) PipeSignal::let_go(status == UV_EPIPE);
  if (shared_.whose == Thread::Ours && status == UV_EPIPE) PipeSignal::is_broken();
}

// libuv writes it within a later turn of the loop: until its end SIGPIPE is held.
void UvStream::write_rest(size_t from) {
  sending_.swap(wire_);
  uv_buf_t buffer = uv_buf_init(sending_.data() + from, static_cast<unsigned>(sending_.size() - from));
  const auto done = [](uv_write_t *request, int status) {
    UvStream *self = self_of_request(request);
    self->is_writing_ = false;
    self->let_signal_go(status);
    if (self->closing_ || status == UV_ECANCELED) return;
    or_end_without_memory([=] {
      if (status != 0) return self->end("it cannot be written to", status);
      self->flush();
    });
  };
  hold_signal();
  shared_.is_new = true;
  const int status = uv_write(&writing_, socket(), &buffer, 1, done);
  if (status != 0) {
    let_signal_go(status);
    return end("it cannot be written to", status);
  }
  is_writing_ = true;
}

void UvStream::end(const std::string &what, int status) {
  Listener *listener = std::exchange(listener_, nullptr);
  is_open_ = false;
  if (listener == nullptr) return;
  listener->on_end(status == UV_EOF || status == 0 ? what : what + ": " + uv_strerror(status));
}

// The socket is closed alone only to make way for the next address.
void UvStream::close_socket() {
  if (!has_socket_ || socket_closing_) return;
  socket_closing_ = true;
  const std::lock_guard lock(sockets.mutex);
  if (std::exchange(inherited_, -1) >= 0) sockets.all.remove(this);
  uv_close(reinterpret_cast<uv_handle_t *>(&socket_), [](uv_handle_t *handle) {
    UvStream *self = self_of(handle);
    self->has_socket_ = false;
    if (!self->closing_) {
      --self->handles_open_;
      return or_end_without_memory([self] { self->connect_next(); });
    }
    self->closed_one();
  });
}

void UvStream::close() {
  LIBLOCK_ASSERT(!closing_);
  closing_ = true;
  is_open_ = false;
  listener_ = nullptr;
  set_unsent(false);
  expect_answers(false);
  close_socket();
  uv_close(reinterpret_cast<uv_handle_t *>(&before_sleep_),
           [](uv_handle_t *handle) { self_of(handle)->closed_one(); });
}

void UvStream::closed_one() {
  if (--handles_open_ == 0) delete this;
}

int UvStream::descriptor() const {
  uv_os_fd_t fd = -1;
  if (!has_socket_ || uv_fileno(reinterpret_cast<const uv_handle_t *>(&socket_), &fd) != 0) return -1;
  return fd;
}

}  // namespace liblock
