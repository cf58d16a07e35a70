#include "neon/train/token_rows.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "neon/core/message.h"

namespace neon {

namespace {

constexpr size_t kMostNamed = 5;  // new tokens that a message names

}  // namespace

TokenRows::TokenRows(const SampleMeaning& trained, const SampleMeaning& here, std::vector<std::string> last)
    : foretold_(trained.foretells_tokens() && here.foretells_tokens()),
      then_(trained.vocabulary.texts),
      now_(here.vocabulary.texts),
      last_(std::move(last)),
      from_(now_.size(), -1) {
  differ_ = !then_.empty() && !now_.empty() && then_ != now_;
  if (!differ_ || trained.vocabulary.unit != here.vocabulary.unit) return;
  std::unordered_map<std::string_view, int64_t> places;
  for (size_t k = 0; k < then_.size(); ++k) places.emplace(then_[k], int64_t(k));
  for (size_t k = 0; k < now_.size(); ++k)
    if (const auto found = places.find(now_[k]); found != places.end()) from_[k] = found->second;
}

int TokenRows::axis_of(const Parameter& p) const {
  if (p.token_axis >= 0) return p.token_axis;
  constexpr std::string_view kOfOutputs[] = {"BatchNorm", "Bias", "Convolution", "Linear"};
  if (std::ranges::count(kOfOutputs, std::string_view(p.layer_class)) == 0) return -1;
  return is_of_outputs(p.owner, p.whole_shape()) ? 0 : -1;
}

int TokenRows::axis_of(const LayerState& s) const { return is_of_outputs(s.owner, s.shape) ? 0 : -1; }

bool TokenRows::is_of_outputs(const std::string& owner, const Shape& shape) const {
  return foretold_ && std::ranges::count(last_, owner) > 0 && shape.rank() > 0 && shape[0] == int64_t(now_.size());
}

bool TokenRows::take(const Tensor& stored, Tensor& here, int axis) const {
  const Shape &from = stored.shape(), &to = here.shape();
  if (!is_floating(stored.dtype()) || from.rank() != to.rank()) return false;
  const bool fits =
      from.with(axis, 1) == to.with(axis, 1) && from[axis] >= int64_t(then_.size()) && to[axis] >= int64_t(now_.size());
  if (!fits || std::ranges::count(from_, -1) == std::ssize(from_)) return false;
  const Tensor source = stored.dtype() == here.dtype() ? stored : stored.converted(here.dtype());
  const size_t width = size_t(to.slice(axis + 1, to.rank()).elements()) * size_of(here.dtype());
  const auto* const read = static_cast<const char*>(source.data());
  auto* const written = static_cast<char*>(here.data());
  for (int64_t i = 0; i < to.slice(0, axis).elements(); ++i)
    for (size_t k = 0; k < from_.size(); ++k)
      if (from_[k] >= 0)
        std::memcpy(written + size_t(i * to[axis] + int64_t(k)) * width,
                    read + size_t(i * from[axis] + from_[k]) * width, width);
  return true;
}

std::string TokenRows::line(const std::vector<std::string>& names) const {
  std::vector<std::string> added;
  for (size_t k = 0; k < from_.size(); ++k)
    if (from_[k] < 0) added.push_back(in_quotes(now_[k]));
  const size_t more = added.size() - std::min(added.size(), kMostNamed), common = now_.size() - added.size();
  added.resize(added.size() - more);
  std::string out = text("by token: ", list_text(names), "; ", common, " of ", now_.size(), " tokens are among the ",
                         then_.size(), " of that net");
  if (more > 0) out += text("; new: ", list_text(added), " and ", more, " more");
  else if (!added.empty()) out += text("; new: ", list_text(added));
  return out;
}

}  // namespace neon
