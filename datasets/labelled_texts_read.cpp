#include <algorithm>
#include <filesystem>
#include <set>

#include "datasets/file.h"
#include "datasets/labelled_texts.h"
#include "datasets/text_file.h"
#include "neon/core/message.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

namespace fs = std::filesystem;

// Entries of a folder by name, without hidden ones.
std::vector<std::string> names_in(const std::string& folder, bool folders) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') && (folders ? at->is_directory() : at->is_regular_file())) out.push_back(name);
  }
  if (error) fail(ErrorKind::data, folder, ": ", error.message());
  std::ranges::sort(out);
  return out;
}

// The texts of folder/CLASS/FILE.
std::vector<LabelledText> texts_by_class(const std::string& folder, const DataContext& context) {
  std::vector<LabelledText> out;
  for (const std::string& label : names_in(folder, true)) {
    const std::string place = join_path(folder, label);
    for (const std::string& name : names_in(place, false)) {
      const std::string file = join_path(place, name);
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

LabelledTexts texts_of_folder(const std::string& folder, const DataContext& context) {
  LabelledTexts out;
  out.source = folder;
  const std::string train = join_path(folder, "train"), test = join_path(folder, "test");
  out.train = texts_by_class(folder_exists(train) ? train : folder, context);
  if (folder_exists(train) && folder_exists(test)) out.test = texts_by_class(test, context);
  if (out.train.empty())
    fail(ErrorKind::data, folder, ": no texts; expected CLASS/FILE, or train/CLASS/FILE and test/CLASS/FILE");
  if (out.test.empty()) return out;
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
