//===- Capabilities.cpp - the fused kernels that a target has -------------===//
#include "layline/Cost/Capabilities.h"
#include "Curve.h"
#include "EmbeddedFiles.h"
#include "JSONFields.h"
#include "TextLines.h"
#include "json/StrictJson.h"
#include <algorithm>

using namespace layline;

static const std::pair<FusedForm, const char *> kForms[] = {
    {FusedForm::AllReduceEpilogue, "all_reduce_epilogue"},
    {FusedForm::ReduceScatterEpilogueAllGather,
     "reduce_scatter_epilogue_all_gather"},
    {FusedForm::ReduceScatterEpilogue, "reduce_scatter_epilogue"},
    {FusedForm::EpilogueAllGather, "epilogue_all_gather"},
    {FusedForm::GroupedAllGather, "grouped_all_gather"},
};

static const std::vector<std::string> kOps = {"add",   "norm",       "quantize",
                                              "scale", "activation", "rope"};
static const std::vector<std::string> kNorms = {"rms", "rms_offset", "layer"};
static const std::vector<std::string> kDTypes = {"bf16", "f16", "f32",
                                                 "f64",  "fp8", "fp4"};

const char *layline::getName(FusedForm form) {
  for (auto [candidate, name] : kForms)
    if (candidate == form)
      return name;
  return "";
}

std::optional<FusedForm> layline::findFusedForm(const std::string &name) {
  for (auto [form, candidate] : kForms)
    if (candidate == name)
      return form;
  return std::nullopt;
}

int64_t FusedKernel::maxBytesFor(int64_t numRanks) const {
  for (auto [group, bytes] : maxBytesOfRanks)
    if (group == numRanks)
      return bytes;
  return maxBytes;
}

//===----------------------------------------------------------------------===//
// What a kernel lacks
//===----------------------------------------------------------------------===//

static bool contains(const std::vector<std::string> &names,
                     const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// How many of the checks hold until one does not, and what that one found.
/// Nothing lacking: an empty text.
static std::pair<int, std::string>
findLack(const FusedKernel &kernel, const FusedNeed &need, bool multicast) {
  if (kernel.needsMulticast && !multicast)
    return {0, "needs a switch that multicasts"};
  for (const std::string &op : need.ops)
    if (!contains(kernel.epilogue, op))
      return {1, "runs " +
                     (kernel.epilogue.empty() ? std::string("nothing else")
                                              : orText(kernel.epilogue)) +
                     ", not " + op};
  for (const std::string &norm : need.norms)
    if (!contains(kernel.norms, norm))
      return {2, "does " + orText(kernel.norms) + " norms, not " + norm};
  if (int64_t(need.norms.size()) > kernel.maxNorms)
    return {3, "does " + std::to_string(kernel.maxNorms) +
                   " norm at most, not " + std::to_string(need.norms.size())};
  if (need.normAndQuantized && !kernel.emitsNormAndQuant)
    return {4, "gives a norm or its quantised form, not both"};
  if (!contains(kernel.dtypes, need.dtype))
    return {5, "takes " + orText(kernel.dtypes) + ", not " + need.dtype};
  if (!kernel.ranks.empty() &&
      std::find(kernel.ranks.begin(), kernel.ranks.end(), need.ranks) ==
          kernel.ranks.end()) {
    std::vector<std::string> groups;
    for (int64_t ranks : kernel.ranks)
      groups.push_back(std::to_string(ranks));
    return {6, "serves " + orText(groups) + " ranks, not " +
                   std::to_string(need.ranks)};
  }
  if (need.hidden % kernel.hiddenMultiple != 0)
    return {7, "takes rows of a multiple of " +
                   std::to_string(kernel.hiddenMultiple) + " elements, not " +
                   std::to_string(need.hidden)};
  if (kernel.maxHidden && need.hidden > kernel.maxHidden)
    return {7, "takes rows of up to " + std::to_string(kernel.maxHidden) +
                   " elements, not " + std::to_string(need.hidden)};
  int64_t most = kernel.maxBytesFor(need.ranks);
  if (need.bytes && most && need.bytes > most)
    return {8,
            "serves up to " + sizeText(most) + ", not " + sizeText(need.bytes)};
  if (need.bytes && need.bytes < kernel.minBytes)
    return {8, "serves " + sizeText(kernel.minBytes) + " and more, not " +
                   sizeText(need.bytes)};
  return {9, ""};
}

KernelMatch Capabilities::find(const FusedNeed &need) const {
  std::string none = "no kernel of " + target;
  KernelMatch match{nullptr, none + " has the form " + getName(need.form)};
  int most = -1;
  for (const FusedKernel &kernel : kernels) {
    if (kernel.form != need.form)
      continue;
    auto [held, lack] = findLack(kernel, need, multicast);
    if (lack.empty())
      return {&kernel, ""};
    if (held > most) {
      most = held;
      match.reason = none + " fits: " + kernel.name + " " + lack;
    }
  }
  return match;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static FusedKernel readKernel(JSONFields &fields) {
  FusedKernel kernel;
  kernel.name = fields.string("name");
  kernel.source = fields.string("source");
  std::vector<std::string> forms;
  for (auto [form, name] : kForms)
    forms.push_back(name);
  kernel.form = *findFusedForm(fields.oneOf("form", forms));
  kernel.epilogue = fields.strings("epilogue", kOps);
  bool hasNorm = contains(kernel.epilogue, "norm");
  if (hasNorm) {
    kernel.norms = fields.strings("norms", kNorms);
    if (kernel.norms.empty())
      fields.fail("norms",
                  "found none beside the op norm, expected a list of " +
                      orText(kNorms));
    kernel.maxNorms = fields.integer("max_norms", 1, 1);
  } else if (fields.has("norms") || fields.has("max_norms")) {
    fields.fail(fields.has("norms") ? "norms" : "max_norms",
                "found, expected only beside the op norm in epilogue");
  }
  kernel.dtypes = fields.strings("dtypes", kDTypes);
  if (kernel.dtypes.empty())
    fields.fail("dtypes", "found none, expected a list of " + orText(kDTypes));
  if (fields.has("ranks"))
    kernel.ranks = fields.integers("ranks", 2);
  kernel.hiddenMultiple = fields.integer("hidden_multiple", 1, 1);
  kernel.maxHidden = fields.integer("max_hidden", 1, 0);
  kernel.minBytes = fields.integer("min_bytes", 1, 0);
  kernel.maxBytes = fields.integer("max_bytes", 1, 0);
  if (fields.has("max_bytes_of_ranks"))
    for (const auto &[name, bytes] : fields.numbers("max_bytes_of_ranks")) {
      std::optional<int64_t> ranks = parseInteger(name);
      if (!ranks || *ranks < 2 || bytes != double(int64_t(bytes)))
        fields.fail("max_bytes_of_ranks",
                    "found " + inQuotes(name) +
                        ", expected whole bytes by a number of ranks");
      else
        kernel.maxBytesOfRanks.push_back({*ranks, int64_t(bytes)});
    }
  kernel.emitsNormAndQuant = fields.flag("emits_norm_and_quantized", false);
  kernel.needsMulticast = fields.flag("needs_multicast", false);
  if (fields.has("one_shot") && kernel.form != FusedForm::AllReduceEpilogue)
    fields.fail("one_shot", "found, expected only of all_reduce_epilogue");
  kernel.oneShot = fields.flag("one_shot", false);
  kernel.algorithm = fields.string("algorithm", "");
  fields.finish();
  return kernel;
}

std::optional<Capabilities> layline::parseCapabilities(const std::string &text,
                                                       const std::string &name,
                                                       std::string &error) {
  nlohmann::json document;
  if (!runtime::parseStrictJson(text, document, error)) {
    error = name + ": not JSON: " + error;
    return std::nullopt;
  }
  JSONFault fault{name, ""};
  JSONFields fields(document, "", fault);
  fields.header("layline.capabilities");
  Capabilities capabilities;
  capabilities.target = fields.string("target");
  capabilities.multicast = fields.flag("multicast", false);
  for (JSONFields &entry : fields.objects("kernels")) {
    FusedKernel kernel = readKernel(entry);
    for (const FusedKernel &other : capabilities.kernels)
      if (other.name == kernel.name)
        entry.fail("name", "found \"" + kernel.name +
                               "\" once more, expected each name once");
    capabilities.kernels.push_back(std::move(kernel));
  }
  fields.finish();
  if (fault.message.empty())
    return capabilities;
  error = fault.message;
  return std::nullopt;
}

std::optional<Capabilities> layline::getCapabilities(const std::string &target,
                                                     std::string &error) {
  for (const EmbeddedFile *file = kCapabilityFiles; file->name; ++file)
    if (target + ".json" == file->name)
      return parseCapabilities(file->text, file->name, error);
  error = "target: found " + inQuotes(target) + ", expected a known one";
  return std::nullopt;
}
