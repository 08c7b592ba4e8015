//===- TapeGenerator.h - tapes for rapidcheck -------------------*- C++ -*-===//
#ifndef LAYLINE_TEST_LIB_RANDOMPROGRAMS_TAPEGENERATOR_H
#define LAYLINE_TEST_LIB_RANDOMPROGRAMS_TAPEGENERATOR_H

#include "RandomPrograms.h"
#include <rapidcheck.h>

namespace layline::test {

/// Choices over the whole range from the first test on; each shrinks to 0.
inline rc::Gen<Tape> genTape() {
  return rc::gen::container<Tape>(
      kTapeLength, rc::gen::resize(rc::kNominalSize, rc::gen::inRange<unsigned>(
                                                         0, kMaxChoice + 1)));
}

} // namespace layline::test

#endif // LAYLINE_TEST_LIB_RANDOMPROGRAMS_TAPEGENERATOR_H
