// SPDX-License-Identifier: MIT
// Runs a fuzz target over the committed corpus, each file also cut short at every byte, so that what was found once is
// tested with every compiler. Usage: fuzz-replay-TARGET FOLDER. Prints TAP.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int count, char **words) {
  if (count != 2) return std::fprintf(stderr, "usage: %s FOLDER\n", words[0]), 2;
  std::vector<std::filesystem::path> files;
  std::error_code why;
  for (const auto &entry : std::filesystem::directory_iterator(words[1], why)) files.push_back(entry.path());
  if (why) return std::fprintf(stderr, "%s cannot be read: %s\n", words[1], why.message().c_str()), 2;
  std::sort(files.begin(), files.end());
  int number = 0;
  for (const auto &file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    for (size_t size = 0; size <= bytes.size(); ++size) {
      // A piece of memory of its own for each, so that a sanitizer sees a read beyond its end.
      const std::vector<uint8_t> part(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
      LLVMFuzzerTestOneInput(part.data(), part.size());
    }
    std::printf("ok %d - %s\n", ++number, file.filename().c_str());
  }
  if (number == 0) std::printf("not ok %d - there is a corpus\n", ++number);
  std::printf("1..%d\n", number);
  return files.empty();
}
