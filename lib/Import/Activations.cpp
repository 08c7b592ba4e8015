//===- Activations.cpp - rows that products read in 8 bits ----------------===//
//
// Quantised are the rows in front of products whose input is whole on a rank:
// q, k, v, gate, up and what latent attention has in their place. o_proj and
// down read features that ranks share out: a scale of a row would be that of a
// rank's own features, so that the result would depend on the number of ranks.
//
//===----------------------------------------------------------------------===//

#include "layline/Import/Activations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

static llvm::Error bad(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Modules that read the model's own type here too: routers, norms, embedding
/// and lm_head.
static bool isNeverQuantized(StringRef module) {
  StringRef last = module.rsplit('.').second;
  if (last.empty())
    last = module;
  if (last == "weight" || last == "bias")
    return isNeverQuantized(module.rsplit('.').first);
  return last.contains("norm") ||
         llvm::StringSwitch<bool>(last)
             .Cases({"gate", "router", "e_score_correction_bias"}, true)
             .Cases({"embed_tokens", "lm_head", "weights_proj"}, true)
             .Default(false);
}

static llvm::Error readCheckpoint(const StoredQuantization &stored,
                                  QuantizedRows &rows) {
  auto found = [](StringRef key, const Twine &what) {
    return ("quantization_config." + key + ": found " + what).str();
  };
  if (stored.method != "fp8")
    return bad((stored.method.empty()
                    ? std::string("found no quantization_config")
                    : found("quant_method", stored.method)) +
               ", expected one of method fp8 for activations as in the "
               "checkpoint");
  if (!llvm::is_contained({"", "e4m3", "float8_e4m3fn"}, stored.format))
    return bad(found("fmt", stored.format) + ", expected e4m3");
  if (stored.scheme == "static")
    return bad(found("activation_scheme", "static") +
               ", expected dynamic: a static scale is a tensor beside the "
               "quantised weights, which are not read");
  if (stored.scheme != "dynamic")
    return bad(found("activation_scheme",
                     stored.scheme.empty() ? "nothing" : stored.scheme) +
               ", expected dynamic");
  for (const std::string &module : stored.excluded)
    if (!isNeverQuantized(module))
      return bad(found("modules_to_not_convert", "'" + module + "'") +
                 ", expected routers, norms, embed_tokens and lm_head only: "
                 "the other products are all quantised or none is");
  // The second number is along what a product sums over.
  if (stored.block.size() != 0 && stored.block.size() != 2)
    return bad(found("weight_block_size",
                     "an array of " + Twine(stored.block.size())) +
               ", expected two sizes");
  rows.groupSize = stored.block.empty() ? 0 : stored.block[1];
  return llvm::Error::success();
}

static llvm::Error parse(StringRef how, QuantizedRows &rows) {
  if (how == "fp8" || how == "fp8:token")
    return llvm::Error::success();
  if (how == "fp8:static")
    return bad("found 'fp8:static', expected " + kActivationChoices +
               ": a static scale is a tensor of a checkpoint whose quantised "
               "weights are not read");
  StringRef size = how;
  if (!size.consume_front("fp8:group") ||
      size.getAsInteger(10, rows.groupSize) || rows.groupSize < 1)
    return bad("found '" + how + "', expected " + kActivationChoices);
  return llvm::Error::success();
}

llvm::Error layline::quantizeActivations(DecoderConfig &config, StringRef how) {
  if (how == "model")
    return llvm::Error::success();
  QuantizedRows rows;
  if (llvm::Error error = how == "checkpoint"
                              ? readCheckpoint(config.checkpoint, rows)
                              : parse(how, rows))
    return error;
  for (auto [what, width] : {std::pair("hidden_size", config.hidden),
                             std::pair("q_lora_rank", config.latent.queryRank)})
    if (rows.groupSize && width % rows.groupSize != 0)
      return bad("found groups of " + Twine(rows.groupSize) +
                 " features, expected a divisor of " + what + ", " +
                 Twine(width));
  config.quantizedRows = rows;
  config.assumptions.push_back(
      ("rows in front of q, k, v, gate, up and experts are quantised: fp8 "
       "e4m3, a scale for " +
       (rows.groupSize ? "every " + Twine(rows.groupSize) + " features"
                       : Twine("each row")) +
       "; o_proj and down, whose inputs are split over ranks, read the "
       "model's own type")
          .str());
  return llvm::Error::success();
}
