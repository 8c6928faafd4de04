// SPDX-License-Identifier: MIT
// See node_list.hpp.
#include "quorum/node_list.hpp"

#include <algorithm>

namespace liblock {

namespace {

constexpr size_t kNameMax = 64;
constexpr Bytes kSchemes[] = {"redis://", "rediss://", "unix://"};

bool has_scheme(Bytes url) {
  return std::any_of(std::begin(kSchemes), std::end(kSchemes),
                     [url](Bytes scheme) { return url.substr(0, scheme.size()) == scheme; });
}

bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }

// Why these bytes are no url of a server, before it is taken apart; nullptr: nothing is wrong so far.
const char *problem_of(Bytes url) {
  if (url.empty()) return "is empty; use \"redis://host:port/db\", \"rediss://…\" or \"unix:///path\"";
  if (std::any_of(url.begin(), url.end(), is_blank))
    return "has a space or a control character; write it as %20 and the like, and none around the ','";
  if (url.find(',') != Bytes::npos)
    return "has a ','; give each server for itself, and write a ',' in it as %2C";
  if (!has_scheme(url))
    return "begins with none of redis://, rediss:// and unix://; a ',' in a password or path is written as "
           "%2C";
  return nullptr;
}

// The same server, whichever database and whoever we are there: two votes of it would count for one.
bool is_same_server(const ServerAddress &a, const ServerAddress &b) {
  const auto same_letter = [](char x, char y) {
    const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return small(x) == small(y);
  };
  const std::string &x = a.target.host, &y = b.target.host;
  return a.target.path == b.target.path && a.target.port == b.target.port &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(), same_letter);
}

std::string numbered(const char *kind, size_t index) { return kind + (" " + std::to_string(index + 1)); }

Status read_all(std::span<const Bytes> urls, const char *kind, std::vector<ServerAddress> &read,
                std::string &message) {
  for (size_t i = 0; i < urls.size(); ++i) {
    if (const char *problem = problem_of(urls[i]); problem != nullptr) {
      message = numbered(kind, i) + " " + problem;
      return Status::INVALID_ARGUMENT;
    }
    ServerAddress address;
    std::string why;
    if (const Status status = read_server_url(urls[i], address, why); status != Status::OK) {
      message = numbered(kind, i) + ": " + why;
      return status;
    }
    read.push_back(std::move(address));
  }
  return Status::OK;
}

Status connections_to(std::span<const Bytes> urls, ConnectionDefaults &defaults,
                      std::vector<ConnectionOptions> &nodes, std::string &message) {
  for (const Bytes url : urls) {
    ConnectionOptions connection;
    if (const Status status = connection_to(url, defaults, connection, message); status != Status::OK)
      return status;
    nodes.push_back(std::move(connection));
  }
  return Status::OK;
}

}  // namespace

std::vector<Bytes> split_servers(Bytes text) {
  std::vector<Bytes> pieces;
  for (;;) {
    const size_t comma = text.find(',');
    pieces.push_back(text.substr(0, comma));
    if (comma == Bytes::npos) return pieces;
    text.remove_prefix(comma + 1);
  }
}

Status check_nodes(std::span<const Bytes> servers, std::span<const Bytes> observers, std::string &message) {
  if (servers.empty() || servers.size() > kNodesMax || observers.size() > kNodesMax) {
    message = "a quorum has 1 to 15 servers, 3 or 5 as a rule, and at most 15 observers";
    return Status::INVALID_ARGUMENT;
  }
  std::vector<ServerAddress> all;
  Status status = read_all(servers, "server", all, message);
  if (status == Status::OK) status = read_all(observers, "observer", all, message);
  if (status != Status::OK) return status;
  const auto name = [&](size_t i) {
    return i < servers.size() ? numbered("server", i) : numbered("observer", i - servers.size());
  };
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!is_same_server(all[i], all[j])) continue;
      message = name(j) + " and " + name(i) + " are the same: " + all[i].redacted() +
                "; each must be a server of its own, no other database of one";
      return Status::INVALID_ARGUMENT;
    }
  }
  return Status::OK;
}

Status read_nodes(std::span<const Bytes> servers, std::span<const Bytes> observers,
                  ConnectionDefaults &defaults, std::vector<ConnectionOptions> &nodes,
                  std::vector<ConnectionOptions> &observing, std::string &message) {
  Status status = check_nodes(servers, observers, message);
  if (status == Status::OK) status = connections_to(servers, defaults, nodes, message);
  if (status == Status::OK) status = connections_to(observers, defaults, observing, message);
  return status;
}

Status check_votes(int32_t votes, size_t servers, std::string &message) {
  if (votes_are_valid(votes, servers)) return Status::OK;
  const std::string least = std::to_string(majority_of(servers)), most = std::to_string(servers);
  message = "votes is " + std::to_string(votes) + "; of " + most + " servers use " + least + " to " + most +
            ", LIBLOCK_VOTES_ALL, or 0 for a majority";
  return Status::INVALID_ARGUMENT;
}

bool read_node_name(Bytes text, std::string &name, std::string &message) {
  const bool is_url = text.find("://") != Bytes::npos;
  if (is_url) {
    if (const char *problem = problem_of(text); problem != nullptr) {
      message = std::string("the url of a node ") + problem;
      return false;
    }
    ServerAddress address;
    if (read_server_url(text, address, message) != Status::OK) return false;
    name = address.redacted();
    return true;
  }
  if (text.empty() || text.size() > kNameMax || std::any_of(text.begin(), text.end(), is_blank)) {
    message =
        "a node is named by its address, as in redis://host:port/db, or by its id, as liblock_quorum_status "
        "tells both";
    return false;
  }
  name = text;
  return true;
}

}  // namespace liblock
