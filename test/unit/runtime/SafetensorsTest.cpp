#include "layline/safetensors.h"
#include "weights/HalfFloat.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace layline;
using Catch::Matchers::Contains;

namespace {

/// A file that goes with the test.
class Temporary {
public:
  Temporary()
      : path_((std::filesystem::temp_directory_path() /
               ("layline-safetensors-" + std::to_string(::getpid())))
                  .string()) {}
  ~Temporary() { std::filesystem::remove(path_); }
  const std::string &write(const std::string &bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return path_;
  }

private:
  std::string path_;
};

std::string file(const std::string &header, const std::string &data,
                 std::uint64_t headerBytes = ~0ULL) {
  if (headerBytes == ~0ULL)
    headerBytes = header.size();
  std::string text;
  for (int i = 0; i < 8; ++i)
    text.push_back(static_cast<char>(headerBytes >> (8 * i) & 0xff));
  return text + header + data;
}

std::string openError(const std::string &bytes) {
  Temporary temporary;
  std::string error;
  auto opened = safetensors::File::open(temporary.write(bytes), error);
  CHECK((opened == nullptr) == !error.empty());
  return error;
}

const char *kTwo = R"({"__metadata__":{"format":"pt"},)"
                   R"("b":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},)"
                   R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})";

} // namespace

TEST_CASE("tensors and metadata of a file", "[safetensors]") {
  Temporary temporary;
  float values[] = {1.5F, -2.0F};
  std::int64_t id = 1LL << 40;
  std::string data(16, '\0');
  std::memcpy(data.data(), values, 8);
  std::memcpy(data.data() + 8, &id, 8);
  std::string error;
  auto opened =
      safetensors::File::open(temporary.write(file(kTwo, data)), error);
  REQUIRE(opened);
  CHECK(opened->metadata().at("format") == "pt");
  CHECK(opened->tensors().size() == 2);
  CHECK(opened->find("a")->shape == std::vector<std::int64_t>{2, 1});
  CHECK(opened->readF64("a", error).value() == std::vector<double>{1.5, -2.0});
  CHECK(opened->readI64("b", error).value() == std::vector<std::int64_t>{id});
  CHECK_FALSE(opened->readF64("b", error));
  CHECK_THAT(
      error,
      Contains(
          "tensor 'b' has the dtype I64; F64, F32, F16 or BF16 is expected"));
  CHECK_FALSE(opened->readF64("c", error));
  CHECK_THAT(error, Contains("has no tensor 'c'"));
  double one = 0;
  CHECK_FALSE(safetensors::convert(*opened->find("a"), 2, 1, &one));
  CHECK_FALSE(safetensors::convert(*opened->find("a"), -1, 1, &one));
}

TEST_CASE("a damaged file is refused and never crashes", "[safetensors]") {
  std::string data(16, '\1');
  CHECK(openError(file(kTwo, data)) == "");
  std::string whole = file(kTwo, data);
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK(openError(whole.substr(0, length)) != "");
  for (std::size_t at = 0; at < whole.size() - 16; ++at)
    for (char byte : {'\0', '9', '"', '}', '\xff'}) {
      std::string changed = whole;
      changed[at] = byte;
      openError(changed); // either way; without a crash
    }
  CHECK_THAT(openError(file(kTwo, data, 1ULL << 60)),
             Contains("its header says it has"));
  CHECK_THAT(openError(file(kTwo, data, ~0ULL - 1)),
             Contains("its header says it has"));
  CHECK_THAT(openError(file("[]", "")), Contains("not a JSON object"));
  CHECK_THAT(
      openError(file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                     R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                     std::string(8, '\0'))),
      Contains("key 'a' stands twice"));
  auto one = [](const std::string &entry, std::size_t bytes) {
    return openError(file("{\"a\":" + entry + "}", std::string(bytes, '\0')));
  };
  CHECK_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,12]})", 8),
             Contains("the file has 8 bytes of data"));
  CHECK_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", 8),
             Contains("has 8 bytes; its shape and dtype need 12"));
  CHECK_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", 8),
             Contains("data_offsets"));
  CHECK_THAT(one(R"({"dtype":"F31","shape":[2],"data_offsets":[0,8]})", 8),
             Contains("unknown dtype 'F31'"));
  CHECK_THAT(one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", 8),
             Contains("non-negative integer"));
  CHECK_THAT(
      one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})",
          8),
      Contains("overflows"));
  CHECK_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 16),
             Contains("the tensors end at data byte 8; the file has 16"));
  CHECK_THAT(openError(file(
                 R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                 R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                 std::string(12, '\0'))),
             Contains("overlaps another tensor"));
  CHECK_THAT(openError(file(
                 R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                 R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                 std::string(12, '\0'))),
             Contains("a hole"));
}

TEST_CASE("16-bit floats widen exactly", "[safetensors]") {
  CHECK(runtime::widenBF16(0x3fc0) == 1.5F);
  CHECK(runtime::widenBF16(0xff80) == -INFINITY);
  CHECK(runtime::widenF16(0x3e00) == 1.5F);
  CHECK(runtime::widenF16(0xc000) == -2.0F);
  CHECK(runtime::widenF16(0x7bff) == 65504.0F);
  CHECK(runtime::widenF16(0x0001) == 0x1p-24F);
  CHECK(runtime::widenF16(0x03ff) == 1023 * 0x1p-24F);
  CHECK(runtime::widenF16(0x0400) == 0x1p-14F);
  CHECK(runtime::widenF16(0xfc00) == -INFINITY);
  CHECK(std::isnan(runtime::widenF16(0x7e00)));
  CHECK(std::signbit(runtime::widenF16(0x8000)));
}
