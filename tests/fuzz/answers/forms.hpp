// SPDX-License-Identifier: MIT
// What each script answers, as forms of one letter for each element; the heads of the scripts say what they mean. A
// bracket is an array, what stands in ( ) comes for each lock of the call, what stands in { } as often as is drawn. The
// first form of each is the usual one.
//
//   O OK  B BUSY  L LATE  C CONFIG  T TTL  G GONE  N NO  E EARLY  W NEW
//   t moment in us  k token  g the one that is proposed  n count  x number of a key
//   p time left in ms or less than 0  m the same, of an own lease
//   b 1 or 0  o 1 and else less  z place in a queue  y what became of a renewal
//   d identity  r record, or nil  e entry of a queue  s any text  v error, as text
//   i who a node is  f record of a configuration  M names and values  Q those who wait at a node
#pragma once

#include <span>
#include <string_view>

#include "quorum/scripts.hpp"

namespace answers {

struct Known {
  const liblock::Script *script;
  std::initializer_list<std::string_view> forms;
};

inline std::span<const Known> known_scripts() {
  namespace one = liblock::scripts;
  namespace many = liblock::quorum::scripts;
  static const Known all[] = {
      {&one::acquire, {"k", "[Otkb]", "[BtxptznntnrS]", "[Btxptznntn]", "[Lt]"}},
      {&one::by_value, {"[ynp]", "[np]"}},
      {&one::clear, {"[t(d)(n)]", "[t(s)(n)]"}},
      {&one::dead_waiters, {"[(b)]"}},
      {&one::deadlock, {"[sn{s}]", "[dn{s}]"}},
      {&one::extend, {"[Ot(m)]", "[Lt]"}},
      {&one::force_release, {"b"}},
      {&one::inspect, {"[t([rpnnoMn])]"}},
      {&one::instances, {"[t{sto}]"}},
      {&one::pass_on, {"[tbkb]"}},
      {&one::presence, {"[tbn{s}]"}},
      {&one::queue, {"[tn{de}]"}},
      {&one::release, {"t", "[t(b)]", "[t(v)]"}},
      {&one::rename, {"n"}},
      {&one::update, {"[(b)]"}},
      {&one::verify, {"[t(m)]"}},
      {&many::acquire, {"[Otgbnb]", "[Otkbkb]", "[Btxpkzntntnrd]", "[Btxpkzntntn]", "[Lt]", "[Ttn]", "[Cti]"}},
      {&many::clear, {"[Ot(dn)]", "[Lt]", "[Cti]"}},
      {&many::commit, {"[tb]"}},
      {&many::configure, {"[Ot]", "[Wt]", "[Cti]"}},
      {&many::decide, {"[Otsf]", "[Nts]", "[Cti]"}},
      {&many::extend, {"[Otb(ypnsb)]", "[Lt]", "[Ttn]", "[Cti]"}},
      {&many::floor, {"[Ot]", "[Ett]", "[Cti]"}},
      {&many::force, {"[Otbnd]", "[Lt]", "[Cti]"}},
      {&many::hello, {"[tifnnnnbnb]", "[tssnnnnnnn]"}},
      {&many::mark, {"[Ot]", "[Cti]"}},
      {&many::observe, {"[t]"}},
      {&many::pass_on, {"[Otbb]", "[Gtb]", "[Cti]"}},
      {&many::promise, {"[Otbdb]", "[Ntnn]", "[Lt]", "[Cti]"}},
      {&many::raise, {"[Otb]", "[Gt]", "[Cti]"}},
      {&many::read, {"[t([rpnMoQ])]", "[Cti]"}},
      {&many::release, {"t", "[t(b)]", "[t(v)]"}},
  };
  return all;
}

}  // namespace answers
