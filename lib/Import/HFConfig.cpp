//===- HFConfig.cpp - reads Hugging Face config.json ----------------------===//

#include "layline/Import/HFConfig.h"
#include "HFConfigFamilies.h"
#include "HFConfigFields.h"
#include "HFConfigLayers.h"
#include "HFConfigRope.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <limits>

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

char HFConfigError::ID = 0;

void HFConfigError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code HFConfigError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

namespace {

std::string knownModelTypeList() { return llvm::join(knownModelTypes(), ", "); }

/// Keys that change what the model computes and that none of the families
/// here has. Null, false and the neutral number leave it as it is.
struct UnsupportedKey {
  StringRef key;
  double neutral; ///< NaN: no number is neutral
  StringRef meaning;
};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr UnsupportedKey kUnsupportedKeys[] = {
    {"text_config", kNone, "a model nested in a multimodal one"},
    {"vision_config", kNone, "a multimodal model"},
    {"per_layer_config", kNone, "layers that differ in size"},
    {"block_configs", kNone, "layers that differ in structure"},
    {"is_encoder_decoder", kNone, "an encoder-decoder model"},
    {"add_cross_attention", kNone, "cross-attention"},
    {"clip_qkv", kNone, "clipped q, k and v"},
    {"attn_logit_softcapping", kNone, "soft-capped attention"},
    {"final_logit_softcapping", kNone, "soft-capped logits"},
    {"query_pre_attn_scalar", kNone, "another attention scale"},
    {"attention_multiplier", kNone, "another attention scale"},
    {"embedding_multiplier", 1, "a scaled embedding"},
    {"residual_multiplier", 1, "a scaled residual"},
    {"logits_scaling", 1, "scaled logits"},
    {"logit_scale", 1, "scaled logits"},
    {"lm_head_bias", kNone, "a bias of lm_head"},
    {"use_qk_norm", kNone, "a q/k norm that the family does not have"},
    {"qk_layernorm", kNone, "a q/k norm that the family does not have"},
    {"use_bidirectional_attention", kNone, "attention to later tokens"},
    {"alibi", kNone, "ALiBi positions"},
    {"use_parallel_residual", kNone, "parallel attention and MLP"},
    {"parallel_attn", kNone, "parallel attention and MLP"},
    {"no_rope_layers", kNone, "layers without RoPE"},
    {"rope_interleave", kNone, "interleaved RoPE"},
    {"attention_chunk_size", kNone, "chunked attention"},
    {"num_kv_shared_layers", 0, "layers that share a cache"},
    {"kv_lora_rank", kNone, "latent attention"},
    {"q_lora_rank", kNone, "latent attention"},
    {"n_shared_experts", 0, "shared experts"},
    {"num_shared_expert", 0, "shared experts"},
    {"shared_expert_intermediate_size", 0, "a shared expert"},
    {"routed_scaling_factor", 1, "scaled expert weights"},
    {"first_k_dense_replace", 0, "leading dense layers"},
};

/// Real heads have at most 576; RoPE tables of this size are still small.
constexpr int64_t kMaxHeadDim = int64_t(1) << 16;

class ConfigReader {
public:
  ConfigReader(HFConfigFields &configFields, const Family &itsFamily)
      : fields(configFields), family(itsFamily) {}

  void read();

  DecoderConfig config;

private:
  void checkArchitecture();
  void checkUnsupportedKeys();
  using Paths = HFConfigFields::Paths;

  void readQuantization();
  void readStored();
  void readSizes();
  void readIntermediate();
  void readMaxPositions();
  void readNormEps();
  void readStructure();
  void readHeads();
  void readBiases();
  bool readBias(const BiasRule &rule);
  void readActivation();
  void readElementType();
  void dropAbsentTensors();
  void checkTotalSize();

  HFConfigFields &fields;
  const Family &family;
  bool isQuantized = false;
};

void ConfigReader::checkArchitecture() {
  std::vector<std::string> classes = fields.optionalStrings("architectures");
  if (fields.failed() || classes.empty())
    return;
  if (classes.size() != 1 || classes.front() != family.architecture)
    fields.refuse("architectures", "found " + llvm::join(classes, ", ") +
                                       ", expected " + family.architecture +
                                       " for model_type " + family.modelType);
}

void ConfigReader::checkUnsupportedKeys() {
  for (const UnsupportedKey &entry : kUnsupportedKeys) {
    if (!fields.has(entry.key) || llvm::is_contained(family.ownKeys, entry.key))
      continue;
    const llvm::json::Value &value = *fields.find(entry.key);
    std::optional<double> number = value.getAsNumber();
    if (value.getAsBoolean() == false || (number && *number == entry.neutral))
      continue;
    fields.refuse(entry.key, "found " + fields.describe(entry.key) + ": " +
                                 entry.meaning + " is not supported for " +
                                 family.modelType);
  }
}

void ConfigReader::readStored() {
  auto text = [&](StringRef key) {
    return fields.optionalString({("quantization_config." + key).str()})
        .value_or("");
  };
  StoredQuantization &stored = config.checkpoint;
  stored.method = text("quant_method");
  stored.format = text("fmt");
  stored.scheme = text("activation_scheme");
  if (fields.has("quantization_config.weight_block_size"))
    stored.block = fields.optionalIntegers(
        "quantization_config.weight_block_size", IntegerRange());
  if (fields.has("quantization_config.modules_to_not_convert"))
    stored.excluded =
        fields.optionalStrings("quantization_config.modules_to_not_convert");
}

/// Weights that are stored in a narrow format are planned as what the model
/// computes with. A plan says nothing about their scales: it cannot run them.
void ConfigReader::readQuantization() {
  for (StringRef key : {"quantization_config", "compression_config"}) {
    if (!fields.has(key))
      continue;
    std::string path = (key + ".quant_method").str();
    StringRef stored;
    if (key == "quantization_config" && fields.has(path)) {
      std::string method = fields.optionalString({path}).value_or("");
      stored = llvm::StringSwitch<StringRef>(method)
                   .Case("fp8", "fp8 with scales beside them")
                   .Case("mxfp4", "mxfp4 in blocks with scales beside them")
                   .Default("");
    }
    if (stored.empty())
      return fields.refuse(
          key, "found quantized weights" +
                   (fields.has(path)
                        ? " (quant_method " + fields.describe(path) + ")"
                        : std::string()) +
                   ", expected quant_method fp8 or mxfp4, or bfloat16, float16 "
                   "or float32 weights");
    isQuantized = true;
    readStored();
    std::string block;
    for (int64_t size : config.checkpoint.block)
      block += (block.empty() ? ", one for each block of " : " x ") +
               std::to_string(size);
    config.assumptions.push_back(
        ("weights are stored as " + stored + block +
         ": the plan describes them in the element type that the model "
         "computes with, and 'layline run' does not read them")
            .str());
  }
}

void ConfigReader::readSizes() {
  config.layers = fields.integer(family.keys.layers, {1, 10000});
  config.hidden = fields.integer(family.keys.hidden);
  config.vocab = fields.integer({"vocab_size"});
  readIntermediate();
  readMaxPositions();
  config.tieWordEmbeddings =
      fields.flag({"tie_word_embeddings"}, family.tieWordEmbeddings);
}

void ConfigReader::readIntermediate() {
  Paths keys = family.keys.intermediate;
  if (family.intermediate == WhenAbsent::Require) {
    config.intermediate = fields.integer(keys);
    return;
  }
  config.intermediate = fields.optionalInteger(keys).value_or(
      std::min(4 * config.hidden, kMaxSize));
}

void ConfigReader::readMaxPositions() {
  Paths keys = family.keys.maxPositions;
  if (family.maxPositions == 0) {
    config.maxPositions = fields.integer(keys);
    return;
  }
  std::optional<int64_t> given = fields.optionalInteger(keys);
  config.maxPositions = given.value_or(family.maxPositions);
  if (!given)
    config.assumptions.push_back(("no '" + keys.front() +
                                  "': " + Twine(family.maxPositions) +
                                  ", as HF has it for this family")
                                     .str());
}

void ConfigReader::readNormEps() {
  Paths keys = family.keys.normEps;
  NumberRange range{0, 1};
  std::optional<double> given = fields.optionalNumber(keys, range);
  if (!given && family.normEps == 0) {
    config.norm.eps = fields.number(keys, range);
    return;
  }
  config.norm.eps = given.value_or(family.normEps);
  if (!given)
    config.assumptions.push_back(
        ("no '" + keys.front() + "': as HF has it for this family").str());
}

void ConfigReader::readStructure() {
  config.block = family.block;
  config.norm.kind = family.norm;
  readNormEps();
  config.norm.weightOffset = family.normWeightOffset;
  config.qkNorm = family.qkNorm;
  config.gatedMlp = family.gatedMlp;
  config.fusedQKV = family.fusedQKV;
}

void ConfigReader::readHeads() {
  const Family::Keys &keys = family.keys;
  auto isGiven = [&](StringRef key) { return fields.find(key) != nullptr; };
  config.heads = fields.integer(keys.heads);
  config.kvHeads =
      family.kvHeads == WhenAbsent::Require &&
              llvm::none_of(keys.kvHeads, isGiven)
          ? fields.integer(keys.kvHeads)
          : fields.optionalInteger(keys.kvHeads).value_or(config.heads);
  if (fields.failed())
    return;
  if (config.heads % config.kvHeads != 0)
    return fields.malformed(
        keys.kvHeads.front(),
        "found number " + Twine(config.kvHeads) + ", expected a divisor of " +
            keys.heads.front() + ", " + Twine(config.heads));

  if (family.headDim == WhenAbsent::Require ||
      llvm::any_of(keys.headDim,
                   [&](StringRef key) { return fields.has(key); })) {
    config.headDim = fields.integer(keys.headDim);
  } else {
    if (config.hidden % config.heads != 0)
      return fields.malformed(
          keys.hidden.front(),
          "found number " + Twine(config.hidden) + ", expected a multiple of " +
              keys.heads.front() + ", " + Twine(config.heads) +
              ", as there is no head_dim");
    config.headDim = config.hidden / config.heads;
  }
  if (!fields.failed() &&
      (config.headDim > kMaxHeadDim || config.qDim() > kMaxSize))
    return fields.malformed(
        keys.headDim.front(),
        "found " + Twine(config.heads) + " heads of " + Twine(config.headDim) +
            ", expected heads of "
            "at most " +
            Twine(kMaxHeadDim) + " and a product below 2^31");
  config.attentionScale = 1 / std::sqrt(static_cast<double>(config.headDim));
}

bool ConfigReader::readBias(const BiasRule &rule) {
  if (rule.when == BiasRule::When::ByKey)
    return fields.flag({rule.key}, rule.whenAbsent);
  return rule.when == BiasRule::When::Always;
}

void ConfigReader::readBiases() {
  config.qkvBias = readBias(family.qkvBias);
  config.oBias = readBias(family.oBias);
  config.mlpBias = readBias(family.mlpBias);

  for (StringRef key : {"attention_bias", "mlp_bias"}) {
    if (family.qkvBias.reads(key) || family.mlpBias.reads(key) ||
        llvm::is_contained(family.ownKeys, key))
      continue;
    if (fields.flag({key}, false))
      fields.refuse(key, Twine("found boolean true, expected false or nothing: "
                               "which layers of ") +
                             family.modelType +
                             " have a bias is fixed and not read from here");
  }
  if (family.qkvBias.when == BiasRule::When::Always &&
      fields.has("attention_bias"))
    config.assumptions.push_back((Twine("'attention_bias' has no effect on ") +
                                  family.modelType +
                                  ": q, k and v always have biases, o never")
                                     .str());
}

void ConfigReader::readActivation() {
  config.activation = family.activation;
  std::optional<std::string> name =
      fields.optionalString(family.keys.activation);
  if (!name)
    return;
  std::optional<Activation> activation =
      llvm::StringSwitch<std::optional<Activation>>(*name)
          .Case("silu", Activation::SiLU)
          .Case("gelu", Activation::GELU)
          // Two spellings of one formula in HF.
          .Cases({"gelu_pytorch_tanh", "gelu_new"}, Activation::GELUTanh)
          .Case("relu", Activation::ReLU)
          .Default(std::nullopt);
  if (!activation) {
    StringRef key = *llvm::find_if(
        family.keys.activation, [&](StringRef key) { return fields.has(key); });
    return fields.refuse(key, "found " + fields.describe(key) +
                                  ", expected gelu, gelu_new, "
                                  "gelu_pytorch_tanh, relu or silu");
  }
  config.activation = *activation;
}

void ConfigReader::readElementType() {
  std::optional<std::string> name =
      fields.optionalString({"dtype", "torch_dtype"});
  if (fields.failed())
    return;
  if (!name && isQuantized) {
    config.dtype = ElementType::BFloat16;
    config.assumptions.push_back("no 'dtype' or 'torch_dtype' beside a "
                                 "quantization_config: bfloat16");
    return;
  }
  if (!name) {
    config.dtype = ElementType::Float32;
    config.assumptions.push_back("no 'dtype' or 'torch_dtype': float32, as HF "
                                 "builds a model from such a config");
    return;
  }
  std::optional<ElementType> type =
      llvm::StringSwitch<std::optional<ElementType>>(*name)
          .Case("bfloat16", ElementType::BFloat16)
          .Case("float16", ElementType::Float16)
          .Case("float32", ElementType::Float32)
          .Default(std::nullopt);
  StringRef key = fields.has("dtype") ? "dtype" : "torch_dtype";
  if (!type)
    return fields.refuse(key, "found " + fields.describe(key) +
                                  ", expected bfloat16, float16 or float32");
  config.dtype = *type;
}

/// Takes out the names of weights that this config does not have.
void ConfigReader::dropAbsentTensors() {
  auto drop = [&](bool isAbsent, std::initializer_list<Weight> weights) {
    for (Weight weight : weights)
      if (isAbsent)
        config.tensorName(weight).clear();
  };
  drop(!config.qkvBias, {Weight::QBias, Weight::KBias, Weight::VBias});
  drop(!config.oBias, {Weight::OBias});
  drop(config.moe.sharedIntermediate == 0,
       {Weight::SharedGate, Weight::SharedUp, Weight::SharedDown});
  drop(!config.mlpBias, {Weight::GateBias, Weight::UpBias, Weight::DownBias});
  drop(!config.gatedMlp, {Weight::Gate, Weight::GateBias});
  drop(!readBias(family.lmHeadBias), {Weight::LmHeadBias});
  drop(config.qkNorm == QKNorm::None, {Weight::QNorm, Weight::KNorm});
  drop(config.block != BlockStructure::PostNorm &&
           config.block != BlockStructure::Sandwich,
       {Weight::AttnBranchNorm, Weight::MlpBranchNorm});
  drop(config.block == BlockStructure::PostNorm,
       {Weight::InputNorm, Weight::InputNormBias});
  drop(config.block == BlockStructure::PostNorm ||
           config.block == BlockStructure::ParallelOneNorm,
       {Weight::MlpNorm, Weight::MlpNormBias});
  if (config.tieWordEmbeddings)
    config.tensorName(Weight::LmHead) = config.tensorName(Weight::Embedding);
}

/// Bytes of all weights, in any element type, must fit in 63 bits: later
/// arithmetic on sizes need not be checked again.
void ConfigReader::checkTotalSize() {
  constexpr uint64_t limit = uint64_t(1) << 60;
  auto product = [](std::initializer_list<int64_t> factors) {
    uint64_t result = 1;
    for (int64_t factor : factors)
      result = llvm::SaturatingMultiply(result, static_cast<uint64_t>(factor));
    return result;
  };
  uint64_t sizes[] = {
      product({2, config.vocab, config.hidden}),
      product({4, config.layers, config.hidden, config.qDim()}),
      product({3, config.layers, config.hidden, config.intermediate}),
      product({3, config.layers, config.hidden, config.moe.experts,
               config.moe.intermediate}),
      product({3, config.layers, config.hidden, config.moe.sharedIntermediate}),
      product({3, config.layers, config.heads, config.latent.keyDim(),
               config.hidden}),
      product({config.layers, config.heads,
               config.latent.nopeDim + config.latent.valueDim,
               config.latent.rank})};
  uint64_t total = 0;
  for (uint64_t size : sizes)
    total = llvm::SaturatingAdd(total, size);
  if (total > limit)
    fields.malformed("hidden_size",
                     "found sizes that make a model of more than 2^60 "
                     "weights, expected fewer");
}

void ConfigReader::read() {
  config.modelType = family.modelType;
  checkArchitecture();
  checkUnsupportedKeys();
  readQuantization();
  readSizes();
  readStructure();
  readHeads();
  readBiases();
  readActivation();
  readElementType();
  config.tensorNames = family.tensorNames;
  if (!fields.failed() && family.readOwn)
    family.readOwn(fields, config);
  if (!fields.failed())
    readRope(fields, family, config);
  if (!fields.failed())
    readLayers(fields, family, config);
  if (!fields.failed() && family.readLast)
    family.readLast(fields, config);
  if (fields.failed())
    return;
  dropAbsentTensors();
  checkTotalSize();
}

} // namespace

std::vector<std::string> layline::knownModelTypes() {
  std::vector<std::string> names;
  for (const Family &family : hfFamilies())
    names.push_back(family.modelType);
  return names;
}

llvm::Expected<DecoderConfig> layline::parseHFConfig(StringRef text,
                                                     StringRef name) {
  llvm::Expected<HFConfigText> parsed = parseHFConfigText(text, name);
  if (!parsed)
    return parsed.takeError();
  HFConfigFields fields(name.str(), std::move(*parsed));

  std::optional<std::string> modelType = fields.optionalString({"model_type"});
  const Family *family = modelType ? findFamily(*modelType) : nullptr;
  for (const UnsupportedModelType &entry : unsupportedModelTypes())
    if (modelType == entry.modelType)
      fields.refuse("model_type", "found " + fields.describe("model_type") +
                                      ": not supported: " + entry.reason +
                                      "; expected one of " +
                                      knownModelTypeList());
  if (!family)
    fields.refuse("model_type",
                  (modelType ? "found " + fields.describe("model_type")
                             : std::string("missing")) +
                      ", expected one of " + knownModelTypeList());
  if (fields.failed())
    return fields.takeError();

  ConfigReader reader(fields, *family);
  reader.read();
  if (fields.failed())
    return fields.takeError();
  return std::move(reader.config);
}

llvm::Expected<DecoderConfig> layline::readHFConfig(StringRef path,
                                                    std::string *text) {
  auto unreadable = [&](const Twine &why) {
    return llvm::make_error<HFConfigError>(
        HFConfigError::Kind::Malformed,
        (path + ": cannot be read: " + why).str());
  };
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return unreadable(error.message());
  // A device may never end.
  if (status.type() != llvm::sys::fs::file_type::regular_file &&
      status.type() != llvm::sys::fs::file_type::fifo_file)
    return unreadable("not a file");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!buffer)
    return unreadable(buffer.getError().message());
  if (text)
    *text = (*buffer)->getBuffer().str();
  return parseHFConfig((*buffer)->getBuffer(), path);
}
