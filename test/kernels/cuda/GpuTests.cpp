#include "GpuTests.h"

#include "devices/cuda/KernelImages.h"
#include "plan/Error.h"

#include <charconv>
#include <ostream>

namespace layline::test {

using namespace layline::runtime;
using namespace layline::runtime::cuda;

namespace {

constexpr const char *kGolden = "golden";
constexpr const char *kUsage =
    "usage: layline-gpu-tests [OPTIONS]\n"
    "\n"
    "Runs the kernels that are compiled for cards on this machine's GPUs, "
    "family\n"
    "by family, and the golden models through the device: on one card, all "
    "ranks\n"
    "of a group in one launch, on two, four and all.\n"
    "\n"
    "  --filter TEXT      only families and kernels whose name has TEXT in "
    "it;\n"
    "                     'golden' are the models\n"
    "  --quick            a few cells of each kernel\n"
    "  --cards N          at most N cards (8)\n"
    "  --timeout SECONDS  that a kernel waits for another rank (10)\n"
    "  --list             what there is, and run nothing\n"
    "  --help             this text\n"
    "\n"
    "Ends with 0; with 1 if anything failed; 2, of a wrong command line; 77,\n"
    "where there is no GPU.\n";

/// From 1 on; 0 if it is none.
int number(const std::string &text) {
  int value = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end && value > 0 ? value : 0;
}

/// The first card, and that the build has kernels for it.
std::string describeMachine() {
  driver();
  CardSet first(1);
  first[0].kernel("layline_elementwise");
  const int count = countCards();
  return concat("on ", count, count == 1 ? " card, " : " cards, the first ",
                first[0].name(), ", kernels of ", kernelImagesReason());
}

} // namespace

bool parseGpuTests(const std::vector<std::string> &arguments,
                   GpuTestsArguments &parsed, std::string &error) {
  parsed.matrix.scope.cards = 8;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string &option = arguments[i];
    if (option == "--help" || option == "-h") {
      parsed.wantsHelp = true;
      continue;
    }
    if (option == "--list") {
      parsed.wantsList = true;
      continue;
    }
    if (option == "--quick") {
      parsed.matrix.scope.isSmall = true;
      continue;
    }
    if (option != "--filter" && option != "--cards" && option != "--timeout") {
      error = option + ": no such option; --help lists them";
      return false;
    }
    if (i + 1 == arguments.size() || arguments[i + 1].empty()) {
      error = option + ": found nothing behind it, expected " +
              (option == "--filter" ? "a part of a name" : "a number");
      return false;
    }
    const std::string &value = arguments[++i];
    if (option == "--filter") {
      parsed.matrix.filter = value;
      continue;
    }
    const int count = number(value);
    if (count == 0) {
      error =
          option + ": found '" + value + "', expected a whole number from 1 on";
      return false;
    }
    if (option == "--cards")
      parsed.matrix.scope.cards = count;
    else
      parsed.matrix.scope.waitNanoseconds =
          std::uint64_t(1000000000) * static_cast<unsigned>(count);
  }
  return true;
}

int runGpuTests(const std::vector<std::string> &arguments, const GpuTestsOn &on,
                std::ostream &out, std::ostream &error) {
  GpuTestsArguments parsed;
  std::string message;
  if (!parseGpuTests(arguments, parsed, message)) {
    error << "gpu-test: " << message << std::endl;
    return 2;
  }
  if (parsed.wantsHelp) {
    out << kUsage << std::flush;
    return 0;
  }
  MatrixOptions &matrix = parsed.matrix;
  matrix.scope.isEmulated = on.isEmulated;
  const bool hasGolden =
      std::string(kGolden).find(matrix.filter) != std::string::npos;
  bool hasCells = false;
  for (const MatrixFamily &family : families())
    hasCells |= hasFamily(matrix, family);
  if (!hasCells && !hasGolden) {
    error << "gpu-test: --filter: found '" << matrix.filter
          << "', expected a part of a family's or a kernel's name; --list has "
             "them"
          << std::endl;
    return 2;
  }
  if (parsed.wantsList) {
    listMatrix(matrix, out);
    if (hasGolden)
      out << kGolden << ": frozen plans against Hugging Face\n" << std::flush;
    return 0;
  }
  try {
    out << describeMachine() << std::endl;
  } catch (const Error &failure) {
    error << "gpu-test: nothing was tested: " << failure.what() << std::endl;
    return 77;
  }
  bool isGood = true;
  try {
    if (hasCells)
      isGood = runMatrix(matrix, out, on.watch).failed == 0;
    if (hasGolden && on.runGolden)
      isGood &= on.runGolden() == 0;
  } catch (const Error &failure) {
    error << "gpu-test: " << failure.what() << std::endl;
    return 1;
  }
  return isGood ? 0 : 1;
}

} // namespace layline::test
