// SPDX-License-Identifier: MIT
// SHA-1 after RFC 3174: blocks of 64 bytes, the last one padded with 0x80, zeros and the length in bits.
#include "sha1.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace liblock_test::lua_shim {

namespace {

using Words = std::array<uint32_t, 5>;

void mix_block(Words &hash, const unsigned char *block) {
  std::array<uint32_t, 80> w{};
  for (size_t i = 0; i < 16; ++i) {
    for (size_t byte = 0; byte < 4; ++byte) w[i] = w[i] << 8 | block[4 * i + byte];
  }
  for (size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = hash;
  for (size_t i = 0; i < 80; ++i) {
    uint32_t chosen = 0;
    uint32_t constant = 0;
    if (i < 20) {
      chosen = (b & c) | (~b & d);
      constant = 0x5A827999;
    } else if (i < 40) {
      chosen = b ^ c ^ d;
      constant = 0x6ED9EBA1;
    } else if (i < 60) {
      chosen = (b & c) | (b & d) | (c & d);
      constant = 0x8F1BBCDC;
    } else {
      chosen = b ^ c ^ d;
      constant = 0xCA62C1D6;
    }
    const uint32_t next = std::rotl(a, 5) + chosen + e + w[i] + constant;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  hash = {hash[0] + a, hash[1] + b, hash[2] + c, hash[3] + d, hash[4] + e};
}

}  // namespace

std::string sha1_hex(std::string_view text) {
  std::string bytes(text);
  bytes += '\x80';
  while (bytes.size() % 64 != 56) bytes += '\0';
  const uint64_t bits = static_cast<uint64_t>(text.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 0xff);

  Words hash = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  const auto *data = reinterpret_cast<const unsigned char *>(bytes.data());
  for (size_t at = 0; at < bytes.size(); at += 64) mix_block(hash, data + at);

  std::string hex;
  for (const uint32_t word : hash) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 0xf];
  }
  return hex;
}

}  // namespace liblock_test::lua_shim
