#include "plan/StepContracts.h"

namespace layline::runtime {
namespace {

/// The columns of `weight`'s rows are those of the rank's heads, `width` each.
void rowsOfHeads(const StepContract &c, const char *weight,
                 const Operand &heads, std::size_t width) {
  const Operand &rows = c.arg(weight);
  c.dims(weight, 2);
  c.heldWhole(rows, 1);
  const Expr &each = heads.shape[width];
  if (!each.isConstant() ||
      !rows.shape[0].isConstant(c.attrs().heads * each.value))
    c.fail("'", c.id(rows), "' has ", print(rows.shape), "; ", c.attrs().heads,
           " heads of ", print(heads.shape), " are expected");
  DimLayout expected = heads.layout.dims[1];
  expected.unit *= each.value;
  if (rows.layout.dims[0] != expected)
    c.fail("'", c.id(rows), "' with layout ", print(rows.layout, c.plan),
           " does not hold the rows of the heads of '", c.id(heads),
           "' with layout ", print(heads.layout, c.plan));
}

void ownNothing(const StepContract &c) {
  for (std::size_t i = 0; i < c.step.args.size(); ++i)
    for (const Operand &operand : c.step.args[i])
      c.owesNothing(operand);
}

} // namespace

void checkLatentAttention(const StepContract &c) {
  const Operand &nope = c.arg("query_nope"), &rope = c.arg("query_rope"),
                &latent = c.arg("latent"), &ropeKey = c.arg("rope_key"),
                &output = c.arg("output");
  c.plane("latent", "latent");
  c.plane("rope_key", "rope_key");
  c.plane("key_positions", "positions");
  for (const char *name : {"query_nope", "query_rope", "output"}) {
    c.dims(name, 3);
    c.heldWhole(c.arg(name), 2);
    c.extent(c.arg(name), 1, c.attrs().heads);
    c.sameDim(nope, 0, c.arg(name), 0);
    c.sameDim(nope, 1, c.arg(name), 1);
  }
  for (const char *name : {"latent", "rope_key"}) {
    c.dims(name, 2);
    c.heldWhole(c.arg(name), 1);
  }
  c.dims("positions", 1);
  c.dims("key_positions", 1);
  ownNothing(c);
  c.contiguous(nope, 1);
  c.sameDim(rope, 2, ropeKey, 1);
  rowsOfHeads(c, "key_up", nope, 2);
  rowsOfHeads(c, "value_up", output, 2);
  c.sameDim(c.arg("key_up"), 1, latent, 1);
  c.sameDim(c.arg("value_up"), 1, latent, 1);
  c.sameDim(nope, 0, c.arg("positions"), 0);
  if (const Operand *selection = c.step.find("selection")) {
    c.dims("selection", 2);
    c.heldWhole(*selection, 1);
    c.sameDim(nope, 0, *selection, 0);
  }
}

void checkIndexer(const StepContract &c) {
  const Operand &query = c.arg("query"), &keys = c.arg("keys"),
                &weights = c.arg("weights");
  c.plane("keys", "index_key");
  c.plane("key_positions", "positions");
  c.dims("query", 3);
  for (const char *name : {"keys", "weights", "selection", "scores"})
    c.dims(name, 2);
  c.dims("positions", 1);
  c.dims("key_positions", 1);
  ownNothing(c);
  c.heldWhole(query, 1);
  c.heldWhole(query, 2);
  c.sameDim(query, 2, keys, 1);
  c.sameDim(query, 1, weights, 1);
  for (const char *name : {"weights", "positions", "selection", "scores"})
    c.sameDim(query, 0, c.arg(name), 0);
  for (const char *name : {"selection", "scores"}) {
    c.extent(c.arg(name), 1, c.attrs().topK);
    c.heldWhole(c.arg(name), 1);
  }
}

} // namespace layline::runtime
