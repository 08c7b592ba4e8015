// Views: the layout of the same local bytes under another global shape.
#ifndef LAYLINE_RUNTIME_PLAN_RESHAPE_H
#define LAYLINE_RUNTIME_PLAN_RESHAPE_H

#include "plan/Plan.h"

namespace layline::runtime {

/// Splits and merges dimensions: [T, heads * d] <-> [T, heads, d]. A split
/// dimension may only be cut below its unit or merged with whole ones behind
/// it, so that every rank's bytes stay where they are. Throws Error otherwise.
Layout reshapeLayout(const ShapeExpr &from, const Layout &layout,
                     const ShapeExpr &to);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_RESHAPE_H
