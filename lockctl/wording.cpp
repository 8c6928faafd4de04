// SPDX-License-Identifier: MIT
// The table of words, and their exchange. A word is exchanged only where it stands alone: ttl_ms is not within
// max_ttl_ms. Beside an option's name that of the library is kept where it tells the unit of the numbers behind it.
// Times become those that lockctl tells elsewhere.
#include "wording.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "text.hpp"

namespace lockctl {
namespace {

struct Word {
  std::string_view of_library, of_lockctl;
};

// Of two that begin alike the longer one stands first.
constexpr std::array kWords = {
    Word{"liblock_quorum_init", "lockctl quorum init"},
    Word{"liblock_quorum_set_nodes", "lockctl quorum set-nodes"},
    Word{"liblock_quorum_status", "lockctl quorum status"},
    Word{"liblock_inspect", "lockctl info"},
    Word{"liblock_list_each with zombies_only", "lockctl ls --zombies"},
    Word{"LIBLOCK_QUORUM_INIT_FORCE", "--force"},
    // Commands come and go: none of them stays for so long.
    Word{"each process counts that for itself: here that ends in", "lockctl quorum wait stays until that ends, in"},
    Word{"wait in a process that stays", "wait by lockctl quorum wait"},
    Word{"its quarantine in a process that stays", "its quarantine by lockctl quorum wait"},
    Word{"connect_timeout_ms", "--timeout"},
    Word{"command_timeout_ms", "--timeout"},
    Word{"max_ttl_ms is", "--max-ttl (max_ttl_ms) is"},
    Word{"ttl_ms", "--ttl (ttl_ms)"},
    Word{"wait_ms", "--wait"},
    Word{"value_size is", "the size of --value is"},
    Word{"votes is", "--votes is"},
    // Constants, which nobody can type.
    Word{"), LIBLOCK_TTL_AUTO or LIBLOCK_TTL_NONE", ")"},
    Word{"), or LIBLOCK_TTL_AUTO", ")"},
    Word{"; LIBLOCK_TTL_AUTO is renewed as it is", ""},
    Word{", or LIBLOCK_DEFAULT", ""},
    Word{"LIBLOCK_VOTES_ALL", "-1 for all"},
    // A password in the url of a command line can be seen, and a local context is of no use here.
    Word{"in the url, redis://:PASSWORD@host, or as option", "in LIBLOCK_PASSWORD or by --password-file"},
    Word{"a password stands behind a colon, redis://:PASSWORD@host", "a password belongs into LIBLOCK_PASSWORD"},
    Word{"\"local:NAME\", ", ""},
};

bool is_of_a_word(char byte) { return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_'; }

bool stands_alone(std::string_view text, size_t at, size_t size) {
  const bool begins = at == 0 || !is_of_a_word(text[at]) || !is_of_a_word(text[at - 1]);
  const size_t end = at + size;
  return begins && (end == text.size() || !is_of_a_word(text[end - 1]) || !is_of_a_word(text[end]));
}

}  // namespace

std::string reworded(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    constexpr std::string_view kUnit = " ms";
    const size_t digits = std::min(text.find_first_not_of("0123456789", at), text.size()) - at;
    const bool is_time = digits > 0 && digits <= 15 && text.substr(at + digits).starts_with(kUnit);
    if (is_time && stands_alone(text, at, digits + kUnit.size())) {
      out += for_people(std::stoll(std::string(text.substr(at, digits))));
      at += digits + kUnit.size();
      continue;
    }
    const auto word = std::find_if(kWords.begin(), kWords.end(), [&](const Word &one) {
      return text.substr(at).starts_with(one.of_library) && stands_alone(text, at, one.of_library.size());
    });
    if (word == kWords.end()) {
      out += text[at++];
    } else {
      out += word->of_lockctl;
      at += word->of_library.size();
    }
  }
  return out;
}

std::string message_in(const liblock_result &result) { return reworded(result.message); }

}  // namespace lockctl
