//===- Effects.cpp - what a step of the list reads and writes -------------===//
#include "Effects.h"

using namespace mlir;
using namespace layline;
using namespace layline::launch;

Effects layline::getEffects(StepOp step) {
  Effects effects;
  step.forEachLeaf([&](StepOp leaf) {
    leaf.forEachArgument([&](const Argument &argument) {
      if (argument.buffer && argument.isWritten())
        effects.writes.insert(argument.buffer);
      else if (argument.buffer && !effects.writes.contains(argument.buffer))
        effects.reads.insert(argument.buffer);
      else if (argument.role->takes != Takes::Cache)
        return;
      else if (argument.isWritten())
        effects.cacheWrites.insert(argument.symbol);
      else if (!effects.cacheWrites.contains(argument.symbol))
        effects.cacheReads.insert(argument.symbol);
    });
  });
  return effects;
}

StringRef layline::getArenaId(BufferOp buffer) {
  if (buffer.getKind() == BufferClass::Register)
    return "register";
  Type element = buffer.getTensor().getElementType();
  if (!isa<FloatType>(element))
    return "int";
  return getElementBytes(element) == 1 ? "narrow" : "float";
}

SmallVector<StepOp> layline::getSteps(VariantOp variant) {
  return llvm::to_vector(variant.getBody().getOps<StepOp>());
}
