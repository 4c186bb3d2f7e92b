#pragma once

#include <filesystem>
#include <string>
#include <unistd.h>

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace sandbox::http {

/// A folder with certificates and keys that are made for one test and go with it.
class Certificates {
public:
    Certificates() : folder_(std::filesystem::temp_directory_path() / ("http-tls-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~Certificates() { std::filesystem::remove_all(folder_); }
    Certificates(const Certificates&) = delete;
    Certificates& operator=(const Certificates&) = delete;

    /// A self-signed certificate in <name>.crt and its key in <name>.key. `names` as in "DNS:localhost,IP:127.0.0.1".
    void make(const std::string& name, const std::string& names, long valid_seconds = 3600) {
        EVP_PKEY* key = EVP_EC_gen("P-256");
        X509* certificate = X509_new();
        X509_set_version(certificate, X509_VERSION_3);
        BIGNUM* serial = BN_new();
        BN_rand(serial, 64, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY);
        BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(certificate));
        BN_free(serial);
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
        X509_gmtime_adj(X509_getm_notAfter(certificate), valid_seconds);
        X509_set_pubkey(certificate, key);
        auto* subject = X509_get_subject_name(certificate);
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                                   -1, -1, 0);
        X509_set_issuer_name(certificate, subject);
        add_extension(certificate, NID_subject_alt_name, names);
        add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
        X509_sign(certificate, key, EVP_sha256());

        BIO* file = BIO_new_file(path(name + ".crt").c_str(), "w");
        PEM_write_bio_X509(file, certificate);
        BIO_free(file);
        file = BIO_new_file(path(name + ".key").c_str(), "w");
        PEM_write_bio_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
        BIO_free(file);
        X509_free(certificate);
        EVP_PKEY_free(key);
    }

    [[nodiscard]] std::string path(const std::string& file) const { return (folder_ / file).string(); }

private:
    static void add_extension(X509* certificate, int kind, const std::string& value) {
        X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
        X509_add_ext(certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }

    std::filesystem::path folder_;
};

}  // namespace sandbox::http
