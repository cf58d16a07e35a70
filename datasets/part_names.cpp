#include "datasets/part_names.h"

#include <algorithm>
#include <cctype>

#include "datasets/image_samples.h"
#include "neon/core/message.h"
#include "neon/core/text.h"

namespace neon {

int part_named(std::string_view name) {
  const std::string folder = lower(name);
  if (folder == "train" || folder == "training") return LabelledImage::train;
  if (folder == "test" || folder == "testing") return LabelledImage::test;
  if (folder == "val" || folder == "valid" || folder == "validation") return LabelledImage::validation;
  return -1;
}

namespace {

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out;
  for (size_t first = 0; first < name.size(); ++first) {
    size_t end = first;
    while (end < name.size() && std::isalpha(uint8_t(name[end]))) ++end;
    if (end > first) out.emplace_back(name.substr(first, end - first));
    first = end;
  }
  return out;
}

// Words that stand beside that of a part in a folder's name. With others the folder is a class, such as train-lines.
bool says_data(const std::string& word) {
  static constexpr std::string_view words[] = {"set",    "sets", "data", "dataset", "images", "image", "imgs",
                                               "photos", "seg",  "new",  "split",   "texts",  "text",  "files"};
  return std::ranges::count(words, lower(word)) > 0;
}

int part_of_folder(const std::string& folder) {
  const bool plain = std::ranges::all_of(
      words_of(folder), [](const std::string& word) { return part_named(word) >= 0 || says_data(word); });
  return plain ? part_named(part_word(folder)) : -1;
}

}  // namespace

std::string part_word(std::string_view name) {
  std::string out;
  for (const std::string& word : words_of(name)) {
    if (part_named(word) < 0) continue;
    if (!out.empty() && out != word) return "";
    out = word;
  }
  return out;
}

std::map<std::string, int> parts_of_folders(const std::vector<std::string>& folders) {
  std::map<std::string, int> out;
  for (const std::string& folder : folders) out[folder] = part_of_folder(folder);
  const auto has_part = [&](bool train) {
    return std::ranges::any_of(
        out, [&](const auto& each) { return each.second >= 0 && (each.second == LabelledImage::train) == train; });
  };
  if (!has_part(true) || !has_part(false))
    for (auto& [folder, part] : out) part = part_named(folder);
  return out;
}

std::string read_parts_text(const std::map<std::string, int>& parts) {
  std::vector<std::string> texts;
  for (const auto& [folder, part] : parts)
    if (part >= 0 && part_named(folder) < 0)
      texts.push_back(text(in_quotes(folder), texts.empty() ? " is read as " : " as ", lower(part_word(folder))));
  return list_text(texts);
}

}  // namespace neon
