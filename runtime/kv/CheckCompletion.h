// That readiness, lifetimes, slots and digests of a plan are those that its
// transfers need. Without exceptions: the reader refuses what this finds, the
// compiler's proof refutes it.
#ifndef LAYLINE_RUNTIME_KV_CHECKCOMPLETION_H
#define LAYLINE_RUNTIME_KV_CHECKCOMPLETION_H

#include "kv/Plan.h"

#include <string>

namespace layline::kv {

/// Empty, or a path into kv.json, what is found there, what goes wrong with it
/// and what is expected. Of a plan whose sides, transfers and responders are
/// sound.
std::string findCompletionFault(const Plan &plan);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_CHECKCOMPLETION_H
