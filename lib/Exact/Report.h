//===- Report.h - mismatches in words ---------------------------*- C++ -*-===//
#ifndef LAYLINE_LIB_EXACT_REPORT_H
#define LAYLINE_LIB_EXACT_REPORT_H

#include "Comparison.h"
#include "layline/Exact/Checker.h"

namespace layline::exact {

/// Words for what a run of a program showed.
class Reporter {
public:
  Reporter(const Program &program, const Program &reference, std::string label,
           std::string referenceName, const Run &run)
      : program(program), reference(reference), label(std::move(label)),
        referenceName(std::move(referenceName)), run(run) {}

  Mismatch reportFault(const Fault &fault) const;
  Mismatch reportMissing(ValueId value) const;
  Mismatch reportDifference(size_t index, Pair pair,
                            const Difference &difference) const;

private:
  Mismatch begin(int64_t rank) const;

  const Program &program, &reference;
  std::string label, referenceName;
  Run run;
};

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_REPORT_H
