#include "models/network.h"

#include <map>
#include <set>

namespace neon {

Network::Network(const Setting& layers, Problems& problems) {
  if (!layers.is_list() || layers.items.empty()) {
    problems.add(layers, text("'layers' is a list of at least one layer, found ", layers.describe()));
    return;
  }
  std::map<std::string, int> counts;
  std::set<std::string> names;
  for (const Setting& item : layers.items) {
    Entry entry;
    entry.where = item.where;
    try {
      entry.layer = Registry<Layer>::get().create(item, problems, &entry.resolved);
    } catch (const Error& error) {
      problems.add(item, error.what());
    }
    if (!entry.layer) continue;
    entry.kind = entry.resolved.entries.front().key;
    const int number = counts[entry.kind]++;
    entry.name = entry.layer->common.name.empty() ? text(entry.kind, "_", number) : entry.layer->common.name;
    if (entry.name.find('/') != entry.name.npos) problems.add(item, "a layer's name has no '/'");
    if (!names.insert(entry.name).second) problems.add(item, text("two layers are named ", in_quotes(entry.name)));
    layers_.push_back(std::move(entry));
  }
}

Expr Network::forward(LayerContext& context, Expr x, std::vector<LayerRow>* rows) const {
  if (!context.data_channels_last) context.mark_channels_first(x);
  std::string chain = context.sample_shape(x).to_string();
  for (const Entry& entry : layers_) {
    Scope scope(context.graph, entry.name);
    context.layer = entry.name;
    const Shape before = context.sample_shape(x);
    const size_t parameters_before = context.parameters.size();
    try {
      x = apply_layer(*entry.layer, context, x);
    } catch (const Error& error) {
      const std::string place = entry.where.to_string();
      throw Error(error.kind(),
                  text(place, place.empty() ? "" : ": ", error.what(), "; shapes so far: ", chain, " -> ", entry.name));
    }
    const Shape after = context.sample_shape(x);
    chain += text(" -> ", entry.name, " ", after);
    if (!rows) continue;
    LayerRow row{entry.name, entry.kind, after, 0, entry.layer->flops(before, after), entry.where};
    for (size_t i = parameters_before; i < context.parameters.size(); ++i)
      row.parameters += context.parameters[i].shape.elements();
    rows->push_back(std::move(row));
  }
  return context.data_channels_last ? context.channels_last(x) : context.channels_first(x);
}

Setting Network::resolved() const {
  std::vector<Setting> items;
  for (const Entry& entry : layers_) items.push_back(entry.resolved);
  return Setting::list(std::move(items));
}

std::vector<std::string> Network::layer_names() const {
  std::vector<std::string> out;
  for (const Entry& entry : layers_) {
    out.push_back(entry.name);
    out.push_back(entry.kind);
  }
  return out;
}

}  // namespace neon
