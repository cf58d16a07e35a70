#include "models/network.h"

namespace neon {

Network::Network(const Setting& layers, Problems& problems) {
  if (!layers.is_list() || layers.items.empty()) {
    problems.add(layers, text("'layers' is a list of at least one layer, found ", layers.describe()));
    return;
  }
  const size_t before = problems.lines().size();
  Value_of<Chain>::read(layers, chain_, {}, problems);
  if (problems.lines().size() == before) name_layers(chain_, problems);
}

namespace {

int64_t count(const Chain& chain) {
  int64_t out = 0;
  for (const Link& link : chain.links) {
    Container* container = link.layer->container();
    if (!container) ++out;
    else
      for (const Chain& branch : container->branches()) out += count(branch);
  }
  return out;
}

}  // namespace

int64_t Network::layer_count() const { return count(chain_); }

}  // namespace neon
