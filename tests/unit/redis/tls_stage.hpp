// SPDX-License-Identifier: MIT
// A world for the tests of TLS: a CA that is trusted, its folder of files, a client and a server that talk on memory.
// OpenSSL is configured as laxly as it goes, in place of the machine's own file: what the tests see refused, the
// library refuses, and not some policy of the machine.
#pragma once

#include <stdlib.h>

#include <memory>
#include <string>

#include "tls_peer.hpp"

// cmocka's macros take the names of functions of the standard library: last.
#include "../support/unit.hpp"

namespace stage {

using liblock::TlsOptions;
using liblock::TlsSession;
using State = TlsSession::State;

inline bool says(const std::string &text, const char *word) { return text.find(word) != std::string::npos; }

// For all tests of a program, before the first use of OpenSSL.
inline int configure_openssl(void **state) {
  try {
    auto *folder = new forge::Folder;
    *state = folder;
    const std::string path =
        folder->write("openssl.cnf",
                      "openssl_conf = init\n[init]\nssl_conf = ssl\n[ssl]\nsystem_default = lax\n"
                      "[lax]\nMinProtocol = TLSv1\nCipherString = ALL:@SECLEVEL=0\n");
    setenv("OPENSSL_CONF", path.c_str(), 1);
    // Nor may the machine's store of CAs matter.
    setenv("SSL_CERT_FILE", folder->path("nothing.pem").c_str(), 1);
    setenv("SSL_CERT_DIR", folder->path("nothing").c_str(), 1);
    return 0;
  } catch (const std::exception &error) {
    print_error("%s\n", error.what());
    return -1;
  }
}

inline int remove_configuration(void **state) {
  delete static_cast<forge::Folder *>(*state);
  return 0;
}

struct World {
  forge::Folder folder;
  forge::Identity ca = forge::authority("the trusted CA");
  forge::Identity other_ca = forge::authority("another CA");
  forge::Identity good = forge::make({}, &ca);
  TlsOptions options;

  World() { options.ca_file = folder.write("ca.pem", forge::pem(ca)); }

  void give_client(const forge::Identity &identity) {
    options.certificate_file = folder.write("client.pem", forge::pem(identity));
    options.key_file = folder.write("client.key", forge::key_pem(identity));
  }
};

// A client of this host and a server, connected.
struct Talk {
  Talk(const World &world, const peer::Wish &wish, const std::string &host = "localhost",
       size_t piece = SIZE_MAX)
      : server(wish) {
    std::string error;
    const auto config = liblock::make_tls_config(world.options, error);
    if (config == nullptr) throw unit::Failure{"no config: " + error};
    client = TlsSession::make(config, host, error);
    if (client == nullptr) throw unit::Failure{"no session: " + error};
    client->send("AUTH secret");  // must never get to whom was not verified
    carry(piece);
  }
  Talk(const World &world, const forge::Identity &identity, const std::string &host = "localhost")
      : Talk(world, peer::Wish{.identity = &identity}, host) {}

  void carry(size_t piece = SIZE_MAX) { peer::carry(*client, server, got, piece); }
  State state() const { return client->state(); }
  const std::string &error() const { return client->error(); }
  bool is_open() { return state() == State::Open && server.is_open() && server.got == "AUTH secret"; }
  // Failed, for this reason, in words that fit a result's message, and the server learned nothing.
  bool failed_by(const char *word) {
    return state() == State::Failed && says(error(), word) && says(error(), "; ") && error().size() < 256 &&
           server.got.empty();
  }

  peer::Server server;
  std::unique_ptr<TlsSession> client;
  std::string got;
};

}  // namespace stage
