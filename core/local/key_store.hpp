// SPDX-License-Identifier: MIT
// Memory for keys that do not fit into an entry, in five sizes, each with a list of free pieces that links
// through the pieces themselves. Guarded by the lock of the shard that owns it.
#pragma once

#include <cstring>
#include <new>
#include <utility>

#include "base/hash.hpp"

namespace liblock {

class KeyStore {
 public:
  KeyStore() = default;
  KeyStore(const KeyStore &) = delete;
  KeyStore &operator=(const KeyStore &) = delete;
  ~KeyStore() {
    for (Piece *&list : free_) {
      while (list != nullptr) ::operator delete(std::exchange(list, list->next));
    }
  }

  // Throws std::bad_alloc.
  char *copy(Bytes key) {
    const size_t size_class = class_of(key.size());
    Piece *piece = free_[size_class];
    if (piece != nullptr) {
      free_[size_class] = piece->next;
    } else {
      piece = static_cast<Piece *>(::operator new(kSmallest << size_class));
    }
    std::memcpy(piece, key.data(), key.size());
    return reinterpret_cast<char *>(piece);
  }
  void give_back(char *key, size_t size) {
    const size_t size_class = class_of(size);
    free_[size_class] = new (key) Piece{free_[size_class]};
  }

 private:
  struct Piece {
    Piece *next;
  };
  static constexpr size_t kSmallest = 32;
  static constexpr size_t kClasses = 5;  // 32 to 512 bytes

  static size_t class_of(size_t size) {
    size_t size_class = 0;
    while ((kSmallest << size_class) < size) ++size_class;
    return size_class;
  }

  Piece *free_[kClasses] = {};
};

}  // namespace liblock
