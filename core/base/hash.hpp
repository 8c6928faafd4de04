// SPDX-License-Identifier: MIT
// Keyed hash of short byte strings: two 64 x 64 -> 128 bit multiplications folded into 64 bits, the idea of
// wyhash (Wang Yi, public domain), written anew. The seed is random per table, so that nobody outside can
// choose keys that collide. Not a cryptographic hash, and its values never leave the process.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace liblock {

using Bytes = std::string_view;

namespace hash_internal {

inline uint64_t load64(const char *p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
// Numbers that compare as the bytes do.
inline uint64_t big_endian(uint64_t v) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(v) : v;
}
inline uint64_t load32(const char *p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
// Both halves of the product of 128 bits, by words of 32: for machines that have no wider ones.
constexpr uint64_t fold_by_halves(uint64_t a, uint64_t b) {
  const uint64_t low_a = a & UINT32_MAX, high_a = a >> 32, low_b = b & UINT32_MAX, high_b = b >> 32;
  const uint64_t middle = high_a * low_b + (low_a * low_b >> 32);
  const uint64_t carry = (middle & UINT32_MAX) + low_a * high_b;
  return (a * b) ^ (high_a * high_b + (middle >> 32) + (carry >> 32));
}
inline uint64_t fold(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 Wide;
  const auto product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  return fold_by_halves(a, b);
#endif
}

inline constexpr uint64_t kMix1 = 0x8bb84b93962eacc9u;
inline constexpr uint64_t kMix2 = 0x4b33a62ed433d4a3u;
inline constexpr uint64_t kMix3 = 0xa0761d6478bd642fu;

// Two words that together hold every byte of a string of at most 16 bytes.
inline void load_short(const char *p, size_t size, uint64_t &a, uint64_t &b) {
  if (size >= 8) {
    a = load64(p);
    b = load64(p + size - 8);
  } else if (size >= 4) {
    a = load32(p);
    b = load32(p + size - 4);
  } else {
    a = (static_cast<uint64_t>(static_cast<unsigned char>(p[0])) << 16) |
        (static_cast<uint64_t>(static_cast<unsigned char>(p[size >> 1])) << 8) |
        static_cast<unsigned char>(p[size - 1]);
    b = 0;
  }
}

}  // namespace hash_internal

// key must not be empty.
inline uint64_t hash_bytes(Bytes key, uint64_t seed) {
  using namespace hash_internal;
  const char *p = key.data();
  size_t size = key.size();
  uint64_t state = seed ^ kMix3;
  while (size > 16) {
    state = fold(load64(p) ^ kMix1, load64(p + 8) ^ state);
    p += 16;
    size -= 16;
  }
  uint64_t a, b;
  load_short(p, size, a, b);
  return fold(kMix2 ^ key.size() ^ state, fold(a ^ kMix1, b ^ state) ^ kMix3);
}

// Byte order as by memcmp, shorter first: < 0, 0, > 0. Inline, eight bytes at a time: keys are short.
inline int compare_bytes(Bytes a, Bytes b) {
  const size_t common = a.size() < b.size() ? a.size() : b.size();
  size_t at = 0;
  for (; at + 8 <= common; at += 8) {
    const uint64_t x = hash_internal::load64(a.data() + at);
    const uint64_t y = hash_internal::load64(b.data() + at);
    if (x != y) return hash_internal::big_endian(x) < hash_internal::big_endian(y) ? -1 : 1;
  }
  for (; at < common; ++at) {
    if (a[at] != b[at]) return static_cast<unsigned char>(a[at]) < static_cast<unsigned char>(b[at]) ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

}  // namespace liblock
