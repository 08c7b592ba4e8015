//===- HFConfigRope.cpp - RoPE keys of a config.json ----------------------===//

#include "HFConfigRope.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

namespace {

constexpr StringRef kBlocks[] = {"rope_parameters", "rope_scaling"};

struct ScalingName {
  StringRef name;
  RopeScalingKind kind;
};
constexpr ScalingName kScalingNames[] = {
    {"default", RopeScalingKind::None},
    {"linear", RopeScalingKind::Linear},
    {"llama3", RopeScalingKind::Llama3},
    {"yarn", RopeScalingKind::Yarn},
    {"longrope", RopeScalingKind::LongRope}};

/// What HF reads of a block, by kind. Anything else there would change the
/// rotation in a way HF's formulas do not have.
constexpr StringRef kCommonKeys[] = {"rope_type", "type", "rope_theta",
                                     "partial_rotary_factor"};
constexpr StringRef kScalingKeys[] = {
    "factor",          "original_max_position_embeddings",
    "low_freq_factor", "high_freq_factor",
    "beta_fast",       "beta_slow",
    "truncate",        "mscale",
    "mscale_all_dim",  "attention_factor",
    "short_factor",    "long_factor"};

/// The spellings of one RoPE value: in both blocks and, if `beside`, at the top
/// level.
class Spellings {
public:
  Spellings(StringRef key, bool beside = false) {
    for (StringRef block : kBlocks)
      texts.push_back((block + "." + key).str());
    if (beside)
      texts.push_back(key.str());
    paths.assign(texts.begin(), texts.end());
  }
  operator HFConfigFields::Paths() const { return paths; }

private:
  std::vector<std::string> texts;
  std::vector<StringRef> paths;
};

class RopeReader {
public:
  RopeReader(HFConfigFields &configFields, const Family &itsFamily,
             DecoderConfig &result)
      : fields(configFields), family(itsFamily), config(result) {}

  void read();

private:
  void checkBlocks();
  RopeScalingKind readKind();
  void readFactor();
  void readOriginalMaxPositions();
  void readLlama3();
  void readYarn();
  void readLongRope();
  StringRef blockHaving(StringRef key) const;

  HFConfigFields &fields;
  const Family &family;
  DecoderConfig &config;
};

/// The path of a key that one of the blocks has, for messages.
StringRef RopeReader::blockHaving(StringRef key) const {
  for (StringRef block : kBlocks)
    if (fields.has((block + "." + key).str()))
      return block;
  return kBlocks[0];
}

void RopeReader::checkBlocks() {
  for (StringRef block : kBlocks) {
    if (!fields.has(block))
      continue;
    const llvm::json::Object *object = fields.find(block)->getAsObject();
    if (!object)
      return fields.malformed(block, "found " + fields.describe(block) +
                                         ", expected an object or null");
    // The object's order is that of its hash table.
    std::vector<std::string> keys;
    for (const auto &entry : *object)
      keys.push_back(entry.first.str());
    llvm::sort(keys);
    for (const std::string &key : keys)
      if (!llvm::is_contained(kCommonKeys, StringRef(key)) &&
          !llvm::is_contained(kScalingKeys, StringRef(key)))
        return fields.refuse((block + "." + key).str(),
                             "found a RoPE parameter that is not supported, "
                             "expected one of " +
                                 llvm::join(std::begin(kScalingKeys),
                                            std::end(kScalingKeys), ", "));
  }
}

RopeScalingKind RopeReader::readKind() {
  std::string types[] = {"rope_parameters.rope_type", "rope_parameters.type",
                         "rope_scaling.rope_type", "rope_scaling.type"};
  std::vector<StringRef> paths(std::begin(types), std::end(types));
  std::optional<std::string> type = fields.optionalString(paths);
  if (fields.failed())
    return RopeScalingKind::None;
  if (!type) {
    // HF takes a block without a type as "default" and drops its parameters.
    for (StringRef key : kScalingKeys)
      for (StringRef block : kBlocks)
        if (fields.has((block + "." + key).str()))
          fields.malformed((block + ".rope_type").str(),
                           "missing beside '" + key +
                               "', expected the kind of scaling");
    return RopeScalingKind::None;
  }

  RopeScalingKind kind = RopeScalingKind::None;
  std::vector<StringRef> supported;
  bool known = false;
  for (const ScalingName &entry : kScalingNames) {
    bool allowed = entry.kind == RopeScalingKind::None ||
                   llvm::is_contained(family.ropeScalings, entry.kind);
    bool aliased = entry.kind == RopeScalingKind::LongRope &&
                   llvm::is_contained(family.longRopeAliases, StringRef(*type));
    if (allowed)
      supported.push_back(entry.name);
    if (allowed && (*type == entry.name || aliased)) {
      known = true;
      kind = entry.kind;
    }
  }
  if (!known) {
    StringRef path = *llvm::find_if(
        paths, [&](StringRef candidate) { return fields.has(candidate); });
    llvm::sort(supported);
    fields.refuse(path, "found " + fields.describe(path) +
                            ", expected one of the kinds supported for " +
                            family.modelType + ": " +
                            llvm::join(supported, ", "));
  }
  return kind;
}

void RopeReader::readFactor() {
  // HF warns below 1: a context is extended, never shrunk.
  config.rope.scaling.factor =
      fields.number(Spellings("factor"), {1, 1e6, /*closedBelow=*/true});
}

void RopeReader::readOriginalMaxPositions() {
  // 2: longrope divides by its logarithm.
  IntegerRange range{2, kMaxSize};
  Spellings paths("original_max_position_embeddings", /*beside=*/true);
  RopeScaling &scaling = config.rope.scaling;
  bool derive = scaling.kind != RopeScalingKind::LongRope ||
                family.originalMaxPositions == WhenAbsent::Derive;
  if (!derive) {
    scaling.originalMaxPositions = fields.integer(paths, range);
    return;
  }
  std::optional<int64_t> given = fields.optionalInteger(paths, range);
  scaling.originalMaxPositions = given.value_or(config.maxPositions);
  if (given || fields.failed())
    return;
  if (config.maxPositions < range.min)
    return fields.malformed("max_position_embeddings",
                            "found " +
                                fields.describe("max_position_embeddings") +
                                ", expected at least 2 for a scaled RoPE");
  config.assumptions.push_back(
      "no 'original_max_position_embeddings': the context length of "
      "pre-training is taken to be 'max_position_embeddings', " +
      std::to_string(config.maxPositions));
}

void RopeReader::readLlama3() {
  RopeScaling &scaling = config.rope.scaling;
  scaling.lowFreqFactor = fields.number(Spellings("low_freq_factor"));
  scaling.highFreqFactor = fields.number(Spellings("high_freq_factor"));
  if (!fields.failed() && scaling.highFreqFactor <= scaling.lowFreqFactor) {
    std::string block = blockHaving("high_freq_factor").str();
    fields.malformed(block + ".high_freq_factor",
                     "found " + fields.describe(block + ".high_freq_factor") +
                         ", expected more than low_freq_factor");
  }
}

void RopeReader::readYarn() {
  RopeScaling &scaling = config.rope.scaling;
  scaling.betaFast =
      fields.optionalNumber(Spellings("beta_fast")).value_or(scaling.betaFast);
  scaling.betaSlow =
      fields.optionalNumber(Spellings("beta_slow")).value_or(scaling.betaSlow);
  scaling.truncate = fields.flag(Spellings("truncate"), scaling.truncate);
  NumberRange fromZero{0, 1e6, /*closedBelow=*/true};
  scaling.mscale =
      fields.optionalNumber(Spellings("mscale"), fromZero).value_or(0);
  scaling.mscaleAllDim =
      fields.optionalNumber(Spellings("mscale_all_dim"), fromZero).value_or(0);
  scaling.attentionFactor =
      fields.optionalNumber(Spellings("attention_factor"));
  if (!fields.failed() && scaling.betaFast < scaling.betaSlow) {
    std::string block = blockHaving(fields.has("rope_parameters.beta_fast") ||
                                            fields.has("rope_scaling.beta_fast")
                                        ? "beta_fast"
                                        : "beta_slow")
                            .str();
    fields.malformed(block, "found a beta_fast below beta_slow (absent: 32 "
                            "and 1), expected at least beta_slow");
  }
}

void RopeReader::readLongRope() {
  RopeScaling &scaling = config.rope.scaling;
  size_t count = static_cast<size_t>(config.rope.rotaryDim / 2);
  for (auto [key, values] : {std::pair<StringRef, std::vector<double> *>(
                                 "short_factor", &scaling.shortFactor),
                             {"long_factor", &scaling.longFactor}}) {
    *values = fields.numbers((blockHaving(key) + "." + key).str(), count);
    // Only one block is read above: the other may not say otherwise.
    if (fields.has(("rope_parameters." + key).str()) &&
        fields.has(("rope_scaling." + key).str()) &&
        fields.numbers(("rope_scaling." + key).str(), count) != *values)
      fields.malformed(("rope_parameters." + key).str(),
                       "found other values than in 'rope_scaling." + key +
                           "', expected the same");
  }
  scaling.attentionFactor =
      fields.optionalNumber(Spellings("attention_factor"));

  double ratio = static_cast<double>(config.maxPositions) /
                 static_cast<double>(scaling.originalMaxPositions);
  std::optional<double> given =
      fields.optionalNumber(Spellings("factor"), {1, 1e6, true});
  scaling.factor = given.value_or(ratio);
  if (given && *given != ratio && !scaling.attentionFactor)
    config.assumptions.push_back(
        "longrope 'factor' is not max_position_embeddings / "
        "original_max_position_embeddings; the attention factor follows "
        "'factor', as in transformers 5");
}

void RopeReader::read() {
  RopeConfig &rope = config.rope;
  rope.style = family.ropeStyle;
  checkBlocks();
  if (fields.failed())
    return;

  // 1 would give every pair one frequency, and yarn divides by its logarithm.
  rope.theta = fields
                   .optionalNumber(Spellings("rope_theta", /*beside=*/true),
                                   {1, 1e18, /*closedBelow=*/false})
                   .value_or(family.ropeTheta);
  std::optional<double> fraction = fields.optionalNumber(
      Spellings("partial_rotary_factor", /*beside=*/true), {0, 1});
  if (fields.failed())
    return;
  rope.rotaryDim = static_cast<int64_t>(static_cast<double>(config.headDim) *
                                        fraction.value_or(1));
  if (rope.rotaryDim < 2 || rope.rotaryDim % 2 != 0)
    return fields.malformed(fraction ? "partial_rotary_factor" : "head_dim",
                            "found a rotary width of " + Twine(rope.rotaryDim) +
                                " in heads of " + Twine(config.headDim) +
                                ", expected an even width of at least 2");

  rope.scaling.kind = readKind();
  if (fields.failed())
    return;
  switch (rope.scaling.kind) {
  case RopeScalingKind::None:
    return;
  case RopeScalingKind::Linear:
    return readFactor();
  case RopeScalingKind::Llama3:
    readFactor();
    readOriginalMaxPositions();
    return readLlama3();
  case RopeScalingKind::Yarn:
    readFactor();
    readOriginalMaxPositions();
    return readYarn();
  case RopeScalingKind::LongRope:
    readOriginalMaxPositions();
    if (!fields.failed())
      readLongRope();
    return;
  }
}

} // namespace

void layline::readRope(HFConfigFields &fields, const Family &family,
                       DecoderConfig &config) {
  RopeReader(fields, family, config).read();
}
