#include "layline/safetensors.h"

#include "weights/HalfFloat.h"
#include "json/StrictJson.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace layline::safetensors {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<DTypeInfo, 15> kDTypes = {{{DType::F64, "F64", 8},
                                                {DType::F32, "F32", 4},
                                                {DType::F16, "F16", 2},
                                                {DType::BF16, "BF16", 2},
                                                {DType::F8_E4M3, "F8_E4M3", 1},
                                                {DType::F8_E5M2, "F8_E5M2", 1},
                                                {DType::I64, "I64", 8},
                                                {DType::I32, "I32", 4},
                                                {DType::I16, "I16", 2},
                                                {DType::I8, "I8", 1},
                                                {DType::U64, "U64", 8},
                                                {DType::U32, "U32", 4},
                                                {DType::U16, "U16", 2},
                                                {DType::U8, "U8", 1},
                                                {DType::Bool, "BOOL", 1}}};

const DTypeInfo &infoOf(DType dtype) {
  return *std::find_if(kDTypes.begin(), kDTypes.end(),
                       [&](const DTypeInfo &i) { return i.dtype == dtype; });
}

// The bound of the reference implementation (safetensors/src/tensor.rs).
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

template <typename Stored, typename To>
void convertAs(const std::byte *from, std::int64_t count, To *to) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, from + i * sizeof(Stored), sizeof(Stored));
    to[i] = static_cast<To>(value);
  }
}

template <typename To>
void convertHalf(const std::byte *from, std::int64_t count, To *to,
                 float (*widen)(std::uint16_t)) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + i * 2, 2);
    to[i] = static_cast<To>(widen(bits));
  }
}

template <typename To>
bool convertFloat(const Tensor &tensor, std::int64_t begin, std::int64_t count,
                  To *to) {
  if (begin < 0 || count < 0 || begin > tensor.elements() - count)
    return false;
  const std::byte *from =
      tensor.data + static_cast<std::size_t>(begin) * dtypeBytes(tensor.dtype);
  switch (tensor.dtype) {
  case DType::F64:
    convertAs<double>(from, count, to);
    return true;
  case DType::F32:
    convertAs<float>(from, count, to);
    return true;
  case DType::F16:
    convertHalf(from, count, to, runtime::widenF16);
    return true;
  case DType::BF16:
    convertHalf(from, count, to, runtime::widenBF16);
    return true;
  default:
    return false;
  }
}

// Header checks: each returns "" or what is wrong.

std::string readShape(const nlohmann::json &entry, Tensor &tensor) {
  auto shape = entry.find("shape");
  if (shape == entry.end() || !shape->is_array())
    return "has no array 'shape'";
  if (shape->size() > 16)
    return "has " + std::to_string(shape->size()) +
           " dimensions; at most 16 are expected";
  std::int64_t elements = 1;
  for (const nlohmann::json &dim : *shape) {
    if (!dim.is_number_integer() ||
        (dim.is_number_unsigned() &&
         dim.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) ||
        dim.get<std::int64_t>() < 0)
      return "has a dimension " + dim.dump() +
             "; a non-negative integer is expected";
    if (__builtin_mul_overflow(elements, dim.get<std::int64_t>(), &elements) ||
        elements > std::numeric_limits<std::int64_t>::max() / 16)
      return "has a shape " + shape->dump() + " whose size overflows";
    tensor.shape.push_back(dim.get<std::int64_t>());
  }
  return "";
}

std::string readEntry(const nlohmann::json &entry, const std::byte *data,
                      std::uint64_t dataBytes, Tensor &tensor,
                      std::uint64_t &begin, std::uint64_t &end) {
  if (!entry.is_object())
    return "is not an object";
  auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string())
    return "has no string 'dtype'";
  const std::string &name = dtype->get_ref<const std::string &>();
  auto known = std::find_if(kDTypes.begin(), kDTypes.end(),
                            [&](const DTypeInfo &i) { return i.name == name; });
  if (known == kDTypes.end())
    return "has the unknown dtype '" + name + "'";
  tensor.dtype = known->dtype;
  if (std::string problem = readShape(entry, tensor); !problem.empty())
    return problem;
  auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned())
    return "has no 'data_offsets' of two non-negative integers";
  begin = (*offsets)[0].get<std::uint64_t>();
  end = (*offsets)[1].get<std::uint64_t>();
  if (begin > end || end > dataBytes)
    return "has data_offsets " + offsets->dump() + "; the file has " +
           std::to_string(dataBytes) + " bytes of data";
  tensor.bytes = static_cast<std::size_t>(tensor.elements()) * known->bytes;
  if (end - begin != tensor.bytes)
    return "has " + std::to_string(end - begin) +
           " bytes; its shape and dtype need " + std::to_string(tensor.bytes);
  tensor.data = data + begin;
  return "";
}

struct Extent {
  std::uint64_t begin, end;
  std::string key;
};

// The format allows neither holes nor overlaps, so that a file has one reading.
std::string checkExtents(std::vector<Extent> &extents,
                         std::uint64_t dataBytes) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent &a, const Extent &b) {
              return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
            });
  std::uint64_t at = 0;
  for (const Extent &extent : extents) {
    if (extent.begin != at)
      return "tensor '" + extent.key + "' begins at data byte " +
             std::to_string(extent.begin) + "; " + std::to_string(at) +
             " is expected (" +
             (extent.begin < at ? "it overlaps another tensor" : "a hole") +
             ")";
    at = extent.end;
  }
  if (at != dataBytes)
    return "the tensors end at data byte " + std::to_string(at) +
           "; the file has " + std::to_string(dataBytes);
  return "";
}

} // namespace

std::string_view dtypeName(DType dtype) { return infoOf(dtype).name; }
std::size_t dtypeBytes(DType dtype) { return infoOf(dtype).bytes; }

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (std::int64_t dim : shape)
    count *= dim;
  return count;
}

bool convert(const Tensor &tensor, std::int64_t begin, std::int64_t count,
             double *to) {
  return convertFloat(tensor, begin, count, to);
}

bool convert(const Tensor &tensor, std::int64_t begin, std::int64_t count,
             float *to) {
  return convertFloat(tensor, begin, count, to);
}

bool convert(const Tensor &tensor, std::int64_t begin, std::int64_t count,
             std::int64_t *to) {
  if (begin < 0 || count < 0 || begin > tensor.elements() - count)
    return false;
  const std::byte *from =
      tensor.data + static_cast<std::size_t>(begin) * dtypeBytes(tensor.dtype);
  if (tensor.dtype == DType::I64)
    convertAs<std::int64_t>(from, count, to);
  else if (tensor.dtype == DType::I32)
    convertAs<std::int32_t>(from, count, to);
  else if (tensor.dtype == DType::U8)
    convertAs<std::uint8_t>(from, count, to);
  else
    return false;
  return true;
}

std::unique_ptr<File> File::open(const std::string &path, std::string &error) {
  std::unique_ptr<File> file(new File());
  file->path_ = path;
  auto fail = [&](const std::string &what) {
    error = "'" + path + "': " + what;
    return nullptr;
  };
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status = {};
  bool isFile = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!isFile || status.st_size < 8) {
    ::close(descriptor);
    return fail(isFile ? "has " + std::to_string(status.st_size) +
                             " bytes; a safetensors file has at least 8"
                       : "is not a regular file");
  }
  auto bytes = static_cast<std::size_t>(status.st_size);
  void *map = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int mapError = errno;
  ::close(descriptor);
  if (map == MAP_FAILED)
    return fail(std::string("cannot be mapped: ") + std::strerror(mapError));
  file->map_ = static_cast<const std::byte *>(map);
  file->mapBytes_ = bytes;

  std::uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | static_cast<std::uint8_t>(file->map_[i]);
  if (headerBytes > kMaxHeaderBytes || headerBytes > bytes - 8)
    return fail("its header says it has " + std::to_string(headerBytes) +
                " bytes; the file has " + std::to_string(bytes - 8) +
                " after the length");
  nlohmann::json header;
  std::string problem;
  if (!runtime::parseStrictJson({reinterpret_cast<const char *>(file->map_) + 8,
                                 static_cast<std::size_t>(headerBytes)},
                                header, problem))
    return fail("header: " + problem);
  if (!header.is_object())
    return fail("header is not a JSON object");

  const std::byte *data = file->map_ + 8 + headerBytes;
  std::uint64_t dataBytes = bytes - 8 - headerBytes;
  std::vector<Extent> extents;
  for (const auto &[key, entry] : header.items()) {
    if (key == "__metadata__") {
      if (!entry.is_object())
        return fail("'__metadata__' is not an object");
      for (const auto &[name, value] : entry.items()) {
        if (!value.is_string())
          return fail("'__metadata__' has a value for '" + name +
                      "' that is not a string");
        file->metadata_[name] = value.get<std::string>();
      }
      continue;
    }
    Tensor tensor;
    Extent extent = {0, 0, key};
    problem =
        readEntry(entry, data, dataBytes, tensor, extent.begin, extent.end);
    if (!problem.empty())
      return fail("tensor '" + key + "' " + problem);
    extents.push_back(std::move(extent));
    file->tensors_.emplace(key, std::move(tensor));
  }
  if (problem = checkExtents(extents, dataBytes); !problem.empty())
    return fail(problem);
  return file;
}

File::~File() {
  if (map_)
    ::munmap(const_cast<std::byte *>(map_), mapBytes_);
}

const Tensor *File::find(const std::string &key) const {
  auto found = tensors_.find(key);
  return found == tensors_.end() ? nullptr : &found->second;
}

namespace {

template <typename To>
std::optional<std::vector<To>>
readWhole(const File &file, const std::string &key, const char *expected,
          std::string &error) {
  const Tensor *tensor = file.find(key);
  if (!tensor) {
    error = "'" + file.path() + "': has no tensor '" + key + "'";
    return std::nullopt;
  }
  std::vector<To> values(static_cast<std::size_t>(tensor->elements()));
  if (!convert(*tensor, 0, tensor->elements(), values.data())) {
    error = "'" + file.path() + "': tensor '" + key + "' has the dtype " +
            std::string(dtypeName(tensor->dtype)) + "; " + expected +
            " is expected";
    return std::nullopt;
  }
  return values;
}

} // namespace

std::optional<std::vector<double>> File::readF64(const std::string &key,
                                                 std::string &error) const {
  return readWhole<double>(*this, key, "F64, F32, F16 or BF16", error);
}

std::optional<std::vector<float>> File::readF32(const std::string &key,
                                                std::string &error) const {
  return readWhole<float>(*this, key, "F64, F32, F16 or BF16", error);
}

std::optional<std::vector<std::int64_t>>
File::readI64(const std::string &key, std::string &error) const {
  return readWhole<std::int64_t>(*this, key, "I64, I32 or U8", error);
}

} // namespace layline::safetensors
