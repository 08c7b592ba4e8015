// A value put together from the parts of ranks in other processes.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_ASSEMBLE_H
#define LAYLINE_RUNTIME_TRANSPORTS_ASSEMBLE_H

#include "engine/GlobalValue.h"
#include "transports/Transport.h"

namespace layline::runtime {

/// assemble() of engine/GlobalValue.h over processes: all of them call it for
/// the same value, which `what` names, and get the same result. `data(i)` is
/// the part of the i-th local rank. Ranks compare hashes first: of those whose
/// parts must be equal and are, one sends its part; one that differs sends its
/// own too, so that the first difference can be named. Throws Error, also if
/// another process reads another value.
template <typename Element>
GlobalValue
assembleAcross(const Plan &plan, const ShapeExpr &shape, const Layout &layout,
               std::int64_t tokens, std::int64_t past, Transport &transport,
               const std::string &what, const LocalData<Element> &data);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_ASSEMBLE_H
