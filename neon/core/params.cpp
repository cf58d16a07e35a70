#include "neon/core/params.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>

#include "neon/core/foreign_keys.h"
#include "neon/core/message.h"
#include "neon/core/registry.h"

namespace neon {

bool Constraint::check(double value) const {
  if (low && (low_open ? value <= *low : value < *low)) return false;
  if (high && (high_open ? value >= *high : value > *high)) return false;
  return true;
}

std::string Constraint::to_string() const {
  // A first choice that is empty stands for a value that was not given.
  if (!choices.empty()) return text("one of ", join(choices, ", ").substr(choices.front().empty() ? 2 : 0));
  if (low && high) return text("in ", low_open ? '(' : '[', *low, ", ", *high, high_open ? ')' : ']');
  if (low) return text(low_open ? "above " : "at least ", *low);
  if (high) return text(high_open ? "below " : "at most ", *high);
  return "";
}

namespace detail {

bool read_bool(const Setting& s, bool& out) {
  if (!s.is_scalar() || s.quoted) return false;
  const std::string word = lower(s.value);
  if (word == "true" || word == "yes" || word == "on") return out = true, true;
  if (word == "false" || word == "no" || word == "off") return out = false, true;
  return false;
}

bool read_integer(const Setting& s, int64_t& out) {
  if (!s.is_scalar() || s.quoted || s.value.empty()) return false;
  const char* first = s.value.data() + (s.value[0] == '+' ? 1 : 0);
  const char* last = s.value.data() + s.value.size();
  const auto [end, error] = std::from_chars(first, last, out);
  if (error == std::errc() && end == last) return true;
  // 1e3 and 60000.0 are integers too, as long as nothing is lost.
  double real = 0;
  if (!read_real(s, real) || real != std::floor(real) || std::fabs(real) > 9007199254740992.0) return false;
  out = int64_t(real);
  return true;
}

bool read_real(const Setting& s, double& out) {
  if (!s.is_scalar() || s.quoted || s.value.empty()) return false;
  const char* first = s.value.data() + (s.value[0] == '+' ? 1 : 0);
  const char* last = s.value.data() + s.value.size();
  const auto [end, error] = std::from_chars(first, last, out);
  return error == std::errc() && end == last && std::isfinite(out);
}

void wrong_type(const Setting& s, const char* expected, Problems& problems) {
  std::string message = text("expected ", expected, ", found ", s.describe());
  if (s.is_scalar() && s.quoted && std::string_view(expected).find("text") == std::string_view::npos)
    message += " in quotes, which is text";
  if (s.is_scalar()) message += foreign_value_hint(std::string_view(s.path).substr(s.path.rfind('.') + 1), s.value);
  problems.add(s, message);
}

void check_number(const Setting& s, double value, const Constraint& constraint, Problems& problems) {
  if (!constraint.check(value)) problems.add(s, text(value, " is not ", constraint));
}

void check_choice(const Setting& s, const std::string& value, const Constraint& constraint, Problems& problems) {
  if (constraint.choices.empty()) return;
  for (const std::string& choice : constraint.choices)
    if (choice == value) return;
  problems.add(s, text(in_quotes(value), " is not ", constraint, did_you_mean(value, constraint.choices)));
}

Field& FieldList::add(const char* name, const char* sentence, std::string type, const void* probe, const void* member,
                      decltype(Field::read) read, decltype(Field::write) write) {
  Field& field = fields.emplace_back();
  field.name = name;
  field.sentence = sentence;
  field.type = std::move(type);
  field.offset = static_cast<const char*>(member) - static_cast<const char*>(probe);
  field.read = read;
  field.write = write;
  field.default_value = write(member);
  return field;
}

void FieldList::apply(Field& field, const Constraint& constraint) { field.constraint = constraint; }
void FieldList::apply(Field& field, Required) { field.required = true; }
void FieldList::apply(Field& field, Rest) { field.rest = true; }
void FieldList::apply(Field& field, Unit unit) { field.unit = unit.name; }
void FieldList::apply(Field& field, Alias alias) { field.aliases.push_back(alias.name); }

}  // namespace detail

template <typename T>
std::string PlainValue<T>::type() {
  if constexpr (std::same_as<T, bool>) return "true or false";
  else if constexpr (std::unsigned_integral<T>) return "integer of 0 or more";
  else if constexpr (std::integral<T>) return "integer";
  else if constexpr (std::floating_point<T>) return "number";
  else return "text";
}

template <typename T>
void PlainValue<T>::read(const Setting& s, T& out, const Constraint& constraint, Problems& problems) {
  if constexpr (std::same_as<T, bool>) {
    if (!detail::read_bool(s, out)) detail::wrong_type(s, "true or false", problems);
  } else if constexpr (std::integral<T>) {
    int64_t value = 0;
    if (double real = 0; !detail::read_integer(s, value)) {
      const bool too_large = detail::read_real(s, real) && real == std::floor(real);
      return detail::wrong_type(s, too_large ? "an integer of fewer digits" : "an integer", problems);
    }
    detail::check_number(s, double(value), constraint, problems);
    if (std::unsigned_integral<T> && value < 0) problems.add(s, text(value, " is not at least 0"));
    else if (int64_t(T(value)) != value || (value < 0 && T(value) > 0))
      problems.add(s, text(value, " does not fit the parameter's ", sizeof(T) * 8, " bits"));
    out = T(value);
  } else if constexpr (std::floating_point<T>) {
    double value = 0;
    if (!detail::read_real(s, value)) return detail::wrong_type(s, "a finite number", problems);
    detail::check_number(s, value, constraint, problems);
    out = T(value);
  } else {
    if (!s.is_scalar()) return detail::wrong_type(s, "text", problems);
    detail::check_choice(s, s.value, constraint, problems);
    out = s.value;
  }
}

template <typename T>
Setting PlainValue<T>::write(const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    Setting out = Setting::scalar(value);
    double ignored;
    out.quoted = detail::read_real(out, ignored);  // a text that looks like a number stays text
    return out;
  } else {
    return Setting::scalar(text(value));
  }
}

template struct PlainValue<bool>;
template struct PlainValue<int>;
template struct PlainValue<int64_t>;
template struct PlainValue<uint64_t>;
template struct PlainValue<float>;
template struct PlainValue<double>;
template struct PlainValue<std::string>;

Schema::Schema(std::vector<Field> given) : fields(std::move(given)) {}
Schema::~Schema() = default;

const Field* Schema::find(std::string_view key) const {
  for (const Field& field : fields) {
    if (field.name == key) return &field;
    for (const std::string& alias : field.aliases)
      if (alias == key) return &field;
  }
  return nullptr;
}

std::vector<std::string> Schema::names() const {
  std::vector<std::string> out;
  for (const Field& field : fields)
    if (!field.rest) out.push_back(field.name);
  return out;
}

namespace {

// "; AdamW and SGD have wdecay": the things of the same category that have a key which this one lacks.
std::string owners_text(const std::string& name, const Schema& own) {
  std::vector<std::string> owners;
  std::string own_name;  // `name` may be another spelling
  for (const Category& category : categories()) {
    if (std::ranges::none_of(category.entries, [&](const EntryInfo* entry) { return &entry->schema() == &own; }))
      continue;
    for (const EntryInfo* entry : category.entries)
      if (const Field* field = entry->schema().find(name)) owners.push_back(entry->name), own_name = field->name;
  }
  if (owners.empty()) return "";
  std::ranges::sort(owners);
  return text("; ", list_text(owners, owners.size() == 2 ? " and " : ", ", 4), owners.size() == 1 ? " has " : " have ",
              own_name);
}

std::string unknown_key(const std::string& key, const Schema& own, const Schema* shared) {
  std::vector<std::string> known = own.names();
  if (shared) std::ranges::copy(shared->names(), std::back_inserter(known));
  const std::string begin = text("unknown key ", in_quotes(key));
  if (known.empty()) return begin + ": there are no parameters here";
  std::string hint = foreign_key_hint(key, known);
  if (hint.empty()) hint = did_you_mean(key, known);
  if (hint.empty()) hint = owners_text(key, own);
  if (hint.empty()) hint = owners_text(own_key(key), own);
  constexpr size_t kMost = 24;
  return text(begin, hint, " (known: ", list_text(known, ", ", kMost), ")");
}

// Reading leaves nothing where nothing is written. Adds a problem where there has to be something: in place of the
// parameter, or of an item of its list.
bool lacks_value(const Field& field, const Setting& value, Problems& problems) {
  constexpr std::string_view kList = "list of ";
  if (field.required && value.is_null()) {
    problems.add(value, text("no value is given: ", field.sentence));
    return true;
  }
  bool out = false;
  if (!field.type.starts_with(kList)) return out;
  for (const Setting& item : value.items) {
    if (!item.is_null()) continue;
    problems.add(item, text("expected ", field.type.substr(kList.size()), ", found nothing"));
    out = true;
  }
  return out;
}

// Whether it is one object, {Name: ...}, where the first parameter is an object: then it is that parameter.
bool is_first_by_itself(const Schema& schema, const Setting& from) {
  if (schema.fields.empty() || !from.is_map() || from.entries.size() != 1) return false;
  const std::string& key = from.entries[0].key;
  if (key.empty() || !std::isupper(uint8_t(key[0])) || schema.find(key)) return false;
  return std::ranges::any_of(categories(), [&](const Category& c) { return c.name == schema.fields.front().type; });
}

// One object read from a setting: which fields the setting has given, and what is wrong with it.
class Reading {
 public:
  Reading(const Schema& schema, const Setting& from, void* object, Problems& problems)
      : schema_(schema), from_(from), object_(object), problems_(problems), given_(schema.fields.size(), false) {
    for (const Field& field : schema.fields)
      if (field.rest) rest_ = &field;
  }

  void take_map(const Schema* shared) {
    for (const Setting::Entry& entry : from_.entries) {
      const Field* field = schema_.find(entry.key);
      if (field && overruled(entry, field)) continue;
      if (field && field->rest && entry.value.is_map()) {
        for (const Setting::Entry& of_rest : entry.value.entries) keep(of_rest);
      } else if (field && field->rest) {
        detail::wrong_type(entry.value, "a map", problems_);
      } else if (field) {
        if (given_[size_t(field - schema_.fields.data())])
          problems_.add(entry.where, from_.path, text("'", entry.key, "' and another spelling of it are both given"));
        take(*field, entry.value);
      } else if (rest_) {
        keep(entry);
      } else {
        problems_.add(entry.where, from_.path, unknown_key(entry.key, schema_, shared));
        // The message names the key that was meant, so that key is not reported as missing, too.
        if (const Field* meant = schema_.find(meant_key(entry.key, schema_.names())))
          given_[size_t(meant - schema_.fields.data())] = true;
      }
    }
    if (!rest_) return;
    Setting map = Setting::map(std::move(remaining_), from_.where);
    map.path = from_.path;
    take(*rest_, map);
  }

  // The value is the first parameter's.
  void take_first() {
    if (schema_.fields.empty()) {
      problems_.add(from_, text("expected nothing here, found ", from_.describe(), ": there are no parameters"));
      return;
    }
    const std::string& name = schema_.fields.front().name;
    Setting first = from_;
    first.set_paths(from_.path.empty() ? name : from_.path + "." + name);
    take(schema_.fields.front(), first);
  }

  void report_missing() {
    for (size_t i = 0; i < given_.size(); ++i)
      if (const Field& field = schema_.fields[i]; field.required && !given_[i])
        problems_.add(from_, text("'", field.name, "' is missing: ", field.sentence));
  }

 private:
  void take(const Field& field, const Setting& value) {
    given_[size_t(&field - schema_.fields.data())] = true;
    if (lacks_value(field, value, problems_)) return;
    field.read(value, static_cast<char*>(object_) + field.offset, field.constraint, problems_);
  }

  void keep(const Setting::Entry& entry) {
    if (std::ranges::count(remaining_, entry.key, &Setting::Entry::key))
      problems_.add(entry.where, from_.path,
                    text(in_quotes(entry.key), " is given twice: in ", in_quotes(rest_->name), " and beside it"));
    remaining_.push_back(entry);
  }

  // An option's value counts, however the file spells the key.
  bool overruled(const Setting::Entry& entry, const Field* field) const {
    return !entry.value.where.is_option() && std::ranges::any_of(from_.entries, [&](const Setting::Entry& other) {
      return other.key != entry.key && other.value.where.is_option() && schema_.find(other.key) == field;
    });
  }

  const Schema& schema_;
  const Setting& from_;
  void* object_;
  Problems& problems_;
  std::vector<bool> given_;
  const Field* rest_ = nullptr;            // takes the keys that no other field has
  std::vector<Setting::Entry> remaining_;  // these keys
};

}  // namespace

void Schema::read(const Setting& from, void* object, Problems& problems, const Schema* shared) const {
  Reading reading(*this, from, object, problems);
  if (from.is_map() && !is_first_by_itself(*this, from)) reading.take_map(shared);
  else if (!from.is_null()) reading.take_first();
  reading.report_missing();
}

Setting Schema::write(const void* object) const {
  std::vector<Setting::Entry> entries;
  for (const Field& field : fields) {
    Setting value = field.write(static_cast<const char*>(object) + field.offset);
    if (field.rest)
      for (auto& entry : value.entries) entries.push_back(std::move(entry));
    else entries.push_back({field.name, std::move(value), {}});
  }
  return Setting::map(std::move(entries));
}

}  // namespace neon
