#include "datasets/image_labels.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "datasets/image.h"

namespace neon {

namespace {

constexpr std::string_view kLabelEnding = ".cls";
constexpr int32_t kMostClasses = 1'000'000;

// A name without what follows its last dot; without what follows the first, which is WebDataset's key.
std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }
std::string key_of(const std::string& name) { return name.substr(0, name.find('.', name.rfind('/') + 1)); }

int32_t label_in(std::string_view content, const std::string& where) {
  const size_t first = std::min(content.find_first_not_of(" \t\r\n"), content.size());
  const std::string_view digits = content.substr(first, content.find_last_not_of(" \t\r\n") + 1 - first);
  int32_t out = -1;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error != std::errc() || rest != digits.data() + digits.size() || out < 0 || out >= kMostClasses)
    fail(ErrorKind::data, where, ": ", in_quotes(digits), " is no class: expected a whole number from 0 to ",
         kMostClasses - 1);
  return out;
}

LabelFiles match(const ImageStore& store, const std::vector<std::string>& images,
                 const std::vector<std::string>& labels) {
  LabelFiles out;
  std::unordered_set<std::string> unused(labels.begin(), labels.end());
  const std::unordered_set<std::string> known = unused;
  for (const std::string& image : images) {
    std::string label = text(stem_of(image), kLabelEnding);
    if (!known.contains(label)) {
      if (!known.contains(text(key_of(image), kLabelEnding)))
        fail(ErrorKind::data, store.where(image), ": has no label; expected ",
             in_quotes(label.substr(label.rfind('/') + 1)), " beside it, as others have");
      out.others.push_back(image);
      continue;
    }
    if (unused.erase(label) == 0)
      fail(ErrorKind::data, store.where(image), ": is another image of the label ",
           in_quotes(label.substr(label.rfind('/') + 1)));
    out.images.push_back(image);
    out.names.push_back(std::move(label));
  }
  if (!unused.empty())
    fail(ErrorKind::data, store.where(*std::ranges::min_element(unused)),
         ": a label without an image; expected one of that name with ", image_endings_text());
  return out;
}

}  // namespace

bool is_label_name(std::string_view name) { return name.ends_with(kLabelEnding); }

LabelFiles read_label_files(ImageStore& store, const std::vector<std::string>& images,
                            const std::vector<std::string>& labels) {
  LabelFiles out = match(store, images, labels);
  out.labels.assign(out.names.size(), -1);
  store.want(out.names);
  for (auto files = store.next(); !files.empty(); files = store.next())
    for (ImageStore::File& file : files) {
      store.load(file);
      out.labels[file.index] = label_in(file.content, store.where(out.names[file.index]));
    }
  for (size_t i = 0; i < out.labels.size(); ++i)
    if (out.labels[i] < 0) fail(ErrorKind::data, store.where(out.names[i]), ": has disappeared");
  return out;
}

std::vector<std::string> without_fields(std::vector<std::string> images, const std::vector<std::string>& labels) {
  const std::unordered_set<std::string> known(labels.begin(), labels.end());
  std::erase_if(images, [&](const std::string& image) {
    return !known.contains(text(stem_of(image), kLabelEnding)) && known.contains(text(key_of(image), kLabelEnding));
  });
  return images;
}

}  // namespace neon
