// The decoder once more, by its formulas, in double and without the compiler: what the demo's logits are compared with.
//
//   Reference reference(model, batch);
//   logits = reference.step(r, token);        // the next token of request r; appends to its cache
#ifndef EVT_TOOLS_EVT_DEMO_REFERENCE_H
#define EVT_TOOLS_EVT_DEMO_REFERENCE_H

#include "tools/evt/demo/Model.h"

#include <map>
#include <string>
#include <vector>

namespace evt::tool::demo {

class Reference {
public:
  using Vector = std::vector<double>;

  Reference(const Model &model, const Batch &batch);

  Vector step(size_t request, int32_t token);

private:
  struct Request {
    size_t position;
    std::vector<Vector> keys, values; // [layer * context + position], kvHeads x headSize each
  };

  Vector attention(const Request &request, size_t layer, const Vector &queries) const;
  void rotate(Vector &values, size_t position) const;

  size_t layers_, context_;
  std::map<std::string, Vector> weights_;
  std::vector<Request> requests_;
};

} // namespace evt::tool::demo

#endif
