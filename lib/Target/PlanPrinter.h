//===- PlanPrinter.h - the walk over a plan that prints it ------*- C++ -*-===//
#ifndef LAYLINE_LIB_TARGET_PLANPRINTER_H
#define LAYLINE_LIB_TARGET_PLANPRINTER_H

#include "JSONWriter.h"
#include "dialects/Launch/Launch.h"
#include "llvm/ADT/DenseMap.h"
#include <string>

namespace layline {

/// "bf16", "i64", ...
llvm::StringRef getTypeName(mlir::Type type);

/// Walks a plan in the order of docs/plan-format.md.
class PlanPrinter {
public:
  PlanPrinter(launch::PlanOp plan, llvm::raw_ostream &os)
      : plan(plan), json(os) {}

  void print();
  /// The first decision that has not been taken, if any.
  static mlir::LogicalResult expectComplete(launch::PlanOp plan);

private:
  void printHead();
  void printSharedSections();
  void printVariant(launch::VariantOp variant);
  void printBuffer(launch::BufferOp buffer);
  void printStep(launch::StepOp step, unsigned indent);
  void printArguments(launch::StepOp step);
  void printAttrs(launch::StepOp step);
  void printSite(launch::SiteOp site);

  /// A list with an element on each line.
  template <typename OpTy, typename Range, typename Print>
  void lines(llvm::StringRef name, Range &&block, unsigned indent,
             Print &&print) {
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
  void section(llvm::StringRef name, Print &&print) {
    json.breakLine(2);
    lines<OpTy>(name, plan.getBody(), 2, print);
  }

  void expression(mlir::Attribute expr);
  void strings(mlir::ArrayAttr list) {
    json.array([&] {
      for (llvm::StringRef text : list.getAsValueRange<mlir::StringAttr>())
        json.string(text);
    });
  }
  void integers(llvm::ArrayRef<int64_t> list) {
    json.array([&] {
      for (int64_t value : list)
        json.integer(value);
    });
  }
  void doubles(llvm::ArrayRef<double> list) {
    json.array([&] {
      for (double value : list)
        json.number(value);
    });
  }
  void shape(mlir::RankedTensorType tensor) {
    json.array([&] {
      for (int64_t size : tensor.getShape())
        if (mlir::ShapedType::isDynamic(size))
          json.string("tokens");
        else
          json.integer(size);
    });
  }
  /// Layouts repeat from layer to layer: each is spelled out once.
  void layout(mlir::RankedTensorType tensor);
  void strings(llvm::StringRef name, std::optional<mlir::ArrayAttr> list) {
    if (!list)
      return;
    json.key(name);
    strings(*list);
  }

  launch::PlanOp plan;
  JSONWriter json;
  llvm::DenseMap<mlir::Type, std::string> layouts;
};

} // namespace layline

#endif // LAYLINE_LIB_TARGET_PLANPRINTER_H
