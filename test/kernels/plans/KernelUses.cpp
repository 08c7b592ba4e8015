#include "KernelUses.h"

#include "layline/simt.h"

namespace layline::test {

const char *simt(const std::string &options) {
  char *error = nullptr;
  layline_status status = layline_simt_enable(options.c_str(), &error);
  std::string text = error ? error : "";
  layline_string_free(error);
  if (status != LAYLINE_OK)
    throw Failure(status, text);
  return "simt";
}

static Json uses(TestEngine &engine) {
  const char *json = nullptr;
  engine.check(layline_run_kernels(engine.get(), &json));
  return Json::parse(json);
}

std::map<std::string, std::int64_t> kernelUses(TestEngine &engine) {
  std::map<std::string, std::int64_t> result;
  for (const Json &use : uses(engine))
    if (std::string kernel = use["kernel"]; !kernel.empty())
      result[kernel] += use["steps"].get<std::int64_t>();
  return result;
}

std::map<std::string, std::int64_t> withoutKernel(TestEngine &engine) {
  std::map<std::string, std::int64_t> result;
  for (const Json &use : uses(engine))
    if (std::string reason = use["reason"]; !reason.empty())
      result[use["step"].get<std::string>() + ": " + reason] +=
          use["steps"].get<std::int64_t>();
  return result;
}

} // namespace layline::test
