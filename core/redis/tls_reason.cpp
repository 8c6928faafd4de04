// SPDX-License-Identifier: MIT
// See tls_reason.hpp. Nothing that the peer chose freely is repeated here, only numbers of its that have a text of
// OpenSSL's own.
#include "redis/tls_reason.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace liblock {

namespace {

bool is_refused_certificate(unsigned long code) {
  return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED;
}

std::string cure_of_certificate(const TlsFailure &failure) {
  switch (failure.verification) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "renew the server's certificate, or set the clock of this machine";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "set the clock of this machine, or wait until it is valid";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "name this very certificate as ca_file, or give the server one that a CA signed";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "name the certificate of the CA that signed it as ca_file or ca_path";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "it is not for '" + failure.name.substr(0, 64) +
             "'; use a name or address of its subjectAltName, or give such a one as server_name";
    case X509_V_ERR_INVALID_PURPOSE:
      return "give the server a certificate that is meant for servers";
    default:
      return "give the server another certificate";
  }
}

// The alert that the peer ended the handshake or the session with, or -1.
int alert_of(unsigned long code) {
  const int reason = ERR_GET_REASON(code);
  if (ERR_GET_LIB(code) != ERR_LIB_SSL || reason < SSL_AD_REASON_OFFSET ||
      reason > SSL_AD_REASON_OFFSET + 255) {
    return -1;
  }
  return reason - SSL_AD_REASON_OFFSET;
}

// One failure may leave several errors; the first is the deepest, but what we have words for tells more.
unsigned long most_telling_error() {
  unsigned long telling = ERR_get_error();
  for (unsigned long code = telling; code != 0; code = ERR_get_error()) {
    if (is_refused_certificate(code)) return code;
    if (alert_of(code) >= 0) telling = code;
  }
  return telling;
}

// Alerts by which a peer that wants a certificate refuses to go on without one: TLS 1.3 has one for it, before that
// it was any of the others.
bool may_mean_missing_certificate(int alert) {
  return alert == SSL_AD_CERTIFICATE_REQUIRED || alert == SSL_AD_HANDSHAKE_FAILURE ||
         alert == SSL_AD_NO_CERTIFICATE || alert == SSL_AD_BAD_CERTIFICATE;
}

bool is_of_certificates(int alert) {
  return (alert >= SSL_AD_NO_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) ||
         alert == SSL_AD_UNKNOWN_CA || alert == SSL_AD_ACCESS_DENIED || alert == SSL_AD_CERTIFICATE_REQUIRED;
}

std::string reason_of_alert(int alert, const TlsFailure &failure) {
  const std::string text = SSL_alert_desc_string_long(alert);
  if (failure.certificate_asked && !failure.certificate_given && may_mean_missing_certificate(alert)) {
    return "the server wants a client certificate and got none (" + text +
           "); give certificate_file and key_file";
  }
  if (failure.certificate_given && is_of_certificates(alert)) {
    return "the server refuses our certificate (" + text + "); give a valid one that its CA signed";
  }
  if (alert == SSL_AD_PROTOCOL_VERSION) {
    return "the server has no version of TLS in common with us; let it speak TLS 1.2 or newer";
  }
  return "the server ended TLS with an alert (" + text + "); its log may say why";
}

bool is_of_versions(unsigned long code) {
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return false;
  const int reason = ERR_GET_REASON(code);
  return reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_VERSION_TOO_LOW ||
         reason == SSL_R_WRONG_SSL_VERSION;
}

}  // namespace

std::string tls_reason(const TlsFailure &failure) {
  const unsigned long code = most_telling_error();
  if (is_refused_certificate(code)) {
    return std::string("the server's certificate is refused: ") +
           X509_verify_cert_error_string(failure.verification) + "; " + cure_of_certificate(failure);
  }
  if (failure.plain_text) {
    return "the server does not speak TLS on this port; use the port that it has for TLS, or connect without "
           "TLS";
  }
  if (const int alert = alert_of(code); alert >= 0) return reason_of_alert(alert, failure);
  if (is_of_versions(code)) {
    return "the server's version of TLS is too old; let it speak TLS 1.2 or newer";
  }
  const char *text = ERR_reason_error_string(code);
  return std::string("TLS failed (") + (text != nullptr ? text : "no reason given") +
         "); connect anew, and if it fails again look at the server's log";
}

}  // namespace liblock
