//===- EmbeddedFiles.h - data files that are built in -----------*- C++ -*-===//
#ifndef LAYLINE_LIB_COST_EMBEDDEDFILES_H
#define LAYLINE_LIB_COST_EMBEDDEDFILES_H

namespace layline {

struct EmbeddedFile {
  const char *name; ///< "h100x8.json"; null ends a list
  const char *text;
};
extern const EmbeddedFile kLatencyFiles[];    ///< data/collectives/*.csv
extern const EmbeddedFile kCapabilityFiles[]; ///< data/capabilities/*.json

} // namespace layline

#endif // LAYLINE_LIB_COST_EMBEDDEDFILES_H
