// The kinds of columns, as a spec writes them: category, or {embed: 16}.
#include "datasets/csv_table.h"
#include "neon/core/message.h"

namespace neon {

namespace {

constexpr const char* kEmbed = "embed";

}  // namespace

void Value_of<ColumnChoice>::read(const Setting& from, ColumnChoice& out, const Constraint& constraint,
                                  Problems& problems) {
  out = {};
  if (from.is_scalar()) return Value_of<std::string>::read(from, out.kind, constraint, problems);
  if (!from.is_map() || from.entries.size() != 1 || from.entries[0].key != kEmbed)
    return detail::wrong_type(from, "a kind, such as category, or {embed: WIDTH}", problems);
  out.kind = kEmbed;
  Value_of<int64_t>::read(from.entries[0].value, out.width, closed(1, kMostWidth), problems);
}

Setting Value_of<ColumnChoice>::write(const ColumnChoice& value) {
  if (value.width == 0) return Value_of<std::string>::write(value.kind);
  return Setting::map({{value.kind, Value_of<int64_t>::write(value.width), {}}});
}

}  // namespace neon
