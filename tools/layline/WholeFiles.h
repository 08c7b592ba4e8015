//===- WholeFiles.h - files that are there whole or not at all --*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_WHOLEFILES_H
#define LAYLINE_TOOLS_LAYLINE_WHOLEFILES_H

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace layline::tool {

/// Writes the files (name, text) into a folder, which is made if needed. They
/// are written beside their places first and then renamed, so a failure leaves
/// the folder as it was, with a message returned.
std::optional<std::string>
writeFiles(const std::string &folder,
           const std::vector<std::pair<std::string, std::string>> &files);

/// The same for one file, whose folder is made if needed.
std::optional<std::string> writeFile(const std::string &path,
                                     const std::string &text);

/// The text of a file, or nothing, with a message in `error`.
std::optional<std::string> readFile(const std::string &path,
                                    std::string &error);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_WHOLEFILES_H
