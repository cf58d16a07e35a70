#include "neon/spec/old/old_translation.h"

#include <algorithm>
#include <iterator>

#include "neon/core/edit_distance.h"
#include "neon/core/error.h"
#include "neon/core/params.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

constexpr int kDeepest = 64, kMostNodes = 200000;

std::string with_article(std::string_view category) {
  return text(std::string_view("aeiou").find(category[0]) == std::string_view::npos ? "a " : "an ", category);
}

// A class that neither neon nor 0.9 has.
std::string unknown_old_class(const std::string& name) {
  const std::string near = did_you_mean(name, old_class_names());
  return text(in_quotes(name), " is no class of neon 0.9",
              near.empty() ? "; a class of one's own in Python has to be replaced by one of neon's" : near);
}

}  // namespace

Location OldObject::where_of(std::string_view key) const {
  const auto found = node.find(key);
  return found ? found->where() : node.where();
}

void OldResult::set(std::string key, Setting value, const Location& key_where) {
  if (value.is_null()) return;
  if (Setting* const there = params.find(key)) *there = std::move(value);
  else params.entries.push_back({std::move(key), std::move(value), key_where});
}

void OldTranslation::remark(const Location& where, std::string message) {
  if (remarked_.insert(message).second) conversion_.remarks.push_back({where, std::move(message)});
}

void OldTranslation::warning(const Location& where, std::string message) {
  conversion_.warnings.push_back({where, message});
  remark(where, std::move(message));
}

const OldClass* OldTranslation::class_of(const OldNode& node, std::string_view category) {
  if (node.tag().empty()) {
    problem(node.where(),
            text("expected ", with_article(category), ", as !obj:package.Class {...}, found ", node.describe()));
    return nullptr;
  }
  const std::string name = old_class_name(node.tag());
  if (const OldMissing* const missing = find_old_missing(name)) {
    problem(node.where(), text(name, " of neon 0.9 is not taken over; ", missing->mend));
    return nullptr;
  }
  const OldClass* const found = find_old_class(name);
  if (!found) problem(node.where(), unknown_old_class(name));
  else if (found->category != category)
    problem(node.where(),
            text("expected ", with_article(category), ", found ", name, ", ", with_article(found->category)));
  else if (!node.is_map()) problem(node.where(), text(name, " needs its keys in braces, if only {}"));
  else return found;
  return nullptr;
}

void OldTranslation::check_depth(const OldNode& node) {
  if (depth_ > kDeepest || ++nodes_ > kMostNodes)
    fail(ErrorKind::config, node.where(), ": the file is too large, aliases replaced by what they name");
}

Setting OldTranslation::object(const OldNode& node, std::string_view category) {
  check_depth(node);
  const OldClass* const kind = class_of(node, category);
  if (!kind) return {};
  ++depth_;
  const OldObject object{node, *kind};
  check_keys(object);
  OldResult out{std::string(kind->as), Setting::map({}, node.where())};
  if (category == "layer") name_layer(object, out);
  if (category == "layer") note_datatype(object);
  int64_t steps = 0;
  if (const auto given = node.find("unrolls"); given && detail::read_integer(given->scalar(), steps))
    unrolls.emplace_back(given->where(), steps);
  use_keys(object, out);
  if (category == "layer") share_weights(object, out);
  if (kind->finish) kind->finish(*this, object, out);
  if (!kind->remark.empty()) remark(node.where(), std::string(kind->remark));
  --depth_;
  if (out.dropped()) return {};
  if (out.params.is_map() && out.params.entries.empty()) return Setting::scalar(out.name, node.where());
  return Setting::map({{out.name, std::move(out.params), node.where()}}, node.where());
}

namespace {

// Whether a MultiOptimizer would take the name of a layer for something else: one of its own words, a class of
// parameters, or a part of another layer.
bool means_others(std::string_view name) {
  constexpr std::string_view kWords[] = {"default",   "mapping", "optimizer_mapping", "Linear", "Convolution", "Bias",
                                         "BatchNorm", "Local",   "Recurrent",         "LSTM"};
  return std::ranges::count(kWords, name) > 0 || name.ends_with("_bias") || name.ends_with("_bnorm") ||
         name.ends_with("_visible");
}

}  // namespace

void OldTranslation::name_layer(const OldObject& object, OldResult& out) {
  std::string name = word_of(object, "name", "");
  const std::string given = name;
  if (name.empty()) return;
  std::ranges::replace(name, '/', '_');
  if (name == "data") name = "data_layer";
  const bool taken = means_others(name);
  for (int copy = 2; means_others(name) || !layer_names.insert(name).second; ++copy) name = text(given, "_", copy);
  if (name != given)
    remark(object.where_of("name"),
           text("the layer ", in_quotes(given), " is called ", in_quotes(name),
                " here: ", taken ? "its own name means other parameters in a MultiOptimizer" : "names differ"));
  Setting value = object.find("name")->scalar();
  value.value = name;
  out.params.entries.insert(out.params.entries.begin(), {"name", std::move(value), object.where_of("name")});
}

std::string OldTranslation::name_of(OldResult& layer, const Location& where) {
  if (const Setting* const name = layer.params.find("name")) return name->value;
  std::string name;
  int number = 0;
  do name = text("layer", number++);
  while (!layer_names.insert(name).second);
  layer.params.entries.insert(layer.params.entries.begin(), {"name", Setting::scalar(name, where), where});
  return name;
}

// An alias of an earlier layer is that layer, with its weights.
void OldTranslation::share_weights(const OldObject& object, OldResult& out) {
  const bool learns = std::ranges::count(object.kind.keys, "weight_init", &OldKey::name) > 0;
  if (!learns) return;
  const std::string name = name_of(out, object.node.where());
  const auto same = [&](const auto& layer) { return layer.first == object.node; };
  const auto first = std::ranges::find_if(named_layers_, same);
  if (first == named_layers_.end()) return void(named_layers_.emplace_back(object.node, name));
  out.set("share", Setting::scalar(first->second, object.node.where()));
  remark(object.node.where(), text("the layer ", in_quotes(first->second),
                                   " stands here more than once: ", in_quotes(name), " shares its weights"));
}

void OldTranslation::note_datatype(const OldObject& object) {
  const auto type = object.find("backend_type");
  if (type && type->is_scalar()) datatypes.push_back({type->where(), type->value()});
}

// A key may hold objects that no layer uses; their classes must be known all the same.
void OldTranslation::check_held(const OldNode& node) {
  check_depth(node);
  const std::string name = node.tag().starts_with("!obj:") ? old_class_name(node.tag()) : "";
  if (!name.empty() && !find_old_class(name) && !find_old_missing(name)) problem(node.where(), unknown_old_class(name));
  ++depth_;
  for (const OldNode& item : node.items()) check_held(item);
  for (const OldNode::Entry& entry : node.entries()) check_held(entry.value);
  --depth_;
}

namespace {

// Whether the value of a key has an anchor of its own: an alias stands for an earlier value.
bool has_own_anchor(const OldNode::Entry& entry) {
  const Location key = entry.where, value = entry.value.where();
  return !entry.value.anchor().empty() && std::pair(value.line, value.column) > std::pair(key.line, key.column);
}

// The key that the object lacks and that this one misspells; "" without one.
std::string misspelt_key(const std::string& given, const OldObject& object, const std::vector<std::string>& known) {
  std::vector<std::string> meant;
  std::ranges::copy_if(known, std::back_inserter(meant),
                       [&](const std::string& key) { return is_slip_of(given, key) && !object.find(key); });
  const std::vector<std::string> best = nearest(given, meant);
  return best.empty() ? "" : best.front();
}

}  // namespace

void OldTranslation::check_keys(const OldObject& object) {
  std::vector<std::string> known;
  for (const OldKey& key : object.kind.keys) {
    known.emplace_back(key.name);
    if (key.required && !object.find(key.name))
      problem(object.node.where(), text(object.kind.name, " needs ", in_quotes(key.name)));
    if (const auto value = object.find(key.name)) check_form(key, *value);
  }
  for (const OldNode::Entry& entry : object.node.entries()) {
    if (entry.doubled) note_holder(entry, "");
    else if (!std::ranges::count(known, entry.key)) check_unknown(entry, object, known);
  }
}

// A value of another kind would have no effect.
void OldTranslation::check_form(const OldKey& key, const OldNode& value) {
  using Form = OldKey::Form;
  if (key.form == Form::any || value.is_null()) return;
  const bool fits = value.tag().empty() && (key.form == Form::word   ? value.is_scalar()
                                            : key.form == Form::list ? value.is_list()
                                                                     : value.is_map());
  if (fits) return;
  const char* const expected = key.form == Form::word   ? "one word"
                               : key.form == Form::list ? "a list, [...]"
                                                        : "a map, {key: value}";
  problem(value.where(), text(in_quotes(key.name), ": expected ", expected, ", found ", value.describe()));
}

// A key with an anchor is a holder. One that looks misspelt is a holder only where an alias takes its value.
void OldTranslation::check_unknown(const OldNode::Entry& entry, const OldObject& object,
                                   const std::vector<std::string>& known) {
  const std::string meant = misspelt_key(entry.key, object, known);
  if (!has_own_anchor(entry) || (!meant.empty() && !entry.value.is_aliased()))
    return problem(entry.where,
                   text(object.kind.name, " has no key ", in_quotes(entry.key), did_you_mean(entry.key, known)));
  const std::string lacked = text("; did you mean ", meant, ", which ", object.kind.name, " lacks here?");
  note_holder(entry, meant.empty() ? "" : lacked);
}

void OldTranslation::note_holder(const OldNode::Entry& entry, const std::string& doubt) {
  check_held(entry.value);
  const std::string line = text(in_quotes(entry.key), " only holds anchors", doubt);
  if (doubt.empty()) remark(entry.where, line);
  else warning(entry.where, line);
}

void OldTranslation::use_keys(const OldObject& object, OldResult& out) {
  const auto entries = object.node.entries();
  std::set<std::string_view> used;  // of two of one name the first counts, which is the class's own
  for (const OldKey& key : object.kind.keys) {
    if (!used.insert(key.name).second) continue;
    const auto entry = std::ranges::find_if(entries, [&](const auto& e) { return e.key == key.name && !e.doubled; });
    if (entry == entries.end()) continue;
    switch (key.use) {
      case OldKey::Use::value: out.set(std::string(key.as), plain(entry->value), entry->where); break;
      case OldKey::Use::object:
        if (!entry->value.is_null())
          out.set(std::string(key.as), this->object(entry->value, key.category), entry->where);
        break;
      case OldKey::Use::read: break;
      case OldKey::Use::idle: remark(entry->where, text(in_quotes(entry->key), " is left out: ", key.as)); break;
      case OldKey::Use::holder: note_holder(*entry, ""); break;
    }
  }
}

Setting OldTranslation::plain(const OldNode& node) {
  check_depth(node);
  if (!node.tag().empty()) {
    problem(node.where(), text("expected a plain value, found ", node.tag()));
    return {};
  }
  if (node.is_scalar() || node.is_null()) return node.scalar();
  ++depth_;
  Setting out = node.is_list() ? Setting::list({}, node.where()) : Setting::map({}, node.where());
  for (const OldNode& item : node.items()) out.items.push_back(plain(item));
  for (const OldNode::Entry& entry : node.entries())
    if (!entry.doubled) out.entries.push_back({entry.key, plain(entry.value), entry.where});
  --depth_;
  return out;
}

double OldTranslation::number_of(const OldObject& object, std::string_view key, double otherwise) {
  const auto node = object.find(key);
  if (!node || node->is_null()) return otherwise;
  double out = otherwise;
  if (!node->is_scalar() || !detail::read_real(node->scalar(), out))
    problem(node->where(), text(in_quotes(key), ": expected a number, found ", node->describe()));
  return out;
}

bool OldTranslation::truth_of(const OldObject& object, std::string_view key, bool otherwise) {
  const auto node = object.find(key);
  if (!node || node->is_null()) return otherwise;
  bool out = otherwise;
  double number = 0;
  if (node->is_scalar() && detail::read_real(node->scalar(), number)) return number != 0;
  if (!node->is_scalar() || !detail::read_bool(node->scalar(), out))
    problem(node->where(), text(in_quotes(key), ": expected True or False, found ", node->describe()));
  return out;
}

std::string OldTranslation::word_of(const OldObject& object, std::string_view key, std::string otherwise) {
  const auto node = object.find(key);
  if (!node || node->is_null()) return otherwise;
  if (node->is_scalar() && node->tag().empty()) return node->value();
  problem(node->where(), text(in_quotes(key), ": expected a word, found ", node->describe()));
  return otherwise;
}

std::optional<Setting> OldTranslation::path_of(const OldObject& object, std::string_view key) {
  const auto node = object.find(key);
  if (!node || !node->is_scalar()) return std::nullopt;
  if (node->value().empty()) {
    problem(node->where(), text(in_quotes(key), ": expected a path, found ''"));
    return std::nullopt;
  }
  Setting out = node->scalar();
  out.value = expand_variables(out.value);
  if (out.value != node->value()) remark(node->where(), text(key, ": ", node->value(), " is ", out.value, " here"));
  return out;
}

std::optional<int64_t> OldTranslation::whole_of(const OldObject& object, std::string_view key) {
  const auto node = object.find(key);
  if (!node || node->is_null()) return std::nullopt;
  int64_t number = 0;
  if (node->is_scalar() && detail::read_integer(node->scalar(), number)) return number;
  problem(node->where(), text(in_quotes(key), ": expected a whole number, found ", node->describe()));
  return std::nullopt;
}

std::vector<int64_t> OldTranslation::integers_of(const OldObject& object, std::string_view key) {
  const auto node = object.find(key);
  std::vector<int64_t> out;
  if (!node || node->is_null()) return out;
  const std::vector<OldNode> items = node->is_list() ? node->items() : std::vector{*node};
  for (const OldNode& item : items) {
    int64_t number = 0;
    if (item.is_scalar() && detail::read_integer(item.scalar(), number)) out.push_back(number);
    else problem(item.where(), text(in_quotes(key), ": expected a whole number, found ", item.describe()));
  }
  return out;
}

}  // namespace neon
