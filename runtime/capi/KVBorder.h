// The border between C and KV plans.
#ifndef LAYLINE_RUNTIME_CAPI_KVBORDER_H
#define LAYLINE_RUNTIME_CAPI_KVBORDER_H

#include "capi/Guard.h"
#include "kv/Binding.h"
#include "kv/CheckMemory.h"
#include "kv/Packing.h"
#include "layline/kv.h"

#include <memory>
#include <string>

struct layline_kv_plan {
  explicit layline_kv_plan(layline::kv::Plan read) : plan(std::move(read)) {}
  layline::kv::Plan plan;
};

struct layline_kv_binding {
  std::shared_ptr<const layline::kv::Binding> binding;
};

struct layline_kv_packing {
  std::shared_ptr<const layline::kv::Binding> binding; ///< that `packed` reads
  layline::kv::PackedBinding packed;
};

namespace layline::kv {

/// The text of the last failure of this thread.
std::string &getErrorText();

template <typename Body> layline_status guardedKV(const Body &body) noexcept {
  return runtime::guarded(getErrorText(), body);
}

const Side &getSide(const layline_kv_plan *plan, int32_t side);
Request readRequest(const layline_kv_request *request);
layline_kv_packing_place toC(Packing packing);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_CAPI_KVBORDER_H
