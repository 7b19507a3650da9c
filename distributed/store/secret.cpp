// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/store/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>

#include "tenon/runtime/error.h"

namespace tenon::distributed {

Nonce make_nonce() {
  Nonce n;
  TENON_CHECK(RAND_bytes(n.data(), static_cast<int>(n.size())) == 1, BackendError,
              "TCPStore: OpenSSL has no random bytes");
  return n;
}

Proof make_proof(const std::string& secret, char role, const Nonce& server, const Nonce& client) {
  unsigned char text[1 + 2 * sizeof(Nonce)] = {static_cast<unsigned char>(role)};
  std::copy(server.begin(), server.end(), text + 1);
  std::copy(client.begin(), client.end(), text + 1 + server.size());
  Proof proof{};
  unsigned n = 0;
  const bool made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), text,
                         sizeof text, proof.data(), &n) != nullptr;
  TENON_CHECK(made && n == proof.size(), BackendError, "TCPStore: OpenSSL computed no HMAC");
  return proof;
}

bool equal(const Proof& a, const Proof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace tenon::distributed
