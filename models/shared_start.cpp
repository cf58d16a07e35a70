#include "models/shared_start.h"

namespace neon {

namespace {

struct GivenInitializer {
  std::string key = "init", name = "a number", all = name;  // "Constant", "{Constant: {val: 0}}"
};

// The parameter of the layer that is this initializer.
GivenInitializer find_initializer(const Link& link, const Initializer* initializer) {
  std::string unknown;
  const EntryInfo* const entry = find_in_category(Layer::kCategory, link.kind, unknown);
  NEON_ASSERT(entry);
  for (const Field& field : entry->schema().fields) {
    if (field.type != Initializer::kCategory) continue;
    const void* const member = static_cast<const char*>(link.layer->params_address()) + field.offset;
    const auto& made = *static_cast<const Made<Initializer>*>(member);
    if (!made || &*made != initializer) continue;
    return {field.name, made.resolved().entries.front().key, made.resolved().to_string()};
  }
  return {};
}

}  // namespace

void check_start(const Link& link, const Link& owner, const Sharing::Unused& unused) {
  const GivenInitializer own = find_initializer(link, unused.initializer),
                         used = find_initializer(owner, unused.filler);
  if (own.all == used.all) return;
  const bool by_name = own.name != used.name;
  fail(ErrorKind::config, "share: ", own.key, ": ", by_name ? own.name : own.all, " fills nothing here: ", unused.array,
       " is an array of ", owner.name, ", which begins it as ", by_name ? used.name : used.all, "; leave ", own.key,
       " out, or write the same in both layers");
}

}  // namespace neon
