// Runs a protocol written for Relacy, which draws schedules and stale loads as
// C++11's memory model allows them, and says whether it held. PTX's .release
// and .acquire at .sys scope map to C++11's orders (Lustig et al., A Formal
// Analysis of the NVIDIA PTX Memory Consistency Model, ASPLOS 2019).
#ifndef LAYLINE_TEST_MODELS_MODEL_H
#define LAYLINE_TEST_MODELS_MODEL_H

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#endif
// Not relacy_std.hpp: its names are the standard library's own by now.
#include <relacy/relacy.hpp>
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#include <cstdio>
#include <sstream>

namespace layline::test {

/// Whether `Test` holds in all of `schedules` draws; says so if that is not
/// what is expected.
template <typename Test>
bool isAsExpected(const char *name, bool mustHold, unsigned schedules) {
  std::ostringstream found, progress;
  rl::test_params parameters;
  parameters.search_type = rl::random_scheduler_type;
  parameters.iteration_count = schedules;
  parameters.execution_depth_limit = 4000;
  parameters.output_stream = &found;
  parameters.progress_stream = &progress;
  bool holds = rl::simulate<Test>(parameters);
  std::printf("%-40s %s after %llu schedules%s\n", name,
              holds ? "holds" : rl::test_result_str(parameters.test_result),
              static_cast<unsigned long long>(parameters.stop_iteration),
              holds == mustHold ? "" : "  <- not expected");
  if (holds != mustHold && !holds)
    std::printf("%s\n", found.str().c_str());
  return holds == mustHold;
}

} // namespace layline::test

#endif // LAYLINE_TEST_MODELS_MODEL_H
