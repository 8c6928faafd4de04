// SPDX-License-Identifier: MIT
// See reply.hpp. hiredis parses and calls the functions below for each element. Where one refuses (nullptr),
// hiredis ends as out of memory, and limit_hit_ says what it really was. Builds with hiredis 0.14, whose array
// function takes an int, and with 1.x, which knows more kinds: those are refused, since nobody asks for them.
//
// hiredis keeps what it has not read yet, and moves it to and fro; but what was fed last is always the end of what
// it has. So a text that lies so far from that end lies as far from the end of the bytes that were fed, and is named
// there.
#include "redis/reply.hpp"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>
#include <string.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

namespace liblock {

namespace {

constexpr size_t kFirstNodes = 64;
constexpr size_t kChunk = 4'096;
const Reply kNil;

}  // namespace

const Reply &Reply::at(size_t index) const { return index < elements.size() ? elements[index] : kNil; }

struct ReplyReader::Functions {
  static ReplyReader &reader_of(const redisReadTask *task) {
    return *static_cast<ReplyReader *>(task->privdata);
  }

  // The place of this element: in its array, or a root of its own.
  static Reply *place(const redisReadTask *task) {
    if (task->parent == nullptr) return reader_of(task).take_nodes(1);
    auto *array = static_cast<Reply *>(task->parent->obj);
    return const_cast<Reply *>(&array->elements[static_cast<size_t>(task->idx)]);
  }
  static Reply *put(const redisReadTask *task, Reply::Kind kind) {
    Reply *reply = place(task);
    if (reply != nullptr) reply->kind = kind;
    return reply;
  }
  static void *text(const redisReadTask *task, char *bytes, size_t size) {
    const Reply::Kind kind = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::Error
                             : task->type == REDIS_REPLY_STATUS ? Reply::Kind::Status
                                                                : Reply::Kind::Text;
    const Bytes text = reader_of(task).take_text({bytes, size});
    if (text.data() == nullptr) return nullptr;
    Reply *reply = put(task, kind);
    if (reply != nullptr) reply->text = text;
    return reply;
  }
#if HIREDIS_MAJOR >= 1
  using Count = size_t;
  static void *number(const redisReadTask *task, double, char *, size_t) { return refuse(task); }
  static void *boolean(const redisReadTask *task, int) { return refuse(task); }
#else
  using Count = int;
#endif
  static void *refuse(const redisReadTask *task) {
    reader_of(task).limit_hit_ = "a kind of reply that was not asked for";
    return nullptr;
  }
  static void *array(const redisReadTask *task, Count count) {
    ReplyReader &reader = reader_of(task);
    size_t depth = 1;
    for (const redisReadTask *up = task->parent; up != nullptr; up = up->parent) ++depth;
    if (depth > reader.limits_.depth) {
      reader.limit_hit_ = "arrays too deep";
      return nullptr;
    }
    const auto size = static_cast<size_t>(count);
    Reply *elements = reader.take_nodes(size);
    if (elements == nullptr) return nullptr;
    Reply *reply = put(task, Reply::Kind::Array);
    if (reply != nullptr) reply->elements = {elements, size};
    return reply;
  }
  static void *integer(const redisReadTask *task, long long value) {
    Reply *reply = put(task, Reply::Kind::Integer);
    if (reply != nullptr) reply->integer = value;
    return reply;
  }
  static void *nil(const redisReadTask *task) { return put(task, Reply::Kind::Nil); }
  static void free(void *) {}

  static redisReplyObjectFunctions *all() {
    static redisReplyObjectFunctions functions = [] {
      redisReplyObjectFunctions f{};
      f.createString = text;
      f.createArray = array;
      f.createInteger = integer;
      f.createNil = nil;
      f.freeObject = free;
#if HIREDIS_MAJOR >= 1
      f.createDouble = number;
      f.createBool = boolean;
#endif
      return f;
    }();
    return &functions;
  }
};

ReplyReader::ReplyReader() : first_nodes_(std::make_unique<Reply[]>(kFirstNodes)) {
  reader_ = redisReaderCreateWithFunctions(Functions::all());
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = this;
}

bool Reply::has_integers(size_t from, size_t count) const {
  if (elements.size() < from + count) return false;
  const auto part = elements.subspan(from, count);
  return std::all_of(part.begin(), part.end(), [](const Reply &r) { return r.is(Kind::Integer); });
}

// An error may repeat what was sent, a password too.
ReplyReader::~ReplyReader() {
  if (reader_->buf != nullptr) explicit_bzero(reader_->buf, reader_->len);
  if (!texts_.empty() && texts_.back() != nullptr) explicit_bzero(texts_.back().get(), chunk_size_);
  redisReaderFree(reader_);
}

bool ReplyReader::feed(Bytes bytes) {
  if (is_broken()) return false;
  fed_ = bytes;
  if (redisReaderFeed(reader_, bytes.data(), bytes.size()) != REDIS_OK) no_memory();
  return !is_broken();
}

const Reply *ReplyReader::next() {
  if (is_broken()) return nullptr;
  if (reader_->ridx == -1) forget();  // between two replies
  void *reply = nullptr;
  if (redisReaderGetReply(reader_, &reply) != REDIS_OK) {
    if (limit_hit_ == nullptr && reader_->err == REDIS_ERR_OOM) no_memory();
    if (!is_broken()) error_ = limit_hit_ != nullptr ? limit_hit_ : "the bytes are not of the Redis protocol";
    return nullptr;
  }
  if (reader_->reply != nullptr) keep_texts(*static_cast<Reply *>(reader_->reply));
  // What is left is the beginning of one element at most.
  if (reply == nullptr && reader_->len - reader_->pos > limits_.reply_bytes)
    error_ = "a reply that does not end";
  return is_broken() ? nullptr : static_cast<const Reply *>(reply);
}

void ReplyReader::no_memory() {
  lacks_memory_ = true;
  error_ = "no memory for a reply";
}

void ReplyReader::forget() {
  nodes_.clear();
  if (texts_.size() > 1) texts_.resize(1);
  if (!texts_.empty() && chunk_size_ > kChunk) texts_.clear();
  chunk_size_ = texts_.empty() ? 0 : kChunk;
  nodes_used_ = text_used_ = chunk_used_ = 0;
}

Reply *ReplyReader::take_nodes(size_t count) {
  if (count > limits_.elements || nodes_used_ + count > limits_.elements) {
    limit_hit_ = "a reply with too many elements";
    return nullptr;
  }
  const size_t from = nodes_used_;
  nodes_used_ += count;
  Reply *taken;
  if (nodes_used_ <= kFirstNodes) {
    taken = first_nodes_.get() + from;
    for (size_t i = 0; i < count; ++i) taken[i] = Reply();
  } else {
    nodes_.emplace_back(new (std::nothrow) Reply[count]);
    taken = nodes_.back().get();
  }
  return taken;
}

Bytes ReplyReader::take_text(Bytes text) {
  if (text.size() > limits_.reply_bytes - text_used_) {
    limit_hit_ = "a reply that is too large";
    return {};
  }
  text_used_ += text.size();
  const auto to_end = static_cast<size_t>(reader_->buf + reader_->len - text.data());
  return to_end <= fed_.size() ? Bytes(fed_.data() + fed_.size() - to_end, text.size()) : keep(text);
}

// Those of a reply of which more is to come, out of the bytes that are gone by then.
void ReplyReader::keep_texts(Reply &reply) {
  const std::less_equal<> comes_before;
  const bool is_fed = !reply.text.empty() && comes_before(fed_.data(), reply.text.data()) &&
                      comes_before(reply.text.data() + reply.text.size(), fed_.data() + fed_.size());
  if (is_fed) {
    reply.text = keep(reply.text);
    if (reply.text.data() == nullptr) return no_memory();
  }
  for (const Reply &element : reply.elements) keep_texts(const_cast<Reply &>(element));
}

Bytes ReplyReader::keep(Bytes text) {
  if (texts_.empty() || chunk_used_ + text.size() > chunk_size_) {
    chunk_size_ = std::max(text.size(), kChunk);
    chunk_used_ = 0;
    texts_.emplace_back(new (std::nothrow) char[chunk_size_]);
  }
  if (texts_.back() == nullptr) return {};
  char *kept = texts_.back().get() + chunk_used_;
  std::memcpy(kept, text.data(), text.size());
  chunk_used_ += text.size();
  return {kept, text.size()};
}

}  // namespace liblock
