//===- VariantJSON.cpp - buffers, steps and sites of a variant ------------===//
#include "PlanPrinter.h"

using namespace mlir;
using namespace layline;
using namespace layline::launch;

void PlanPrinter::printBuffer(BufferOp buffer) {
  json.object([&] {
    RankedTensorType tensor = buffer.getTensor();
    json.field("id", buffer.getId());
    json.field("class", stringifyBufferClass(buffer.getKind()));
    json.field("dtype", getTypeName(tensor.getElementType()));
    json.field("shape", [&] { shape(tensor); });
    layout(tensor);
    if (buffer.getInput())
      json.field("input", *buffer.getInput());
    if (buffer.hasPlace()) {
      json.field("arena", *buffer.getArena());
      json.field("offset", static_cast<int64_t>(*buffer.getOffset()));
      json.field("bytes", static_cast<int64_t>(*buffer.getBytes()));
    }
    strings("live", buffer.getLive());
  });
}

void PlanPrinter::printArguments(StepOp step) {
  json.key("args");
  json.object([&] {
    const RoleSpec *open = nullptr;
    SmallVector<Argument, 8> arguments;
    step.forEachArgument([&](const Argument &a) { arguments.push_back(a); });
    auto one = [&](const Argument &argument) {
      if (argument.symbol)
        return json.string(argument.symbol.getValue());
      StringRef id = cast<BufferOp>(argument.buffer.getDefiningOp()).getId();
      if (!argument.view)
        return json.string(id);
      json.object([&] {
        json.field("buffer", id);
        json.field("shape", [&] { shape(argument.view); });
      });
    };
    for (const Argument &argument : arguments) {
      if (argument.role == open)
        continue; // printed with its list
      open = argument.role;
      json.key(open->name);
      if (!open->isList) {
        one(argument);
        continue;
      }
      json.array([&] {
        for (const Argument &element : arguments)
          if (element.role == open)
            one(element);
      });
    }
  });
}

void PlanPrinter::printAttrs(StepOp step) {
  if (!step.getAttrs())
    return;
  json.key("attrs");
  json.object([&] {
    for (const KindAttrSpec &spec : getInfo(step.getKind()).attrs) {
      Attribute value = step.getKindAttr(spec.name);
      if (!value)
        continue;
      json.key(spec.name);
      switch (spec.type) {
      case AttrType::String:
        json.string(cast<StringAttr>(value).getValue());
        break;
      case AttrType::Number:
        json.number(cast<FloatAttr>(value).getValueAsDouble());
        break;
      case AttrType::Integer:
        json.integer(cast<IntegerAttr>(value).getInt());
        break;
      case AttrType::Bool:
        json.boolean(cast<BoolAttr>(value).getValue());
        break;
      case AttrType::Symbol:
        json.string(cast<FlatSymbolRefAttr>(value).getValue());
        break;
      }
    }
  });
}

void PlanPrinter::printStep(StepOp step, unsigned indent) {
  json.object([&] {
    json.field("id", step.getId());
    json.field("kind", stringifyStepKind(step.getKind()));
    if (step.getStream())
      json.field("stream", *step.getStream());
    strings("names", step.getNames());
    if (step.getOrigin())
      json.field("loc", *step.getOrigin());
    printArguments(step);
    printAttrs(step);
    if (step.getFlag())
      json.field("flag", *step.getFlag());
    if (getInfo(step.getKind()).isExtern) {
      json.key("extern");
      json.boolean(true);
    }
    strings("after", step.getAfter());
    strings("waits", step.getWaits());
    strings("signals", step.getSignals());
    if (!step.getBody().empty())
      lines<StepOp>("body", step.getBody(), indent,
                    [&](StepOp inner) { printStep(inner, indent + 2); });
  });
}

void PlanPrinter::printSite(SiteOp site) {
  json.object([&] {
    json.field("id", site.getId());
    json.field("status", site.getStatus());
    strings("was", site.getWas());
    strings("became", site.getBecame());
    if (site.getStep())
      json.field("step", *site.getStep());
    if (site.getReason())
      json.field("reason", *site.getReason());
    if (!site.getBefore())
      return;
    json.key("bytes");
    json.object([&] {
      for (auto [when, bytes] :
           {std::pair<StringRef, DictionaryAttr>("before", *site.getBefore()),
            {"after", *site.getAfter()}}) {
        json.key(when);
        json.object([&, forms = bytes] {
          for (NamedAttribute form : forms) {
            json.key(form.getName().getValue());
            expression(form.getValue());
          }
        });
      }
    });
  });
}

void PlanPrinter::printVariant(VariantOp variant) {
  Region &body = variant.getBody();
  json.object([&] {
    json.field("id", variant.getSymName());
    json.key("tokens");
    json.object([&] {
      json.field("min", static_cast<int64_t>(variant.getMinTokens()));
      json.field("max", static_cast<int64_t>(variant.getMaxTokens()));
    });
    if (variant.getBoundaries())
      json.field("boundaries", *variant.getBoundaries());
    json.breakLine(6);
    lines<ArenaOp>("arenas", body, 6, [&](ArenaOp op) {
      json.object([&] {
        json.field("id", op.getId());
        json.field("bytes", static_cast<int64_t>(op.getBytes()));
        json.field("x-bound", static_cast<int64_t>(op.getBound()));
      });
    });
    json.breakLine(6);
    lines<BufferOp>("buffers", body, 6, [&](BufferOp op) { printBuffer(op); });
    json.breakLine(6);
    lines<StepOp>("steps", body, 6, [&](StepOp op) { printStep(op, 8); });
    json.breakLine(6);
    lines<OutputOp>("outputs", body, 6, [&](OutputOp op) {
      json.object([&] {
        json.field("id", op.getId());
        json.field("buffer",
                   cast<BufferOp>(op.getBuffer().getDefiningOp()).getId());
      });
    });
    json.breakLine(6);
    lines<SiteOp>("sites", body, 6, [&](SiteOp op) { printSite(op); });
  });
}
