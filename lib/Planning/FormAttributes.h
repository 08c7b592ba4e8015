//===- FormAttributes.h - choices as attributes of ops ----------*- C++ -*-===//
//
// What planning has decided stands on the ops of a variant until it is applied,
// so that a variant can be printed and read between the two:
//
//   decoder.norm ... {grid.choice = {form = "rows", kernel = 3,
//                                    results = [{all_gather = 3}]}}
//
// `form` is absent where an op runs whole or has no choice; `results` has the
// conversions of each result with the number of the kernel that does them.
// Kernels with the same number are one launch; -1 is a launch of its own.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_PLANNING_FORMATTRIBUTES_H
#define LAYLINE_LIB_PLANNING_FORMATTRIBUTES_H

#include "FormProgram.h"

namespace layline {

inline constexpr llvm::StringLiteral kChoice = "grid.choice";
/// The launch that an op has been given to. Put on applied ops, taken off when
/// kernels are outlined.
inline constexpr llvm::StringLiteral kKernel = "grid.kernel";

struct OpChoice {
  Form form = Form::Whole;
  int64_t kernel = -1;
  struct Converted {
    Conversion conversion;
    int64_t kernel;
  };
  llvm::SmallVector<llvm::SmallVector<Converted, 2>, 1> results;
};

/// Writes a choice on the ops of the program it was made for, or on the ops of
/// a copy: `ops` has them by graph op.
void annotate(const FormProgram &program, const FormChoice &choice,
              llvm::ArrayRef<mlir::Operation *> ops);

/// None, with a diagnostic, if the attribute is not of this form.
mlir::FailureOr<OpChoice> readChoice(mlir::Operation *op);

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMATTRIBUTES_H
