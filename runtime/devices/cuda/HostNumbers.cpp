#include "devices/cuda/HostNumbers.h"

#include "kernels/platform/Numeric.h"

#include <cstring>

namespace layline::runtime::cuda {
namespace {

/// Calls `with` with a number of the type.
template <typename With> void withType(NumberType type, const With &with) {
  switch (type) {
  case NumberType::F32:
    return with(float());
  case NumberType::BF16:
    return with(device::bf16());
  case NumberType::F16:
    return with(device::f16());
  case NumberType::E4M3:
    return with(device::e4m3());
  case NumberType::E5M2:
    return with(device::e5m2());
  }
}

} // namespace

const char *numberName(NumberType type) {
  static const char *const names[] = {"f32", "bf16", "f16", "fp8_e4m3",
                                      "fp8_e5m2"};
  return names[static_cast<std::size_t>(type)];
}

std::vector<std::byte> encode(const std::vector<float> &values,
                              NumberType type) {
  std::vector<std::byte> bytes(
      values.size() * static_cast<std::size_t>(local::numberBytes(type)));
  withType(type, [&](auto number) {
    using T = decltype(number);
    for (std::size_t i = 0; i < values.size(); ++i) {
      T encoded = device::from_float<T>(values[i]);
      std::memcpy(&bytes[i * sizeof(T)], &encoded, sizeof(T));
    }
  });
  return bytes;
}

std::vector<float> decode(const std::byte *bytes, std::int64_t count,
                          NumberType type) {
  std::vector<float> values(static_cast<std::size_t>(count));
  withType(type, [&](auto number) {
    using T = decltype(number);
    for (std::size_t i = 0; i < values.size(); ++i) {
      T encoded;
      std::memcpy(&encoded, bytes + i * sizeof(T), sizeof(T));
      values[i] = device::to_float(encoded);
    }
  });
  return values;
}

void copyIn(const Card &card, Address to, const void *from, std::size_t bytes,
            const std::string &what) {
  if (bytes == 0)
    return;
  card.use();
  check(driver().copyToDevice(to, from, bytes, nullptr), "cuMemcpyHtoDAsync",
        what);
  check(driver().streamSynchronize(nullptr), "cuStreamSynchronize", what);
}

void copyOut(const Card &card, void *to, Address from, std::size_t bytes,
             const std::string &what) {
  if (bytes == 0)
    return;
  card.use();
  check(driver().copyToHost(to, from, bytes, nullptr), "cuMemcpyDtoHAsync",
        what);
  check(driver().streamSynchronize(nullptr), "cuStreamSynchronize", what);
}

} // namespace layline::runtime::cuda
