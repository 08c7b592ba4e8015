#include "devices/cuda/Steps.h"

#include "plan/Error.h"

namespace layline::runtime::cuda {

void addNorm(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::NormParams>(
      "layline_norm", [&](const RankView &rank, local::NormParams &p) {
        Shape shape = rank.shape(step.arg("input"));
        p.input = rank.numbers(step.arg("input"));
        p.output = rank.numbers(step.arg("output"));
        p.weight = rank.numbers(step.arg("weight"));
        p.weightRows = rowsOf(rank.shape(step.arg("weight")));
        if (const Operand *bias = step.find("bias")) {
          p.bias = rank.numbers(*bias);
          p.biasRows = rowsOf(rank.shape(*bias));
        }
        p.width = shape.back();
        p.rows = p.width == 0 ? 0 : rowsOf(shape);
        p.eps = static_cast<float>(step.attrs.eps);
        p.weightOffset = static_cast<float>(step.attrs.weightOffset);
        p.isRms = step.attrs.norm == NormKind::Rms;
        return p.rows;
      });
}

void addRowSquares(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::RowSquaresParams>(
      "layline_row_squares",
      [&](const RankView &rank, local::RowSquaresParams &p) {
        Shape shape = rank.shape(step.arg("input"));
        p.input = rank.numbers(step.arg("input"));
        p.output = rank.numbers(step.arg("output"));
        p.rows = shape.front();
        p.width = shape.back();
        return p.rows;
      });
}

void addNormBy(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::NormByParams>(
      "layline_norm_by", [&](const RankView &rank, local::NormByParams &p) {
        Shape shape = rank.shape(step.arg("input"));
        p.input = rank.numbers(step.arg("input"));
        p.output = rank.numbers(step.arg("output"));
        p.statistics = rank.numbers(step.arg("statistics"));
        p.weight = rank.numbers(step.arg("weight"));
        p.rows = shape.front();
        p.width = shape.back();
        p.count = static_cast<float>(step.attrs.width);
        p.eps = static_cast<float>(step.attrs.eps);
        return p.rows;
      });
}

void addRope(ProgramBuilder &builder, const Step &step) {
  const RunShape &run = builder.run();
  const Table &table = run.plan->tables[step.arg("table").index];
  bool isLong = false;
  if (table.longNumbers) {
    int source = run.inputOfBuffer[step.arg("positions").index];
    isLong = run.largestOfInput[source] >= table.longAbove;
  }
  const RopeNumbers &numbers = isLong ? *table.longNumbers : table.numbers;
  builder.kernel<local::RopeParams>(
      "layline_rope", [&](const RankView &rank, local::RopeParams &p) {
        Shape shape = rank.shape(step.arg("input"));
        p.input = rank.numbers(step.arg("input"));
        p.output = rank.numbers(step.arg("output"));
        p.positions = rank.integers(step.arg("positions"));
        Address halfTurns = rank.halfTurns[step.arg("table").index];
        if (isLong)
          halfTurns += table.numbers.invFreq.size() * sizeof(double);
        p.halfTurns = reinterpret_cast<const double *>(halfTurns);
        p.rows = shape[0];
        p.heads = shape[1];
        p.width = shape[2];
        p.rotary = step.attrs.rotary;
        p.style = step.attrs.style == RopeStyle::Half ? local::RopeStyle::Half
                  : step.attrs.style == RopeStyle::Interleaved
                      ? local::RopeStyle::Interleaved
                      : local::RopeStyle::InterleavedToHalf;
        p.attentionFactor = static_cast<float>(numbers.attentionFactor);
        return p.rows * p.heads;
      });
}

void addQuantize(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::QuantizeParams>(
      "layline_quantize", [&](const RankView &rank, local::QuantizeParams &p) {
        p.input = rank.numbers(step.arg("input"));
        p.values = rank.numbers(step.arg("values"));
        p.scales = rank.numbers(step.arg("scales"));
        p.groups = elements(rank.shape(step.arg("scales")));
        p.width = p.groups == 0
                      ? 0
                      : elements(rank.shape(step.arg("input"))) / p.groups;
        p.format = step.attrs.format == QuantFormat::Fp8E4M3 ? NumberType::E4M3
                                                             : NumberType::E5M2;
        return p.groups;
      });
}

void addDequantize(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::DequantizeParams>(
      "layline_dequantize",
      [&](const RankView &rank, local::DequantizeParams &p) {
        p.values = rank.numbers(step.arg("values"));
        p.scales = rank.numbers(step.arg("scales"));
        p.output = rank.numbers(step.arg("output"));
        p.groups = elements(rank.shape(step.arg("scales")));
        p.width = p.groups == 0
                      ? 0
                      : elements(rank.shape(step.arg("values"))) / p.groups;
        return blocksForElements(p.groups * p.width);
      });
}

} // namespace layline::runtime::cuda
