#include "neon/cli/heeded_parts.h"

#include "neon/core/error.h"
#include "neon/spec/notation.h"

namespace neon {

namespace {

// Calls `act` with the path of each value that --set gives, while `now` has the run's own value, or none, in its place.
// As --set needs no classes, the paths have none.
void for_each_reverted(Setting& now, const Setting* then, const std::string& path, auto&& act) {
  for (size_t k = 0; k < now.entries.size(); ++k) {
    const Setting::Entry given = now.entries[k];
    const Setting* const before = then ? then->find(given.key) : nullptr;
    const std::string own = is_object(now) ? path : path.empty() ? given.key : text(path, ".", given.key);
    if (!given.value.where.is_option()) {
      for_each_reverted(now.entries[k].value, before, own, act);
      continue;
    }
    const auto place = now.entries.begin() + ptrdiff_t(k);
    if (before) place->value = *before;
    else now.entries.erase(place);
    act(own);
    if (before) now.entries[k] = given;
    else now.entries.insert(now.entries.begin() + ptrdiff_t(k), given);
  }
  for (size_t k = 0; k < now.items.size(); ++k) {
    const Setting* const before = then && k < then->items.size() ? &then->items[k] : nullptr;
    const std::string own = text(path, "[", k, "]");
    if (!now.items[k].where.is_option() || !before) {
      for_each_reverted(now.items[k], before, own, act);
      continue;
    }
    const Setting given = now.items[k];
    now.items[k] = *before;
    act(own);
    now.items[k] = given;
  }
}

// A spec with every default, and what the verb computes by it; both "" where the spec is wrong.
struct Computed {
  std::string spec, graph;
};
Computed computed(const Setting& spec, const std::function<Graph(const Experiment&)>& graph_of) {
  try {
    const Experiment experiment(spec);
    return {experiment.resolved({}).to_string(), graph_of(experiment).to_string()};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void check_graph_heeded(const std::string& verb, const OpenedRun& opened,
                        const std::function<Graph(const Experiment&)>& graph_of) {
  Setting mixed = opened.spec;
  std::optional<Computed> wanted;
  for_each_reverted(mixed, &opened.run.spec, "", [&](const std::string& path) {
    if (!path.starts_with("layers") && !path.starts_with("rule")) return;
    if (!wanted) wanted = computed(opened.spec, graph_of);
    const Computed without = computed(mixed, graph_of);
    if (wanted->graph.empty() || without.spec == wanted->spec || without.graph != wanted->graph) return;
    fail(ErrorKind::config, "--set ", path, " changes nothing for neon ", verb,
         "; its results are the same without this; leave it out");
  });
}

}  // namespace neon
