#include "plan/StepContracts.h"

namespace layline::runtime {

void checkCacheAppend(const StepContract &c) {
  const Operand &input = c.arg("input"), &cache = c.arg("cache");
  c.owesNothing(input);
  if (isInteger(input.dtype) != isInteger(cache.dtype))
    c.fail("writes ", dtypeName(input.dtype), " '", c.id(input), "' into the ",
           dtypeName(cache.dtype), " cache '", c.id(cache), "'");
  if (input.shape.size() != cache.shape.size())
    c.fail("'", c.id(input), "' has shape ", print(input.shape), "; rows of '",
           c.id(cache), "' have ", print(c.plan.caches[cache.index].rowShape));
  if (!sameSize(input.shape[0], {Expr::Op::Tokens, 0, {}}))
    c.fail("dimension 0 of '", c.id(input), "' is ", print(input.shape[0]),
           "; \"tokens\" is expected");
  c.heldWhole(input, 0);
  for (std::size_t i = 1; i < input.shape.size(); ++i)
    c.sameDim(input, i, cache, i);
}

namespace {

// Every rank must hold the KV heads that its query heads read.
void checkHeadsAtHand(const StepContract &c) {
  const DimLayout &query = c.arg("query").layout.dims[1];
  std::int64_t heads = c.attrs().heads, kvHeads = c.attrs().kvHeads;
  for (const char *name : {"keys", "values"}) {
    const DimLayout &keys = c.arg(name).layout.dims[1];
    if (!keys.isSplit())
      continue;
    if (c.axesOf(c.arg("query"), 1) != c.axesOf(c.arg(name), 1))
      c.fail("'", c.id(c.arg(name)),
             "' is split over heads and the query is not split over "
             "the same axis");
    std::int64_t axis = c.plan.ranges[keys.range].axis;
    std::vector<std::int64_t> coordinates(c.plan.axes.size(), 0);
    for (std::int64_t at = 0; at < c.plan.axes[axis].size; ++at) {
      coordinates[axis] = at;
      std::vector<Part> parts = c.plan.parts(1, coordinates);
      Part q = parts[query.range], k = parts[keys.range];
      std::int64_t first = q.begin * query.unit,
                   last = q.end() * query.unit - 1;
      if (q.size == 0)
        continue;
      std::int64_t perHead = heads / kvHeads;
      if (first / perHead < k.begin * keys.unit ||
          last / perHead >= k.end() * keys.unit)
        c.fail("rank ", at, " on axis '", c.plan.axes[axis].name,
               "' has query heads [", first, ", ", last + 1,
               "), which read KV heads [", first / perHead, ", ",
               last / perHead + 1, "), and holds KV heads [",
               k.begin * keys.unit, ", ", k.end() * keys.unit, ") of '",
               c.id(c.arg(name)), "'");
    }
  }
}

} // namespace

void checkAttention(const StepContract &c) {
  const Operand &query = c.arg("query"), &output = c.arg("output");
  const Operand &keys = c.arg("keys"), &values = c.arg("values");
  c.plane("keys", "key");
  c.plane("values", "value");
  c.plane("key_positions", "positions");
  for (const char *name : {"query", "keys", "values", "output"})
    c.dims(name, 3);
  c.dims("positions", 1);
  c.dims("key_positions", 1);
  for (const char *name : {"query", "keys", "values"})
    c.contiguous(c.arg(name), 1);
  c.owesNothing(query);
  c.owesNothing(output);
  c.owesNothing(c.arg("positions"));
  std::int64_t heads = c.attrs().heads, kvHeads = c.attrs().kvHeads;
  if (heads % kvHeads != 0)
    c.fail(heads, " query heads do not share ", kvHeads, " KV heads evenly");
  c.extent(query, 1, heads);
  c.extent(keys, 1, kvHeads);
  c.extent(values, 1, kvHeads);
  c.sameDim(query, 2, keys, 2);
  c.heldWhole(query, 2);
  c.sameDim(output, 2, values, 2);
  c.heldWhole(output, 2);
  c.sameDim(query, 0, output, 0);
  c.sameDim(query, 1, output, 1);
  c.sameDim(query, 0, c.arg("positions"), 0);
  if (const Operand *sinks = c.step.find("sinks")) {
    c.dims("sinks", 1);
    c.sameDim(*sinks, 0, query, 1);
  }
  checkHeadsAtHand(c);
}

} // namespace layline::runtime
