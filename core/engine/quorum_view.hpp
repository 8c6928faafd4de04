// SPDX-License-Identifier: MIT
// What is known of a quorum and its nodes, and what is asked of it when it is to have others: copies.
#pragma once

#include <string.h>

#include <cstdint>
#include <string>
#include <vector>

namespace liblock {

struct NodeView {
  std::string address;  // redacted
  std::string id;       // empty: not known yet
  std::string why;      // it does not vote: cause and cure
  int64_t quarantine_left_ms = 0;
  int64_t round_trip_us = -1;
  int64_t clock_offset_ms = 0;
  int64_t lag_ms = -1;
  int32_t state = 0;  // LIBLOCK_NODE_…
  bool is_observer = false;
  bool is_in_vain = false;  // named, and no node of the quorum
};

struct QuorumView {
  uint64_t epoch = 0;
  int64_t max_ttl_ms = 0;
  std::string cluster_id;
  std::string config_hash;
  uint32_t votes = 0;           // needed
  std::string why_none_counts;  // of the votes of its nodes; empty: they do
  bool is_configuring = false;  // its nodes are being changed
  std::vector<NodeView> nodes;  // in the order of the url, then the observers
};

// Checked: urls of servers, each another one. They may have passwords: no copy is left behind.
struct NodesChange {
  NodesChange() = default;
  NodesChange(const NodesChange &) = delete;
  NodesChange &operator=(const NodesChange &) = delete;
  ~NodesChange() {
    for (auto *urls : {&servers, &observers}) {
      for (std::string &url : *urls) explicit_bzero(url.data(), url.size());
    }
  }
  bool keeps_nodes = false;  // votes only
  std::vector<std::string> servers;
  std::vector<std::string> observers;
  int32_t votes = 0;  // of the new servers; 0: a majority, LIBLOCK_VOTES_ALL
};

}  // namespace liblock
