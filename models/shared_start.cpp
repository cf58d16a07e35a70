#include "models/shared_start.h"

#include <algorithm>

#include "layers/default_init.h"
#include "neon/core/stored_spec.h"

namespace neon {

namespace {

struct GivenInitializer {
  std::string key = "init", name = "a number", all = name;  // "Constant", "{Constant: {val: 0}}"
};

// Calls `use` with each initializer among the parameters of the layer, and its key.
void each_initializer(const Layer& layer, const std::string& kind, const auto& use) {
  std::string unknown;
  const EntryInfo* const entry = find_in_category(Layer::kCategory, kind, unknown);
  NEON_ASSERT(entry);
  for (const Field& field : entry->schema().fields) {
    if (field.type != Initializer::kCategory) continue;
    const void* const member = static_cast<const char*>(layer.params_address()) + field.offset;
    if (const auto& made = *static_cast<const Made<Initializer>*>(member)) use(field.name, made);
  }
}

GivenInitializer find_initializer(const Link& link, const Initializer* initializer) {
  GivenInitializer out;
  each_initializer(*link.layer, link.kind, [&](const std::string& key, const Made<Initializer>& made) {
    if (&*made == initializer) out = {key, made.resolved().entries.front().key, made.resolved().to_string()};
  });
  return out;
}

}  // namespace

Setting without_idle_defaults(const Layer& layer, Setting resolved) {
  if (layer.common.share.empty()) return resolved;
  Setting::Entry& made = resolved.entries.front();
  each_initializer(layer, made.key, [&](const std::string& key, const Made<Initializer>& of) {
    const auto entry = std::ranges::find(made.value.entries, key, &Setting::Entry::key);
    if (entry != made.value.entries.end() && !text_of_default(&*of).empty()) entry->value = Setting();
  });
  return resolved;
}

void check_start(const Link& link, const Link& owner, const Sharing::Unused& unused) {
  if (is_stored(link.where)) return;
  const GivenInitializer own = find_initializer(link, unused.initializer),
                         used = find_initializer(owner, unused.filler);
  if (own.all == used.all) return;
  const bool by_name = own.name != used.name;
  // A layer that leaves bias out has none.
  const std::string mend = own.key == "bias" ? "write the same bias in both layers"
                                             : text("leave ", own.key, " out, or write the same in both layers");
  fail(ErrorKind::config, "share: ", own.key, ": ", by_name ? own.name : own.all, " fills nothing here: ", unused.array,
       " is an array of ", owner.name, ", which begins it as ", by_name ? used.name : used.all, "; ", mend);
}

}  // namespace neon
