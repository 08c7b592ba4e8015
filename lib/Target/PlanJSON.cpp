//===- PlanJSON.cpp - launch IR as plan.json ------------------------------===//
#include "layline/Target/PlanJSON.h"
#include "JSONWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace layline;
using namespace layline::launch;

namespace {

/// Walks a plan in the order of docs/plan-format.md.
class PlanPrinter {
public:
  PlanPrinter(PlanOp plan, raw_ostream &os) : plan(plan), json(os) {}

  void print();
  /// The first decision that has not been taken, if any.
  static LogicalResult expectComplete(PlanOp plan);

private:
  void printHead();
  void printSharedSections();
  void printVariant(VariantOp variant);
  void printBuffer(BufferOp buffer);
  void printStep(StepOp step, unsigned indent);
  void printArguments(StepOp step);
  void printAttrs(StepOp step);
  void printSite(SiteOp site);

  /// A list with an element on each line.
  template <typename OpTy, typename Range, typename Print>
  void lines(StringRef name, Range &&block, unsigned indent, Print &&print) {
    json.key(name);
    json.array([&] {
      bool any = false;
      for (OpTy op : block.template getOps<OpTy>()) {
        json.breakLine(indent + 2);
        print(op);
        any = true;
      }
      if (any)
        json.breakLine(indent);
    });
  }
  template <typename OpTy, typename Print>
  void section(StringRef name, Print &&print) {
    json.breakLine(2);
    lines<OpTy>(name, plan.getBody(), 2, print);
  }

  void expression(Attribute expr);
  void strings(ArrayAttr list) {
    json.array([&] {
      for (StringRef text : list.getAsValueRange<StringAttr>())
        json.string(text);
    });
  }
  void integers(ArrayRef<int64_t> list) {
    json.array([&] {
      for (int64_t value : list)
        json.integer(value);
    });
  }
  void doubles(ArrayRef<double> list) {
    json.array([&] {
      for (double value : list)
        json.number(value);
    });
  }
  void shape(RankedTensorType tensor) {
    json.array([&] {
      for (int64_t size : tensor.getShape())
        if (ShapedType::isDynamic(size))
          json.string("tokens");
        else
          json.integer(size);
    });
  }
  /// Layouts repeat from layer to layer: each is spelled out once.
  void layout(RankedTensorType tensor);
  void strings(StringRef name, std::optional<ArrayAttr> list) {
    if (!list)
      return;
    json.key(name);
    strings(*list);
  }

  PlanOp plan;
  JSONWriter json;
  llvm::DenseMap<Type, std::string> layouts;
};

} // namespace

static StringRef getTypeName(Type type) {
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "f16";
  if (type.isF32())
    return "f32";
  if (type.isF64())
    return "f64";
  if (type.isInteger(32))
    return "i32";
  return "i64";
}

void PlanPrinter::expression(Attribute expr) {
  if (auto integer = dyn_cast<IntegerAttr>(expr))
    return json.integer(integer.getInt());
  if (auto symbol = dyn_cast<StringAttr>(expr))
    return json.string(symbol.getValue());
  json.array([&] {
    for (Attribute part : cast<ArrayAttr>(expr))
      expression(part);
  });
}

void PlanPrinter::layout(RankedTensorType tensor) {
  json.key("layout");
  std::string &text = layouts[tensor];
  if (text.empty()) {
    llvm::raw_string_ostream os(text);
    JSONWriter inner(os);
    auto layout = grid::getLayout(tensor);
    inner.object([&] {
      inner.key("dims");
      inner.array([&] {
        for (auto [dim, split] : llvm::enumerate(layout.getDims())) {
          if (!split) {
            inner.null();
            continue;
          }
          std::string range = getRangeName(split, tensor.getDimSize(dim));
          int64_t unit = split.getUnit();
          inner.object([&] {
            inner.field("range", StringRef(range));
            inner.field("unit", unit);
          });
        }
      });
      if (!layout.owesAnything())
        return;
      inner.key("owes");
      inner.array([&] {
        for (StringAttr axis : layout.getOwes())
          inner.string(axis.getValue());
      });
    });
  }
  json.raw(text);
}

void PlanPrinter::printHead() {
  json.breakLine(2);
  json.field("schema", "layline.launch_plan");
  json.breakLine(2);
  json.key("version");
  json.object([&] {
    json.field("major", int64_t(1));
    json.field("minor", int64_t(0));
  });
  json.breakLine(2);
  json.key("requires");
  strings(plan.getFeatures());
  json.breakLine(2);
  json.key("producer");
  json.object([&] {
    json.field("tool", "layline");
    json.field("version", LAYLINE_VERSION);
  });
  json.breakLine(2);
  json.key("source");
  json.object([&] {
    // The dictionary is sorted; these keys stand in the format's order.
    for (StringRef name : {"config", "digest", "model_type", "layers"}) {
      Attribute value = plan.getSource().get(name);
      if (auto text = dyn_cast_or_null<StringAttr>(value))
        json.field(name, text.getValue());
      else if (auto integer = dyn_cast_or_null<IntegerAttr>(value))
        json.field(name, integer.getInt());
    }
  });
  json.breakLine(2);
  json.key("target");
  json.object([&] {
    json.field("name", plan.getTarget());
    json.field("dtype", getTypeName(plan.getDtype()));
  });
}

void PlanPrinter::printSharedSections() {
  section<SymbolOp>("symbols", [&](SymbolOp op) {
    json.object([&] {
      json.field("name", op.getId());
      json.field("min", static_cast<int64_t>(op.getMin()));
      json.field("max", static_cast<int64_t>(op.getMax()));
    });
  });
  json.breakLine(2);
  json.key("mesh");
  json.array([&] {
    for (size_t i = 0; i < plan.getSizes().size(); ++i)
      json.object([&] {
        json.field("axis", cast<StringAttr>(plan.getAxes()[i]).getValue());
        json.field("size", plan.getSizes()[i]);
      });
  });
  section<GroupOp>("groups", [&](GroupOp op) {
    json.object([&] {
      json.field("id", op.getSymName());
      strings("axes", op.getAxes());
      json.field("ranks", static_cast<int64_t>(op.getRanks()));
    });
  });
  section<RangeOp>("ranges", [&](RangeOp op) {
    json.object([&] {
      json.field("id", op.getSymName());
      json.field("axis", op.getAxis());
      json.field("extent", [&] { expression(op.getExtent()); });
      json.field("kind", stringifyRangeKind(op.getKind()));
      if (op.getOf())
        json.field("of", static_cast<int64_t>(*op.getOf()));
      json.key("segments");
      json.array([&] {
        json.object([&] {
          json.field("begin", [&] { expression(op.getBegin()); });
          json.field("size", [&] { expression(op.getSize()); });
        });
      });
    });
  });
  section<InputOp>("inputs", [&](InputOp op) {
    json.object([&] {
      auto tensor = cast<RankedTensorType>(op.getType());
      json.field("id", op.getId());
      json.field("dtype", getTypeName(tensor.getElementType()));
      json.field("shape", [&] { shape(tensor); });
    });
  });
  section<CacheOp>("caches", [&](CacheOp op) {
    json.object([&] {
      auto tensor = cast<RankedTensorType>(op.getType());
      json.field("id", op.getSymName());
      json.field("layer", static_cast<int64_t>(op.getLayer()));
      json.field("plane", stringifyPlane(op.getPlane()));
      json.field("dtype", getTypeName(tensor.getElementType()));
      json.field("row_shape",
                 [&] { integers(tensor.getShape().drop_front()); });
      layout(tensor);
    });
  });
  section<TableOp>("tables", [&](TableOp op) {
    json.object([&] {
      json.field("id", op.getSymName());
      json.field("attention_factor",
                 [&] { json.number(op.getFactor().convertToDouble()); });
      json.field("inv_freq", [&] { doubles(op.getInvFreq()); });
      if (!op.getLongInvFreq())
        return;
      json.key("long");
      json.object([&] {
        json.field("above", static_cast<int64_t>(*op.getAbove()));
        json.field("attention_factor",
                   [&] { json.number(op.getLongFactor()->convertToDouble()); });
        json.field("inv_freq", [&] { doubles(*op.getLongInvFreq()); });
      });
    });
  });
  section<WeightOp>("weights", [&](WeightOp op) {
    json.object([&] {
      auto tensor = cast<RankedTensorType>(op.getType());
      json.field("id", op.getSymName());
      json.field("key", op.getKey());
      json.field("dtype", getTypeName(tensor.getElementType()));
      json.field("stored_shape", [&] { integers(op.getStoredShape()); });
      if (op.getRows())
        json.field("rows", [&] { integers(*op.getRows()); });
      if (op.isStacked()) {
        json.key("stack");
        json.object([&] {
          json.field("name", "expert");
          json.field("count", tensor.getDimSize(0));
        });
      }
      json.field("shape", [&] { integers(tensor.getShape()); });
      layout(tensor);
      json.field("bytes_per_rank", static_cast<int64_t>(op.getBytes()));
    });
  });
  section<FlagOp>("flags", [&](FlagOp op) {
    json.object([&] {
      json.field("id", op.getSymName());
      json.field("group", op.getGroup());
      json.field("scope", "system");
      json.field("reset", "epoch");
    });
  });
  section<KernelOp>("kernels", [&](KernelOp op) {
    json.object([&] {
      json.field("id", op.getSymName());
      strings("ops", op.getOps());
      json.field("dtype", getTypeName(op.getDtype()));
      if (op.getGroup())
        json.field("group", *op.getGroup());
      json.key("cooperative");
      json.boolean(op.isCooperative());
    });
  });
  section<StreamOp>("streams", [&](StreamOp op) {
    json.object([&] { json.field("id", op.getSymName()); });
  });
}

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

void PlanPrinter::print() {
  json.object([&] {
    printHead();
    printSharedSections();
    section<VariantOp>("variants", [&](VariantOp op) { printVariant(op); });
    json.breakLine(0);
  });
}

LogicalResult PlanPrinter::expectComplete(PlanOp plan) {
  for (auto variant : plan.getOps<VariantOp>()) {
    for (auto buffer : variant.getBody().getOps<BufferOp>())
      if (!buffer.isInput() && !buffer.hasPlace())
        return buffer.emitOpError("\"")
               << buffer.getId() << "\" has no place: plan the memory first";
    for (auto step : variant.getBody().getOps<StepOp>())
      if (!step.getStream())
        return step.emitOpError("\"")
               << step.getId() << "\" is on no stream: assign streams first";
  }
  return success();
}

LogicalResult layline::printPlan(PlanOp plan, raw_ostream &os) {
  if (failed(PlanPrinter::expectComplete(plan)))
    return failure();
  PlanPrinter(plan, os).print();
  os << '\n';
  return success();
}
