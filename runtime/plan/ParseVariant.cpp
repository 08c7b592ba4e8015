#include "plan/Parse.h"
#include "plan/Reshape.h"

#include <algorithm>

namespace layline::runtime {
namespace {

bool holds(ArgSpec::Element element, DType dtype) {
  switch (element) {
  case ArgSpec::Element::Float:
    return !isInteger(dtype) && !isQuantized(dtype);
  case ArgSpec::Element::Integer:
    return isInteger(dtype);
  case ArgSpec::Element::Quantized:
    return isQuantized(dtype);
  case ArgSpec::Element::Any:
    break;
  }
  return true;
}

const char *describe(ArgSpec::Element element) {
  return element == ArgSpec::Element::Integer     ? "integers"
         : element == ArgSpec::Element::Quantized ? "a quantised format"
                                                  : "floating-point numbers";
}

bool paysSum(const Step &step) {
  return step.kind == StepKind::AllReduce ||
         step.kind == StepKind::ReduceScatter ||
         step.kind == StepKind::Combine ||
         std::any_of(step.body.begin(), step.body.end(), paysSum);
}

/// Parses one variant: names of its own scope and the plan's.
class VariantParser {
public:
  VariantParser(const Plan &plan, const PlanNames &names)
      : plan_(plan), names_(names) {}

  Variant parse(const Cursor &at);

private:
  void parseBuffers(const Cursor &list);
  Buffer parseBuffer(const Cursor &at);
  /// Ids and streams of all steps, before anything refers to one.
  void defineSteps(const Cursor &list);
  Step parseStep(const Cursor &at, bool isBody);
  void parseArguments(const Cursor &at, Step &step);
  void parseNames(const Cursor &at, Step &step);
  void parseOrder(const Cursor &at, Step &step);
  Operand parseOperand(const Cursor &at, ArgSpec::Takes takes);
  Operand bufferOperand(int index) const;
  int event(const Cursor &at);
  void parseSites(const Cursor &list);
  void checkPayer(const Cursor &at) const;
  int topLevelStep(const Cursor &at) const;

  const Plan &plan_;
  const PlanNames &names_;
  Variant variant_;
  Names arenas_{"arena"}, buffers_{"buffer"}, steps_{"step"},
      stepNames_{"step name"}, events_{"event"};
  std::vector<int> topLevel_; ///< by step id number; -1: in a body
};

Variant VariantParser::parse(const Cursor &at) {
  variant_.id = at.at("id").string();
  Cursor tokens = at.at("tokens");
  variant_.minTokens = tokens.at("min").integer();
  variant_.maxTokens = tokens.at("max").integer();
  Cursor arenas = at.at("arenas");
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    Cursor arena = arenas.at(i);
    arenas_.define(arena.at("id"));
    variant_.arenas.push_back(
        {arena.at("id").string(), arena.at("bytes").integer()});
  }
  Cursor steps = at.at("steps");
  defineSteps(steps);
  parseBuffers(at.at("buffers"));
  for (std::size_t i = 0; i < steps.size(); ++i)
    variant_.steps.push_back(parseStep(steps.at(i), false));
  Names outputIds("output");
  Cursor outputs = at.at("outputs");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Cursor output = outputs.at(i);
    outputIds.define(output.at("id"));
    variant_.outputs.push_back(
        {output.at("id").string(), buffers_.resolve(output.at("buffer"))});
  }
  if (at.has("sites"))
    parseSites(at.at("sites"));
  return std::move(variant_);
}

void VariantParser::defineSteps(const Cursor &list) {
  auto define = [&](const Cursor &step, int topLevel) {
    steps_.define(step.at("id"));
    topLevel_.push_back(topLevel);
    if (!step.has("names"))
      return;
    Cursor names = step.at("names");
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!names.at(i).string().empty())
        stepNames_.define(names.at(i));
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    Cursor step = list.at(i);
    define(step, static_cast<int>(i));
    if (!step.has("body"))
      continue;
    Cursor body = step.at("body");
    for (std::size_t j = 0; j < body.size(); ++j)
      define(body.at(j), -1);
  }
}

int VariantParser::topLevelStep(const Cursor &at) const {
  int index = topLevel_[steps_.resolve(at)];
  if (index < 0)
    at.fail("names step '", at.string(),
            "' of a fused body; a step of the list is expected");
  return index;
}

void VariantParser::parseBuffers(const Cursor &list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    Cursor at = list.at(i);
    Cursor id = at.at("id");
    buffers_.define(id);
    // Fused steps list buffers, weights, caches and tables side by side.
    for (const Names *other : {&names_.weights, &names_.caches, &names_.tables})
      if (other->find(id.string()) >= 0)
        id.fail("'", id.string(), "' is also the id of a ", other->what());
    variant_.buffers.push_back(parseBuffer(at));
  }
}

Buffer VariantParser::parseBuffer(const Cursor &at) {
  using Class = Buffer::Class;
  Buffer buffer;
  buffer.id = at.at("id").string();
  buffer.kind =
      choose<Class>(at.at("class"), {{"activation", Class::Activation},
                                     {"symmetric", Class::Symmetric},
                                     {"input", Class::Input},
                                     {"output", Class::Output},
                                     {"register", Class::Register}});
  buffer.dtype = parseDType(at.at("dtype"));
  buffer.shape = parseShape(at.at("shape"), names_);
  buffer.layout = parseLayout(at.at("layout"), names_);
  bool isInput = buffer.kind == Class::Input;
  if (isInput) {
    buffer.input = names_.inputs.resolve(at.at("input"));
    for (const char *key : {"arena", "offset", "bytes"})
      if (at.has(key))
        at.at(key).fail("an input buffer is bound by the caller and has no '",
                        key, "'");
  } else {
    if (at.has("input"))
      at.at("input").fail("belongs to class 'input' only");
    buffer.arena = arenas_.resolve(at.at("arena"));
    buffer.offset = at.at("offset").integer();
    buffer.bytes = at.at("bytes").integer();
  }
  if (!isInput || at.has("live")) {
    Cursor live = at.at("live");
    buffer.firstStep = topLevelStep(live.at(std::size_t{0}));
    buffer.lastStep = topLevelStep(live.at(1));
    if (buffer.firstStep > buffer.lastStep)
      live.fail("ends before it begins");
  }
  return buffer;
}

Operand VariantParser::bufferOperand(int index) const {
  const Buffer &buffer = variant_.buffers[index];
  return {Operand::Of::Buffer, index, buffer.dtype, buffer.shape,
          buffer.layout};
}

Operand VariantParser::parseOperand(const Cursor &at, ArgSpec::Takes takes) {
  using Takes = ArgSpec::Takes;
  if (at.json().is_object()) {
    if (takes != Takes::Buffer && takes != Takes::Any)
      at.fail("is a view; only buffers are viewed");
    Operand operand = bufferOperand(buffers_.resolve(at.at("buffer")));
    ShapeExpr shape = parseShape(at.at("shape"), names_);
    if (operand.layout.dims.size() != operand.shape.size())
      at.fail("views a buffer whose layout does not fit its shape");
    try {
      operand.layout = reshapeLayout(operand.shape, operand.layout, shape);
    } catch (const Error &error) {
      at.fail(error.what());
    }
    operand.shape = std::move(shape);
    return operand;
  }
  auto is = [&](Takes wanted, const Names &names) {
    return takes == wanted ||
           (takes == Takes::Any && names.find(at.string()) >= 0);
  };
  if (is(Takes::Weight, names_.weights)) {
    int index = names_.weights.resolve(at);
    const Weight &weight = plan_.weights[index];
    return {Operand::Of::Weight, index, weight.dtype,
            constantShape(weight.shape), weight.layout};
  }
  if (is(Takes::Cache, names_.caches)) {
    int index = names_.caches.resolve(at);
    const Cache &cache = plan_.caches[index];
    return {Operand::Of::Cache, index, cache.dtype, cacheShape(cache),
            cache.layout};
  }
  if (is(Takes::Table, names_.tables))
    return {Operand::Of::Table, names_.tables.resolve(at), DType::F64, {}, {}};
  return bufferOperand(buffers_.resolve(at));
}

void VariantParser::parseArguments(const Cursor &at, Step &step) {
  const StepKindInfo &info = step.info();
  step.args.resize(info.args.size());
  for (const auto &[key, value] : at.json().items())
    if (info.argument(key) < 0)
      at.fail("a '", info.name, "' step has no argument '", key, "'");
  for (std::size_t i = 0; i < info.args.size(); ++i) {
    const ArgSpec &spec = info.args[i];
    if (!at.has(spec.name)) {
      if (!spec.isOptional)
        at.fail("a '", info.name, "' step needs the argument '", spec.name,
                "'");
      continue;
    }
    Cursor value = at.at(spec.name);
    if (value.json().is_array() != spec.isList)
      value.fail("is ", value.json().type_name(), "; ",
                 spec.isList ? "a list is expected"
                             : "one id or view is expected");
    std::size_t count = spec.isList ? value.size() : 1;
    for (std::size_t j = 0; j < count; ++j) {
      Cursor one = spec.isList ? value.at(j) : value;
      Operand operand = parseOperand(one, spec.takes);
      bool isTensor = operand.of != Operand::Of::Table;
      if (isTensor && !holds(spec.element, operand.dtype))
        one.fail("has dtype ", dtypeName(operand.dtype), "; '", info.name,
                 "' takes ", describe(spec.element), " as '", spec.name, "'");
      if (spec.isOutput && operand.of == Operand::Of::Buffer &&
          variant_.buffers[operand.index].kind == Buffer::Class::Input)
        one.fail("writes the input buffer '",
                 variant_.buffers[operand.index].id, "'");
      step.args[i].push_back(std::move(operand));
    }
  }
}

void VariantParser::parseNames(const Cursor &at, Step &step) {
  if (at.has("loc"))
    step.place = at.at("loc").string();
  if (!at.has("names"))
    return;
  Cursor names = at.at("names");
  for (std::size_t i = 0; i < names.size(); ++i)
    step.names.push_back(names.at(i).string());
  std::size_t outputs = 0;
  for (std::size_t i = 0; i < step.args.size(); ++i)
    if (step.info().args[i].isOutput)
      outputs += step.args[i].size();
  if (!step.names.empty() && step.names.size() != outputs)
    names.fail("has ", step.names.size(), " names; the step has ", outputs,
               " outputs");
}

int VariantParser::event(const Cursor &at) {
  int known = events_.find(at.string());
  if (known >= 0)
    return known;
  variant_.events.push_back(at.string());
  return events_.define(at);
}

void VariantParser::parseOrder(const Cursor &at, Step &step) {
  auto forEach = [&](const char *key, const auto &parse) {
    if (!at.has(key))
      return;
    Cursor list = at.at(key);
    for (std::size_t i = 0; i < list.size(); ++i)
      parse(list.at(i));
  };
  forEach("after",
          [&](const Cursor &id) { step.after.push_back(topLevelStep(id)); });
  forEach("waits", [&](const Cursor &id) { step.waits.push_back(event(id)); });
  forEach("signals",
          [&](const Cursor &id) { step.signals.push_back(event(id)); });
}

Step VariantParser::parseStep(const Cursor &at, bool isBody) {
  Step step;
  step.id = at.at("id").string();
  Cursor kind = at.at("kind");
  const StepKindInfo *info = findStepKind(kind.string());
  if (!info)
    kind.fail("'", kind.string(), "' is not a step kind of format 1");
  step.kind = info->kind;
  parseArguments(at.at("args"), step);
  parseNames(at, step);
  parseAttributes(at, names_, step);
  if (at.has("flag"))
    step.flag = names_.flags.resolve(at.at("flag"));
  bool isFused = step.kind == StepKind::Fused;
  if (at.has("body") != isFused)
    at.fail(isFused ? "a fused step has no 'body'"
                    : "only a fused step has a 'body'");
  if (isBody) {
    if (isFused)
      at.fail("a fused step inside a fused step");
    return step;
  }
  step.stream = names_.streams.resolve(at.at("stream"));
  parseOrder(at, step);
  if (isFused) {
    Cursor body = at.at("body");
    for (std::size_t i = 0; i < body.size(); ++i)
      step.body.push_back(parseStep(body.at(i), true));
  }
  return step;
}

/// What a site names must pay a sum: the site is where one is owed.
void VariantParser::checkPayer(const Cursor &at) const {
  int wanted = steps_.resolve(at), number = 0;
  auto check = [&](const Step &step) {
    if (number++ == wanted && !paysSum(step))
      at.fail(
          "names step '", step.id, "' (", step.info().name,
          "), which pays no sum; an all_reduce, a reduce_scatter, a combine "
          "or a fused step with one is expected");
  };
  // Numbered as defineSteps() met them.
  for (const Step &step : variant_.steps) {
    check(step);
    for (const Step &inner : step.body)
      check(inner);
  }
}

void VariantParser::parseSites(const Cursor &list) {
  Names siteIds("site");
  for (std::size_t i = 0; i < list.size(); ++i) {
    Cursor site = list.at(i);
    siteIds.define(site.at("id"));
    if (site.has("step"))
      checkPayer(site.at("step"));
    if (!site.has("bytes"))
      continue;
    Cursor bytes = site.at("bytes");
    for (const char *when : {"before", "after"})
      for (const char *form : {"ring", "switch"})
        if (Cursor costs = bytes.at(when); costs.has(form))
          parseExpr(costs.at(form), names_);
  }
}

} // namespace

Variant parseVariant(const Cursor &at, const Plan &plan,
                     const PlanNames &names) {
  return VariantParser(plan, names).parse(at);
}

} // namespace layline::runtime
