//===- EmbeddedFamilies.h - data/kernels/families.csv -----------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_EMBEDDEDFAMILIES_H
#define LAYLINE_LIB_TRACE_EMBEDDEDFAMILIES_H

// The namespace is that of runtime/EmbedText.cmake, which writes it.
namespace layline::runtime {

extern const char kKernelFamilies[];

} // namespace layline::runtime

#endif // LAYLINE_LIB_TRACE_EMBEDDEDFAMILIES_H
