#include "devices/cuda/Moves.h"

namespace layline::runtime::cuda {

void addEmbedding(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::EmbeddingParams>(
      "layline_embedding",
      [&](const RankView &rank, local::EmbeddingParams &p) {
        Shape table = rank.shape(step.arg("weight"));
        p.ids = rank.integers(step.arg("ids"));
        p.table = rank.numbers(step.arg("weight"));
        p.output = rank.numbers(step.arg("output"));
        p.rows = elements(rank.shape(step.arg("ids")));
        p.width = table.back();
        p.first = rank.begin(step.arg("weight"), 0);
        p.held = table.front();
        p.vocabulary = step.arg("weight").shape[0].value;
        p.fault = builder.faultPlace(rank);
        return p.rows;
      });
}

/// Numbers change their type where the operands' types differ.
void addCast(ProgramBuilder &builder, const Step &step) {
  addMove(builder, [&](const RankView &rank) {
    Move move = moveWithin(rank, step.arg("input"), step.arg("output"));
    std::int64_t count = elements(rank.shape(step.arg("output")));
    move.outputItems = count;
    move.add(0, count, 0, 0, count);
    return move;
  });
}

void addSlice(ProgramBuilder &builder, const Step &step) {
  addMove(builder, [&](const RankView &rank) {
    const Operand &input = step.arg("input"), &output = step.arg("output");
    auto dim = static_cast<std::size_t>(step.attrs.dim);
    SplitShape from = splitAt(rank.shape(input), dim),
               to = splitAt(rank.shape(output), dim);
    Move move = moveWithin(rank, input, output);
    move.outer = from.outer;
    move.inner = from.inner;
    move.outputItems = to.items;
    const DimLayout &part = output.layout.dims[dim];
    // First readers are numbered as in the whole dimension, of which the input
    // has those that the rank reads.
    std::int64_t before = 0;
    if (rank.run->plan->ranges[part.range].kind == Range::Kind::FirstReaders)
      before = rank.begin(input, dim);
    std::int64_t at = 0;
    for (Part run : rank.own(part)) {
      move.add(0, from.items, run.begin - before, at, run.size);
      at += run.size;
    }
    return move;
  });
}

void addSliceColumns(ProgramBuilder &builder, const Step &step) {
  addMove(builder, [&](const RankView &rank) {
    Shape from = rank.shape(step.arg("input")),
          to = rank.shape(step.arg("output"));
    Move move = moveWithin(rank, step.arg("input"), step.arg("output"));
    move.outer = rowsOf(to);
    move.outputItems = to.back();
    move.add(0, from.back(), step.attrs.begin, 0, to.back());
    return move;
  });
}

/// Inputs may have types of their own, so that there is a launch for each.
void addConcatColumns(ProgramBuilder &builder, const Step &step) {
  const std::vector<Operand> &inputs = step.list("inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    addMove(builder, [&](const RankView &rank) {
      Shape to = rank.shape(step.arg("output"));
      Move move = moveWithin(rank, inputs[i], step.arg("output"));
      move.outer = rowsOf(to);
      move.outputItems = to.back();
      std::int64_t before = 0;
      for (std::size_t j = 0; j < i; ++j)
        before += rank.shape(inputs[j]).back();
      std::int64_t width = rank.shape(inputs[i]).back();
      move.add(0, width, 0, before, width);
      return move;
    });
}

void addCacheAppend(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::AppendParams>(
      "layline_append_rows", [&](const RankView &rank, local::AppendParams &p) {
        const Operand &input = step.arg("input"), &cache = step.arg("cache");
        const CacheSlice &slice = rank.caches[cache.index].slice;
        p.input = reinterpret_cast<const void *>(rank.address(input.index));
        if (isInteger(input.dtype))
          p.integerBytes = sizeof(std::int64_t);
        else
          p.type = rank.numbers(input).type;
        p.output = rank.pages(cache);
        p.first = rank.run->past;
        p.rows = rank.shape(input)[0];
        p.items = slice.items;
        p.itemElements = slice.itemElements;
        return blocksForElements(p.rows * slice.rowElements());
      });
}

} // namespace layline::runtime::cuda
