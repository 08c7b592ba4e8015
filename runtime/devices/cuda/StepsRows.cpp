#include "devices/cuda/Steps.h"

#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

/// A kernel of rows: `fill(rank, parameters)` sets what else there is than
/// input, output, rows and width. A rank may have rows without features, whose
/// statistics are zero.
template <typename P, typename Fill>
void addRows(ProgramBuilder &builder, const Step &step, const char *symbol,
             const Fill &fill) {
  builder.kernel<P>(symbol, [&](const RankView &rank, P &p) {
    Shape shape = rank.shape(step.arg("input"));
    p.input = rank.numbers(step.arg("input"));
    p.output = rank.numbers(step.arg("output"));
    p.width = shape.back();
    p.rows = rowsOf(shape);
    fill(rank, p);
    return p.rows;
  });
}

/// Groups of neighbouring values that share a scale.
template <typename P>
void setGroups(const RankView &rank, const Step &step, const char *wide, P &p) {
  p.values = rank.numbers(step.arg("values"));
  p.scales = rank.numbers(step.arg("scales"));
  p.groups = elements(rank.shape(step.arg("scales")));
  p.width = p.groups == 0 ? 0 : elements(rank.shape(step.arg(wide))) / p.groups;
}

} // namespace

void addNorm(ProgramBuilder &builder, const Step &step) {
  addRows<local::NormParams>(builder, step, "layline_norm",
                             [&](const RankView &rank, local::NormParams &p) {
                               p.weight = rank.numbers(step.arg("weight"));
                               p.weightRows =
                                   rowsOf(rank.shape(step.arg("weight")));
                               if (const Operand *bias = step.find("bias")) {
                                 p.bias = rank.numbers(*bias);
                                 p.biasRows = rowsOf(rank.shape(*bias));
                               }
                               p.eps = static_cast<float>(step.attrs.eps);
                               p.weightOffset =
                                   static_cast<float>(step.attrs.weightOffset);
                               p.isRms = step.attrs.norm == NormKind::Rms;
                               if (p.width == 0)
                                 p.rows = 0;
                             });
}

void addRowSquares(ProgramBuilder &builder, const Step &step) {
  addRows<local::RowSquaresParams>(
      builder, step, "layline_row_squares",
      [](const RankView &, local::RowSquaresParams &) {});
}

void addNormBy(ProgramBuilder &builder, const Step &step) {
  addRows<local::NormByParams>(
      builder, step, "layline_norm_by",
      [&](const RankView &rank, local::NormByParams &p) {
        p.statistics = rank.numbers(step.arg("statistics"));
        p.weight = rank.numbers(step.arg("weight"));
        p.count = static_cast<float>(step.attrs.width);
        p.eps = static_cast<float>(step.attrs.eps);
      });
}

void addRope(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::RopeParams>(
      "layline_rope", [&](const RankView &rank, local::RopeParams &p) {
        Shape shape = rank.shape(step.arg("input"));
        p.input = rank.numbers(step.arg("input"));
        p.output = rank.numbers(step.arg("output"));
        p.positions = rank.integers(step.arg("positions"));
        const RankView::Rotations rotations = rank.rotations(step);
        p.halfTurns = rotations.halfTurns;
        p.attentionFactor = rotations.attentionFactor;
        p.rows = shape[0];
        p.heads = shape[1];
        p.width = shape[2];
        p.rotary = step.attrs.rotary;
        p.style = step.attrs.style == RopeStyle::Half ? local::RopeStyle::Half
                  : step.attrs.style == RopeStyle::Interleaved
                      ? local::RopeStyle::Interleaved
                      : local::RopeStyle::InterleavedToHalf;
        return p.rows * p.heads;
      });
}

void addQuantize(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::QuantizeParams>(
      "layline_quantize", [&](const RankView &rank, local::QuantizeParams &p) {
        p.input = rank.numbers(step.arg("input"));
        setGroups(rank, step, "input", p);
        p.format = step.attrs.format == QuantFormat::Fp8E4M3 ? NumberType::E4M3
                                                             : NumberType::E5M2;
        return p.groups;
      });
}

void addDequantize(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::DequantizeParams>(
      "layline_dequantize",
      [&](const RankView &rank, local::DequantizeParams &p) {
        setGroups(rank, step, "values", p);
        p.output = rank.numbers(step.arg("output"));
        return blocksForElements(p.groups * p.width);
      });
}

} // namespace layline::runtime::cuda
