// Parameters, declared once. A struct's member initialisers are the defaults; one `describe` names each
// member with a sentence, a unit and a range:
//
//   struct Params {
//     float rate = 0.5f;
//     static void describe(auto&& p) { p("rate", &Params::rate, "Fraction of inputs zeroed.", half_open(0, 1)); }
//   };
//
// Parsing, checking, `neon help NAME`, the resolved spec and the checkpoint all come from it. A value that
// is not a map goes to the parameter declared first: `Dropout: 0.5`.
#pragma once
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "neon/core/dtype.h"
#include "neon/core/setting.h"
#include "neon/core/text.h"

namespace neon {

// What a value must satisfy, beside its type. For a list it holds for each item.
struct Constraint {
  std::optional<double> low, high;
  bool low_open = false, high_open = false;
  std::vector<std::string> choices;
  bool check(double value) const;
  std::string to_string() const;  // "in [0, 1)", "at least 1", "one of a, b"
};
inline Constraint closed(double low, double high) { return {low, high, false, false, {}}; }
inline Constraint half_open(double low, double high) { return {low, high, false, true, {}}; }
inline Constraint open(double low, double high) { return {low, high, true, true, {}}; }
inline Constraint open_closed(double low, double high) { return {low, high, true, false, {}}; }
inline Constraint at_least(double low) { return {low, {}, false, false, {}}; }
inline Constraint above(double low) { return {low, {}, true, false, {}}; }
inline Constraint one_of(std::vector<std::string> choices) { return {{}, {}, false, false, std::move(choices)}; }

struct Required {};  // must be given
struct Unit {
  const char* name;
};  // "seconds", "samples"
struct Alias {
  const char* name;
};               // an older spelling of the key
struct Rest {};  // takes the map of all keys that no other parameter has

// One parameter, with its type erased.
struct Field {
  std::string name, sentence, type, unit;
  Constraint constraint;
  std::vector<std::string> aliases;
  bool required = false, rest = false;
  std::ptrdiff_t offset = 0;
  void (*read)(const Setting&, void* member, const Constraint&, Problems&) = nullptr;
  Setting (*write)(const void* member) = nullptr;
  Setting default_value;
};

// All parameters of a struct.
struct Schema {
  std::vector<Field> fields;
  // Fills `object` from a map (or from a lone value, by the rule above); problems are added, not thrown. `shared` is
  // read elsewhere from the same map: an unknown key may have been meant for it.
  void read(const Setting& from, void* object, Problems& problems, const Schema* shared = nullptr) const;
  Setting write(const void* object) const;  // a map of every parameter
  const Field* find(std::string_view key) const;
  std::vector<std::string> names() const;
};

// How a type is read and written. Specialise for a new type; `type` is what messages call it.
template <typename T>
struct Value_of;

namespace detail {
bool read_bool(const Setting&, bool&);
bool read_integer(const Setting&, int64_t&);
bool read_real(const Setting&, double&);
void wrong_type(const Setting&, const char* expected, Problems&);
void check_number(const Setting&, double, const Constraint&, Problems&);
void check_choice(const Setting&, const std::string&, const Constraint&, Problems&);
}  // namespace detail

template <>
struct Value_of<bool> {
  static std::string type() { return "true or false"; }
  static void read(const Setting& s, bool& out, const Constraint&, Problems& problems) {
    if (!detail::read_bool(s, out)) detail::wrong_type(s, "true or false", problems);
  }
  static Setting write(bool value) { return Setting::scalar(value ? "true" : "false"); }
};

template <std::integral T>
struct Value_of<T> {
  static std::string type() { return "integer"; }
  static void read(const Setting& s, T& out, const Constraint& constraint, Problems& problems) {
    int64_t value = 0;
    if (!detail::read_integer(s, value)) return detail::wrong_type(s, "an integer", problems);
    detail::check_number(s, double(value), constraint, problems);
    if (int64_t(T(value)) != value || (value < 0 && T(value) > 0))
      problems.add(s, text(value, " does not fit the parameter's ", sizeof(T) * 8, " bits"));
    out = T(value);
  }
  static Setting write(T value) { return Setting::scalar(std::to_string(value)); }
};

template <std::floating_point T>
struct Value_of<T> {
  static std::string type() { return "number"; }
  static void read(const Setting& s, T& out, const Constraint& constraint, Problems& problems) {
    double value = 0;
    if (!detail::read_real(s, value)) return detail::wrong_type(s, "a finite number", problems);
    detail::check_number(s, value, constraint, problems);
    out = T(value);
  }
  static Setting write(T value) { return Setting::scalar(number(value)); }
};

template <>
struct Value_of<std::string> {
  static std::string type() { return "text"; }
  static void read(const Setting& s, std::string& out, const Constraint& constraint, Problems& problems) {
    if (!s.is_scalar()) return detail::wrong_type(s, "text", problems);
    detail::check_choice(s, s.value, constraint, problems);
    out = s.value;
  }
  static Setting write(const std::string& value) {
    Setting out = Setting::scalar(value);
    double ignored;
    out.quoted = detail::read_real(out, ignored);  // a text that looks like a number stays text
    return out;
  }
};

template <typename T>
struct Value_of<std::vector<T>> {
  static std::string type() { return "list of " + Value_of<T>::type(); }
  // A lone value is a list of one.
  static void read(const Setting& s, std::vector<T>& out, const Constraint& constraint, Problems& problems) {
    out.clear();
    if (s.is_null()) return;
    if (!s.is_list()) {
      T item{};
      Value_of<T>::read(s, item, constraint, problems);
      out.push_back(std::move(item));
      return;
    }
    for (const Setting& element : s.items) {
      T item{};
      Value_of<T>::read(element, item, constraint, problems);
      out.push_back(std::move(item));
    }
  }
  static Setting write(const std::vector<T>& value) {
    std::vector<Setting> items;
    for (const auto& item : value) items.push_back(Value_of<T>::write(item));
    return Setting::list(std::move(items));
  }
};

template <typename T>
struct Value_of<std::optional<T>> {
  static std::string type() { return Value_of<T>::type(); }
  static void read(const Setting& s, std::optional<T>& out, const Constraint& constraint, Problems& problems) {
    if (s.is_null()) return out.reset();
    T value{};
    Value_of<T>::read(s, value, constraint, problems);
    out = std::move(value);
  }
  static Setting write(const std::optional<T>& value) { return value ? Value_of<T>::write(*value) : Setting(); }
};

// A parameter that is kept as the user wrote it.
template <>
struct Value_of<Setting> {
  static std::string type() { return "any value"; }
  static void read(const Setting& s, Setting& out, const Constraint&, Problems&) { out = s; }
  static Setting write(const Setting& value) { return value; }
};

// Named values in the order written, for `Rest`.
template <typename T>
struct Value_of<std::vector<std::pair<std::string, T>>> {
  static std::string type() { return "map of " + Value_of<T>::type(); }
  static void read(const Setting& s, std::vector<std::pair<std::string, T>>& out, const Constraint& constraint,
                   Problems& problems) {
    out.clear();
    if (!s.is_map()) return detail::wrong_type(s, "a map", problems);
    for (const auto& entry : s.entries) {
      T value{};
      Value_of<T>::read(entry.value, value, constraint, problems);
      out.emplace_back(entry.key, std::move(value));
    }
  }
  static Setting write(const std::vector<std::pair<std::string, T>>& value) {
    std::vector<Setting::Entry> entries;
    for (const auto& [key, item] : value) entries.push_back({key, Value_of<T>::write(item), {}});
    return Setting::map(std::move(entries));
  }
};

namespace detail {

template <typename P>
class SchemaBuilder {
 public:
  template <typename Base, typename Member, typename... Options>
  requires std::is_base_of_v<Base, P>
  void operator()(const char* name, Member Base::*member, const char* sentence, const Options&... options) {
    Field field;
    field.name = name;
    field.sentence = sentence;
    field.type = Value_of<Member>::type();
    const P& probe = probe_;
    field.offset = reinterpret_cast<const char*>(&(probe.*member)) - reinterpret_cast<const char*>(&probe);
    field.read = [](const Setting& s, void* out, const Constraint& constraint, Problems& problems) {
      Value_of<Member>::read(s, *static_cast<Member*>(out), constraint, problems);
    };
    field.write = [](const void* value) { return Value_of<Member>::write(*static_cast<const Member*>(value)); };
    field.default_value = Value_of<Member>::write(probe.*member);
    (apply(field, options), ...);
    schema.fields.push_back(std::move(field));
  }
  Schema schema;

 private:
  static void apply(Field& field, const Constraint& constraint) { field.constraint = constraint; }
  static void apply(Field& field, Required) { field.required = true; }
  static void apply(Field& field, Rest) { field.rest = true; }
  static void apply(Field& field, Unit unit) { field.unit = unit.name; }
  static void apply(Field& field, Alias alias) { field.aliases.push_back(alias.name); }
  P probe_{};
};

}  // namespace detail

template <typename P>
const Schema& schema_of() {
  static const Schema schema = [] {
    detail::SchemaBuilder<P> builder;
    P::describe(builder);
    return std::move(builder.schema);
  }();
  return schema;
}

template <typename P>
P read_params(const Setting& from, Problems& problems, const Schema* shared = nullptr) {
  P out{};
  schema_of<P>().read(from, &out, problems, shared);
  return out;
}

template <typename P>
P read_params(const Setting& from) {
  Problems problems;
  P out = read_params<P>(from, problems);
  problems.throw_if_any();
  return out;
}

template <typename P>
Setting write_params(const P& params) {
  return schema_of<P>().write(&params);
}

}  // namespace neon
