//===- DiagnosticLog.h - diagnostics as lines of text -----------*- C++ -*-===//
#ifndef LAYLINE_LIB_DRIVER_DIAGNOSTICLOG_H
#define LAYLINE_LIB_DRIVER_DIAGNOSTICLOG_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace layline {

/// Appends the diagnostics of a context to a text while it lives: file, line or
/// place in the model, severity, message.
class DiagnosticLog {
public:
  /// `file` is named where a location has none.
  DiagnosticLog(mlir::MLIRContext &context, std::string file,
                std::string &text);
  ~DiagnosticLog();

private:
  void print(mlir::Diagnostic &diag, llvm::StringRef severity);

  mlir::MLIRContext &context;
  std::string file;
  std::string &text;
  mlir::DiagnosticEngine::HandlerID id;
};

} // namespace layline

#endif // LAYLINE_LIB_DRIVER_DIAGNOSTICLOG_H
