//===- IntegerSystem.cpp - linear conditions on integers ------------------===//
#include "IntegerSystem.h"
#include "mlir/Analysis/Presburger/IntegerRelation.h"

using namespace layline::kv;
using mlir::presburger::IntegerPolyhedron;
using mlir::presburger::PresburgerSpace;

Form layline::kv::operator+(Form a, const Form &b) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.constant += b.constant;
  return a;
}

Form layline::kv::operator*(std::int64_t scale, Form a) {
  for (auto &[variable, factor] : a.terms)
    factor *= scale;
  a.constant *= scale;
  return a;
}

Form layline::kv::operator-(Form a, const Form &b) {
  return std::move(a) + -1 * b;
}

Form IntegerSystem::addVariable() {
  Form form;
  form.terms.push_back({variables++, 1});
  return form;
}

Form IntegerSystem::addQuotient(const Form &dividend, std::int64_t divisor) {
  Form quotient = addVariable();
  addRange(dividend - divisor * quotient, 0, divisor - 1);
  return quotient;
}

static IntegerPolyhedron makeSet(unsigned variables,
                                 const std::vector<Form> &zeros,
                                 const std::vector<Form> &atLeastZero) {
  IntegerPolyhedron set(PresburgerSpace::getSetSpace(variables));
  std::vector<std::int64_t> row;
  auto toRow = [&](const Form &form) {
    row.assign(variables + 1, 0);
    for (auto [variable, factor] : form.terms)
      row[variable] += factor;
    row.back() = form.constant;
    return llvm::ArrayRef<std::int64_t>(row);
  };
  for (const Form &form : zeros)
    set.addEquality(toRow(form));
  for (const Form &form : atLeastZero)
    set.addInequality(toRow(form));
  return set;
}

std::optional<std::vector<std::int64_t>> IntegerSystem::findPoint() const {
  auto sample = makeSet(variables, zeros, atLeastZero).findIntegerSample();
  if (!sample)
    return std::nullopt;
  std::vector<std::int64_t> point;
  for (const llvm::DynamicAPInt &value : *sample)
    point.push_back(static_cast<std::int64_t>(value));
  return point;
}
