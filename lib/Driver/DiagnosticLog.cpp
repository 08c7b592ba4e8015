//===- DiagnosticLog.cpp - diagnostics as lines of text -------------------===//
#include "DiagnosticLog.h"
#include "dialects/Grid/Grid.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace layline;

void DiagnosticLog::print(Diagnostic &diag, StringRef severity) {
  llvm::raw_string_ostream os(text);
  Location loc = diag.getLocation();
  if (auto line = loc->findInstanceOf<FileLineColLoc>())
    os << llvm::sys::path::filename(line.getFilename().getValue()) << ":"
       << line.getLine() << ":" << line.getColumn();
  else
    os << file;
  if (StringAttr place = grid::getPlace(loc))
    os << ": " << place.getValue();
  os << ": " << severity << ": " << diag.str() << "\n";
}

DiagnosticLog::DiagnosticLog(MLIRContext &context, std::string file,
                             std::string &text)
    : context(context), file(std::move(file)), text(text) {
  id = context.getDiagEngine().registerHandler([this](Diagnostic &diag) {
    print(diag, diag.getSeverity() == DiagnosticSeverity::Error     ? "error"
                : diag.getSeverity() == DiagnosticSeverity::Warning ? "warning"
                                                                    : "note");
    for (Diagnostic &note : diag.getNotes())
      // The whole op, with its types: no news to a person who compiles a model.
      if (!StringRef(note.str()).starts_with("see current operation"))
        print(note, "note");
    return success();
  });
}

DiagnosticLog::~DiagnosticLog() { context.getDiagEngine().eraseHandler(id); }
