//===- FamiliesTest.cpp - what kind of work a kernel does -----------------===//
#include "TraceTests.h"
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

using namespace layline::trace;

TEST_CASE("Names are demangled and cleaned", "[trace]") {
  CHECK(normaliseName("void f<4>(int)") == "f<4>(int)");
  CHECK(normaliseName("_Z3fooILi4EEvi") == "foo<4>(int)");
  // As Nsight Systems prints them.
  CHECK(normaliseName(
            "void <unnamed>::f<(int)4, (bool)1, (unsigned int)2>(int)") ==
        "(anonymous namespace)::f<4, 1, 2>(int)");
  CHECK(normaliseName("f(int)") == "f(int)");
  // A type that the library does not know stays readable.
  CHECK(normaliseName("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bEEvT_")
            .find("add_rmsnorm_quant_kernel") != std::string::npos);
}

TEST_CASE("Kinds of kernels", "[trace]") {
  KernelFamilies families = KernelFamilies::builtIn();
  auto familyOf = [&](const char *name) {
    return std::string(getName(families.classify(name).family));
  };
  CHECK(familyOf("Memcpy DtoD (Device -> Device)") == "memcpy_dtod");
  CHECK(familyOf(
            "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(int)") ==
        "all_reduce");
  CHECK(familyOf("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_"
                 "kernel_oneshot_lamport<0>(int)") == "all_reduce_norm");
  CHECK(familyOf("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(int)") ==
        "reduce_scatter");
  // Local permutes of rows, whatever their names say.
  CHECK(familyOf("_fwd_kernel_ep_scatter_1") == "moe_permute");
  CHECK(familyOf("_fwd_kernel_ep_gather") == "moe_permute");
  CHECK(familyOf("void deep_ep::internode::dispatch<false, 8>(int4*)") ==
        "dispatch");
  // Not a product, though it is named after two.
  CHECK(familyOf("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu") ==
        "moe_gemm");
  CHECK(familyOf("void my_company::secret_kernel<3>(float*)") == "unknown");
  CHECK(familyOf("") == "unknown");
}

TEST_CASE("Every kernel of the recordings has a kind", "[trace]") {
  KernelFamilies families = KernelFamilies::builtIn();
  for (const char *name :
       {"b200_tp8_vllm_gptoss120b_prefill888",
        "mi300x_sglang_qwen3_8b_decode32", "mi300x_vllm_gptoss20b_decode32"}) {
    DeviceTrace trace =
        readTrace(sourcePath(std::string("test/traces/") + name + ".json.gz"))
            .front();
    std::vector<KernelFamilies::Match> matches = families.classify(trace);
    for (size_t i = 0; i < matches.size(); ++i) {
      CAPTURE(trace.names[i]);
      CHECK(matches[i].family != Family::Unknown);
      CHECK(!matches[i].source.empty());
    }
  }
}

/// Lines of a CSV file behind its heading, cut at the first two commas: what is
/// behind the second is the last field.
static std::vector<std::array<std::string, 3>>
readRows(const std::string &file) {
  std::istringstream in(readSource(file));
  std::vector<std::array<std::string, 3>> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    size_t first = line.find(','), second = line.find(',', first + 1);
    rows.push_back({line.substr(0, first),
                    line.substr(first + 1, second - first - 1),
                    line.substr(second + 1)});
  }
  return rows;
}

TEST_CASE("Rows that no recording confirms say so", "[trace]") {
  KernelFamilies families = KernelFamilies::builtIn();
  std::set<std::string> confirmed;
  for (const auto &[pattern, recording, name] :
       readRows("data/kernels/recorded.csv")) {
    CAPTURE(pattern, name);
    CHECK(!recording.empty());
    CHECK(families.classify(name).pattern == pattern);
    confirmed.insert(pattern);
  }
  for (const char *name :
       {"b200_tp8_vllm_gptoss120b_prefill888",
        "mi300x_sglang_qwen3_8b_decode32", "mi300x_vllm_gptoss20b_decode32"})
    for (const KernelFamilies::Match &match :
         families.classify(readTrace(sourcePath(std::string("test/traces/") +
                                                name + ".json.gz"))
                               .front()))
      CHECK(confirmed.count(match.pattern) == 1);
  size_t unrecorded = 0;
  for (const auto &[family, pattern, source] :
       readRows("data/kernels/families.csv")) {
    CAPTURE(family, pattern, source);
    bool says = source.rfind("unrecorded: ", 0) == 0;
    CHECK(says != (confirmed.count(pattern) == 1));
    unrecorded += says;
  }
  CHECK(confirmed.size() > 80);
  CHECK(unrecorded > 0);
}

TEST_CASE("Rows of one's own come first", "[trace]") {
  KernelFamilies families = KernelFamilies::builtIn();
  families.addFront("family,pattern,source\nattention,^my_*_core$,ours\n\n"
                    "gemm,secret,ours, with a comma\n",
                    "own.csv");
  auto match = [&](const char *name) { return families.classify(name); };
  CHECK(match("my_fast_core").family == Family::Attention);
  CHECK(match("my_fast_core_2").family == Family::Unknown);
  CHECK(match("not_my_fast_core").family == Family::Unknown);
  CHECK(match("a_secret_b").family == Family::Gemm);
  CHECK(match("a_secret_b").source == "ours, with a comma");
  CHECK(match("nvjet_x").family == Family::Gemm);
}

TEST_CASE("Bad rows are named", "[trace]") {
  auto errorOf = [](const std::string &text) {
    KernelFamilies families;
    try {
      families.addFront(text, "own.csv");
    } catch (const TraceError &failed) {
      return std::string(failed.what());
    }
    return std::string();
  };
  const std::string head = "family,pattern,source\n";
  CHECK(errorOf(head).empty());
  CHECK_THAT(errorOf(""), Catch::Contains("own.csv: found nothing"));
  CHECK_THAT(errorOf("a,b\n"), Catch::Contains("own.csv: line 1") &&
                                   Catch::Contains("expected the heading"));
  CHECK_THAT(errorOf(head + "gemm,x\n"),
             Catch::Contains("own.csv: line 2") &&
                 Catch::Contains("expected family, pattern and source"));
  CHECK_THAT(errorOf(head + "gem,x,y\n"), Catch::Contains("family 'gem'"));
  CHECK_THAT(errorOf(head + "unknown,x,y\n"),
             Catch::Contains("family 'unknown'"));
  CHECK_THAT(errorOf(head + "gemm,^*$,y\n"), Catch::Contains("pattern '^*$'"));
}
