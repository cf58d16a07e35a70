// Named constants of a node: axes, a transposition, a variable's name.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neon/core/error.h"

namespace neon {

class Attributes {
 public:
  using Item = std::variant<int64_t, double, std::string, std::vector<int64_t>>;

  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, Item>> items) : items_(items) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& string(std::string_view name) const { return get<std::string>(name); }
  const std::vector<int64_t>& integers(std::string_view name) const { return get<std::vector<int64_t>>(name); }
  const auto& items() const { return items_; }
  // The same and one more.
  Attributes with(std::string name, Item item) const {
    if (has(name)) fail_twice(name);
    Attributes out = *this;
    out.items_.emplace_back(std::move(name), std::move(item));
    return out;
  }
  void belong_to(std::string_view op) { op_ = op; }  // an op of the table, which messages name
  bool operator==(const Attributes& other) const { return items_ == other.items_; }
  std::string to_string() const;  // "axes=(0, 1) transpose_a=1"

 private:
  const Item* find(std::string_view name) const {
    for (const auto& [key, value] : items_)
      if (key == name) return &value;
    return nullptr;
  }
  template <typename T>
  const T& get(std::string_view name) const {
    const Item* item = find(name);
    const T* value = item ? std::get_if<T>(item) : nullptr;
    if (!value) fail_to_give(name, Item(T()).index());
    return *value;
  }
  [[noreturn]] void fail_to_give(std::string_view name, size_t type) const;
  [[noreturn]] void fail_twice(std::string_view name) const;
  std::vector<std::pair<std::string, Item>> items_;
  std::string_view op_;
};

}  // namespace neon
