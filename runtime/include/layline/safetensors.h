// Reads safetensors files (https://github.com/huggingface/safetensors): an
// 8-byte little-endian header length, a JSON header, then the raw tensors.
//
// The file is mapped, not read: a tensor costs memory when it is looked at.
// A file is checked completely when it is opened (header within the file,
// offsets inside, in order and without holes or overlaps, sizes equal to
// shape x dtype), so the views handed out afterwards are always valid.
#ifndef LAYLINE_SAFETENSORS_H
#define LAYLINE_SAFETENSORS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace layline::safetensors {

enum class DType {
  F64,
  F32,
  F16,
  BF16,
  F8_E4M3,
  F8_E5M2,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  Bool
};

/// The name used in the file's header, e.g. "BF16".
std::string_view dtypeName(DType dtype);
std::size_t dtypeBytes(DType dtype);

/// A tensor inside an open file. `data` is dense, row-major, not necessarily
/// aligned, and lives as long as the File.
struct Tensor {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  const std::byte *data = nullptr;
  std::size_t bytes = 0;

  std::int64_t elements() const;
};

/// `count` elements of a tensor from element `begin`, converted. Floating-point
/// dtypes (F64, F32, F16, BF16) only; false for the others.
bool convert(const Tensor &tensor, std::int64_t begin, std::int64_t count,
             double *to);
bool convert(const Tensor &tensor, std::int64_t begin, std::int64_t count,
             float *to);
/// I64, I32 and U8 only.
bool convert(const Tensor &tensor, std::int64_t begin, std::int64_t count,
             std::int64_t *to);

class File {
public:
  /// Null on failure, with the reason in `error`: path, what was found, what
  /// was expected.
  static std::unique_ptr<File> open(const std::string &path,
                                    std::string &error);
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  const std::string &path() const { return path_; }
  /// By key, sorted.
  const std::map<std::string, Tensor> &tensors() const { return tensors_; }
  /// Null if there is none of that name.
  const Tensor *find(const std::string &key) const;
  /// The header's "__metadata__".
  const std::map<std::string, std::string> &metadata() const {
    return metadata_;
  }

  /// A whole tensor, converted. Empty on failure, with the reason in `error`.
  std::optional<std::vector<double>> readF64(const std::string &key,
                                             std::string &error) const;
  std::optional<std::vector<float>> readF32(const std::string &key,
                                            std::string &error) const;
  std::optional<std::vector<std::int64_t>> readI64(const std::string &key,
                                                   std::string &error) const;

private:
  File() = default;
  std::string path_;
  const std::byte *map_ = nullptr;
  std::size_t mapBytes_ = 0;
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

} // namespace layline::safetensors

#endif // LAYLINE_SAFETENSORS_H
