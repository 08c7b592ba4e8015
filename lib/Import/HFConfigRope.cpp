//===- HFConfigRope.cpp - RoPE keys of a config.json ----------------------===//

#include "HFConfigRope.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

namespace {

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

/// Where the keys of one RoPE are.
struct RopeKeys {
  /// Objects that have any of them, the newer generation's first.
  std::vector<StringRef> blocks;
  /// Keys at the top level.
  std::vector<StringRef> theta, fraction;
  double thetaWhenAbsent = 10000;
};

class RopeReader {
public:
  RopeReader(HFConfigFields &configFields, const Family &itsFamily,
             const RopeKeys &itsKeys, DecoderConfig &result,
             RopeConfig &itsRope)
      : fields(configFields), family(itsFamily), keys(itsKeys), config(result),
        rope(itsRope) {}

  void read();

private:
  /// The spellings of one RoPE value: in every block, then those at the top
  /// level.
  class Spellings {
  public:
    Spellings(const RopeKeys &keys, StringRef key,
              llvm::ArrayRef<StringRef> beside) {
      for (StringRef block : keys.blocks)
        texts.push_back((block + "." + key).str());
      paths.assign(texts.begin(), texts.end());
      paths.insert(paths.end(), beside.begin(), beside.end());
    }
    // Paths point into texts.
    Spellings(const Spellings &) = delete;
    operator HFConfigFields::Paths() const { return paths; }

  private:
    std::vector<std::string> texts;
    std::vector<StringRef> paths;
  };
  Spellings spell(StringRef key, llvm::ArrayRef<StringRef> beside = {}) {
    return Spellings(keys, key, beside);
  }
  void readRotaryDim();
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
  const RopeKeys &keys;
  DecoderConfig &config;
  RopeConfig &rope;
};

/// The path of a key that one of the blocks has, for messages.
StringRef RopeReader::blockHaving(StringRef key) const {
  for (StringRef block : keys.blocks)
    if (fields.has((block + "." + key).str()))
      return block;
  return keys.blocks.front();
}

void RopeReader::checkBlocks() {
  for (StringRef block : keys.blocks) {
    if (!fields.has(block))
      continue;
    const llvm::json::Object *object = fields.find(block)->getAsObject();
    if (!object)
      return fields.malformed(block, "found " + fields.describe(block) +
                                         ", expected an object or null");
    // The object's order is that of its hash table.
    std::vector<std::string> found;
    for (const auto &entry : *object)
      found.push_back(entry.first.str());
    llvm::sort(found);
    for (const std::string &key : found)
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
  std::vector<std::string> types;
  for (StringRef block : keys.blocks)
    for (StringRef key : {"rope_type", "type"})
      types.push_back((block + "." + key).str());
  std::vector<StringRef> paths(types.begin(), types.end());
  std::optional<std::string> type = fields.optionalString(paths);
  if (fields.failed())
    return RopeScalingKind::None;
  if (!type) {
    // HF takes a block without a type as "default" and drops its parameters.
    for (StringRef key : kScalingKeys)
      for (StringRef block : keys.blocks)
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
  rope.scaling.factor =
      fields.number(spell("factor"), {1, 1e6, /*closedBelow=*/true});
}

void RopeReader::readOriginalMaxPositions() {
  // 2: longrope divides by its logarithm.
  IntegerRange range{2, kMaxSize};
  Spellings paths = spell("original_max_position_embeddings",
                          {"original_max_position_embeddings"});
  RopeScaling &scaling = rope.scaling;
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
  RopeScaling &scaling = rope.scaling;
  scaling.lowFreqFactor = fields.number(spell("low_freq_factor"));
  scaling.highFreqFactor = fields.number(spell("high_freq_factor"));
  if (!fields.failed() && scaling.highFreqFactor <= scaling.lowFreqFactor) {
    std::string block = blockHaving("high_freq_factor").str();
    fields.malformed(block + ".high_freq_factor",
                     "found " + fields.describe(block + ".high_freq_factor") +
                         ", expected more than low_freq_factor");
  }
}

void RopeReader::readYarn() {
  RopeScaling &scaling = rope.scaling;
  scaling.betaFast =
      fields.optionalNumber(spell("beta_fast")).value_or(scaling.betaFast);
  scaling.betaSlow =
      fields.optionalNumber(spell("beta_slow")).value_or(scaling.betaSlow);
  scaling.truncate = fields.flag(spell("truncate"), scaling.truncate);
  NumberRange fromZero{0, 1e6, /*closedBelow=*/true};
  scaling.mscale = fields.optionalNumber(spell("mscale"), fromZero).value_or(0);
  scaling.mscaleAllDim =
      fields.optionalNumber(spell("mscale_all_dim"), fromZero).value_or(0);
  scaling.attentionFactor = fields.optionalNumber(spell("attention_factor"));
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
  RopeScaling &scaling = rope.scaling;
  size_t count = static_cast<size_t>(rope.rotaryDim / 2);
  for (auto [key, values] : {std::pair<StringRef, std::vector<double> *>(
                                 "short_factor", &scaling.shortFactor),
                             {"long_factor", &scaling.longFactor}}) {
    *values = fields.numbers((blockHaving(key) + "." + key).str(), count);
    // Only one block is read above: the others may not say otherwise.
    for (StringRef block : keys.blocks) {
      std::string other = (block + "." + key).str();
      if (fields.has(other) && fields.numbers(other, count) != *values)
        fields.malformed((blockHaving(key) + "." + key).str(),
                         "found other values than in '" + other +
                             "', expected the same");
    }
  }
  scaling.attentionFactor = fields.optionalNumber(spell("attention_factor"));

  double ratio = static_cast<double>(config.maxPositions) /
                 static_cast<double>(scaling.originalMaxPositions);
  std::optional<double> given =
      fields.optionalNumber(spell("factor"), {1, 1e6, true});
  scaling.factor = given.value_or(ratio);
  if (given && *given != ratio && !scaling.attentionFactor)
    config.assumptions.push_back(
        "longrope 'factor' is not max_position_embeddings / "
        "original_max_position_embeddings; the attention factor follows "
        "'factor', as in transformers 5");
}

void RopeReader::readRotaryDim() {
  std::optional<int64_t> given;
  if (!family.rotaryDimKey.empty()) {
    IntegerRange widths{2, config.headDim};
    given = family.rotaryDimStandsAlone()
                ? fields.integer({family.rotaryDimKey}, widths)
                : fields.optionalInteger({family.rotaryDimKey}, widths);
    rope.rotaryDim = given.value_or(0);
    if (given && *given % 2 != 0)
      fields.malformed(family.rotaryDimKey, "found number " + Twine(*given) +
                                                ", expected an even width");
    if (family.rotaryDimStandsAlone() || fields.failed())
      return;
  }
  Spellings paths = spell("partial_rotary_factor", keys.fraction);
  NumberRange range{0, 1};
  std::optional<double> fraction = family.rotaryFraction == WhenAbsent::Require
                                       ? fields.number(paths, range)
                                       : fields.optionalNumber(paths, range);
  if (fields.failed() || (given && !fraction))
    return;
  rope.rotaryDim = static_cast<int64_t>(static_cast<double>(config.headDim) *
                                        fraction.value_or(1));
  if (given && rope.rotaryDim != *given)
    return fields.malformed(family.rotaryDimKey,
                            "found number " + Twine(*given) +
                                " beside a partial_rotary_factor that gives " +
                                Twine(rope.rotaryDim) +
                                ", expected the same width");
  if (rope.rotaryDim < 2 || rope.rotaryDim % 2 != 0)
    fields.malformed(fraction ? keys.fraction.front() : "head_dim",
                     "found a rotary width of " + Twine(rope.rotaryDim) +
                         " in heads of " + Twine(config.headDim) +
                         ", expected an even width of at least 2");
}

void RopeReader::read() {
  rope.style = family.ropeStyle;
  checkBlocks();
  if (fields.failed())
    return;

  // 1 would give every pair one frequency, and yarn divides by its logarithm.
  rope.theta = fields
                   .optionalNumber(spell("rope_theta", keys.theta),
                                   {1, 1e18, /*closedBelow=*/false})
                   .value_or(keys.thetaWhenAbsent);
  readRotaryDim();
  if (fields.failed())
    return;

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

/// One object for layers with a window and one for the others (Gemma-3), or
/// beside the keys of the others a theta.
static void readSlidingRope(HFConfigFields &fields, const Family &family,
                            DecoderConfig &config) {
  RopeKeys keys;
  keys.fraction = {"partial_rotary_factor"};
  bool isNested = fields.has("rope_parameters.sliding_attention") ||
                  fields.has("rope_parameters.full_attention");
  keys.theta = {family.slidingThetaKey};
  if (isNested)
    keys.blocks = {"rope_parameters.sliding_attention"};
  config.slidingRope.emplace();
  RopeReader(fields, family, keys, config, *config.slidingRope).read();
  if (fields.failed())
    return;
  keys.theta = {"rope_theta"};
  keys.thetaWhenAbsent = family.ropeTheta;
  keys.blocks = {"rope_scaling"};
  if (isNested)
    keys.blocks.insert(keys.blocks.begin(), "rope_parameters.full_attention");
  else
    keys.blocks.insert(keys.blocks.begin(), "rope_parameters");
  RopeReader(fields, family, keys, config, config.rope).read();
}

void layline::readRope(HFConfigFields &fields, const Family &family,
                       DecoderConfig &config) {
  if (!family.slidingThetaKey.empty())
    return readSlidingRope(fields, family, config);
  RopeKeys keys;
  if (!family.rotaryDimStandsAlone()) {
    keys.blocks = {"rope_parameters", "rope_scaling"};
    keys.theta = {"rope_theta"};
  }
  keys.thetaWhenAbsent = family.ropeTheta;
  keys.fraction = {"partial_rotary_factor"};
  for (auto [list, own] : {std::pair(&keys.theta, family.ropeThetaKey),
                           std::pair(&keys.fraction, family.fractionKey)})
    if (!own.empty())
      list->push_back(own);
  RopeReader(fields, family, keys, config, config.rope).read();
}
