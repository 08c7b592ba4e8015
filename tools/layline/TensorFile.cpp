//===- TensorFile.cpp - a run's recorded values as safetensors ------------===//
#include "TensorFile.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace layline::tool;

bool TensorFile::addRun(layline_engine *engine, std::string &error) {
  int64_t count = 0;
  auto good = [&](layline_status status) {
    if (status != LAYLINE_OK)
      error = layline_engine_error(engine);
    return status == LAYLINE_OK;
  };
  if (!good(layline_tap_count(engine, &count)))
    return false;
  for (int64_t index = 0; index < count; ++index) {
    const char *name = "";
    layline_shape shape{};
    if (!good(layline_tap_name(engine, index, &name)) ||
        !good(layline_tap_shape(engine, index, &shape)))
      return false;
    int64_t elements = 1;
    for (int32_t dim = 0; dim < shape.rank; ++dim)
      elements *= shape.dims[dim];
    std::vector<char> bytes(static_cast<size_t>(elements) * 8);
    const char *dtype = "F64";
    layline_status status =
        layline_tap_read(engine, index, LAYLINE_F64, bytes.data(), elements);
    // Integers are read as such.
    if (status == LAYLINE_BAD_ARGUMENT) {
      dtype = "I64";
      status =
          layline_tap_read(engine, index, LAYLINE_I64, bytes.data(), elements);
    }
    if (!good(status))
      return false;
    Entry &entry = entries[name];
    if (entry.shape.empty())
      entry.shape.assign(shape.dims, shape.dims + shape.rank);
    else
      entry.shape[0] += shape.dims[0];
    entry.dtype = dtype;
    entry.bytes.insert(entry.bytes.end(), bytes.begin(), bytes.end());
  }
  return true;
}

bool TensorFile::write(const std::string &path, std::string &error) const {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  size_t offset = 0;
  for (const auto &[name, entry] : entries) {
    header[name] = {{"dtype", entry.dtype},
                    {"shape", entry.shape},
                    {"data_offsets", {offset, offset + entry.bytes.size()}}};
    offset += entry.bytes.size();
  }
  std::string text = header.dump();
  // The tensors begin aligned.
  text.append((8 - text.size() % 8) % 8, ' ');
  // Renamed when it is whole: nobody finds a part of it.
  std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary);
  uint64_t size = text.size();
  char length[8];
  for (int byte = 0; byte < 8; ++byte)
    length[byte] = static_cast<char>(size >> (8 * byte));
  file.write(length, 8);
  file << text;
  for (const auto &[name, entry] : entries)
    file.write(entry.bytes.data(),
               static_cast<std::streamsize>(entry.bytes.size()));
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0)
    return true;
  error = path + ": cannot be written: " + std::strerror(errno);
  std::remove(part.c_str());
  return false;
}
