#include "json/ReadFile.h"

#include "plan/Error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace layline::runtime {

std::string readFile(const std::string &path) {
  // A directory opens as a stream and only fails at the first read.
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    fail(LAYLINE_UNREADABLE_FILE, "'", path,
         "': is a directory; a file is expected");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail(LAYLINE_UNREADABLE_FILE, "'", path,
         "': cannot be opened: ", std::strerror(errno));
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  if (file.bad())
    fail(LAYLINE_UNREADABLE_FILE, "'", path,
         "': cannot be read: ", std::strerror(errno));
  return text;
}

} // namespace layline::runtime
