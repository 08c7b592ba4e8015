//===- VariantPrices.h - what a variant costs, on the variant ---*- C++ -*-===//
//
// The planner's prices travel with a variant as its attribute `grid.prices`, a
// dictionary for each token count that was priced (both ends of the range and
// their geometric mean), so that later phases can report them.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_PLANNING_VARIANTPRICES_H
#define LAYLINE_LIB_PLANNING_VARIANTPRICES_H

#include "Planner.h"

namespace layline {

struct PricedVariant {
  mlir::func::FuncOp function;
  const FormChoice *choice;
  int64_t min, max; ///< token counts
};
void setPrices(const Planner &planner, llvm::ArrayRef<PricedVariant> variants);

/// One sentence on a site of the variant: what was chosen and what else there
/// was, in numbers; empty if it has not been priced.
std::string describeSite(mlir::func::FuncOp variant, llvm::StringRef site);

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_VARIANTPRICES_H
