#include "ProductForms.h"

#include "FragmentCode.h"
#include "StreamCode.h"
#include "TiledCode.h"

#include "compiler/roles/SplitRoles.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace evt::emit {

namespace {

constexpr const char *hangsOnData = "its grid or its events depend on data";

/// Whether what follows the product has a form on fragments.
bool hasFragmentForm(ir::DeviceOp device, const roles::StreamedProduct &product, std::string &why) {
  CodeWriter scratch;
  std::vector<std::string> names(device.getBody().getNumArguments(), "x");
  FragmentCode end(device, names, scratch), keep(device, names, scratch);
  setProduct(end, device, product);
  setProduct(keep, device, product);
  return end.emit(why) && keep.emitKeep(why);
}

} // namespace

bool readsTables(ir::CallOp call) {
  return call.getProtocol().walk([](ir::ReadOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

std::string Unsplit::text() const {
  return "it does not stream: " + whyNotStreamed +
         (whyNotTiled.empty() || whyNotTiled == whyNotStreamed ? "" : "; it is no product of tiles: " + whyNotTiled);
}

ProductForms::ProductForms(const ir::Signature &signature) : calls(signature.calls.size()) {
  match(signature);
  pack(signature);
}

void ProductForms::match(const ir::Signature &s) {
  for (auto [k, form] : llvm::enumerate(calls)) {
    ir::CallOp call = s.calls[k];
    ir::DeviceOp device = ir::calleeOf(call);
    if (!ir::hasRoles(device))
      continue;
    if (call.isRagged() || readsTables(call)) {
      form.whyNotStreamed = form.whyNotTiled = hangsOnData;
      continue;
    }
    auto streamed = roles::matchStreamedProduct(device, form.whyNotStreamed);
    if (streamed && hasFragmentForm(device, *streamed, form.whyNotStreamed)) {
      form.streamed = streamed;
      continue;
    }
    auto tiled = roles::matchTiledProduct(device, form.whyNotTiled);
    if (tiled && hasStackForm(device, *tiled, form.aligned, form.whyNotTiled))
      form.tiled = tiled;
  }
}

/// A packed tensor must be read as weights wherever it is read. A product of tiles reads all its weights from packed
/// tensors or none, and is no reason to pack one.
void ProductForms::pack(const ir::Signature &s) {
  auto isWeight = [&](unsigned k, unsigned argument) {
    ir::CallOp call = s.calls[k];
    const Call &form = calls[k];
    if (!form.streamed && !(form.tiled && form.tiled->mayBePacked))
      return false;
    const roles::RoleProduct &product =
        form.streamed ? static_cast<const roles::RoleProduct &>(*form.streamed) : *form.tiled;
    BlockArgument memory = ir::calleeOf(call).getBody().getArgument(argument);
    return llvm::all_of(memory.getUsers(), [&](Operation *user) {
      return llvm::any_of(product.weights, [&](const roles::RoleProduct::Operand &w) { return w.load == user; });
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    llvm::SmallDenseSet<Value> unpackable, streamed;
    for (unsigned k = 0; k < calls.size(); ++k) {
      ir::CallOp call = s.calls[k];
      for (auto [i, a] : llvm::enumerate(call.getArgs())) {
        if (!isa<MemRefType>(a.getType()))
          continue;
        if (!isWeight(k, i))
          unpackable.insert(a);
        else if (calls[k].streamed)
          streamed.insert(a);
      }
    }
    for (unsigned k = 0; k < calls.size(); ++k) {
      if (!calls[k].tiled)
        continue;
      ir::CallOp call = s.calls[k];
      SmallVector<Value> weights;
      for (const roles::RoleProduct::Operand &weight : calls[k].tiled->weights)
        weights.push_back(call.getArgs()[*weight.argument()]);
      calls[k].tiled->isPacked =
          llvm::all_of(weights, [&](Value w) { return streamed.contains(w) && !unpackable.contains(w); });
      if (!calls[k].tiled->isPacked)
        unpackable.insert(weights.begin(), weights.end());
    }
    packed.clear();
    for (unsigned k = 0; k < calls.size(); ++k) {
      ir::CallOp call = s.calls[k];
      SmallVector<Value> weights;
      if (calls[k].streamed)
        for (const roles::RoleProduct::Operand &weight : calls[k].streamed->weights)
          weights.push_back(call.getArgs()[*weight.argument()]);
      if (llvm::any_of(weights, [&](Value w) { return unpackable.contains(w); })) {
        calls[k].streamed.reset();
        calls[k].whyNotStreamed = "its weights are read in another way too";
        changed = true;
        continue;
      }
      for (Value w : weights)
        if (unsigned argument = cast<BlockArgument>(w).getArgNumber(); !llvm::is_contained(packed, argument))
          packed.push_back(argument);
    }
  }
  llvm::sort(packed);
}

namespace {

/// A device function, the calls that have it, and its copy that is split; no copy, and why, if it cannot be.
struct Splitting {
  SmallVector<unsigned> calls;
  ir::DeviceOp copy;
  std::string why;
};

/// The name with something behind it, and a number if there are such.
std::string freeName(ModuleOp module, StringRef name, StringRef suffix) {
  std::string free = (name + suffix).str();
  for (unsigned n = 2; SymbolTable::lookupSymbolIn(module, free); ++n)
    free = (name + suffix).str() + std::to_string(n);
  return free;
}

void rename(ir::DeviceOp device, StringRef name) {
  [[maybe_unused]] LogicalResult renamed = SymbolTable::replaceAllSymbolUses(
      device, StringAttr::get(device.getContext(), name), device->getParentOfType<ModuleOp>());
  assert(succeeded(renamed) && "a module knows all uses of its symbols");
  device.setSymName(name);
}

void split(ir::DeviceOp device, const ir::Signature &s, Splitting &splitting) {
  auto copy = cast<ir::DeviceOp>(device->clone());
  auto isImmutable = [&](unsigned argument) {
    return llvm::all_of(splitting.calls, [&](unsigned k) {
      ir::CallOp call = s.calls[k];
      return s.isImmutable(call.getArgs()[argument]);
    });
  };
  if (!roles::splitRoles(copy, isImmutable, splitting.why)) {
    copy->destroy();
    return;
  }
  copy.setSymName(freeName(device->getParentOfType<ModuleOp>(), device.getSymName(), "_in_roles"));
  device->getBlock()->getOperations().insertAfter(device->getIterator(), copy);
  splitting.copy = copy;
  for (unsigned k : splitting.calls)
    ir::CallOp(s.calls[k]).setCallee(copy.getSymName());
}

} // namespace

LogicalResult splitProducts(ir::GraphOp graph, std::vector<Unsplit> &unsplit) {
  const ir::Signature s(graph);
  unsplit.assign(s.calls.size(), {});
  llvm::MapVector<Operation *, Splitting> splittings;
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    if (call.isRagged() || readsTables(call))
      unsplit[k] = {hangsOnData, hangsOnData};
    else if (ir::DeviceOp device = ir::calleeOf(call); !ir::hasRoles(device))
      splittings[device].calls.push_back(k);
  }
  for (auto &[device, splitting] : splittings)
    split(cast<ir::DeviceOp>(device), s, splitting);
  const ProductForms forms(s);
  for (auto &[op, splitting] : splittings) {
    auto device = cast<ir::DeviceOp>(op);
    SmallVector<unsigned> whole;
    for (unsigned k : splitting.calls)
      if (!forms.calls[k].has()) {
        whole.push_back(k);
        ir::CallOp(s.calls[k]).setCallee(device.getSymName());
        unsplit[k] = splitting.copy ? Unsplit{forms.calls[k].whyNotStreamed, forms.calls[k].whyNotTiled}
                                    : Unsplit{splitting.why, splitting.why};
      }
    if (!splitting.copy)
      continue;
    if (whole.size() == splitting.calls.size()) {
      splitting.copy.erase();
    } else if (whole.empty()) { // then it has the name; other graphs may still need the function as it was
      auto module = device->getParentOfType<ModuleOp>();
      std::string name = device.getSymName().str();
      if (SymbolTable::symbolKnownUseEmpty(device, module))
        device.erase();
      else
        rename(device, freeName(module, name, "_whole"));
      rename(splitting.copy, name);
    }
  }
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    ir::DeviceOp device = ir::calleeOf(call);
    if (!ir::hasRoles(device) || forms.calls[k].has())
      continue;
    // At its place rather than as its own error, with which a long function would be printed.
    return emitError(device.getLoc()) << "'" << device.getSymName() << "' has roles that no form on a GPU has: "
                                      << Unsplit{forms.calls[k].whyNotStreamed, forms.calls[k].whyNotTiled}.text();
  }
  return success();
}

} // namespace evt::emit
