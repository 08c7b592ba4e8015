//===- NvtxOperators.cpp - PyTorch's operators in NVTX ranges -------------===//
#include "NvtxOperators.h"
#include <charconv>

using namespace layline::trace;

/// "[[888, 2880], [], ..]"; dimensions of lists of tensors lie deeper.
static std::vector<std::vector<int64_t>> parseSizes(std::string_view text) {
  std::vector<std::vector<int64_t>> dims;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' && ++depth == 2) {
      dims.emplace_back();
    } else if (text[i] == ']' && --depth == 0) {
      break;
    } else if (depth == 2 && text[i] >= '0' && text[i] <= '9') {
      int64_t size = 0;
      const char *end =
          std::from_chars(text.data() + i, text.data() + text.size(), size).ptr;
      dims.back().push_back(size);
      i = end - text.data() - 1;
    }
  }
  return dims;
}

bool NvtxOperators::add(int64_t thread, int64_t start, int64_t end,
                        std::string_view text) {
  size_t sizes = text.find(", sizes = [");
  if (sizes == std::string_view::npos)
    return false;
  HostOperator op;
  op.name = text.substr(0, text.find(','));
  std::string_view list = text.substr(text.find('[', sizes));
  op.dims = parseSizes(list);
  builder.linkOperator(numOperators,
                       builder.addOperator(op.name + std::string(list), op));
  threads[thread].ranges.push_back({start, end, numOperators++});
  return true;
}

int64_t NvtxOperators::find(int64_t thread, int64_t time) {
  auto found = threads.find(thread);
  if (found == threads.end())
    return -1;
  Thread &own = found->second;
  for (; own.next < own.ranges.size() && own.ranges[own.next].start <= time;
       ++own.next) {
    while (!own.open.empty() &&
           own.open.back().end < own.ranges[own.next].start)
      own.open.pop_back();
    own.open.push_back(own.ranges[own.next]);
  }
  while (!own.open.empty() && own.open.back().end < time)
    own.open.pop_back();
  return own.open.empty() ? -1 : own.open.back().number;
}
