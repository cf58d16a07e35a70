#include "backends/graph/op.h"

#include <map>
#include <memory>

namespace neon {

namespace {

std::map<std::string, std::unique_ptr<Op>, std::less<>>& table() {
  static std::map<std::string, std::unique_ptr<Op>, std::less<>> ops;
  return ops;
}

// With the rows.
const auto& whole_table() {
  static const auto& whole = (add_elementwise_ops(), table());
  return whole;
}

}  // namespace

const Op* find_op(std::string_view name) {
  const auto found = whole_table().find(name);
  return found == whole_table().end() ? nullptr : found->second.get();
}

std::vector<const Op*> all_ops() {
  std::vector<const Op*> out;
  for (const auto& [name, op] : whole_table()) out.push_back(op.get());
  return out;
}

void add_op(Op op) {
  NEON_ASSERT(op.infer);
  const auto [place, fresh] = table().try_emplace(std::string(op.name));
  if (!fresh) fail(ErrorKind::failed, "two ops are named '", op.name, "'");
  op.name = place->first;
  place->second = std::make_unique<Op>(op);
}

}  // namespace neon
