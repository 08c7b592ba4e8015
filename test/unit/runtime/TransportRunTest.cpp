// Whole runs over messages give the bits of runs over threads.
#include "ThreadLink.h"
#include "engine/Engine.h"
#include "layline/safetensors.h"
#include "transports/mpi/MessageTransport.h"
#include "transports/threads/ThreadTransport.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

using namespace layline;
using namespace layline::runtime;
using namespace layline::test;

namespace {

std::string readText(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A recorded plan, and a golden model to run it with.
struct Case {
  std::string plan, model;
  layline_precision precision;
};

/// All taps and outputs of two runs, the second with what the first has cached.
std::vector<GlobalValue> valuesOf(const Case &of,
                                  std::unique_ptr<Transport> transport) {
  std::string folder = LAYLINE_GOLDEN_DIR "/" + of.model + "/", error;
  auto input = safetensors::File::open(folder + "golden.safetensors", error);
  if (!input)
    throw std::runtime_error(error);
  std::vector<std::int64_t> ids = input->readI64("input_ids", error).value(),
                            positions;
  for (std::size_t i = 0; i < ids.size(); ++i)
    positions.push_back(static_cast<std::int64_t>(i));
  Engine engine("cpu", {of.precision, /*taps=*/true, /*poison=*/true},
                std::move(transport));
  std::string path = LAYLINE_PLANS_DIR "/" + of.plan + "/plan.json";
  engine.loadPlan(readText(path), path);
  // Streams are of this process's ranks.
  int stream = 0;
  for (std::int64_t rank = 0; rank < engine.plan().ranks(); ++rank) {
    bool isHere = std::count(engine.localRanks().begin(),
                             engine.localRanks().end(), rank) != 0;
    std::string refusal;
    try {
      engine.setStream(rank, engine.plan().streams.front(), &stream);
    } catch (const Error &error) {
      refusal = error.what();
    }
    if (isHere != refusal.empty() ||
        (!isHere && refusal.find("are in this process") == std::string::npos))
      throw std::logic_error("stream of rank " + std::to_string(rank) + ": " +
                             refusal);
  }
  engine.loadWeights(folder + "model.safetensors");
  std::vector<GlobalValue> values;
  std::int64_t at = 0;
  for (std::int64_t tokens : {11, 2}) {
    engine.bindInput("input_ids", &ids[static_cast<std::size_t>(at)], tokens);
    engine.bindInput("positions", &positions[static_cast<std::size_t>(at)],
                     tokens);
    engine.run(tokens);
    for (std::size_t tap = 0; tap < engine.taps().size(); ++tap)
      values.push_back(engine.readTap(tap));
    values.push_back(engine.readOutput("logits"));
    at += tokens;
  }
  for (std::size_t cache = 0; cache < engine.plan().caches.size(); ++cache)
    values.push_back(engine.readCache(static_cast<int>(cache)));
  engine.leave("");
  return values;
}

bool isSame(const GlobalValue &a, const GlobalValue &b) {
  auto sameBits = [](const auto &x, const auto &y) {
    return x.size() == y.size() &&
           (x.empty() ||
            std::memcmp(x.data(), y.data(), x.size() * sizeof x[0]) == 0);
  };
  return a.shape == b.shape && sameBits(a.floats, b.floats) &&
         sameBits(a.integers, b.integers) && a.disagreement == b.disagreement;
}

} // namespace

TEST_CASE("messages give the bits of threads", "[transport][threads]") {
  auto [plan, model, ranks] = GENERATE(table<const char *, const char *, int>(
      {{"v1.0/llama-tp4", "llama", 4},
       {"v1.0/qwen3_moe-tp3", "qwen3_moe", 3},
       {"v1.1/llama-tp2-cp2", "llama", 4},
       {"v1.1/qwen3_moe-tp3-cp2", "qwen3_moe", 6},
       {"v1.2/deepseek_v3-tp4", "deepseek_v3", 4},
       {"v1.2/deepseek_v32-tp2-cp2", "deepseek_v32", 4},
       {"v1.2/gpt_oss-tp3", "gpt_oss", 3},
       {"v1.2/olmo2-tp8", "olmo2", 8}}));
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_F64);
  CAPTURE(plan, static_cast<int>(precision));
  Case of{plan, model, precision};
  std::vector<GlobalValue> expected =
      valuesOf(of, std::make_unique<ThreadTransport>(TransportOptions()));
  ThreadLinks links(ranks);
  std::vector<std::vector<GlobalValue>> found(links.size());
  std::vector<std::string> failures(links.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < links.size(); ++rank)
    threads.emplace_back([&, rank] {
      auto at = static_cast<std::size_t>(rank);
      try {
        found[at] = valuesOf(of, std::make_unique<MessageTransport>(
                                     links[rank], TransportOptions()));
      } catch (const std::exception &error) {
        failures[at] = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failures == std::vector<std::string>(failures.size()));
  for (const std::vector<GlobalValue> &values : found) {
    REQUIRE(values.size() == expected.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(isSame(values[i], expected[i]));
  }
}
