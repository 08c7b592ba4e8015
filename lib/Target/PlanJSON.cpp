//===- PlanJSON.cpp - launch IR as plan.json ------------------------------===//
#include "layline/Target/PlanJSON.h"
#include "PlanPrinter.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace layline;
using namespace layline::launch;

StringRef layline::getTypeName(Type type) {
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "f16";
  if (type.isF32())
    return "f32";
  if (type.isF64())
    return "f64";
  if (isa<Float8E4M3FNType>(type))
    return "fp8_e4m3";
  if (isa<Float8E5M2Type>(type))
    return "fp8_e5m2";
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
    json.field("minor", int64_t(2));
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
  if (!plan.getProof())
    return;
  json.breakLine(2);
  json.key("proof");
  json.object([&] {
    json.field("digest", *plan.getProof());
    json.field("file", "proof.json");
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
      if (op.getInterleave())
        json.field("interleave", static_cast<int64_t>(*op.getInterleave()));
      if (op.getWithin())
        json.field("within", *op.getWithin());
      json.key("segments");
      json.array([&] {
        for (const RangeOp::SegmentAttrs &segment : op.getSegmentList())
          json.object([&] {
            json.field("begin", [&] { expression(segment.begin); });
            json.field("size", [&] { expression(segment.size); });
            if (segment.stride) {
              json.field("block", segment.block.getInt());
              json.field("stride", segment.stride.getInt());
            }
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
      if (op.getPeriod())
        json.field("period", static_cast<int64_t>(*op.getPeriod()));
      for (auto [name, isSet] : {std::pair("stored_stack", op.getStoredStack()),
                                 {"transposed", op.getTransposed()}})
        if (isSet) {
          json.key(name);
          json.boolean(true);
        }
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
      strings("key", op.getKey());
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
