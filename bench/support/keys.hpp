// SPDX-License-Identifier: MIT
// The keys of every benchmark: 16 (or 64) bytes of text, all distinct, the same in each run, without any
// order that a hash function or a prefetcher could profit from. They lie densely in one array, as a caller's
// own keys would.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

namespace liblock_bench {

inline constexpr size_t hot_keys = 1024;        // fits the first-level cache together with the entries
inline constexpr size_t many_keys = 1'000'000;  // fits no cache

template <size_t Size>
using Key = std::array<char, Size>;
using Key16 = Key<16>;
using Key64 = Key<64>;

template <size_t Size>
std::string_view view(const Key<Size> &key) {
  return {key.data(), key.size()};
}

// A bijection on 64 bits, so that distinct numbers become distinct keys.
inline uint64_t scramble(uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// The first 16 bytes tell keys apart; longer keys repeat them, as a path or a tenant prefix would make them
// longer.
template <size_t Size>
Key<Size> make_key(uint64_t number) {
  static_assert(Size >= 16);
  static constexpr char digits[] = "0123456789abcdef";
  Key<Size> key;
  const uint64_t bits = scramble(number);
  for (size_t i = 0; i < Size; ++i) key[i] = digits[(bits >> (4 * (i % 16))) & 15];
  return key;
}

template <size_t Size = 16>
std::vector<Key<Size>> make_keys(size_t count, uint64_t first = 0) {
  std::vector<Key<Size>> keys(count);
  for (size_t i = 0; i < count; ++i) keys[i] = make_key<Size>(first + i);
  return keys;
}

inline std::vector<uint32_t> random_order(size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 generator(20240229);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[generator() % i]);
  return order;
}

}  // namespace liblock_bench
