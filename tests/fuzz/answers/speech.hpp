// SPDX-License-Identifier: MIT
// What a server may say, drawn from the input: numbers, texts and records of every kind that scripts answer and some
// that none does, forms filled with them (forms.hpp), and anything else. It knows the names that the client knows, so
// that what it says is about something.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "forms.hpp"
#include "input.hpp"
#include "quorum/configuration.hpp"

namespace answers {

using Words = std::vector<std::string_view>;

class Speech {
 public:
  static constexpr uint16_t kPorts = 3;
  static constexpr std::string_view kRunId = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";  // and a digit

  explicit Speech(Input &input) : input_(input) {
    std::vector<std::string> addresses;
    for (uint16_t port = 1; port <= kPorts; ++port) addresses.push_back("redis://sim:" + std::to_string(port) + "/0");
    configuration_ = liblock::quorum::Configuration::first(addresses, 2, 10'000, false);
  }

  static std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
  }
  static std::string number(int64_t n) { return ":" + std::to_string(n) + "\r\n"; }

  static size_t to_number(std::string_view text) {
    size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  // Names that the client knows, for messages and answers; and how many locks a call is about.
  void learn(const Words &words, int64_t now_us) {
    now_us_ = now_us;
    ++commands_;
    locks_ = 0;
    for (const std::string_view word : words) {
      const bool is_id = word.size() == 32 && word.find_first_not_of("0123456789abcdef") == word.npos &&
                         !word.starts_with(kRunId);
      if (is_id && ids_.size() < 16) ids_.emplace_back(word);
      if (is_id && ids_.size() == 16) ids_[commands_ % 16] = word;
      locks_ += word.starts_with("liblock:");
    }
    const size_t keys = words.size() > 2 ? to_number(words[2]) : 0;
    asked_ms_ = keys + 5 < words.size() ? static_cast<int64_t>(to_number(words[keys + 5])) : 0;
    proposed_ = keys + 8 < words.size() ? static_cast<int64_t>(to_number(words[keys + 8])) : 1;
  }

  // What it is it remembers, else it would be told so without end.
  void keep_mark(uint16_t port, const Words &words, size_t who, size_t record) {
    if (record < words.size()) marks_[port] = {std::string(words[who]), std::string(words[record])};
  }

  // On a channel, without being asked: a letter that says what it is, and what belongs to that.
  std::string message(const std::string &channel) {
    static const std::string_view kForms[] = {"g#1|k|m|n|a", "h#a", "x#a",         "wa",  "qa", "s#a", "dt|a", "ot|s|a",
                                              "la",          "c#a", "g#2|k|m|n|a", "ss|a", "d#", "g#s", "l",    ""};
    const std::string_view form = kForms[input_.draw() % std::size(kForms)];
    std::string text(form.substr(0, 1));
    for (const char letter : form.substr(text.size())) {
      if (letter == '|' || letter == '1' || letter == '2') {
        text += letter;
      } else {
        text += plain(letter);
      }
    }
    return "*3\r\n" + bulk("message") + bulk(channel) + bulk(text);
  }

  // What is no answer of the script: an error, nothing at all, another kind, any tree, any bytes.
  std::string trouble(uint8_t how) {
    static const std::string_view kErrors[] = {
        "NOSCRIPT No matching script", "READONLY You can't write against a read only replica.",
        "OOM command not allowed",     "BUSY Redis is busy running a script",
        "WRONGTYPE Operation",         "NOAUTH Authentication required.",
        "NOPERM no permissions",       "ERR unknown",
        "LOADING",                     "MOVED 1 a:1",
        "ERR Error running script (call to f_1): @user_script:4: WRONGTYPE Operation", ""};
    const uint8_t which = how % 16;
    if (which < std::size(kErrors)) return "-" + std::string(kErrors[which]) + "\r\n";
    if (which == 12) return {};
    if (which == 13) return tree(0);
    if (which == 14) return tree(0) + tree(0);
    std::string bytes;
    for (uint8_t size = input_.draw() % 16; size > 0; --size) bytes += static_cast<char>(input_.draw());
    return bytes;
  }
  // A form, element by element; each may be another one, be missing, or come twice.
  void in_form(uint16_t port, std::string_view form, std::string &answer) {
    port_ = port;
    std::vector<std::pair<int, std::string>> open{{0, {}}};
    size_t repeats_from = 0, repeats = 0;
    for (size_t at = 0; at < form.size(); ++at) {
      const char letter = form[at];
      if (letter == '[') {
        open.push_back({0, {}});
      } else if (letter == ']') {
        const auto [count, elements] = std::move(open.back());
        open.pop_back();
        open.back().second += "*" + std::to_string(count) + "\r\n" + elements;
        ++open.back().first;
      } else if (letter == '(' || letter == '{') {
        repeats_from = at;
        repeats = letter == '(' ? std::max<size_t>(1, locks_) : input_.draw() % 4;
        if (repeats == 0) at = form.find('}', at);
      } else if (letter == ')' || letter == '}') {
        if (--repeats > 0) at = repeats_from;
      } else {
        add(letter, open.back());
      }
    }
    answer += open.front().second;
  }

  std::string plain(char letter) {
    if (std::string_view("tknm").find(letter) != std::string_view::npos) return std::to_string(integer(letter));
    return text(letter, input_.draw());
  }

  int64_t integer(char letter) { return integer(letter, input_.draw()); }
 private:
  std::string tree(size_t depth) {
    static constexpr char kLetters[] = "tknxpmbozydreisfvnb";
    const uint8_t what = input_.draw();
    if (what < 200 || depth > 5) return atom(kLetters[what % (sizeof kLetters - 1)]);
    if (what < 210) return "$-1\r\n";
    if (what < 220) return "*-1\r\n";
    if (what < 224) return "+" + plain('s') + "\r\n";
    std::string elements;
    for (int i = 0; i < what % 8; ++i) elements += tree(depth + 1);
    return "*" + std::to_string(what % 8) + "\r\n" + elements;
  }

  void add(char letter, std::pair<int, std::string> &array) {
    const uint8_t how = input_.draw();
    if (how == 255) return;  // what comes behind it stands in its place
    const std::string element = how < 244 ? atom(letter, how) : tree(3);
    for (int i = 0; i < (how == 243 ? 2 : 1); ++i) ++array.first, array.second += element;
  }

  std::string atom(char letter) { return atom(letter, input_.draw()); }
  std::string atom(char letter, uint8_t how) {
    if (std::string_view("tkgnxpmbozy").find(letter) != std::string_view::npos) return number(integer(letter, how));
    if (letter == 'r' && how % 4 == 3) return "$-1\r\n";
    if (letter == 'M') return "*2\r\n" + bulk("a") + bulk(text('s', how));
    if (letter == 'Q') return "*3\r\n" + bulk(text('d', how)) + bulk(std::to_string(now_us_)) + bulk(text('q', how));
    return bulk(text(letter, how));
  }
  int64_t integer(char letter, uint8_t how) {
    static constexpr int64_t kOdd[] = {0,         1,         2,         -1,        -2,       -3,
                                       INT64_MAX, INT64_MIN, INT64_MAX / 4, INT64_MAX / 2, int64_t{1} << 52,
                                       INT32_MAX, INT64_MIN + 1, 1'000,     30'000,    60'000};
    if (how >= 16 && how < 32) return kOdd[how - 16];
    if (letter == 'b') return how == 0 || how % 2;
    const int64_t more = how < 32 ? how : how < 128 ? how - 80 : 0;
    switch (letter) {
      case 't':
        return now_us_ + more * 100'000;
      case 'k':
        return last_token_ = std::max(last_token_ + 1, now_us_) + std::max<int64_t>(more, 0);
      case 'g':
        return std::max<int64_t>(1, proposed_ + more);
      case 'x':
        return 1 + more % 3;
      case 'm':
        return asked_ms_ == 0 ? -1 : asked_ms_ + more * 50;
      case 'p':
        return more == 0 ? 1'000 : more * 50;
      case 'o':
      case 'y':
        return 1 + more % 3;
      default:
        return more;
    }
  }

  std::string text(char letter, uint8_t how) {
    static const std::string_view kWords[] = {"", "liblock:a", "o", "1700000000000000", "-1", "9223372036854775807",
                                              "18446744073709551616", "\0", "%7c|", "cycle", "0|1|2|3|4|5|6|7|8"};
    static const std::string_view kShort = "OBLCTGNEW";
    static const std::string_view kLong[] = {"OK", "BUSY", "LATE", "CONFIG", "TTL", "GONE", "NO", "EARLY", "NEW"};
    if (const size_t at = kShort.find(letter); at != std::string_view::npos) return std::string(kLong[at]);
    switch (letter) {
      case '#':
      case 'd':
        return how % 8 == 7 || ids_.empty() ? std::string(how % 40, 'e') : ids_[how % ids_.size()];
      case 'a':
        return "liblock:" + std::string(1, static_cast<char>('a' + how % 4));
      case 'i':
        return how >= 200 ? changed().who(node_id()) : is_marked() ? marks_[port_].who : configuration_.who(node_id());
      case 'f':
        return how >= 200 ? changed().to_text() : is_marked() ? marks_[port_].record : configuration_.to_text();
      case 'r':
        return record(how);
      case 'e':
        return "1700000000000000|1700000000000000|3000|" + std::to_string(how % 5) + "|0|" + text('d', how) + "|o|v";
      case 'q':
        return std::to_string(now_us_ + 1'000'000) + "|" + text('d', how) + "|o";
      case 'v':
        return how % 2 == 0 ? "WRONGTYPE Operation" : "READONLY a replica";
      case 'S':
        return "o/1";
      default:
        return std::string(kWords[how % std::size(kWords)]);
    }
  }
  std::string record(uint8_t how) {
    if (how % 8 == 2) return "foreign";
    const std::string token = how % 8 == 4 ? "18446744073709551615" : std::to_string(now_us_);
    return "ll1|" + text('d', how / 8) + "|0000000" + char('0' + how % 8) + "|" + token + "|o|" + text('d', how / 16) +
           "|@1700000000000000,30000," + (how % 8 == 5 ? "p" : how % 8 == 6 ? "r7" : "c") + ",1,5,0" +
           (how >= 128 ? ",2" : "") + "|value";
  }
  bool is_marked() const { return marks_.contains(port_); }
  std::string node_id() const { return "n" + std::to_string(port_); }
  liblock::quorum::Configuration changed() const {
    auto changed = configuration_;
    ++changed.epoch;
    changed.next = changed.now;
    changed.next.all.pop_back();
    return changed;
  }

  Input &input_;
  liblock::quorum::Configuration configuration_;
  struct Mark {
    std::string who, record;
  };
  std::map<uint16_t, Mark> marks_;
  uint16_t port_ = 1;  // that answers
  int64_t now_us_ = 0;
  size_t commands_ = 0;
  size_t locks_ = 0;      // that the call is about
  int64_t proposed_ = 1;  // a token that the call names
  int64_t asked_ms_ = 0;  // a lease that it asks for
  int64_t last_token_ = 0;
  std::vector<std::string> ids_;
};

}  // namespace answers
