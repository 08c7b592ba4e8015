//===- InputFile.cpp - a file as it is read
//--------------------------------===//
#include "InputFile.h"
#include <cerrno>
#include <cstring>
#include <sys/stat.h>

using namespace layline::trace;

static constexpr size_t kPieceBytes = 1 << 18;

void InputFile::fail(const std::string &what) const {
  throw TraceError(path + ": " + what);
}

InputFile::InputFile(const std::string &path, Progress progress)
    : path(path), progress(std::move(progress)), raw(kPieceBytes) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    fail(std::strerror(errno));
  if (S_ISDIR(status.st_mode))
    fail("found a folder, expected a file");
  file = std::fopen(path.c_str(), "rb");
  if (!file)
    fail(std::strerror(errno));
  size = status.st_size;
  size_t got = readRaw();
  isGzip = got >= 2 && raw[0] == '\x1f' && raw[1] == '\x8b';
  if (!isGzip) {
    setg(raw.data(), raw.data(), raw.data() + got);
    return;
  }
  text.resize(4 * kPieceBytes);
  // 16: the header of gzip is expected and its checksum compared.
  if (inflateInit2(&zip, 15 + 16) != Z_OK)
    fail("no memory to inflate it");
  inMember = true;
  zip.next_in = reinterpret_cast<Bytef *>(raw.data());
  zip.avail_in = static_cast<uInt>(got);
}

InputFile::~InputFile() {
  if (isGzip)
    inflateEnd(&zip);
  if (file)
    std::fclose(file);
}

size_t InputFile::readRaw() {
  size_t got = std::fread(raw.data(), 1, raw.size(), file);
  if (got == 0 && std::ferror(file))
    fail(std::strerror(errno));
  read += static_cast<int64_t>(got);
  if (progress)
    progress(read, size);
  return got;
}

size_t InputFile::inflateSome() {
  zip.next_out = reinterpret_cast<Bytef *>(text.data());
  zip.avail_out = static_cast<uInt>(text.size());
  while (zip.avail_out == text.size()) {
    if (zip.avail_in == 0) {
      zip.next_in = reinterpret_cast<Bytef *>(raw.data());
      zip.avail_in = static_cast<uInt>(readRaw());
      if (zip.avail_in == 0 && !inMember)
        break;
      if (zip.avail_in == 0)
        fail("the gzip data end at byte " + std::to_string(read) +
             " within a member, expected its end: the file was cut");
    }
    if (!inMember) {
      if (inflateReset(&zip) != Z_OK)
        fail("no memory to inflate it");
      inMember = true;
    }
    int status = inflate(&zip, Z_NO_FLUSH);
    if (status == Z_STREAM_END)
      inMember = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      fail("the gzip data are damaged before byte " + std::to_string(read) +
           " (" + (zip.msg ? zip.msg : "no reason given") + ")");
  }
  return text.size() - zip.avail_out;
}

InputFile::int_type InputFile::underflow() {
  if (gptr() < egptr())
    return traits_type::to_int_type(*gptr());
  std::vector<char> &piece = isGzip ? text : raw;
  size_t got = isGzip ? inflateSome() : readRaw();
  setg(piece.data(), piece.data(), piece.data() + got);
  return got == 0 ? traits_type::eof() : traits_type::to_int_type(*gptr());
}
