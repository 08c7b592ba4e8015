//===- RunNames.h - names and numbers of a recording ------------*- C++ -*-===//
#ifndef LAYLINE_LIB_REPORT_RUNNAMES_H
#define LAYLINE_LIB_REPORT_RUNNAMES_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace layline::report {

/// The name of a kernel without arguments of its templates, at most so long.
std::string shortKernelName(const std::string &name, size_t longest);
/// Without the folders that it lies in: pages are shown to others.
std::string fileName(const std::string &path);
/// What is below 0 is not known.
nlohmann::ordered_json orNull(int64_t number);

} // namespace layline::report

#endif // LAYLINE_LIB_REPORT_RUNNAMES_H
