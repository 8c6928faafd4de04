// SPDX-License-Identifier: MIT
// A library that was built without TLS says so, instead of going on in plain text. Linked with tls_none.cpp itself, so
// that this is seen in every build.
#include "redis/tls.hpp"

// cmocka's macros take the names of functions of the standard library: last.
#include "../support/unit.hpp"

using namespace liblock;

UNIT_TEST(without_tls_there_is_no_config_and_the_error_says_why) {
  std::string error;
  EXPECT(!tls_supported());
  for (const bool verify : {true, false}) {
    TlsOptions options;
    options.verify = verify;
    EXPECT(make_tls_config(options, error) == nullptr);
    EXPECT(error.find("without TLS; ") != std::string::npos &&
           error.find("-Dtls=enabled") != std::string::npos);
    error.clear();
  }
}

UNIT_TEST(without_tls_there_is_no_session) {
  std::string error;
  EXPECT(TlsSession::make(nullptr, "localhost", error) == nullptr);
  EXPECT(error.find("without TLS; ") != std::string::npos);
}

UNIT_MAIN("without TLS", cmocka_unit_test(without_tls_there_is_no_config_and_the_error_says_why),
          cmocka_unit_test(without_tls_there_is_no_session))
