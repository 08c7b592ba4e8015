//===- Report.cpp - mismatches in words -----------------------------------===//
#include "Report.h"

using namespace layline;
using namespace layline::exact;

/// "linear at layer.0.o_proj, model.mlir:12:3".
static std::string describeOp(const Op &op) {
  std::string text = kindName(op.kind);
  if (!op.place.empty())
    text += " at " + op.place;
  if (!op.location.empty() && op.location != op.place)
    text += ", " + op.location;
  return text;
}

static std::string nameOf(const Op &op, ValueId value) {
  for (size_t i = 0; i < op.results.size() && i < op.names.size(); ++i)
    if (op.results[i] == value)
      return op.names[i];
  return "";
}

static const Op *findOp(const Program &program, ValueId value) {
  for (const Op &op : program.ops)
    for (ValueId result : op.results)
      if (result == value)
        return &op;
  return nullptr;
}

/// "row 4, head 1, feature 17 of ".
static std::string describeElement(const std::vector<int64_t> &element) {
  static const char *const matrix[] = {"row ", "column "};
  static const char *const cube[] = {"row ", "head ", "feature "};
  if (element.empty() || element.size() > 3)
    return "";
  const char *const *names = element.size() == 3 ? cube : matrix;
  std::string text;
  for (size_t dim = 0; dim < element.size(); ++dim)
    text += (dim == 0 ? "" : ", ") + std::string(names[dim]) +
            std::to_string(element[dim]);
  return text + " of ";
}

Mismatch Reporter::begin(int64_t rank) const {
  Mismatch mismatch;
  mismatch.program = label;
  mismatch.run = run;
  mismatch.rank = rank;
  mismatch.text = "with " + std::to_string(run.tokens) +
                  (run.tokens == 1 ? " token" : " tokens") + " (past " +
                  std::to_string(run.past) + ")";
  if (rank >= 0 && program.ranks() > 1)
    mismatch.text += ", rank " + std::to_string(rank);
  mismatch.text += ": ";
  return mismatch;
}

Mismatch Reporter::reportFault(const Fault &fault) const {
  Mismatch mismatch = begin(fault.rank);
  if (fault.op < program.ops.size()) {
    const Op &op = program.ops[fault.op];
    mismatch.kind = kindName(op.kind);
    mismatch.place = op.place;
    mismatch.location = op.location;
    mismatch.text += describeOp(op) + " cannot run: ";
  }
  mismatch.text += fault.message;
  return mismatch;
}

Mismatch Reporter::reportMissing(ValueId value) const {
  Mismatch mismatch = begin(-1);
  mismatch.value = program.values[value].name;
  mismatch.text += "value " + std::to_string(value) +
                   (mismatch.value.empty() ? "" : " (" + mismatch.value + ")") +
                   " is to be compared but never computed";
  return mismatch;
}

Mismatch Reporter::reportDifference(size_t index, Pair pair,
                                    const Difference &difference) const {
  Mismatch mismatch = begin(difference.rank);
  const Op &op = program.ops[index];
  mismatch.element = difference.element;
  mismatch.kind = kindName(op.kind);
  mismatch.place = op.place;
  mismatch.location = op.location;
  mismatch.value = nameOf(op, pair.value);
  if (mismatch.value.empty())
    mismatch.value = program.values[pair.value].name;
  mismatch.text += describeElement(difference.element);
  mismatch.text += mismatch.value.empty()
                       ? "the result of " + describeOp(op)
                       : mismatch.value + " (" + describeOp(op) + ")";
  mismatch.text += difference.message.empty() ? " differs from " + referenceName
                                              : " " + difference.message;
  if (const Op *other = findOp(reference, pair.reference)) {
    mismatch.referenceKind = kindName(other->kind);
    mismatch.referencePlace = other->place;
    mismatch.referenceLocation = other->location;
    if (difference.message.empty() && describeOp(*other) != describeOp(op))
      mismatch.text += " (" + describeOp(*other) + ")";
  }
  return mismatch;
}
