// SPDX-License-Identifier: MIT
// Makes certificates of every kind at test time, good and bad ones, and the files that name them. Nothing is kept in
// the tree that could expire or be mistaken for a secret.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

namespace forge {

inline void must(bool well, const char *what) {
  if (!well) throw std::runtime_error(std::string("cannot ") + what);
}

// A folder that goes with its files.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "liblock-tls-XXXXXX").string();
    must(mkdtemp(name.data()) != nullptr, "make a folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string path() const { return path_; }
  std::string path(const std::string &name) const { return path_ + "/" + name; }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream file(path(name), std::ios::binary);
    file << text;
    file.close();
    must(file.good(), "write a file");
    return path(name);
  }

 private:
  std::string path_;
};

struct Wish {
  std::string common_name = "a server";
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";  // subjectAltName; empty: none
  const char *purpose = "serverAuth";
  long from_s = -3600;
  long until_s = 3600;
  bool is_ca = false;
};

struct Identity {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;
};

inline void extend(X509 *certificate, X509 *issuer, int kind, const std::string &value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  must(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, "extend a certificate");
  X509_EXTENSION_free(extension);
}

// Signed by the issuer, or by itself.
inline Identity make(const Wish &wish, const Identity *issuer = nullptr) {
  static long serial = 1;
  Identity made;
  made.key.reset(EVP_EC_gen("P-256"), EVP_PKEY_free);
  made.certificate.reset(X509_new(), X509_free);
  X509 *const c = made.certificate.get();
  must(made.key != nullptr && c != nullptr, "make a key");
  X509_set_version(c, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(c), serial++);
  X509_gmtime_adj(X509_getm_notBefore(c), wish.from_s);
  X509_gmtime_adj(X509_getm_notAfter(c), wish.until_s);
  X509_set_pubkey(c, made.key.get());
  const auto *name = reinterpret_cast<const unsigned char *>(wish.common_name.c_str());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_UTF8, name, -1, -1, 0);
  X509 *const signer = issuer != nullptr ? issuer->certificate.get() : c;
  X509_set_issuer_name(c, X509_get_subject_name(signer));
  extend(c, signer, NID_basic_constraints, wish.is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
  extend(c, signer, NID_key_usage, wish.is_ca ? "critical,keyCertSign" : "critical,digitalSignature");
  if (!wish.is_ca) extend(c, signer, NID_ext_key_usage, wish.purpose);
  if (!wish.is_ca && !wish.names.empty()) extend(c, signer, NID_subject_alt_name, wish.names);
  EVP_PKEY *const signing = issuer != nullptr ? issuer->key.get() : made.key.get();
  must(X509_sign(c, signing, EVP_sha256()) > 0, "sign a certificate");
  return made;
}

inline Identity authority(const std::string &name) { return make({.common_name = name, .is_ca = true}); }

using Writer = int (*)(BIO *, const Identity &);

inline std::string text(const Identity &identity, Writer writer) {
  const std::unique_ptr<BIO, int (*)(BIO *)> memory(BIO_new(BIO_s_mem()), BIO_free);
  must(writer(memory.get(), identity) == 1, "write PEM");
  char *begin = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &begin);
  return std::string(begin, static_cast<size_t>(size));
}

inline std::string pem(const Identity &identity) {
  return text(identity,
              [](BIO *out, const Identity &i) { return PEM_write_bio_X509(out, i.certificate.get()); });
}

inline std::string key_pem(const Identity &identity) {
  return text(identity, [](BIO *out, const Identity &i) {
    return PEM_write_bio_PrivateKey(out, i.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

inline std::string encrypted_key_pem(const Identity &identity) {
  return text(identity, [](BIO *out, const Identity &i) {
    const unsigned char passphrase[] = "open sesame";
    return PEM_write_bio_PrivateKey(out, i.key.get(), EVP_aes_128_cbc(), passphrase, sizeof passphrase - 1,
                                    nullptr, nullptr);
  });
}

}  // namespace forge
