// Files whole.
#ifndef LAYLINE_RUNTIME_JSON_READFILE_H
#define LAYLINE_RUNTIME_JSON_READFILE_H

#include <string>

namespace layline::runtime {

/// The whole file; throws Error if it cannot be read.
std::string readFile(const std::string &path);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_JSON_READFILE_H
