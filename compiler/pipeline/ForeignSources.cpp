#include "ForeignSources.h"

#include "compiler/ir/Signature.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace evt::pipeline {

namespace {

/// The path as the compiler's working directory sees it.
std::string resolve(ir::DeviceOp device) {
  StringRef source = *device.getForeignSource();
  llvm::SmallString<256> path;
  if (!llvm::sys::path::is_absolute(source))
    device.getLoc()->walk([&](Location part) {
      auto file = dyn_cast<FileLineColLoc>(part);
      if (!file)
        return WalkResult::advance();
      path = llvm::sys::path::parent_path(file.getFilename().getValue());
      return WalkResult::interrupt();
    });
  llvm::sys::path::append(path, source);
  return std::string(path);
}

/// Files that the writer of artifacts makes.
bool isTaken(StringRef name) {
  for (StringRef own :
       {"manifest.json", "program.mlir", "kernel.cpp", "kernel.cu", "kernel.so", "explain.cpp", "explain.so"})
    if (name == own)
      return true;
  return name.starts_with("kernel.") && name.ends_with(".cubin");
}

bool mentions(StringRef text, StringRef word) {
  auto isLetter = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(word); at != StringRef::npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isLetter(text[at - 1])) && (end == text.size() || !isLetter(text[end])))
      return true;
  }
  return false;
}

} // namespace

FailureOr<Texts> takeForeignSources(ir::GraphOp graph) {
  Texts texts;
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (ir::CallOp call : ir::Signature(graph).calls) {
    ir::DeviceOp device = ir::calleeOf(call);
    if (!device.isForeign() || !seen.insert(device).second)
      continue;
    std::string path = resolve(device), source = device.getForeignSource()->str();
    if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
      return device.emitOpError("cannot read foreign source '")
             << source << "' as '" << path << "': it is no regular file";
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!file)
      return device.emitOpError("cannot read foreign source '")
             << source << "' as '" << path << "': " << file.getError().message();
    StringRef text = (*file)->getBuffer();
    StringRef function = *device.getForeignFunction(), word = function.substr(function.rfind(':') + 1);
    if (!mentions(text, word))
      return device.emitOpError("foreign source '") << source << "' has no function '" << function << "'";
    std::string name = llvm::sys::path::filename(path).str();
    if (isTaken(name))
      return device.emitOpError("foreign source '")
             << source << "' cannot keep its name: '" << name << "' is a file of the artifact";
    auto other = llvm::find_if(texts, [&](const auto &t) { return t.first == name; });
    if (other != texts.end() && other->second != text)
      return device.emitOpError("foreign source '")
             << source << "' cannot keep its name: another source called '" << name << "' differs from it";
    if (other == texts.end())
      texts.emplace_back(name, text.str());
    device.setForeignSource(name);
  }
  return texts;
}

} // namespace evt::pipeline
