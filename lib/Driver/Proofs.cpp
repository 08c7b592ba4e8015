//===- Proofs.cpp - proof.json --------------------------------------------===//
#include "layline/Driver/Proofs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace layline;

std::string layline::getProofDigest(const std::vector<ProofRecord> &proofs) {
  llvm::SHA256 hash;
  for (const ProofRecord &proof : proofs)
    for (const std::string &part : {proof.name, proof.method, proof.covers,
                                    std::string(proof.holds ? "1" : "0")}) {
      hash.update(part);
      // No two lists of parts read alike.
      hash.update(llvm::StringRef("\0", 1));
    }
  return "sha256:" + llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string layline::printProofs(const std::vector<ProofRecord> &proofs) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\"schema\": \"layline.proof\", \"version\": {\"major\": 1, "
        "\"minor\": 0},\n"
     << "\"digest\": \"" << getProofDigest(proofs) << "\",\n\"proofs\": [";
  const char *separator = "\n";
  for (const ProofRecord &proof : proofs) {
    os << separator;
    separator = ",\n";
    llvm::json::OStream json(os);
    json.object([&] {
      json.attribute("name", proof.name);
      json.attribute("holds", proof.holds);
      json.attribute("method", proof.method);
      json.attribute("covers", proof.covers);
      // A thousandth is enough, and the same on every machine to read.
      json.attribute("ms", static_cast<double>(static_cast<int64_t>(
                               proof.milliseconds * 1000)) /
                               1000);
    });
  }
  os << "\n]}\n";
  return text;
}
