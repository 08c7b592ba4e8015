//===- InputFile.h - a file as it is read ------------------------*- C++
//-*-===//
#ifndef LAYLINE_LIB_TRACE_INPUTFILE_H
#define LAYLINE_LIB_TRACE_INPUTFILE_H

#include "layline/Trace/Readers.h"
#include <cstdio>
#include <memory>
#include <streambuf>
#include <zlib.h>

namespace layline::trace {

/// The text of a file, plain or gzip (of several members too), in pieces. What
/// goes wrong is thrown as TraceError out of the reading.
class InputFile : public std::streambuf {
public:
  InputFile(const std::string &path, Progress progress);
  ~InputFile() override;
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

protected:
  int_type underflow() override;

private:
  [[noreturn]] void fail(const std::string &what) const;
  /// More bytes of the file into `raw`; how many.
  size_t readRaw();
  size_t inflateSome();

  std::string path;
  Progress progress;
  std::FILE *file = nullptr;
  int64_t size = 0, read = 0;
  bool isGzip = false;
  /// Within a member of a gzip file.
  bool inMember = false;
  z_stream zip = {};
  std::vector<char> raw, text;
};

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_INPUTFILE_H
