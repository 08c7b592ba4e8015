//===- CoverageSpec.h - grids and meshes as people type them ----*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_COVERAGESPEC_H
#define LAYLINE_TOOLS_LAYLINE_COVERAGESPEC_H

#include "layline/Verification/CoverageProof.h"

namespace layline::tool {

/// "tp=8,cp=4". Throws CLI::ValidationError that says what was found and
/// expected.
std::vector<MeshAxis> parseMesh(const std::string &text);

/// "zigzag cp then block tp", "64: block tp", "94", "whole": how many items,
/// for the tokens optional, and who has which. `option` is where it stands.
/// Readers are left without their number of query heads.
GridDim parseDim(const std::string &option, const std::string &name,
                 const std::string &text, const std::vector<MeshAxis> &mesh);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_COVERAGESPEC_H
