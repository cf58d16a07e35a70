#include "datasets/image_classes.h"

#include <algorithm>
#include <map>
#include <set>

#include "datasets/composed_letters.h"
#include "datasets/image_labels.h"
#include "datasets/meant_cells.h"
#include "datasets/part_names.h"
#include "datasets/store_files.h"
#include "neon/core/counted.h"
#include "neon/core/text.h"

namespace neon {

namespace {

using Path = std::vector<std::string>;  // folders, and the file's name

Path parts_of(const std::string& name) {
  Path out;
  for (size_t first = 0; first <= name.size();) {
    const size_t slash = std::min(name.find('/', first), name.size());
    out.push_back(name.substr(first, slash - first));
    first = slash + 1;
  }
  return out;
}

class Arranger {
 public:
  Arranger(ImageStore& store, size_t least, const DataContext& context)
      : store_(store), least_(least), context_(context) {}

  Arrangement run() {
    collect();
    skip_common_folders();
    find_parts();
    Arrangement out;
    if (labels_.empty()) take_folders(out);
    else take_labels(out);
    // Images that are only kept for validation are what there is to test with.
    if (std::ranges::count(out.images, LabelledImage::test, &LabelledImage::part) == 0)
      for (LabelledImage& image : out.images)
        if (image.part == LabelledImage::validation) image.part = LabelledImage::test;
    std::ranges::stable_sort(out.images, {}, &LabelledImage::part);
    return out;
  }

 private:
  void collect() {
    auto [images, labels, others] = sort_files(store_);
    if (!labels.empty()) {
      labels_ = read_label_files(store_, images, labels);
      images = labels_.images;
      others.insert(others.end(), labels_.others.begin(), labels_.others.end());
    }
    names_ = std::move(images);
    for (const std::string& name : names_) paths_.push_back(parts_of(store_.layout(name)));
    if (!others.empty()) context_.warn(other_files_text(store_, others, !labels_.empty()));
    std::vector<std::string> empty = store_.empty_folders();
    std::erase_if(empty, is_hidden);
    if (!empty.empty())
      context_.warn(text(store_.path(), ": ", empty.size(),
                         " empty folders, or links to nothing, are no classes; the first: ", in_quotes(empty.front())));
  }

  // Folders that all images lie in, and that say nothing: those before train, test, or the class.
  void skip_common_folders() {
    while (true) {
      const std::string& folder = paths_.front()[first_];
      const bool common = std::ranges::all_of(
          paths_, [&](const Path& path) { return path.size() > first_ + 2 && path[first_] == folder; });
      if (!common || part_named(folder) >= 0) return;
      ++first_;
    }
  }

  // -1: the path's first folder says no part, or the path has no folder.
  int part_by_name(const Path& path) const {
    const auto found = parts_.find(path[first_]);
    return found == parts_.end() ? -1 : found->second;
  }

  // Names as training_set say a part where folders of classes lie within, and may be there twice, as in
  // training_set/training_set/CLASS.
  void find_parts() {
    std::map<std::string, bool> deep;
    for (const Path& path : paths_)
      deep.emplace(path[first_], true).first->second &= path.size() >= first_ + (labels_.empty() ? 3 : 2);
    std::vector<std::string> named;
    for (const auto& [folder, is_deep] : deep)
      if (is_deep && context_.rules >= kRulesOfPartWords) named.push_back(folder);
      else parts_[folder] = part_named(folder);
    parts_.merge(parts_of_folders(named));
    split_ = std::ranges::all_of(paths_, [&](const Path& path) { return part_by_name(path) >= 0; });
    const bool twice =
        split_ && context_.rules >= kRulesOfPartWords && std::ranges::all_of(paths_, [&](const Path& path) {
          return path.size() >= first_ + 4 && path[first_ + 1] == path[first_];
        });
    class_place_ = first_ + (twice ? 2 : split_ ? 1 : 0);
    if (const std::string read = read_parts_text(parts_); split_ && !read.empty())
      context_.note(text(store_.path(), ": ", read));
  }

  const std::string& class_of(size_t i) const { return paths_[i][class_place_]; }
  LabelledImage::Part part_of(size_t i) const {
    return split_ ? LabelledImage::Part(part_by_name(paths_[i])) : LabelledImage::train;
  }

  // Folders to train and test with whose own folders are the classes are no classes themselves.
  void check_parts_alone() const {
    size_t part = paths_.size(), other = part;
    for (size_t i = paths_.size(); i-- > 0;) {
      const Path& path = paths_[i];
      const bool named = path.size() > first_ + 1 && part_by_name(path) >= 0;
      if (named && path.size() < first_ + 3) return;
      (named ? part : other) = i;
    }
    if (part == paths_.size() || other == paths_.size()) return;
    fail(ErrorKind::data, store_.where(names_[other]), ": lies beside the folder ", in_quotes(paths_[part][first_]),
         ", and is neither to train nor to test with; expected train/CLASS/IMAGE, val/CLASS/IMAGE, test/CLASS/IMAGE ",
         "and no other images");
  }

  // Two classes with the same folders within may be parts whose names say so in other words.
  void note_twins() const {
    std::map<std::string, std::set<std::string>> inner;
    for (const Path& path : paths_)
      if (path.size() >= first_ + 3) inner[path[first_]].insert(path[first_ + 1]);
    std::map<std::set<std::string>, std::string> known;
    for (const auto& [folder, folders] : inner) {
      const auto [other, added] = known.emplace(folders, folder);
      if (added || folders.size() < 2) continue;
      return context_.note(text(store_.path(), ": ", in_quotes(other->second), " and ", in_quotes(folder),
                                " are classes, though both have folders ", in_quotes(*folders.begin()), " and ",
                                in_quotes(*std::next(folders.begin())),
                                "; if these are the classes, name the outer folders train and test"));
    }
  }

  static std::string class_meant(const std::string& name, const std::vector<std::string>& classes) {
    const std::string other = alike_name(name, classes);
    if (other.empty() || decomposed(other) != decomposed(name)) return did_you_mean(name, classes);
    return text("; the class ", in_quotes(other),
                " looks the same and has other code points for a letter with a mark, ",
                "as another system writes it; rename one of the folders");
  }

  void take_folders(Arrangement& out) const {
    store_.check_class_folders();
    if (!split_) check_parts_alone(), note_twins();
    std::set<std::string> classes;
    for (size_t i = 0; i < paths_.size(); ++i) {
      if (paths_[i].size() < class_place_ + 2)
        fail(ErrorKind::data, store_.where(names_[i]), ": lies in no class's folder; expected ",
             split_ ? "train/CLASS/IMAGE" : "CLASS/IMAGE",
             " (ImageList reads a list of images and classes; a file KEY.cls beside KEY.jpg may have its number)");
      if (part_of(i) == LabelledImage::train) classes.insert(class_of(i));
    }
    for (const std::string& name : classes)
      if (context_.rules >= kRulesOfMeantCells && !is_utf8(name))
        fail(ErrorKind::data, store_.path(), ": the name of the folder ", in_quotes(printable(name)),
             " is not UTF-8, as names of classes must be; rename the folder");
    out.classes = {classes.begin(), classes.end()};
    if (classes.size() < least_)
      fail(ErrorKind::data, store_.path(), ": has training images of ",
           counted(int64_t(classes.size()), "class", "classes"),
           ", at least two are needed: train/CLASS/IMAGE or CLASS/IMAGE");
    for (size_t i = 0; i < paths_.size(); ++i) {
      const auto found = std::ranges::find(out.classes, class_of(i));
      if (found == out.classes.end())
        fail(ErrorKind::data, store_.where(names_[i]), ": there is no training image of class ", in_quotes(class_of(i)),
             class_meant(class_of(i), out.classes));
      out.images.push_back({names_[i], int32_t(found - out.classes.begin()), part_of(i)});
    }
  }

  void take_labels(Arrangement& out) const {
    std::set<int32_t> seen;
    for (size_t i = 0; i < names_.size(); ++i)
      if (part_of(i) == LabelledImage::train) seen.insert(labels_.labels[i]);
    if (seen.size() < least_)
      fail(ErrorKind::data, store_.path(), ": has training images of ",
           counted(int64_t(seen.size()), "class", "classes"), ", by their files KEY.cls; at least two are needed");
    for (int32_t k = 0; k <= *seen.rbegin(); ++k) out.classes.push_back(std::to_string(k));
    for (size_t i = 0; i < names_.size(); ++i) {
      if (labels_.labels[i] > *seen.rbegin())
        fail(ErrorKind::data, store_.where(labels_.names[i]), ": class ", labels_.labels[i],
             ", the training images have classes 0 to ", *seen.rbegin());
      out.images.push_back({names_[i], labels_.labels[i], part_of(i)});
    }
  }

  ImageStore& store_;
  const size_t least_;  // classes
  const DataContext& context_;
  std::vector<std::string> names_;
  std::vector<Path> paths_;
  size_t first_ = 0;  // of a path's parts, the first that says something
  size_t class_place_ = 0;
  std::map<std::string, int> parts_;  // LabelledImage::Part by the first folder's name
  bool split_ = false;                // into train, test, validation
  LabelFiles labels_;                 // empty: folders say the classes
};

}  // namespace

Arrangement arrange_images(ImageStore& store, size_t least, const DataContext& context) {
  return Arranger(store, least, context).run();
}

}  // namespace neon
