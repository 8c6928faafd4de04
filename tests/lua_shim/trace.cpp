// SPDX-License-Identifier: MIT
// In a form, $ and a letter is a place: k any key, s h l e z a key that likely is a string, hash, list, set or
// sorted set, v a value, f a field or member, i an integer, d a score, b an end of a score range, t a relative
// time, a an absolute one, j what is no time in the near future. Absolute times lie decades ahead.
#include "trace.hpp"

#include <iterator>

namespace liblock_test {

namespace {

constexpr std::string_view kForms[] = {
    "GET $k",
    "GET $s",
    "SET $s $v",
    "SET $s $i",
    "SET $k $v NX",
    "SET $s $v XX",
    "SET $s $v PX $t",
    "SET $s $v EX $t NX",
    "SET $s $v GET",
    "SET $s $v NX GET",
    "SET $s $v KEEPTTL",
    "SET $s $v PXAT $a",
    "SET $s $v PX $j",
    "SET $s $v XX KEEPTTL GET",
    "SET $s $v EX $t PX $t",
    "SETNX $s $v",
    "GETDEL $s",
    "MGET $s $k $s",
    "INCR $s",
    "DECR $s",
    "INCRBY $s $i",
    "DECRBY $s $i",
    "DEL $k",
    "DEL $k $k $k",
    "UNLINK $k",
    "EXISTS $k $k",
    "TYPE $k",
    "PTTL $k",
    "TTL $k",
    "PEXPIRE $k $t",
    "EXPIRE $k $t",
    "PEXPIRE $k $j",
    "PEXPIREAT $k $a",
    "PEXPIREAT $k $a NX",
    "PEXPIREAT $k $a XX",
    "PEXPIREAT $k $a GT",
    "PEXPIREAT $k $a LT",
    "PEXPIREAT $k $a XX GT",
    "PEXPIREAT $k $i",
    "PERSIST $k",
    "PEXPIRETIME $k",
    "DBSIZE",
    "PING",
    "PING $v",
    "ECHO $v",
    "SELECT 0",
    "CLIENT SETNAME $f",
    "PUBLISH $k $v",
    "WAIT 0 $i",
    "EXISTS $k",
    "HSET $h $f $v",
    "HSET $h $f $v $f $i",
    "HSET $k $f $v",
    "HSETNX $h $f $v",
    "HGET $h $f",
    "HGET $k $f",
    "HMGET $h $f $f $f",
    "HGETALL $h",
    "HGETALL $k",
    "HKEYS $h",
    "HDEL $h $f",
    "HDEL $k $f $f",
    "HLEN $h",
    "HEXISTS $h $f",
    "HINCRBY $h $f $i",
    "HINCRBY $h n $i",
    "LPUSH $l $v",
    "LPUSH $k $v $v",
    "RPUSH $l $f $f $f",
    "LPOP $l",
    "LPOP $l $i",
    "RPOP $l",
    "RPOP $k 2",
    "LRANGE $l 0 -1",
    "LRANGE $k $i $i",
    "LLEN $l",
    "LLEN $k",
    "LREM $l $i $f",
    "SADD $e $f",
    "SADD $k $f $f $v",
    "SREM $e $f $f",
    "SMEMBERS $e",
    "SMEMBERS $k",
    "SISMEMBER $e $f",
    "SCARD $e",
    "ZADD $z $d $f",
    "ZADD $z $d $f $d $f $d $f",
    "ZADD $z NX $d $f",
    "ZADD $z XX CH $d $f",
    "ZADD $z GT $d $f",
    "ZADD $z LT CH $d $f $d $f",
    "ZADD $z INCR $d $f",
    "ZADD $z NX INCR $d $f",
    "ZADD $z XX GT INCR $d $f",
    "ZADD $k $d $f",
    "ZADD $z NX GT $d $f",
    "ZINCRBY $z $d $f",
    "ZREM $z $f $f",
    "ZRANGE $z 0 -1 WITHSCORES",
    "ZRANGE $z $i $i",
    "ZRANGE $z $i $i REV",
    "ZRANGE $z $b $b BYSCORE",
    "ZRANGE $z $b $b BYSCORE WITHSCORES",
    "ZRANGE $z $b $b BYSCORE REV LIMIT $i $i",
    "ZRANGE $z $b $b BYSCORE LIMIT 1 2",
    "ZRANGE $k 0 $i LIMIT 0 1",
    "ZRANGEBYSCORE $z $b $b",
    "ZRANGEBYSCORE $z $b $b WITHSCORES LIMIT $i $i",
    "ZRANGEBYSCORE $z -inf +inf",
    "ZREVRANGEBYSCORE $z $b $b",
    "ZRANK $z $f",
    "ZREVRANK $z $f",
    "ZCARD $z",
    "ZCARD $k",
    "ZCOUNT $z $b $b",
    "ZSCORE $z $f",
    "ZPOPMIN $z",
    "ZPOPMIN $z $i",
    "ZPOPMAX $z",
    "ZREMRANGEBYSCORE $z $b $b",
    "ZREMRANGEBYRANK $z $i $i",
    "SCAN 0 COUNT $i MATCH",
    "SCAN $v",
    "SCRIPT EXISTS $v",
    "NOSUCH $k $v",
    "TYPE $k",
};

template <size_t Size>
std::string pick(Trace &trace, const std::string_view (&list)[Size]) {
  return std::string(list[trace.below(Size)]);
}

}  // namespace

std::string Trace::fill(std::string_view place) {
  static constexpr std::string_view kValues[] = {"",   "a",       "b",    "1",      "10",
                                                 "-3", "one two", "\r\n", "x\x01y", "007"};
  static constexpr std::string_view kFields[] = {"a", "b", "c", "d", "5", "-7", "n", "A"};
  static constexpr std::string_view kIntegers[] = {
      "0", "1", "2", "3", "-1", "-2", "10", "x", "1.5", "9223372036854775807", "-9223372036854775808"};
  static constexpr std::string_view kNoTimes[] = {
      "0", "-1", "-30", "x", "1.5", "9223372036854775807", "-9223372036854775808"};
  static constexpr std::string_view kScores[] = {"0",  "1",   "2",    "3",   "1.5",  "-1",   "0.1", "1e20",
                                                 "-0", "inf", "-inf", "nan", "0x10", "1e-7", "x"};
  static constexpr std::string_view kBounds[] = {"-inf", "+inf", "0", "(1", "1", "2",
                                                 "(3",   "1.5",  "(", "",   "x"};
  const auto key_of = [&](char type) { return std::string(1, type) + std::to_string(below(2)); };
  switch (place[1]) {
    case 'k':
      return key_of("shlez"[below(5)]);
    case 'v':
      return pick(*this, kValues);
    case 'f':
      return pick(*this, kFields);
    case 'i':
      return pick(*this, kIntegers);
    case 'j':
      return pick(*this, kNoTimes);
    case 'd':
      return pick(*this, kScores);
    case 'b':
      return pick(*this, kBounds);
    case 't':
      return std::to_string((1 + below(9)) * 100'000'000);
    case 'a':
      return std::to_string(4'000'000'000'000 + below(9) * 100'000'000);
    default:
      return key_of(place[1]);
  }
}

Words Trace::fill_form(std::string_view form) {
  Words words;
  while (!form.empty()) {
    const size_t end = form.find(' ');
    const std::string_view word = form.substr(0, end);
    words.push_back(word.starts_with('$') ? fill(word) : std::string(word));
    form.remove_prefix(end == std::string_view::npos ? form.size() : end + 1);
  }
  return words;
}

Words Trace::script_call() {
  const std::string &body = trace_scripts()[below(trace_scripts().size())];
  static constexpr std::string_view kArguments[] = {"$v", "$f", "$i", "$d", "$t", "$k"};
  static constexpr std::string_view kCommands[] = {"GET",  "HGETALL", "LLEN", "ZCARD",
                                                   "TYPE", "INCR",    "DEL",  "LPOP"};
  Words words = {"EVAL", body};
  const uint64_t keys = below(4);
  words.push_back(std::to_string(keys));
  for (uint64_t i = 0; i < keys; ++i) words.push_back(fill("$k"));
  const uint64_t arguments = below(5);
  for (uint64_t i = 0; i < arguments; ++i) {
    words.push_back(below(3) == 0 ? pick(*this, kCommands) : fill(kArguments[below(std::size(kArguments))]));
  }
  return words;
}

void Trace::spoil(Words &words) {
  const size_t at = 1 + below(words.size());
  if (below(3) == 0) {
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), fill("$v"));
  } else if (at < words.size() && below(2) == 0) {
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (at < words.size()) {
    words[at] = fill("$j");
  }
}

Words Trace::next() {
  Words words = below(4) == 0 ? script_call() : fill_form(kForms[below(std::size(kForms))]);
  if (below(25) == 0) spoil(words);
  return words;
}

}  // namespace liblock_test
