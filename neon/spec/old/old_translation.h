// One translation of a file of neon 0.9: problems, decisions, and facts that one object needs of another.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "neon/core/text.h"
#include "neon/spec/conversion.h"
#include "neon/spec/old/old_class.h"
#include "neon/spec/old/old_rules.h"

namespace neon {

// An object as the file has it.
struct OldObject {
  OldNode node;
  const OldClass& kind;

  std::optional<OldNode> find(std::string_view key) const { return node.find(key); }
  Location where_of(std::string_view key) const;  // its value's, else the object's
};

// An object as neon has it: a class and its parameters.
struct OldResult {
  std::string name;
  Setting params;

  void set(std::string key, Setting value, const Location& key_where);
  void set(std::string key, Setting value) {
    const Location where = value.where;
    set(std::move(key), std::move(value), where);
  }
  bool dropped() const { return name.empty(); }
};

class OldTranslation {
 public:
  OldTranslation(Conversion& conversion, Problems& problems) : conversion_(conversion), problems_(problems) {}

  // The native form of an object of a category; null after a problem, and for what leaves nothing.
  Setting object(const OldNode& node, std::string_view category);
  // Lists, maps and scalars; objects in them are a problem.
  Setting plain(const OldNode& node);
  // The name of a translated layer, which gets one if it has none.
  std::string name_of(OldResult& layer, const Location& where);
  // For maps that have keys, but no class.
  void check_keys(const OldObject& object);
  void use_keys(const OldObject& object, OldResult& out);
  // The class of an object; null, with a problem added, where it belongs to another category.
  const OldClass* class_of(const OldNode& node, std::string_view category);

  void problem(const Location& where, std::string message) { problems_.add(where, "", std::move(message)); }
  // A line that convert prints at the value, once in a file.
  void remark(const Location& where, std::string message);
  // The same; a run prints it, too.
  void warning(const Location& where, std::string message);
  void option(const std::string& name, Setting value) {
    conversion_.options.entries.push_back({name, value, value.where});
  }

  // The value of a key as a number, a truth or a word; adds a problem for another value. `otherwise` without the key.
  double number_of(const OldObject& object, std::string_view key, double otherwise);
  bool truth_of(const OldObject& object, std::string_view key, bool otherwise);
  std::string word_of(const OldObject& object, std::string_view key, std::string otherwise);
  // A path, with the variables of the environment in it replaced.
  std::optional<Setting> path_of(const OldObject& object, std::string_view key);
  // A whole number; adds a problem for another value.
  std::optional<int64_t> whole_of(const OldObject& object, std::string_view key);
  // Whole numbers: one, or a list of them.
  std::vector<int64_t> integers_of(const OldObject& object, std::string_view key);

  OldRules rules;                                     // of all layers that learn
  std::vector<std::pair<Location, int64_t>> unrolls;  // of every object that has them
  std::vector<std::string> frozen;                    // arrays that keep their first values
  std::vector<Remark> datatypes;                      // backend_type of every object that has one
  std::string activation;                             // of the last layer so far: "Softmax"
  std::vector<int64_t> data_shape;                    // what the data layer says: {784} or {3, 32, 32}
  Setting augment;                                    // what an Imageset changes in images
  Setting normalize;
  Location data_where;  // the data layer's
  std::set<std::string> layer_names;
  bool flat_data = false;     // samples are no images
  bool starts_local = false;  // the first layer is one of images
  bool shuffle = false;
  bool pretrains = false;  // the model's phases are pre-training
  bool autoencoder = false;
  bool reconstruct = false;  // samples are targets beside their labels
  bool has_test = true;      // the set has test samples

 private:
  void check_held(const OldNode& node);
  void check_form(const OldKey& key, const OldNode& value);
  void check_unknown(const OldNode::Entry& entry, const OldObject& object, const std::vector<std::string>& known);
  void note_holder(const OldNode::Entry& entry, const std::string& doubt);
  void check_depth(const OldNode& node);
  void name_layer(const OldObject& object, OldResult& out);
  void note_datatype(const OldObject& object);
  void share_weights(const OldObject& object, OldResult& out);

  Conversion& conversion_;
  Problems& problems_;
  std::set<std::string> remarked_;
  std::vector<std::pair<OldNode, std::string>> named_layers_;  // with the names that they have here
  int depth_ = 0, nodes_ = 0;
};

// A whole file: an experiment, as the map of our keys.
Setting translate_old_file(const OldFile& file, Conversion& conversion, Problems& problems);

}  // namespace neon
