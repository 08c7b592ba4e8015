//===- WholeFiles.cpp - files that are there whole or not at all ----------===//
#include "WholeFiles.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace layline::tool;
namespace fs = std::filesystem;

std::optional<std::string> layline::tool::writeFiles(
    const std::string &folder,
    const std::vector<std::pair<std::string, std::string>> &files) {
  if (folder.empty())
    return "found no name of a folder to write into";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return folder + ": " + error.message();
  // The one thing that would stop a rename after another one was made.
  for (const auto &[name, text] : files)
    if (fs::path path = fs::path(folder) / name; fs::is_directory(path))
      return path.string() + ": found a folder, expected a file or nothing";
  std::vector<fs::path> written;
  auto undo = [&](const std::string &message) {
    for (const fs::path &path : written)
      fs::remove(path, error);
    return message;
  };
  for (const auto &[name, text] : files) {
    fs::path path = fs::path(folder) / (name + ".part");
    std::ofstream os(path, std::ios::binary | std::ios::trunc);
    written.push_back(path);
    os.write(text.data(), static_cast<std::streamsize>(text.size()));
    os.close();
    if (!os)
      return undo(path.string() +
                  ": cannot be written: " + std::strerror(errno));
  }
  for (const auto &[name, text] : files) {
    fs::path path = fs::path(folder) / name;
    fs::rename(path.string() + ".part", path, error);
    if (error)
      return undo(path.string() + ": " + error.message());
  }
  return std::nullopt;
}

std::optional<std::string> layline::tool::writeFile(const std::string &path,
                                                    const std::string &text) {
  std::string folder = fs::path(path).parent_path().string();
  return writeFiles(folder.empty() ? "." : folder,
                    {{fs::path(path).filename().string(), text}});
}

std::optional<std::string> layline::tool::readFile(const std::string &path,
                                                   std::string &error) {
  std::ifstream is(path, std::ios::binary);
  std::ostringstream text;
  if (is)
    text << is.rdbuf();
  if (!is || fs::is_directory(path)) {
    error = path + ": cannot be read: " +
            (fs::is_directory(path) ? "it is a folder" : std::strerror(errno));
    return std::nullopt;
  }
  return text.str();
}
