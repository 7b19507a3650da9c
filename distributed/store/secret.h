// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How both ends of a connection show that they know a secret without sending it.
#pragma once

#include <array>
#include <string>

namespace tenon::distributed {

using Nonce = std::array<unsigned char, 16>;
using Proof = std::array<unsigned char, 32>;

// What the server says first, and the client's answer; the server then sends its own proof.
struct Challenge {
  char magic[4];  // kMagic
  unsigned char demands_secret;
  Nonce nonce;
};
struct Answer {
  char magic[4];
  Nonce nonce;
  Proof proof;
};
static_assert(sizeof(Challenge) == 21 && sizeof(Answer) == 52);
constexpr char kMagic[4] = {'T', 'N', 'S', '1'};

Nonce make_nonce();
// HMAC-SHA256, under the secret, of the speaker's role and both nonces.
Proof make_proof(const std::string& secret, char role, const Nonce& server, const Nonce& client);
bool equal(const Proof& a, const Proof& b);  // in a time that does not depend on the bytes

}  // namespace tenon::distributed
