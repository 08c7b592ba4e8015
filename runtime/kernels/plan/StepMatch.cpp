#include "kernels/plan/StepMatch.h"

#include "plan/Error.h"

#include <algorithm>
#include <vector>

namespace layline::runtime {
namespace {

/// The order of a kernel's work, as RowOperands states it. A step takes the
/// work to its place; places may be passed over, none comes again.
enum class Place {
  Rows,     ///< read, or summed
  Prepared, ///< + bias, or inner norm
  InnerScaled,
  Residual, ///< + residual
  Normed,
  Activated,
  Gated,
  Scaled,
  Quantized,
  Dequantized,
  Gathered
};

bool isSame(const Operand &a, const Operand &b) {
  return a.of == b.of && a.index == b.index;
}

class Matcher {
public:
  Matcher(const Step &step, RowWork &work) : work_(work) {
    if (step.kind == StepKind::Fused) {
      for (const Step &inner : step.body)
        body_.push_back(&inner);
      outputs_ = step.list("outputs");
    } else {
      body_.push_back(&step);
      for (std::size_t a = 0; a < step.args.size(); ++a)
        if (step.info().args[a].isOutput)
          outputs_.insert(outputs_.end(), step.args[a].begin(),
                          step.args[a].end());
    }
  }

  /// "" or why not.
  std::string match();

private:
  using Rule = std::string (Matcher::*)(const Step &);
  friend bool layline::runtime::isLookedFor(const Step &);
  static Rule ruleOf(StepKind kind);

  std::string allReduce(const Step &step);
  std::string reduceScatter(const Step &step);
  std::string allGather(const Step &step);
  std::string addBias(const Step &step);
  std::string norm(const Step &step);
  std::string scale(const Step &step);
  std::string add(const Step &step);
  std::string activation(const Step &step);
  std::string gatedActivation(const Step &step);
  std::string quantize(const Step &step);
  std::string dequantize(const Step &step);
  std::string outputs();

  /// Goes on with the value that is there, or begins with this one.
  bool take(const Operand &operand) {
    if (!work_.rows) {
      work_.rows = &operand;
      return operand.of == Operand::Of::Buffer;
    }
    return isSame(operand, *current_);
  }
  std::string advance(Place place) {
    if (!isFirst() && place_ >= place)
      return "the kernel's order is another one";
    place_ = place;
    return "";
  }
  bool isFirst() const { return at_ == 0; }
  bool isBefore(StepKind kind) const {
    return std::any_of(body_.begin() + static_cast<std::ptrdiff_t>(at_) + 1,
                       body_.end(),
                       [&](const Step *step) { return step->kind == kind; });
  }
  bool isMade(const Operand &operand) const {
    for (const Step *step : body_)
      for (std::size_t a = 0; a < step->args.size(); ++a)
        for (const Operand &made : step->args[a])
          if (step->info().args[a].isOutput && isSame(made, operand))
            return true;
    return false;
  }

  RowWork &work_;
  std::vector<const Step *> body_;
  std::vector<Operand> outputs_;
  std::size_t at_ = 0;
  Place place_ = Place::Rows;
  const Operand *current_ = nullptr; ///< what the last step gave
  const Operand *sum_ = nullptr;     ///< what residualOut would be
  const Operand *exact_ = nullptr;   ///< what exact would be
};

constexpr const char *kAnotherValue = "it takes another value";

std::string Matcher::allReduce(const Step &step) {
  if (!isFirst())
    return "it stands behind other work";
  take(step.arg("input"));
  work_.input = kernels::Input::Owed;
  work_.output = kernels::Output::Everyone;
  work_.group = step.attrs.group;
  return "";
}

std::string Matcher::reduceScatter(const Step &step) {
  if (!isFirst())
    return "it stands behind other work";
  if (step.attrs.dim != 0)
    return concat("it is over dimension ", step.attrs.dim, ", no rows");
  take(step.arg("input"));
  work_.input = kernels::Input::Owed;
  work_.group = step.attrs.group;
  work_.scattered = &step.arg("output");
  return "";
}

std::string Matcher::allGather(const Step &step) {
  const Operand &input = step.arg("input");
  work_.isArranged = body_.size() == 1;
  if (step.attrs.dim != 0 && !work_.isArranged)
    return concat("it is over dimension ", step.attrs.dim, ", no rows");
  if (!take(input))
    return kAnotherValue;
  if (place_ == Place::Quantized)
    return "the scales do not go with the values";
  if (work_.group >= 0 && (work_.group != step.attrs.group || !work_.scattered))
    return "it gathers over other ranks";
  work_.output = kernels::Output::Everyone;
  work_.group = step.attrs.group;
  work_.scattered = &input;
  if (!isFirst())
    work_.ungathered = &input;
  return advance(Place::Gathered);
}

std::string Matcher::addBias(const Step &step) {
  if (!take(step.arg("input")))
    return kAnotherValue;
  work_.bias = &step.arg("bias");
  return advance(Place::Prepared);
}

std::string Matcher::norm(const Step &step) {
  if (!take(step.arg("input")))
    return kAnotherValue;
  bool isInner = isBefore(StepKind::Add),
       isRms = step.attrs.norm == NormKind::Rms;
  if (work_.innerWeight && (step.attrs.eps != work_.eps ||
                            step.attrs.weightOffset != work_.weightOffset))
    return "two norms have different eps or weight_offset";
  work_.eps = step.attrs.eps;
  work_.weightOffset = step.attrs.weightOffset;
  const Operand *bias = step.find("bias");
  if (isInner) {
    if (!isRms || bias)
      return "in front of an add it is no RMS norm";
    work_.innerWeight = &step.arg("weight");
    return advance(Place::Prepared);
  }
  if (isRms && bias)
    return "it is an RMS norm with a bias";
  work_.norm = isRms ? kernels::NormKind::Rms : kernels::NormKind::Layer;
  work_.weight = &step.arg("weight");
  work_.normBias = bias;
  return advance(Place::Normed);
}

std::string Matcher::scale(const Step &step) {
  if (!take(step.arg("input")))
    return kAnotherValue;
  bool isInner = isBefore(StepKind::Add) || isBefore(StepKind::Norm);
  (isInner ? work_.innerScale : work_.scale) = step.attrs.factor;
  return advance(isInner ? Place::InnerScaled : Place::Scaled);
}

std::string Matcher::add(const Step &step) {
  const std::vector<Operand> &inputs = step.list("inputs");
  if (inputs.size() != 2)
    return concat("it has ", inputs.size(), " addends, a kernel adds one");
  std::size_t own = !isFirst() && isSame(inputs[1], *current_) ? 1 : 0;
  if (!take(inputs[own]))
    return kAnotherValue;
  const Operand &other = inputs[1 - own];
  if (isMade(other))
    return "both addends are made in the step";
  work_.residual = &other;
  return advance(Place::Residual);
}

static kernels::Function functionOf(Function function) {
  // The kernels' list has None first.
  return static_cast<kernels::Function>(static_cast<int>(function) + 1);
}

std::string Matcher::activation(const Step &step) {
  if (!take(step.arg("input")))
    return kAnotherValue;
  work_.function = functionOf(step.attrs.function);
  return advance(Place::Activated);
}

std::string Matcher::gatedActivation(const Step &step) {
  if (!take(step.arg("gate")))
    return kAnotherValue;
  if (isMade(step.arg("up")))
    return "both factors are made in the step";
  work_.function = functionOf(step.attrs.function);
  work_.gate = &step.arg("up");
  return advance(Place::Gated);
}

std::string Matcher::quantize(const Step &step) {
  if (!take(step.arg("input")))
    return kAnotherValue;
  if (step.attrs.format != QuantFormat::Fp8E4M3)
    return concat("kernels give ", dtypeName(DType::Fp8E4M3), ", no ",
                  dtypeName(dtypeOf(step.attrs.format)));
  work_.scales = step.attrs.groupSize == 0 ? kernels::ScaleKind::Row
                                           : kernels::ScaleKind::Group;
  work_.groupSize = step.attrs.groupSize;
  if (!isFirst() && (!sum_ || !isSame(*current_, *sum_)))
    exact_ = current_;
  work_.payload = &step.arg("values");
  work_.scaleColumns = &step.arg("scales");
  return advance(Place::Quantized);
}

std::string Matcher::dequantize(const Step &step) {
  if (isFirst())
    return "no kernel of rows takes values with scales";
  if (place_ != Place::Quantized || !isSame(step.arg("values"), *current_) ||
      !isSame(step.arg("scales"), *work_.scaleColumns))
    return kAnotherValue;
  return advance(Place::Dequantized);
}

Matcher::Rule Matcher::ruleOf(StepKind kind) {
  static const std::pair<StepKind, Rule> rules[] = {
      {StepKind::AllReduce, &Matcher::allReduce},
      {StepKind::ReduceScatter, &Matcher::reduceScatter},
      {StepKind::AllGather, &Matcher::allGather},
      {StepKind::AddBias, &Matcher::addBias},
      {StepKind::Norm, &Matcher::norm},
      {StepKind::Scale, &Matcher::scale},
      {StepKind::Add, &Matcher::add},
      {StepKind::Activation, &Matcher::activation},
      {StepKind::GatedActivation, &Matcher::gatedActivation},
      {StepKind::Quantize, &Matcher::quantize},
      {StepKind::Dequantize, &Matcher::dequantize}};
  for (const auto &[of, rule] : rules)
    if (of == kind)
      return rule;
  return nullptr;
}

/// What leaves a kernel: its values, payload and scales, the rows that it
/// normed and those that it quantized.
std::string Matcher::outputs() {
  bool hasLast = false;
  auto is = [&](const Operand &output, const Operand *made) {
    return made && isSame(output, *made);
  };
  for (const Operand &output : outputs_) {
    if (isSame(output, *current_))
      hasLast = true;
    else if (is(output, sum_))
      work_.residualOut = sum_;
    else if (is(output, exact_))
      work_.exact = exact_;
    else if (!is(output, work_.payload) && !is(output, work_.scaleColumns))
      return "a value leaves it that a kernel keeps in registers";
  }
  if (!hasLast)
    return "its last value does not leave it";
  // A kernel would send these rows to everyone too, beside the payload.
  if (work_.exact && place_ == Place::Gathered)
    return "rows leave it that are gathered quantized";
  if (place_ != Place::Quantized)
    work_.values = current_;
  if (sum_ && !work_.residualOut && !isSame(*sum_, *current_))
    work_.keptSum = sum_;
  if (!work_.exact)
    work_.keptExact = exact_;
  return "";
}

std::string Matcher::match() {
  for (; at_ < body_.size(); ++at_) {
    const Step &step = *body_[at_];
    Rule rule = ruleOf(step.kind);
    if (!rule)
      return concat("no kernel of rows does ", step.info().name);
    if (std::string why = (this->*rule)(step); !why.empty())
      return body_.size() == 1 ? why : concat(step.info().name, ": ", why);
    current_ = &step.arg(step.kind == StepKind::Quantize ? "values" : "output");
    if (place_ <= Place::Residual)
      sum_ = current_;
  }
  return outputs();
}

} // namespace

bool matchRows(const Step &step, RowWork &work, std::string &reason) {
  work = {};
  reason = Matcher(step, work).match();
  return reason.empty();
}

std::optional<kernels::Family> familyOf(StepKind kind) {
  switch (kind) {
  case StepKind::Rope:
    return kernels::Family::Rope;
  case StepKind::Broadcast:
    return kernels::Family::Broadcast;
  case StepKind::CacheAppend:
    return kernels::Family::ScatterPages;
  case StepKind::Experts:
    return kernels::Family::MergeExperts;
  default:
    return std::nullopt;
  }
}

bool isLookedFor(const Step &step) {
  return step.kind == StepKind::Fused || step.info().isCollective ||
         familyOf(step.kind) || Matcher::ruleOf(step.kind);
}

std::string kindsOf(const Step &step) {
  std::string kinds;
  for (const Step &inner : step.body)
    kinds += (kinds.empty() ? "" : "+") + std::string(inner.info().name);
  return kinds.empty() ? step.info().name : kinds;
}

} // namespace layline::runtime
