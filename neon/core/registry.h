// One table per category of things that a spec can name: layers, activations, costs, optimizers ...
// A thing registers itself at the end of its own file; the table is fixed after start-up. It is made when it is first
// asked for, so that a start costs little.
#pragma once
#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neon/core/error.h"
#include "neon/core/params.h"

namespace neon {

// Facts that every registered class gives about itself.
struct EntryInfo {
  std::string name, sentence;
  std::vector<std::string> aliases;
  // Its parameters. Made when they are first asked for: a start makes no schema.
  const Schema& (*schema)() = nullptr;
  // Parameters that all of the category share, e.g. a layer's name; null without any.
  const Schema& (*common)() = nullptr;
};

// The tables themselves, for `neon help`: every category with its entries.
struct Category {
  std::string name;  // "layer"
  std::vector<const EntryInfo*> entries;
  // Forms that the reader replaces before objects are made, such as Repeat among layers.
  std::vector<const EntryInfo*> forms;
};
std::vector<Category>& categories();
void add_form(const char* category, const EntryInfo* form);
// Names that other frameworks have for what is written otherwise here: a message says so, "write MergeSum".
struct ForeignName {
  const char *category, *name, *mend;
};
void add_foreign_names(std::span<const ForeignName> names);  // which stay where they are
// Advice for such a name of any category: "write `MergeSum`"; "" where the tables lack the name.
std::string foreign_name_mend(std::string_view name);
// Adds to the table of the category; a name or alias used twice in it throws.
void add_to_category(const char* category, const EntryInfo* entry);

// A class that has registered itself: enters its table when tables are first asked for.
struct Registered {
  using Enter = void (*)(const Registered& self);
  Registered(Enter enter, const char* name, const char* sentence, std::initializer_list<const char*> aliases);
  Registered(const Registered&) = delete;
  const Enter enter;
  const char* const name;
  const char* const sentence;
  static constexpr size_t kMostAliases = 6;
  std::array<const char*, kMostAliases> aliases{};
  size_t alias_count = 0;
  mutable const Registered* next = nullptr;  // of those that wait
};
void enter_registered();
// The entry of that name or alias; otherwise a message with the nearest known names in `error`.
const EntryInfo* find_in_category(const char* category, std::string_view name, std::string& error);

// An object as written in a spec, taken apart: `Name`, or `Name: parameters`.
struct NamedObject {
  std::string name;
  Setting params;
};
// Adds a problem and returns false when the setting is neither form.
bool split_object(const Setting& from, const char* category, NamedObject& out, Problems& problems);

// T has `static constexpr const char* kCategory`; optionally `struct Common` with a describe, and a member
// `Common common`, for parameters that every class of the category accepts.
template <typename T>
class Registry {
 public:
  using Maker = std::unique_ptr<T> (*)(const Setting& params, Problems& problems);
  struct Entry : EntryInfo {
    Maker make = nullptr;
  };

  static Registry& get() {
    static Registry registry;
    return registry;
  }

  void add(std::unique_ptr<Entry> entry) {
    add_to_category(T::kCategory, entry.get());
    entries_.push_back(std::move(entry));
  }
  const std::vector<std::unique_ptr<Entry>>& entries() const {
    enter_registered();
    return entries_;
  }

  // Null, with problems added, when the name is unknown or a parameter is wrong.
  std::unique_ptr<T> create(const Setting& from, Problems& problems, Setting* resolved = nullptr) const {
    NamedObject object;
    if (!split_object(from, T::kCategory, object, problems)) return nullptr;
    std::string error;
    const auto* entry = static_cast<const Entry*>(find_in_category(T::kCategory, object.name, error));
    if (!entry) {
      problems.add(from, error);
      return nullptr;
    }
    const size_t before = problems.lines().size();
    auto made = entry->make(object.params, problems);
    if (problems.lines().size() != before) return nullptr;
    if (resolved) *resolved = Setting::map({{entry->name, describe(*entry, *made), {}}});
    return made;
  }

  // Throws what is wrong.
  std::unique_ptr<T> create(const Setting& from) const {
    Problems problems;
    auto made = create(from, problems);
    problems.throw_if_any();
    return made;
  }

  static Setting describe(const Entry& entry, const T& made) {
    Setting out = entry.schema().write(made.params_address());
    if constexpr (requires { made.common; }) {
      if (!entry.common) return out;
      for (auto& extra : entry.common().write(&made.common).entries) out.entries.push_back(std::move(extra));
    }
    return out;
  }

 private:
  std::vector<std::unique_ptr<Entry>> entries_;
};

// Splits a map of parameters into those of `common` and the rest.
void split_common(const Schema& own, const Schema& common, const Setting& from, Setting& own_part,
                  Setting& common_part);

// Parameters as `from` gives them; an object, {Name: {...}}, by itself is the first one, if that is an object.
Setting with_first_named(const Schema& own, const Setting& from);

// Null, with problems added at `from`, when a parameter is wrong. A class reports what no single parameter shows by
// a config error from its constructor, or from check() where it concerns the shared parameters.
template <typename T, typename Class>
std::unique_ptr<T> make_registered(const Setting& from, Problems& problems) {
  using Params = typename Class::Params;
  const size_t before = problems.lines().size();
  const auto made = [&](Params&& params) -> std::unique_ptr<Class> {
    if (problems.lines().size() != before) return nullptr;
    return std::make_unique<Class>(std::move(params));
  };
  try {
    if constexpr (requires { typename T::Common; }) {
      const Schema& common = schema_of<typename T::Common>();
      Setting own, shared;
      split_common(schema_of<Params>(), common, from, own, shared);
      auto params = read_params<Params>(with_first_named(schema_of<Params>(), own), problems, &common);
      auto read = read_params<typename T::Common>(shared, problems);
      auto out = made(std::move(params));
      if (!out) return nullptr;
      out->common = std::move(read);
      if constexpr (requires { out->check(); }) out->check();
      return out;
    } else {
      return made(read_params<Params>(with_first_named(schema_of<Params>(), from), problems));
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    problems.add(from, error.what());
    return nullptr;
  }
}

// Whether a class takes what its category shares. One to which nothing of it means anything says so by a constant
// kTakesCommon, and its check() refuses it.
template <typename T, typename Class>
constexpr bool takes_common() {
  if constexpr (!requires { typename T::Common; }) return false;
  else if constexpr (requires { Class::kTakesCommon; }) return Class::kTakesCommon;
  else return true;
}

template <typename T, typename Class>
struct Registration : Registered {
  Registration(const char* name, const char* sentence, std::initializer_list<const char*> aliases = {})
      : Registered(enter_entry, name, sentence, aliases) {}

 private:
  static void enter_entry(const Registered& self) {
    auto entry = std::make_unique<typename Registry<T>::Entry>();
    entry->name = self.name;
    entry->sentence = self.sentence;
    entry->aliases.assign(self.aliases.begin(), self.aliases.begin() + self.alias_count);
    entry->schema = schema_of<typename Class::Params>;
    if constexpr (takes_common<T, Class>()) entry->common = schema_of<typename T::Common>;
    entry->make = &make_registered<T, Class>;
    Registry<T>::get().add(std::move(entry));
  }
};

// For classes without parameters.
struct NoParams {
  static void describe(auto&&) {}
};

// A registered class keeps its parameters in a member and derives through this:
//   class Rectlin : public Parametrized<Activation, RectlinParams> { ... };
template <typename T, typename P>
class Parametrized : public T {
 public:
  using Params = P;
  Parametrized() = default;
  explicit Parametrized(P given) : params(std::move(given)) {}
  const void* params_address() const override { return &params; }
  P params{};
};

// NEON_REGISTER(Activation, Rectlin, "max(x, 0), plus slope times min(x, 0).", {"RectLin"});
#define NEON_REGISTER(Base, Class, ...) \
  static const ::neon::Registration<Base, Class> registration_of_##Class { #Class, __VA_ARGS__ }

// A parameter whose value is an object of a category: `init: {Gaussian: {scale: 0.01}}`.
template <typename T>
class Made {
 public:
  Made() = default;
  explicit Made(std::shared_ptr<T> object, Setting resolved = {})
      : object_(std::move(object)), resolved_(std::move(resolved)) {}
  // From text, for defaults in C++: Made<Activation>("Identity").
  explicit Made(const char* name) {
    Setting from = Setting::scalar(name);
    Problems problems;
    object_ = Registry<T>::get().create(from, problems, &resolved_);
    problems.throw_if_any();
  }
  explicit operator bool() const { return object_ != nullptr; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }
  const Setting& resolved() const { return resolved_; }

 private:
  std::shared_ptr<T> object_;
  Setting resolved_;
};

template <typename T>
struct Value_of<Made<T>> {
  static std::string type() { return T::kCategory; }
  static void read(const Setting& s, Made<T>& out, const Constraint&, Problems& problems) {
    if (s.is_null()) {
      out = {};
      return;
    }
    Setting resolved;
    std::shared_ptr<T> object = Registry<T>::get().create(s, problems, &resolved);
    if (object) out = Made<T>(std::move(object), std::move(resolved));
  }
  static Setting write(const Made<T>& value) { return value.resolved(); }
};

}  // namespace neon
