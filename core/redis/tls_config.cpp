// SPDX-License-Identifier: MIT
// See tls.hpp. One OpenSSL context from the options. What the system's openssl.cnf demands stays in force; this only
// asks for more. No file that needs a passphrase is read: OpenSSL would ask for it on the program's terminal.
#include "redis/tls_config.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace liblock {

namespace {

int refuse_passphrase(char *, int, int, void *asked) {
  if (asked != nullptr) *static_cast<bool *>(asked) = true;
  return -1;
}

std::string last_reason() {
  const char *text = ERR_reason_error_string(ERR_peek_last_error());
  return text != nullptr ? text : "no reason given";
}

std::string quoted(const char *option, const std::string &path) {
  return std::string(option) + " '" + path + "'";
}

// OpenSSL's word for a file that cannot be opened is less clear than the system's.
bool readable(const char *option, const std::string &path, std::string &error) {
  std::FILE *file = std::fopen(path.c_str(), "re");
  if (file != nullptr) {
    std::fclose(file);
    return true;
  }
  error = quoted(option, path) + ": " + std::generic_category().message(errno) +
          "; give a file that this process may read";
  return false;
}

bool is_folder(const std::string &path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

bool load_authorities(SSL_CTX *context, const TlsOptions &options, std::string &error) {
  if (!options.ca_file.empty()) {
    if (!readable("ca_file", options.ca_file, error)) return false;
    if (SSL_CTX_load_verify_file(context, options.ca_file.c_str()) != 1) {
      error = quoted("ca_file", options.ca_file) + " holds no certificate that can be read (" +
              last_reason() + "); give one in PEM form";
      return false;
    }
  }
  if (!options.ca_path.empty()) {
    // Its files are looked for during handshakes: nothing else would tell that there is no such folder.
    if (!is_folder(options.ca_path) || SSL_CTX_load_verify_dir(context, options.ca_path.c_str()) != 1) {
      error = quoted("ca_path", options.ca_path) + " is no folder; give one that c_rehash has prepared";
      return false;
    }
  }
  if (options.ca_file.empty() && options.ca_path.empty() && SSL_CTX_set_default_verify_paths(context) != 1) {
    error = "the system's store of CAs cannot be used (" + last_reason() + "); name a ca_file";
    return false;
  }
  return true;
}

bool load_certificate(SSL_CTX *context, const TlsOptions &options, std::string &error) {
  const std::string &certificate = options.certificate_file, &key = options.key_file;
  if (certificate.empty() && key.empty()) return true;
  if (certificate.empty() || key.empty()) {
    error = "of certificate_file and key_file one is missing; give both (they may be the same file)";
    return false;
  }
  if (!readable("certificate_file", certificate, error) || !readable("key_file", key, error)) return false;
  bool encrypted = false;
  SSL_CTX_set_default_passwd_cb(context, refuse_passphrase);
  SSL_CTX_set_default_passwd_cb_userdata(context, &encrypted);
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    error = quoted("certificate_file", certificate) + " cannot be used (" + last_reason() +
            "); give a certificate in PEM form, its chain behind it";
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
    return false;
  }
  const bool used = SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (used && SSL_CTX_check_private_key(context) == 1) return true;
  if (encrypted) {
    error =
        quoted("key_file", key) + " is encrypted; give a key without passphrase that only this user may read";
  } else if (used || ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH) {
    error =
        quoted("key_file", key) + " is not the key of certificate_file; give the two that belong together";
  } else {
    error =
        quoted("key_file", key) + " cannot be used (" + last_reason() + "); give a private key in PEM form";
  }
  return false;
}

}  // namespace

bool tls_supported() { return true; }

std::shared_ptr<TlsConfig> make_tls_config(const TlsOptions &options, std::string &error) {
  // Should we be the first to use OpenSSL in this process: not to be torn down at exit, when our loop thread may
  // still be in the middle of it.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  const CleanErrors clean;
  TlsConfig::Context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) {
    error = "OpenSSL cannot be used (" + last_reason() + "); look at its configuration file";
    return nullptr;
  }
  SSL_CTX *const c = context.get();
  // The system may demand more than TLS 1.2; 0 stands for all versions that there are.
  if (SSL_CTX_get_min_proto_version(c) < TLS1_2_VERSION &&
      SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) != 1) {
    error = "this OpenSSL has no TLS 1.2; use one that has it";
    return nullptr;
  }
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  // A connection lies idle for long: it should not keep two buffers for records. What is sent may move in memory.
  SSL_CTX_set_mode(
      c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE);
  SSL_CTX_set_verify(c, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!load_authorities(c, options, error) || !load_certificate(c, options, error)) return nullptr;
  return std::make_shared<TlsConfig>(std::move(context), options);
}

}  // namespace liblock
