//===- HFConfigFamilies.cpp - what HF knows by model_type -----------------===//

#include "HFConfigFamilies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace layline;
using llvm::StringRef;

void Family::name(Weight weight, StringRef tensor) {
  tensorNames[static_cast<unsigned>(weight)] = tensor.str();
}

void Family::nameInLayer(Weight weight, StringRef suffix) {
  name(weight, (layerPrefix + llvm::Twine(suffix)).str());
}

llvm::ArrayRef<Family> layline::hfFamilies() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all;
    addLlamaFamilies(all);
    llvm::sort(all, [](const Family &a, const Family &b) {
      return StringRef(a.modelType) < b.modelType;
    });
    return all;
  }();
  return families;
}

const Family *layline::findFamily(StringRef modelType) {
  for (const Family &family : hfFamilies())
    if (modelType == family.modelType)
      return &family;
  return nullptr;
}
