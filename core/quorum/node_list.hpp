// SPDX-License-Identifier: MIT
// From what a caller writes to the servers of a quorum: "URL,URL,…", or arrays of URLs. No message quotes what cannot
// be taken apart: any part of it may be a password. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quorum/quorum_options.hpp"

namespace liblock {

// What stands behind "quorum:", in pieces. A ',' within a URL is written as %2C.
std::vector<Bytes> split_servers(Bytes text);

// Each url is a server's, and no two name the same one; observers may be empty. message: cause and cure.
Status check_nodes(std::span<const Bytes> servers, std::span<const Bytes> observers, std::string &message);
// The same, with all that their connections need.
Status read_nodes(std::span<const Bytes> servers, std::span<const Bytes> observers,
                  ConnectionDefaults &defaults, std::vector<ConnectionOptions> &nodes,
                  std::vector<ConnectionOptions> &observing, std::string &message);

// votes: as asked, of so many servers.
Status check_votes(int32_t votes, size_t servers, std::string &message);

// How one node is named: a URL becomes its redacted address, an id stays as it is. False: neither; message as above.
bool read_node_name(Bytes text, std::string &name, std::string &message);

}  // namespace liblock
