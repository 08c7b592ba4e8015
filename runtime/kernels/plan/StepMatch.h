// Which steps of a plan are the work of one kernel (kernels/Params.h), and
// which operand is what in it. Shapes and the number of ranks do not matter
// here: whether there is such a kernel says the catalogue.
#ifndef LAYLINE_RUNTIME_KERNELS_PLAN_STEPMATCH_H
#define LAYLINE_RUNTIME_KERNELS_PLAN_STEPMATCH_H

#include "kernels/Catalogue.h"
#include "plan/Plan.h"

#include <cstdint>
#include <optional>
#include <string>

namespace layline::runtime {

/// What a kernel is to do. Operands belong to the step; null: not there.
struct RowWork {
  kernels::Input input = kernels::Input::Own;
  kernels::Output output = kernels::Output::Own;
  kernels::NormKind norm = kernels::NormKind::None;
  kernels::Function function = kernels::Function::None;
  kernels::ScaleKind scales = kernels::ScaleKind::None;
  std::int64_t groupSize = 0; ///< of ScaleKind::Group, features
  int group = -1;             ///< of the plan; -1: no rank needs another one

  const Operand *rows = nullptr; ///< own rows, or addends
  const Operand *bias = nullptr, *innerWeight = nullptr, *residual = nullptr,
                *weight = nullptr, *normBias = nullptr, *gate = nullptr;
  /// With scales the product of payload and scales, which is left to who reads
  /// them: a kernel gives those two, whether or not they leave the step.
  const Operand *values = nullptr;
  const Operand *payload = nullptr, *scaleColumns = nullptr;
  const Operand *exact = nullptr; ///< rows before they are quantized
  const Operand *residualOut = nullptr;
  /// What exact and residualOut would be, where they do not leave the step.
  const Operand *keptExact = nullptr, *keptSum = nullptr;
  /// The step's own rows before they are gathered, a register that `values`
  /// has too.
  const Operand *ungathered = nullptr;
  /// Where rows are dealt out: what a reduce_scatter gives, what an all_gather
  /// takes.
  const Operand *scattered = nullptr;
  /// Parts are gathered one behind another and the reader puts their items in
  /// their places (gatheredRegion): columns, rows that are not dealt out by
  /// block. Of a match: it may be so.
  bool isArranged = false;
  double innerScale = 1, scale = 1, eps = 0, weightOffset = 0;

  bool hasNorm() const {
    return innerWeight || norm != kernels::NormKind::None;
  }
  bool isQuantized() const { return scales != kernels::ScaleKind::None; }
  /// The last that a kernel gives.
  const Operand *last() const { return values ? values : payload; }
  /// Every rank has all rows of the residual and of what comes out.
  bool isAllReduce() const {
    return input == kernels::Input::Owed &&
           output == kernels::Output::Everyone && !scattered;
  }
};

/// The work of a step, of a fused one that of its body; false with the reason
/// if no kernel of rows does it.
bool matchRows(const Step &step, RowWork &work, std::string &reason);

/// The family of kernels that does steps of this kind, by itself and not as
/// work of rows; nothing: there is none.
std::optional<kernels::Family> familyOf(StepKind kind);

/// Whether kernels do steps of this kind at all, or collectives that are
/// expected of them; all others are the engine's own.
bool isLookedFor(const Step &step);

/// "reduce_scatter+add+norm", of a step without a body its kind.
std::string kindsOf(const Step &step);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_KERNELS_PLAN_STEPMATCH_H
