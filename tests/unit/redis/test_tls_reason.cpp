// SPDX-License-Identifier: MIT
// What a failed TLS session says: the cause and the cure, for each cause that has words of ours.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "../support/unit.hpp"
#include "redis/tls_reason.hpp"

using liblock::tls_reason;
using liblock::TlsFailure;

namespace {

const TlsFailure kPlain{X509_V_OK, "db.example", false, false, false};

// What is said after these errors of OpenSSL's, the deepest first.
std::string said(std::initializer_list<int> reasons, const TlsFailure &failure = kPlain) {
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);  // as whoever makes a session has done
  ERR_clear_error();
  for (const int reason : reasons) ERR_raise(ERR_LIB_SSL, reason);
  return tls_reason(failure);
}
std::string said_of_alert(int alert, bool asked, bool given) {
  return said({SSL_AD_REASON_OFFSET + alert}, {X509_V_OK, "db.example", false, asked, given});
}
std::string said_of_certificate(long verification) {
  return said({SSL_R_CERTIFICATE_VERIFY_FAILED}, {verification, "db.example", false, false, false});
}
bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

}  // namespace

UNIT_TEST(each_reason_against_a_certificate_has_its_cure) {
  const std::pair<long, const char *> all[] = {
      {X509_V_ERR_CERT_HAS_EXPIRED, "renew the server's certificate"},
      {X509_V_ERR_CERT_NOT_YET_VALID, "wait until it is valid"},
      {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "this very certificate as ca_file"},
      {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "the CA that signed it"},
      {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, "the CA that signed it"},
      {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, "the CA that signed it"},
      {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, "the CA that signed it"},
      {X509_V_ERR_HOSTNAME_MISMATCH, "it is not for 'db.example'"},
      {X509_V_ERR_IP_ADDRESS_MISMATCH, "it is not for 'db.example'"},
      {X509_V_ERR_INVALID_PURPOSE, "meant for servers"},
      {X509_V_ERR_CERT_REVOKED, "give the server another certificate"}};
  for (const auto &[verification, cure] : all) {
    EXPECT(has(said_of_certificate(verification), "the server's certificate is refused: "));
    EXPECT(has(said_of_certificate(verification), cure));
  }
}

UNIT_TEST(a_refused_certificate_tells_more_than_what_came_before_and_behind_it) {
  EXPECT(has(said({SSL_R_BAD_LENGTH, SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_BAD_LENGTH}),
             "certificate is refused"));
  EXPECT(
      has(said({SSL_R_BAD_LENGTH, SSL_AD_REASON_OFFSET + SSL_AD_INTERNAL_ERROR}), "ended TLS with an alert"));
}

UNIT_TEST(a_server_that_got_no_certificate_of_ours_is_known_by_its_alert) {
  for (const int alert : {SSL_AD_CERTIFICATE_REQUIRED, SSL_AD_HANDSHAKE_FAILURE, SSL_AD_NO_CERTIFICATE,
                          SSL_AD_BAD_CERTIFICATE}) {
    EXPECT(has(said_of_alert(alert, true, false), "wants a client certificate and got none"));
    EXPECT(!has(said_of_alert(alert, false, false), "got none"));
  }
  EXPECT(!has(said_of_alert(SSL_AD_INTERNAL_ERROR, true, false), "got none"));
}

UNIT_TEST(a_server_that_refuses_our_certificate_is_known_by_its_alert) {
  for (const int alert : {SSL_AD_NO_CERTIFICATE, SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA,
                          SSL_AD_ACCESS_DENIED, SSL_AD_CERTIFICATE_REQUIRED})
    EXPECT(has(said_of_alert(alert, true, true), "refuses our certificate"));
  for (const int alert : {SSL_AD_UNEXPECTED_MESSAGE, SSL_AD_DECODE_ERROR, SSL_AD_INTERNAL_ERROR})
    EXPECT(has(said_of_alert(alert, true, true), "ended TLS with an alert"));
}

UNIT_TEST(a_server_of_another_version_of_tls_is_told) {
  EXPECT(has(said_of_alert(SSL_AD_PROTOCOL_VERSION, false, false), "no version of TLS in common"));
  for (const int reason : {SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_WRONG_SSL_VERSION})
    EXPECT(has(said({reason}), "version of TLS is too old"));
}

UNIT_TEST(plain_text_is_told_whatever_openssl_made_of_it) {
  EXPECT(has(said({SSL_R_WRONG_VERSION_NUMBER}, {X509_V_OK, "db.example", true, false, false}),
             "does not speak TLS"));
}

UNIT_TEST(whatever_else_it_is_has_openssls_words_or_none) {
  EXPECT(has(said({SSL_R_HTTP_REQUEST}), "TLS failed (http request); connect anew"));
  EXPECT(has(said({}), "TLS failed (no reason given)"));
  ERR_clear_error();
  ERR_raise(ERR_LIB_USER, 999);
  EXPECT(has(tls_reason(kPlain), "TLS failed (no reason given)"));
}

UNIT_MAIN("reasons of TLS", cmocka_unit_test(each_reason_against_a_certificate_has_its_cure),
          cmocka_unit_test(a_refused_certificate_tells_more_than_what_came_before_and_behind_it),
          cmocka_unit_test(a_server_that_got_no_certificate_of_ours_is_known_by_its_alert),
          cmocka_unit_test(a_server_that_refuses_our_certificate_is_known_by_its_alert),
          cmocka_unit_test(a_server_of_another_version_of_tls_is_told),
          cmocka_unit_test(plain_text_is_told_whatever_openssl_made_of_it),
          cmocka_unit_test(whatever_else_it_is_has_openssls_words_or_none))
