// SPDX-License-Identifier: MIT
// An intrusive doubly linked list: the links live in the member, so that linking never allocates. A member is
// in one list at a time; the list owns nothing. Order of members is the business of whoever inserts.
#pragma once

#include <cstddef>

#include "base/assert.hpp"

namespace liblock {

template <typename T>
struct ListLinks {
  T *prev = nullptr;
  T *next = nullptr;
};

template <typename T, ListLinks<T> T::*kLinks>
class List {
 public:
  bool empty() const { return head_ == nullptr; }
  size_t size() const { return size_; }
  T *front() const { return head_; }
  T *back() const { return tail_; }
  static T *next(const T *member) { return (member->*kLinks).next; }
  static T *prev(const T *member) { return (member->*kLinks).prev; }

  // before == nullptr appends.
  void insert(T *member, T *before) {
    auto &links = member->*kLinks;
    LIBLOCK_ASSERT(links.prev == nullptr && links.next == nullptr && head_ != member);
    links.next = before;
    links.prev = before != nullptr ? (before->*kLinks).prev : tail_;
    (links.prev != nullptr ? (links.prev->*kLinks).next : head_) = member;
    (before != nullptr ? (before->*kLinks).prev : tail_) = member;
    ++size_;
  }
  void push_back(T *member) { insert(member, nullptr); }
  void remove(T *member) {
    auto &links = member->*kLinks;
    LIBLOCK_ASSERT(size_ > 0 && (links.prev != nullptr || head_ == member));
    (links.prev != nullptr ? (links.prev->*kLinks).next : head_) = links.next;
    (links.next != nullptr ? (links.next->*kLinks).prev : tail_) = links.prev;
    links = {};
    --size_;
  }
  T *pop_front() {
    T *member = head_;
    if (member != nullptr) remove(member);
    return member;
  }

 private:
  T *head_ = nullptr;
  T *tail_ = nullptr;
  size_t size_ = 0;
};

}  // namespace liblock
