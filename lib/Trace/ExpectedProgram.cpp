//===- ExpectedProgram.cpp - what a launch plan says must run -------------===//
#include "layline/Trace/ExpectedProgram.h"
#include "ExpectedOrder.h"
#include "StepWork.h"
#include "plan/Load.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

using namespace layline::trace;
using namespace layline;
using runtime::StepKind;

const char *layline::trace::getName(Work work) {
  static constexpr std::array<const char *, 22> names = {
      "step_inputs", "embedding", "all_reduce", "reduce_scatter", "all_gather",
      "broadcast",   "dispatch",  "combine",    "product",        "norm",
      "rope",        "kv_store",  "attention",  "indexer",        "activation",
      "router",      "experts",   "add",        "quantize",       "columns",
      "elementwise", "sampling"};
  return names[static_cast<size_t>(work)];
}

bool layline::trace::isCollective(Work work) {
  return work >= Work::AllReduce && work <= Work::Combine;
}

Work layline::trace::workOf(StepKind kind) {
  switch (kind) {
  case StepKind::Embedding:
    return Work::Embedding;
  case StepKind::Norm:
  case StepKind::NormBy:
    return Work::Norm;
  case StepKind::Linear:
    return Work::Product;
  case StepKind::Rope:
    return Work::Rope;
  case StepKind::CacheAppend:
    return Work::CacheAppend;
  case StepKind::Attention:
  case StepKind::LatentAttention:
    return Work::Attention;
  case StepKind::Indexer:
    return Work::Indexer;
  case StepKind::Activation:
  case StepKind::GatedActivation:
    return Work::Activation;
  case StepKind::Router:
    return Work::Router;
  case StepKind::Experts:
    return Work::Experts;
  case StepKind::Add:
    return Work::Add;
  case StepKind::AllReduce:
    return Work::AllReduce;
  case StepKind::ReduceScatter:
    return Work::ReduceScatter;
  case StepKind::AllGather:
    return Work::AllGather;
  case StepKind::Broadcast:
    return Work::Broadcast;
  case StepKind::Dispatch:
    return Work::Dispatch;
  case StepKind::Combine:
    return Work::Combine;
  case StepKind::Quantize:
    return Work::Quantize;
  case StepKind::Slice:
  case StepKind::SliceColumns:
  case StepKind::ConcatColumns:
    return Work::Columns;
  case StepKind::AddBias:
  case StepKind::Mul:
  case StepKind::Scale:
  case StepKind::Cast:
  case StepKind::Fused:
  case StepKind::RowScale:
  case StepKind::AddExpertBias:
  case StepKind::Softcap:
  case StepKind::RowSquares:
  case StepKind::Dequantize:
    return Work::Elementwise;
  }
  return Work::Elementwise;
}

/// How surely a kernel does it. Rotations and stores of keys and values come in
/// pairs that one kernel does, and a norm of heads may do the rotation too;
/// what works on elements is often part of a neighbour's kernel.
static double weightOf(const ExpectedStep &step) {
  switch (step.work) {
  case Work::StepInputs:
  case Work::Sampling:
    return 0;
  case Work::AllReduce:
  case Work::ReduceScatter:
  case Work::AllGather:
  case Work::Broadcast:
  case Work::Dispatch:
  case Work::Combine:
  case Work::Product:
  case Work::Norm:
  case Work::Attention:
  case Work::Experts:
    return 1;
  case Work::Embedding:
  case Work::Rope:
  case Work::Activation:
  case Work::Indexer:
    return 0.3;
  case Work::CacheAppend:
    return step.layer < 0 ? 0 : 0.2;
  case Work::Router:
    return 0.2;
  default:
    return 0.02;
  }
}

/// The last part of a place to the module that it belongs to.
static std::string moduleOf(const std::string &part, const ExpectedStep &step) {
  if (isCollective(step.work) && !step.boundary.empty())
    return "boundary";
  static const std::map<std::string, const char *> modules = {
      {"q_proj", "qkv"},
      {"k_proj", "qkv"},
      {"v_proj", "qkv"},
      {"q_rope", "rope"},
      {"k_rope", "rope"},
      {"q_norm", "qk_norm"},
      {"k_norm", "qk_norm"},
      {"key", "kv_store"},
      {"value", "kv_store"},
      {"latent", "kv_store"},
      {"rope_key", "kv_store"},
      {"index_key", "kv_store"},
      {"positions", "step_inputs"},
      {"attention", "attention_core"},
      {"q_a_proj", "latent_proj"},
      {"kv_a_proj", "latent_proj"},
      {"q_b_proj", "latent_proj"},
      {"q_a_norm", "latent_proj"},
      {"kv_a_norm", "latent_proj"},
      {"q_nope", "latent_proj"},
      {"kv_latent", "latent_proj"},
      {"router_top_k", "router"},
      {"expert_down_bias", "boundary"},
      {"o_bias", "boundary"},
      {"attn_residual", "residual"},
      {"mlp_residual", "residual"},
      {"gate_proj", "mlp"},
      {"up_proj", "mlp"},
      {"down_proj", "mlp"},
      {"mlp_activation", "mlp"},
      {"routed_shared_sum", "shared_experts"},
      {"logits_scale", "logits"},
      {"logits_softcap", "logits"}};
  if (part.rfind("index", 0) == 0 && step.work != Work::CacheAppend)
    return "indexer";
  if (part.rfind("shared_", 0) == 0)
    return "shared_experts";
  // The latent attention's rotations are cut out of products first.
  if ((part == "q_rope" || part == "k_rope") && step.work != Work::Rope)
    return "latent_proj";
  auto found = modules.find(part);
  return found == modules.end() ? part : found->second;
}

namespace {

/// One variant of a plan to its steps.
class ProgramBuilder {
public:
  ProgramBuilder(const runtime::Plan &plan, const runtime::Variant &variant)
      : plan(plan), variant(variant), coordinates(plan.axes.size(), 0) {
    // Any count will do for features, which do not depend on it.
    parts = plan.parts(variant.maxTokens, coordinates);
    environment.tokens = variant.maxTokens;
    environment.coordinates = coordinates.data();
    environment.parts = parts.data();
  }

  ExpectedProgram build() {
    ExpectedProgram program;
    program.variant = variant.id;
    program.minTokens = variant.minTokens;
    program.maxTokens = variant.maxTokens;
    program.order = "plan";
    ExpectedStep inputs;
    inputs.work = Work::StepInputs;
    inputs.kind = inputs.place = inputs.module = "step_inputs";
    program.steps.push_back(inputs);
    for (const runtime::Step &step : variant.steps) {
      if (step.kind != StepKind::Fused)
        add(program, step);
      for (const runtime::Step &inner : step.body)
        add(program, inner);
    }
    ExpectedStep sampling;
    sampling.work = Work::Sampling;
    sampling.kind = sampling.place = sampling.module = "sampling";
    program.steps.push_back(sampling);
    dropLoneSiblings(program);
    return program;
  }

private:
  void add(ExpectedProgram &program, const runtime::Step &step) {
    ExpectedStep own;
    own.id = step.id;
    own.work = workOf(step.kind);
    own.kind = step.info().name;
    own.place = step.place;
    std::string part = step.place;
    if (step.place.rfind("layer.", 0) == 0) {
      const char *begin = step.place.data() + 6,
                 *end = step.place.data() + step.place.size();
      const char *rest = std::from_chars(begin, end, own.layer).ptr;
      part = rest < end ? std::string(rest + 1, end) : "";
      program.layers = std::max(program.layers, own.layer + 1);
    }
    setBoundary(own);
    own.module = moduleOf(part, own);
    setSizes(own, step);
    own.weight = weightOf(own);
    program.steps.push_back(std::move(own));
  }

  /// A boundary begins where a sum is paid and goes on over what works on whole
  /// rows of it.
  void setBoundary(ExpectedStep &own) {
    bool paysSum = own.work == Work::AllReduce ||
                   own.work == Work::ReduceScatter || own.work == Work::Combine;
    bool goesOn = own.work == Work::Add || own.work == Work::Norm ||
                  own.work == Work::Elementwise || own.work == Work::Quantize ||
                  own.work == Work::AllGather;
    if (paysSum)
      boundary = own.place;
    else if (!goesOn)
      boundary.clear();
    own.boundary = boundary;
  }

  void setSizes(ExpectedStep &own, const runtime::Step &step) {
    const runtime::Operand *input = step.find("input");
    if (own.work == Work::Product) {
      const runtime::Operand &weight = step.arg("weight");
      runtime::Shape shape =
          localShape(weight.shape, weight.layout, environment);
      own.outFeatures = shape[0];
      own.inFeatures = shape[1];
      // Products of one value in one part of a layer are one kernel's work;
      // those of an indexer are far apart.
      if (input && input->of == runtime::Operand::Of::Buffer &&
          own.module != "indexer")
        own.siblings =
            siblingGroups
                .try_emplace({input->index, own.module}, siblingGroups.size())
                .first->second;
    } else if (own.work == Work::Norm && input) {
      runtime::Shape shape =
          localShape(input->shape, input->layout, environment);
      own.inFeatures = own.outFeatures = shape.back();
    } else if (own.work == Work::Attention) {
      own.isLatent = step.kind == StepKind::LatentAttention;
      if (!own.isLatent)
        setHeads(own, step.arg("query"));
    } else if (own.work == Work::CacheAppend && input) {
      setHeads(own, *input);
    } else if (isCollective(own.work) && input) {
      // Elements of a row of the whole value.
      runtime::Shape shape = globalShape(input->shape, environment);
      own.columns = runtime::elements(shape) / std::max<int64_t>(shape[0], 1);
      own.ranks = plan.groups[step.attrs.group].ranks;
      own.elementBytes = runtime::dtypeBytes(input->dtype);
      own.gathersColumns = own.work == Work::AllGather && step.attrs.dim != 0;
    }
  }

  /// Of values [tokens, heads, width].
  void setHeads(ExpectedStep &own, const runtime::Operand &value) const {
    runtime::Shape shape = localShape(value.shape, value.layout, environment);
    if (shape.size() != 3)
      return;
    own.heads = shape[1];
    own.headWidth = shape[2];
  }

  static void dropLoneSiblings(ExpectedProgram &program) {
    std::map<int64_t, int> count;
    for (const ExpectedStep &step : program.steps)
      ++count[step.siblings];
    for (ExpectedStep &step : program.steps)
      if (count[step.siblings] == 1)
        step.siblings = -1;
  }

  const runtime::Plan &plan;
  const runtime::Variant &variant;
  std::vector<int64_t> coordinates;
  std::vector<runtime::Part> parts;
  runtime::Environment environment;
  std::string boundary;
  std::map<std::pair<int, std::string>, int64_t> siblingGroups;
};

} // namespace

static bool isSameOrder(const ExpectedProgram &a, const ExpectedProgram &b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(),
                    b.steps.end(),
                    [](const ExpectedStep &one, const ExpectedStep &other) {
                      return one.id == other.id;
                    });
}

std::vector<ExpectedProgram>
layline::trace::expectPrograms(const std::string &planText,
                               const std::string &name) {
  runtime::LoadedPlan loaded = runtime::loadPlan(planText, name);
  if (!loaded.findings.empty())
    throw TraceError(loaded.findings.front());
  std::vector<ExpectedProgram> programs;
  for (const runtime::Variant &variant : loaded.plan.variants) {
    std::vector<ExpectedProgram> orders = {
        ProgramBuilder(loaded.plan, variant).build()};
    ExpectedProgram grouped = orders.front();
    groupSiblings(grouped.steps);
    grouped.order = "products together";
    if (!isSameOrder(grouped, orders.front()))
      orders.push_back(grouped);
    if (moveSharedExpertsFirst(grouped.steps)) {
      grouped.order = "products together, shared experts first";
      orders.push_back(grouped);
    }
    programs.insert(programs.end(), orders.begin(), orders.end());
  }
  return programs;
}
