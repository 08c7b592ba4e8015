//===- TraceFiles.cpp - files for the tests of traces ---------------------===//
#include "TraceTests.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <zlib.h>

using namespace layline::trace;

std::string layline::trace::readSource(const std::string &name) {
  // zlib reads plain files as they are.
  gzFile file = gzopen(sourcePath(name).c_str(), "rb");
  if (!file)
    throw std::runtime_error("cannot open " + sourcePath(name));
  std::string text;
  char piece[1 << 16];
  for (int got; (got = gzread(file, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(got));
  gzclose(file);
  return text;
}

TemporaryFile::TemporaryFile(const std::string &text, bool packed) {
  path = std::filesystem::temp_directory_path() / "layline-trace-XXXXXX";
  int file = mkstemp(path.data());
  if (file < 0)
    throw std::runtime_error("cannot make " + path);
  close(file);
  if (packed) {
    gzFile out = gzopen(path.c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
  } else {
    std::ofstream(path, std::ios::binary) << text;
  }
}

TemporaryFile::~TemporaryFile() { unlink(path.c_str()); }

std::string layline::trace::readFile(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
