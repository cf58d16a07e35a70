#include "models/network.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "models/seq2seq.h"

namespace neon {

Network::Network(const Setting& layers, Problems& problems, const std::string& prefix, const WantedLayers& wanted) {
  if (!layers.is_list() || layers.items.empty()) {
    problems.add(layers, text("'layers' is a list of at least one layer, found ", layers.describe()));
    return;
  }
  const size_t before = problems.lines().size();
  Value_of<Chain>::read(layers, chain_, {}, problems);
  if (problems.lines().size() == before) name_layers(chain_, problems, prefix, wanted);
}

namespace {

// All but containers.
void for_each_layer(const Chain& chain, auto&& see) {
  for (const Link& link : chain.links) {
    Container* container = link.layer->container();
    if (!container) see(link);
    else
      for (const Chain& branch : container->branches()) for_each_layer(branch, see);
  }
}

// Layers that make each number of their output from one of the input: what stands before them gives the outputs, too.
bool is_by_output(const Link& link) {
  constexpr std::string_view kKinds[] = {"Activation", "BatchNorm", "BatchNormAutodiff", "Bias", "ShiftBatchNorm"};
  return std::ranges::count(kKinds, std::string_view(link.kind)) > 0;
}

void add_last(const Chain& chain, const std::set<std::string>& owners, std::vector<std::string>& out) {
  const size_t before = out.size();
  for (const Link& link : chain.links | std::views::reverse) {
    Container* const container = link.layer->container();
    if (!container && owners.contains(link.name)) out.push_back(link.name);
    if (container && container->seq2seq()) add_last(container->seq2seq()->decoder(), owners, out);
    else if (container)
      for (const Chain& branch : container->branches()) add_last(branch, owners, out);
    if (out.size() > before && !is_by_output(link)) return;
  }
}

}  // namespace

std::vector<std::string> Network::last_of(const std::set<std::string>& owners) const {
  std::vector<std::string> out;
  add_last(chain_, owners, out);
  return out;
}

std::string Network::owner_behind(const std::string& layer, const std::set<std::string>& owners) const {
  std::map<std::string, std::string> before;  // by layer: the one whose output it takes first
  std::string previous;
  for_each_layer(chain_, [&](const Link& link) {
    const std::vector<std::string>& inputs = link.layer->common.inputs;
    before[link.name] = inputs.empty() ? previous : inputs.front();
    previous = link.name;
  });
  std::string at = layer;
  while (!at.empty() && !owners.contains(at)) {
    const auto found = before.find(at);
    at = found == before.end() ? "" : found->second;
  }
  return at;
}

std::vector<std::string> Network::names_in_branch(size_t branch) const {
  std::vector<std::string> out;
  for_each_layer(last().layer->container()->branches()[branch], [&](const Link& link) { out.push_back(link.name); });
  return out;
}

int64_t Network::layer_count() const {
  int64_t count = 0;
  for_each_layer(chain_, [&](const Link&) { ++count; });
  return count;
}

std::vector<std::string> Network::layer_names() const {
  std::vector<std::string> out;
  for_each_layer(chain_, [&](const Link& link) { out.push_back(link.name); });
  return out;
}

namespace {

// A container comes before the layers in it.
void for_each_link(const Chain& chain, auto&& see) {
  for (const Link& link : chain.links) {
    see(link);
    if (Container* const container = link.layer->container())
      for (const Chain& branch : container->branches()) for_each_link(branch, see);
  }
}

}  // namespace

Sight Network::sight() const {
  Sight out = Sight::step;
  for_each_link(chain_, [&](const Link& link) { out = std::max(out, link.layer->sight()); });
  return out;
}

const Link* Network::sees_all_steps() const {
  const Link* out = nullptr;
  for_each_link(chain_, [&](const Link& link) {
    if (!out && link.layer->sight() == Sight::any) out = &link;
  });
  return out;
}

namespace {

void add_idle(const Chain& chain, std::vector<std::string>& out) {
  for (const Link& link : chain.links) {
    if (const std::string line = link.layer->idle(); !line.empty())
      out.push_back(text("layer ", link.name, ": ", line));
    if (Container* const container = link.layer->container())
      for (const Chain& branch : container->branches()) add_idle(branch, out);
  }
}

}  // namespace

std::vector<std::string> Network::idle_parameters() const {
  std::vector<std::string> out;
  add_idle(chain_, out);
  return out;
}

bool Network::has_own_library() const {
  bool any = false;
  for_each_layer(chain_, [&](const Link& link) { any = any || link.layer->has_own_library(); });
  return any;
}

}  // namespace neon
