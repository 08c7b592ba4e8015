//===- PlaceName.h - the names that the importer gives places ---*- C++ -*-===//
#ifndef LAYLINE_SUPPORT_PLACENAME_H
#define LAYLINE_SUPPORT_PLACENAME_H

#include <cstdint>
#include <string_view>

namespace layline {

/// "layer.17.o_proj" is "o_proj" of layer 17; "final_norm" is of no layer, -1.
struct PlaceName {
  int64_t layer = -1;
  std::string_view name; ///< of the given text
};
PlaceName parsePlaceName(std::string_view place);

} // namespace layline

#endif // LAYLINE_SUPPORT_PLACENAME_H
