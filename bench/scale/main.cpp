// SPDX-License-Identifier: MIT
// The program `bench-scale WHAT COUNT URL`: one point of one of the curves that bench/scale.py draws. The files beside
// this one each measure one kind of thing; scale.hpp says what they have in common.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "scale/scale.hpp"

int main(int argc, char **argv) {
  using liblock_bench::Figures;
  const std::map<std::string, Figures (*)(const std::string &, size_t)> measures = {
      {"waiters", liblock_bench::measure_waiters},
      {"standing", liblock_bench::measure_standing},
      {"held", liblock_bench::measure_held},
      {"renewed", liblock_bench::measure_renewed},
      {"owners", liblock_bench::measure_owners},
      {"pairs", liblock_bench::measure_pairs},
      {"found", liblock_bench::found_quorum},
      {"version", [](const std::string &, size_t) { return Figures(); }},
  };
  const auto measure = measures.find(argc == 4 ? argv[1] : "");
  const long count = argc == 4 ? std::strtol(argv[2], nullptr, 10) : 0;
  if (measure == measures.end() || count <= 0) {
    std::fprintf(stderr, "usage: bench-scale waiters|standing|held|renewed|owners|pairs|found|version COUNT URL\n");
    return 2;
  }
  const Figures figures = measure->second(argv[3], static_cast<size_t>(count));
  std::printf("{\"liblock_version\": \"%s\"", liblock_version_string());
  for (const auto &[name, value] : figures) std::printf(", \"%s\": %.17g", name.c_str(), value);
  std::puts("}");
  return 0;
}
