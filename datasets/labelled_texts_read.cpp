#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "datasets/file.h"
#include "datasets/image_classes.h"
#include "datasets/labelled_texts.h"
#include "datasets/part_names.h"
#include "datasets/text_file.h"
#include "neon/core/message.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

namespace fs = std::filesystem;

// Folders in a folder by name, without hidden ones.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') && at->is_directory()) out.push_back(name);
  }
  if (error) fail(ErrorKind::data, folder, ": ", error.message());
  std::ranges::sort(out);
  return out;
}

// The texts of folder/CLASS/FILE, and of folders below CLASS.
std::vector<LabelledText> texts_by_class(const std::string& folder, const DataContext& context) {
  std::vector<LabelledText> out;
  for (const std::string& label : folders_in(folder)) {
    const std::string place = join_path(folder, label);
    const bool deep = context.rules >= kRulesOfDeepTexts;
    for (const std::string& file : files_below(place, deep)) {
      if (!deep && fs::path(file).parent_path() != place) continue;
      context.check_may_read(file, folder);
      out.push_back({std::string(TextFile(file).text()), label, file});
    }
  }
  return out;
}

std::set<std::string> labels_of(const std::vector<LabelledText>& texts) {
  std::set<std::string> out;
  for (const LabelledText& one : texts) out.insert(one.label);
  return out;
}

}  // namespace

namespace {

// As ImageFolder knows them: names as training_set where folders of classes lie within.
std::map<std::string, int> parts_in(const std::string& folder, const DataContext& context) {
  std::map<std::string, int> out;
  std::vector<std::string> deep;
  for (const std::string& name : folders_in(folder))
    if (context.rules >= kRulesOfPartWords && !folders_in(join_path(folder, name)).empty()) deep.push_back(name);
    else out[name] = part_named(name);
  out.merge(parts_of_folders(deep));
  return out;
}

// The texts of train, test and val. False: the folder has no part to train with.
bool take_parts(const std::string& folder, const DataContext& context, LabelledTexts& out) {
  const std::map<std::string, int> parts = parts_in(folder, context);
  if (std::ranges::count(parts, LabelledImage::train, [](const auto& each) { return each.second; }) == 0) return false;
  if (const std::string read = read_parts_text(parts); !read.empty()) context.note(text(folder, ": ", read));
  std::vector<std::string> others;
  for (const auto& [name, part] : parts) {
    if (part < 0) {
      others.push_back(in_quotes(name));
      continue;
    }
    std::vector<LabelledText> texts = texts_by_class(join_path(folder, name), context);
    auto& to = part == LabelledImage::train ? out.train : part == LabelledImage::test ? out.test : out.validation;
    std::ranges::move(texts, std::back_inserter(to));
  }
  if (!others.empty())
    context.warn(
        text(folder, ": has texts to train with in a folder of their own; left out beside it: ", list_text(others)));
  if (out.test.empty()) out.test.swap(out.validation);  // what there is to test with
  return true;
}

}  // namespace

LabelledTexts texts_of_folder(const std::string& folder, const DataContext& context) {
  LabelledTexts out;
  out.source = folder;
  if (!take_parts(folder, context, out)) out.train = texts_by_class(folder, context);
  if (out.train.empty())
    fail(ErrorKind::data, folder, ": no texts; expected CLASS/FILE, or train/CLASS/FILE and test/CLASS/FILE");
  out.has_test = !out.test.empty();
  if (!out.has_test) return out;
  const std::set<std::string> tested = labels_of(out.test);
  for (const std::string& label : labels_of(out.train)) {
    if (tested.contains(label)) continue;
    const size_t left_out = std::erase_if(out.train, [&](const LabelledText& one) { return one.label == label; });
    context.warn(text(folder, ": no test text is of class ", in_quotes(label), ", so its ", left_out,
                      " training texts are left out"));
  }
  return out;
}

}  // namespace neon
