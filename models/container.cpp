#include "models/container.h"

#include "models/shared_start.h"
#include "neon/core/counted.h"

namespace neon {

Expr with_scaled_gradient(Expr x, double factor) {
  if (factor == 1) return x;
  return {x.graph(), x.graph().add("scale_gradient", {x}, {{"factor", factor}})};
}

void check_alphas(const std::vector<double>& alphas, size_t branches) {
  if (!alphas.empty() && alphas.size() != branches)
    fail(ErrorKind::config, "alphas has ", counted(int64_t(alphas.size()), "factor"), " for ", branches, " branches");
}

namespace {

void read_link(const Setting& from, Chain& out, Problems& problems) {
  Link link;
  link.where = from.where;
  link.path = from.path;
  try {
    link.layer = Registry<Layer>::get().create(from, problems, &link.resolved);
  } catch (const Error& error) {
    problems.add(from, error.what());
  }
  if (!link.layer) return;
  link.resolved = without_idle_defaults(*link.layer, std::move(link.resolved));
  link.kind = link.resolved.entries.front().key;
  out.links.push_back(std::move(link));
}

}  // namespace

void Value_of<Chain>::read(const Setting& from, Chain& out, const Constraint&, Problems& problems) {
  out = {};
  if (!from.is_list()) return read_link(from, out, problems);
  if (from.items.empty()) problems.add(from, "a branch without layers; SkipNode passes its input on");
  for (const Setting& item : from.items) read_link(item, out, problems);
}

Setting Value_of<Chain>::write(const Chain& value) {
  std::vector<Setting> items;
  for (const Link& link : value.links) items.push_back(link.resolved);
  return Setting::list(std::move(items));
}

}  // namespace neon
