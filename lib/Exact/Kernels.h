//===- Kernels.h - what one rank computes of an op --------------*- C++ -*-===//
//
// Kernels work on local data by position, as a device does. Labels (which
// global elements the data should be) only serve where a device would use the
// begin of its range too: to find vocabulary rows, experts, KV heads, features
// of rope, and its own part of what it holds.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_EXACT_KERNELS_H
#define LAYLINE_LIB_EXACT_KERNELS_H

#include "OpDims.h"
#include "Parts.h"
#include "layline/Exact/Interpreter.h"
#include "layline/Exact/Memo.h"
#include "layline/Exact/Sampling.h"

namespace layline::exact {

class RunLayouts;

/// One op on one rank.
class KernelCall {
public:
  KernelCall(const SampledProgram &sampled, const Op &op,
             const Digest &signature, const Run &run, const RunLayouts &layouts,
             Memo &memo)
      : sampled(sampled), op(op), signature(signature), run(run),
        layouts(layouts), memo(memo) {}

  const Attributes &attrs() const { return op.attrs; }
  const LocalTensor &in(size_t i) const { return *operands[i]; }
  /// What this rank should hold of a dimension of an operand or result.
  const DimPart &part(DimRef ref) const;
  unsigned dims(int tensor) const;
  /// Local shape of a result, as stored.
  Shape resultShape(int result = 0) const;

  void set(const Shape &shape, LocalTensor::Data data, int result = 0);
  void fail(std::string why) {
    if (fault.empty())
      fault = std::move(why);
  }
  /// Fails unless the condition holds; returns it.
  bool require(bool condition, const char *why) {
    if (!condition)
      fail(why);
    return condition;
  }

  const SampledProgram &sampled;
  const Op &op;
  const Digest &signature;
  const Run &run;
  const RunLayouts &layouts;
  Memo &memo;
  size_t opIndex = 0;
  int64_t rank = 0;
  std::vector<Tensor> operands;
  Tensor results[2];
  std::string fault;
};

/// What an op of this kind depends on besides its operands' data and its own
/// signature.
void addCoordinates(const KernelCall &call, Hasher &key);

/// Whether the mask of an attention lets a position see another one.
bool isVisible(const Attributes &attrs, int64_t query, int64_t key);

/// The row number that a selection has where it selects none.
constexpr Element kNoRow = kPrime - 1;

/// The id of an expert where a row was not dispatched to.
constexpr Element kNoExpert = kPrime - 1;

/// Runs an op that is no collective.
void runKernel(KernelCall &call);

/// What stands in the memory that nobody wrote: other values on each rank and
/// op, `row` elements for each index.
Element garbage(const KernelCall &call, uint64_t index);

/// Whether `index` is an element of the first dimension of the whole value, one
/// that is run.
bool isSampled(const KernelCall &call, ValueId value, Element index);

/// The elements at `positions` of a dimension; behind them garbage up to
/// `size`.
Tensor take(const KernelCall &call, const LocalTensor &from, unsigned dim,
            const std::vector<int64_t> &positions, int64_t size);

// By file.
void inputKernel(KernelCall &call);
void weightKernel(KernelCall &call);
void embeddingKernel(KernelCall &call);
void cacheKernel(KernelCall &call);
void normKernel(KernelCall &call);
void rowSquaresKernel(KernelCall &call);
void normByKernel(KernelCall &call);
void ropeKernel(KernelCall &call);
void routerKernel(KernelCall &call);
void quantizeKernel(KernelCall &call);
void linearKernel(KernelCall &call);
void expertsKernel(KernelCall &call);
void addExpertBiasKernel(KernelCall &call);
void attentionKernel(KernelCall &call);
void latentAttentionKernel(KernelCall &call);
void indexerKernel(KernelCall &call);
void reshapeKernel(KernelCall &call);
void elementwiseKernel(KernelCall &call);
void addBiasKernel(KernelCall &call);
void partKernel(KernelCall &call);
void relabelKernel(KernelCall &call);
void sliceColumnsKernel(KernelCall &call);
void concatColumnsKernel(KernelCall &call);

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_KERNELS_H
