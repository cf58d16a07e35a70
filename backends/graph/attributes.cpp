#include "backends/graph/attributes.h"

namespace neon {

namespace {

constexpr const char* kTypes[] = {"an integer", "a real number", "a string", "a list of integers"};

std::string item_text(const Attributes::Item& item) {
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&item)) {
    // As a shape, but of any length and sign.
    std::string list;
    for (int64_t i : *integers) list += text(list.empty() ? "" : ", ", i);
    return text("(", list, ")");
  }
  if (const auto* string = std::get_if<std::string>(&item)) return *string;
  if (const auto* real = std::get_if<double>(&item)) return number(*real);
  return std::to_string(std::get<int64_t>(item));
}

std::string of_op(std::string_view op) { return op.empty() ? "" : text("the op '", op, "': "); }

}  // namespace

std::string Attributes::to_string() const {
  std::string out;
  for (const auto& [name, item] : items_) out += text(out.empty() ? "" : " ", name, "=", item_text(item));
  return out;
}

void Attributes::fail_to_give(std::string_view name, size_t type) const {
  if (const Item* item = find(name))
    fail(ErrorKind::failed, of_op(op_), "attribute '", name, "' must be ", kTypes[type], ", not ",
         kTypes[item->index()], " (", item_text(*item), ")");
  fail(ErrorKind::failed, of_op(op_), "attribute '", name, "' (", kTypes[type], ") is missing; it was given ",
       items_.empty() ? "no attributes" : to_string());
}

void Attributes::fail_twice(std::string_view name) const {
  fail(ErrorKind::failed, of_op(op_), "attribute '", name, "' is there already; it was given ", to_string());
}

}  // namespace neon
