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

// All but containers.
void for_each_layer(const Chain& chain, auto&& see) {
  for (const Link& link : chain.links) {
    Container* container = link.layer->container();
    if (!container) see(*link.layer);
    else
      for (const Chain& branch : container->branches()) for_each_layer(branch, see);
  }
}

}  // namespace

int64_t Network::layer_count() const {
  int64_t count = 0;
  for_each_layer(chain_, [&](const Layer&) { ++count; });
  return count;
}

bool Network::looks_at_other_steps() const {
  bool any = false;
  for_each_layer(chain_, [&](const Layer& layer) { any = any || layer.looks_at_other_steps(); });
  return any;
}

bool Network::convolves() const {
  bool any = false;
  for_each_layer(chain_, [&](const Layer& layer) { any = any || layer.convolves(); });
  return any;
}

}  // namespace neon
