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

// A condition on a value, beside its type. For a list it holds for each item.
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
struct Rest {};  // takes the map of all keys that no other parameter has, or the map under its own key

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
  explicit Schema(std::vector<Field> given);
  ~Schema();
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

// Text and numbers. Compiled once, in params.cpp, where a further type of number is entered, too.
template <typename T>
struct PlainValue {
  static std::string type();
  static void read(const Setting& s, T& out, const Constraint& constraint, Problems& problems);
  static Setting write(const T& value);
};
template <typename T, typename... Types>
concept OneOf = (std::same_as<T, Types> || ...);
template <OneOf<bool, int, int64_t, uint64_t, float, double, std::string> T>
struct Value_of<T> : PlainValue<T> {};

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

template <typename Member>
void read_member(const Setting& s, void* out, const Constraint& constraint, Problems& problems) {
  Value_of<Member>::read(s, *static_cast<Member*>(out), constraint, problems);
}
template <typename Member>
Setting write_member(const void* value) {
  return Value_of<Member>::write(*static_cast<const Member*>(value));
}

// The part of a description that does not depend on the types in it.
class FieldList {
 public:
  std::vector<Field> fields;

 protected:
  template <typename Member>
  Field& add(const char* name, const char* sentence, const void* probe, const Member& member) {
    return add(name, sentence, Value_of<Member>::type(), probe, &member, read_member<Member>, write_member<Member>);
  }
  static void apply(Field& field, const Constraint& constraint);
  static void apply(Field& field, Required);
  static void apply(Field& field, Rest);
  static void apply(Field& field, Unit unit);
  static void apply(Field& field, Alias alias);

 private:
  Field& add(const char* name, const char* sentence, std::string type, const void* probe, const void* member,
             decltype(Field::read) read, decltype(Field::write) write);
};

template <typename P>
class SchemaBuilder : public FieldList {
 public:
  explicit SchemaBuilder(const P& probe) : probe_(probe) {}
  template <typename Base, typename Member, typename... Options>
  requires std::is_base_of_v<Base, P>
  void operator()(const char* name, Member Base::*member, const char* sentence, const Options&... options) {
    Field& field = add(name, sentence, &probe_, probe_.*member);
    (apply(field, options), ...);
  }

 private:
  const P& probe_;
};

}  // namespace detail

template <typename P>
const Schema& schema_of() {
  // Never destroyed: a program ends sooner.
  static const Schema& schema = *[] {
    const auto probe = std::make_unique<const P>();
    detail::SchemaBuilder<P> builder(*probe);
    P::describe(builder);
    return new Schema(std::move(builder.fields));
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
