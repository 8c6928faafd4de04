// SPDX-License-Identifier: MIT
// What nearly every file of the core includes, for builds with precompiled headers (-Db_pch=true). Nothing of the core
// itself: a file includes what it uses, and one build of the night goes without this one to see that.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
