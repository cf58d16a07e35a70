#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "datasets/file.h"
#include "datasets/image_classes.h"
#include "datasets/labelled_texts.h"
#include "datasets/part_names.h"
#include "datasets/text_file.h"
#include "neon/core/counted.h"
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

void finish_parts(const std::set<std::string>& others, LabelledTexts& out, const DataContext& context) {
  if (!others.empty())
    context.warn(text(out.source, ": has texts to train with in a folder of their own; left out beside it: ",
                      list_text(std::vector<std::string>(others.begin(), others.end()))));
  if (out.test.empty()) out.test.swap(out.validation);  // what there is to test with
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
  finish_parts({others.begin(), others.end()}, out, context);
  return true;
}

}  // namespace

namespace {

// Leaves classes out that have no test text, where there are test texts.
void keep_tested_classes(LabelledTexts& out, const DataContext& context) {
  if (out.train.empty())
    fail(ErrorKind::data, out.source, ": no texts; expected CLASS/FILE, or train/CLASS/FILE and test/CLASS/FILE");
  out.has_test = !out.test.empty();
  if (!out.has_test) return;
  const std::set<std::string> tested = labels_of(out.test);
  for (const std::string& label : labels_of(out.train)) {
    if (tested.contains(label)) continue;
    const size_t left_out = std::erase_if(out.train, [&](const LabelledText& one) { return one.label == label; });
    context.warn(text(out.source, ": no test text is of class ", in_quotes(label), ", so its ",
                      counted(int64_t(left_out), "training text"), left_out == 1 ? " is" : " are", " left out"));
  }
}

// The folders of a file in an archive, and its name; empty where one of them is hidden.
std::vector<std::string> path_in_archive(const std::string& name) {
  std::vector<std::string> out;
  for (const fs::path& part : fs::path(name)) {
    if (part == ".") continue;
    if (part.string().starts_with('.')) return {};
    out.push_back(part.string());
  }
  return out;
}

// How many folders stand above those of parts or classes: all files lie in them.
size_t folders_above(const std::vector<std::vector<std::string>>& paths) {
  for (size_t depth = 0;; ++depth) {
    const std::vector<std::string>* first = nullptr;
    bool common = true, deep = false;
    for (const auto& path : paths) {
      if (path.empty()) continue;
      if (!first) first = &path;
      common = common && path.size() > depth + 1 && first->size() > depth + 1 && path[depth] == (*first)[depth];
      deep = deep || path.size() > depth + 2;
    }
    if (!first || !common || !deep || part_named((*first)[depth]) >= 0) return depth;
  }
}

// As parts_in, of the folders at that depth.
std::map<std::string, int> parts_in_archive(const std::vector<std::vector<std::string>>& paths, size_t depth) {
  std::set<std::string> all, deep;
  for (const auto& path : paths) {
    if (path.size() > depth + 1) all.insert(path[depth]);
    if (path.size() > depth + 2) deep.insert(path[depth]);
  }
  std::map<std::string, int> out = parts_of_folders({deep.begin(), deep.end()});
  for (const std::string& name : all) out.emplace(name, part_named(name));
  return out;
}

}  // namespace

LabelledTexts texts_of_folder(const std::string& folder, const DataContext& context) {
  LabelledTexts out;
  out.source = folder;
  if (!take_parts(folder, context, out)) out.train = texts_by_class(folder, context);
  keep_tested_classes(out, context);
  return out;
}

LabelledTexts texts_in_archive(std::vector<NamedText> files, const std::string& archive, const DataContext& context) {
  LabelledTexts out;
  out.source = archive;
  std::vector<std::vector<std::string>> paths;
  for (const NamedText& file : files) paths.push_back(path_in_archive(file.name));
  const size_t above = folders_above(paths);
  const std::map<std::string, int> parts = parts_in_archive(paths, above);
  const bool has_parts =
      std::ranges::count(parts, LabelledImage::train, [](const auto& each) { return each.second; }) > 0;
  if (const std::string read = read_parts_text(parts); has_parts && !read.empty())
    context.note(text(archive, ": ", read));
  std::set<std::string> others;
  for (size_t i = 0; i < files.size(); ++i) {
    if (paths[i].size() < above + (has_parts ? 3 : 2)) continue;  // beside the folders
    const std::string& folder = paths[i][above];
    const int part = has_parts ? parts.at(folder) : int(LabelledImage::train);
    if (part < 0) {
      others.insert(in_quotes(folder));
      continue;
    }
    auto& to = part == LabelledImage::train ? out.train : part == LabelledImage::test ? out.test : out.validation;
    to.push_back(
        {std::move(files[i].text), has_parts ? paths[i][above + 1] : folder, text(archive, ": ", files[i].name)});
  }
  finish_parts(others, out, context);
  keep_tested_classes(out, context);
  return out;
}

}  // namespace neon
