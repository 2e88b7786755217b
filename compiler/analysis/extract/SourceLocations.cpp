#include "SourceLocations.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace evt {

std::string SourceLocations::record(Location location, const std::string &otherwise) {
  std::string text = otherwise;
  location->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
    return WalkResult::interrupt();
  });
  recorded.try_emplace(text, location);
  return text;
}

Location SourceLocations::find(const std::string &text, Location otherwise) const {
  auto found = recorded.find(text);
  return found == recorded.end() ? otherwise : found->second;
}

} // namespace evt
