// The classes of neon 0.9, each with its keys and with what neon has for it. A file of classes registers its table at
// its end; the translator knows no class by itself.
#pragma once
#include <string_view>
#include <vector>

#include "neon/spec/old/old_node.h"

namespace neon {

class OldTranslation;
struct OldObject;
struct OldResult;

// A key of a class. `as` is ours, or says why an idle key is left out.
struct OldKey {
  enum class Use {
    value,   // a plain value, copied
    object,  // an object, translated
    read,    // read by the class's own function
    idle,    // without effect
    holder,  // without effect in 0.9, too: it only holds anchors
  };
  enum class Form { any, word, list, map };  // of the value of a key that the class's own function reads
  std::string_view name, as;
  Use use = Use::value;
  std::string_view category = {};  // of an object
  bool required = false;
  Form form = Form::any;
};

constexpr OldKey old_value(std::string_view name, std::string_view as = "") {
  return {name, as.empty() ? name : as, OldKey::Use::value};
}
constexpr OldKey old_object(std::string_view name, std::string_view as, std::string_view category) {
  return {name, as, OldKey::Use::object, category};
}
constexpr OldKey old_read(std::string_view name, OldKey::Form form = OldKey::Form::any) {
  return {name, "", OldKey::Use::read, {}, false, form};
}
constexpr OldKey old_word(std::string_view name) { return old_read(name, OldKey::Form::word); }
constexpr OldKey old_list(std::string_view name) { return old_read(name, OldKey::Form::list); }
constexpr OldKey old_map(std::string_view name) { return old_read(name, OldKey::Form::map); }
constexpr OldKey old_idle(std::string_view name, std::string_view why) { return {name, why, OldKey::Use::idle}; }
constexpr OldKey old_holder(std::string_view name) { return {name, "", OldKey::Use::holder}; }
constexpr OldKey required(OldKey key) {
  key.required = true;
  return key;
}

using OldKeys = std::vector<OldKey>;
OldKeys operator+(OldKeys a, const OldKeys& b);

struct OldClass {
  std::string_view name;      // "layers.FCLayer"
  std::string_view category;  // "layer"
  std::string_view as;        // ours: "Affine"
  OldKeys keys;
  // The rest, after the keys; may be null.
  void (*finish)(OldTranslation&, const OldObject&, OldResult&) = nullptr;
  std::string_view remark = {};  // about every object of the class
};

// Classes that neon does not have, with a sentence on what to do.
struct OldMissing {
  std::string_view name, mend;
};

class OldClasses {
 public:
  explicit OldClasses(std::vector<OldClass> classes);
  explicit OldClasses(std::vector<OldMissing> missing);
};

// "!obj:neon.layers.fully_connected.FCLayer" -> "layers.FCLayer"
std::string old_class_name(std::string_view tag);
const OldClass* find_old_class(std::string_view name);
const OldMissing* find_old_missing(std::string_view name);
std::vector<std::string> old_class_names();

}  // namespace neon
