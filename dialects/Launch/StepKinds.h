//===- StepKinds.h - what each kind of step takes ---------------*- C++ -*-===//
//
// The table of docs/plan-format.md. Verifier, printer and every analysis of
// what a step reads and writes go through it.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DIALECTS_LAUNCH_STEPKINDS_H
#define LAYLINE_DIALECTS_LAUNCH_STEPKINDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace layline::launch {

class StepOp;
enum class StepKind : uint32_t;

/// What a role takes. `Any`: whatever the body of a fused step uses.
enum class Takes { Buffer, Weight, Cache, Table, Any };
/// `Quantized`: a narrow format, of which no step but those that say so makes
/// numbers.
enum class Element { Float, Integer, Quantized, Any };

struct RoleSpec {
  llvm::StringLiteral name;
  Takes takes = Takes::Buffer;
  Element element = Element::Float;
  bool isOutput = false;
  bool isOptional = false;
  bool isList = false;
  /// What a reader of the plan must know to run a step that has it.
  llvm::StringLiteral feature = "";
};

enum class AttrType { String, Number, Integer, Bool, Symbol };

struct KindAttrSpec {
  llvm::StringLiteral name;
  AttrType type;
  bool isOptional = false;
  llvm::StringLiteral feature = "";
};

struct StepKindInfo {
  llvm::SmallVector<RoleSpec, 7> roles;
  llvm::SmallVector<KindAttrSpec, 5> attrs;
  bool isCollective = false;
  /// The engine's own kernel: GEMM, attention, experts.
  bool isExtern = false;
  /// What a reader of the plan must know; empty for what every reader knows.
  llvm::StringLiteral feature = "";

  const RoleSpec *findRole(llvm::StringRef name) const;
  const KindAttrSpec *findAttr(llvm::StringRef name) const;
};

const StepKindInfo &getInfo(StepKind kind);

/// The features of the plan format that a step needs, fused ones by their body.
void addFeatures(StepOp step, llvm::SetVector<llvm::StringRef> &features);

/// One argument of a step.
struct Argument {
  const RoleSpec *role;
  /// The buffer, and the type it is seen as if that is not its own.
  mlir::Value buffer;
  mlir::RankedTensorType view;
  /// The weight, cache or table where there is no buffer.
  mlir::FlatSymbolRefAttr symbol;

  bool isWritten() const { return role->isOutput; }
};

} // namespace layline::launch

#endif // LAYLINE_DIALECTS_LAUNCH_STEPKINDS_H
