// Locations as the text that the MLIR-free analysis carries around, and the way back to MLIR's for diagnostics.
#ifndef EVT_COMPILER_ANALYSIS_EXTRACT_SOURCELOCATIONS_H
#define EVT_COMPILER_ANALYSIS_EXTRACT_SOURCELOCATIONS_H

#include "mlir/IR/Location.h"

#include <map>
#include <string>

namespace evt {

class SourceLocations {
public:
  /// "file:line:col", or `otherwise` (something like "call partial") for an operation that comes from no text.
  std::string record(mlir::Location location, const std::string &otherwise);
  /// What was recorded under that text, or `otherwise`.
  mlir::Location find(const std::string &text, mlir::Location otherwise) const;

private:
  std::map<std::string, mlir::Location> recorded;
};

} // namespace evt

#endif
