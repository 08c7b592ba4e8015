// Every mode is proved. layline-random-kv-proofs says how long proofs take.
#include <catch2/catch.hpp>

#include "Modes.h"
#include "layline/KVVerification/MigrationProof.h"

using namespace layline::kv;

TEST_CASE("every mode is proved for every request") {
  for (const Mode &mode : getModes())
    for (Profile profile : {Profile::Optimised, Profile::SGLangCompat}) {
      bool isOptimised = profile == Profile::Optimised;
      if (!isOptimised && !mode.isCompat)
        continue;
      INFO(mode.name << (isOptimised ? ", optimised" : ", sglang-compat"));
      Plan plan =
          makePlan(mode.model, mode.from, mode.to, profile, mode.senders);
      MigrationProof proof = proveMigration(plan);
      INFO(proof.problem);
      CHECK(proof.isProved());
      CHECK(proof.isExactlyOnce == (isOptimised || mode.isCompatOnce));
    }
}
