#include "layers/axis_numbers.h"

#include <algorithm>

#include "neon/core/error.h"

namespace neon {

int64_t AxisNumbers::of(char axis, int64_t otherwise) const {
  const auto found = std::ranges::find(named, axis, &Named::axis);
  return found == named.end() ? otherwise : found->number;
}

std::vector<int64_t> AxisNumbers::of_space(int axes, int64_t otherwise, const std::string& what,
                                           std::string_view more) const {
  if (all) fail(ErrorKind::config, what, ": 'all' means nothing here; give numbers");
  if (!given()) return std::vector<int64_t>(size_t(axes), otherwise);
  if (!named.empty()) {
    if (axes < 3 && of('d', otherwise) != otherwise)
      fail(ErrorKind::config, what, " ", of('d', 0), " for the depth, which ", axes == 1 ? "sequences" : "images",
           " do not have");
    if (axes == 1 && of('h', otherwise) != otherwise)
      fail(ErrorKind::config, what, " ", of('h', 0), " for the height, which sequences do not have; give one number");
    for (const char axis : {'c', 'k'})
      if (more.find(axis) == more.npos && of(axis, otherwise) != otherwise)
        fail(ErrorKind::config, what, " ", of(axis, 0), " for the ", axis == 'c' ? "channels" : "feature maps",
             ", which has no effect here; leave ", axis, " out");
    std::vector<int64_t> out = {of('d', otherwise), of('h', otherwise), of('w', otherwise)};
    return {out.end() - axes, out.end()};
  }
  if (list.size() == 1) return std::vector<int64_t>(size_t(axes), list[0]);
  if (int(list.size()) != axes)
    fail(ErrorKind::config, what, " ", Value_of<AxisNumbers>::write(*this).to_string(), " has ", list.size(),
         " numbers, ",
         axes == 1 ? std::string("sequences (T,F) have one axis, the steps; give one number")
                   : text("the input has ", axes, " axes of space (", axes == 3 ? "depth, " : "", "height, width)"));
  return list;
}

namespace {

struct Spelling {
  const char* name;
  char axis;
};
// Filters' letters, and those of steps behind str_, pad_ and dil_.
constexpr Spelling kSpellings[] = {{"d", 'd'}, {"h", 'h'}, {"w", 'w'}, {"c", 'c'}, {"k", 'k'},
                                   {"T", 'd'}, {"R", 'h'}, {"S", 'w'}, {"J", 'c'}, {"K", 'k'}};

// 0 for what is no axis.
char axis_named(std::string_view key) {
  for (std::string_view prefix : {"str_", "pad_", "dil_"})
    if (key.starts_with(prefix)) key.remove_prefix(prefix.size());
  for (const Spelling& spelling : kSpellings)
    if (key == spelling.name) return spelling.axis;
  return 0;
}

bool read_number(const Setting& from, int64_t& out, const Constraint& constraint, Problems& problems) {
  if (!detail::read_integer(from, out)) {
    detail::wrong_type(from, "an integer", problems);
    return false;
  }
  detail::check_number(from, double(out), constraint, problems);
  return true;
}

void read_map(const Setting& from, AxisNumbers& out, const Constraint& constraint, Problems& problems) {
  for (const Setting::Entry& entry : from.entries) {
    const char axis = axis_named(entry.key);
    int64_t number = 0;
    if (!axis)
      problems.add(entry.where, from.path,
                   text("'", entry.key, "' is no axis (known: d or T for depth, h or R, w or S, c or J, k or K; also ",
                        "with str_, pad_ or dil_ before the letter)"));
    else if (std::ranges::count(out.named, axis, &AxisNumbers::Named::axis))
      problems.add(entry.where, from.path, text("'", entry.key, "' and another spelling of it are both given"));
    else if (read_number(entry.value, number, constraint, problems)) out.named.push_back({axis, number});
  }
}

}  // namespace

void Value_of<AxisNumbers>::read(const Setting& from, AxisNumbers& out, const Constraint& constraint,
                                 Problems& problems) {
  out = {};
  if (from.is_null()) return;
  if (from.is_scalar() && from.value == "all") {
    out.all = true;
  } else if (from.is_map()) {
    read_map(from, out, constraint, problems);
  } else if (from.is_list()) {
    for (const Setting& item : from.items) {
      int64_t number = 0;
      if (read_number(item, number, constraint, problems)) out.list.push_back(number);
    }
  } else {
    int64_t number = 0;
    if (read_number(from, number, constraint, problems)) out.list = {number};
  }
}

Setting Value_of<AxisNumbers>::write(const AxisNumbers& value) {
  if (value.all) return Setting::scalar("all");
  if (value.list.size() == 1) return Setting::scalar(std::to_string(value.list[0]));
  if (!value.named.empty()) {
    std::vector<Setting::Entry> entries;
    for (const auto& [axis, number] : value.named)
      entries.push_back({std::string(1, axis), Setting::scalar(std::to_string(number)), {}});
    return Setting::map(std::move(entries));
  }
  if (value.list.empty()) return {};
  std::vector<Setting> items;
  for (int64_t number : value.list) items.push_back(Setting::scalar(std::to_string(number)));
  return Setting::list(std::move(items));
}

}  // namespace neon
