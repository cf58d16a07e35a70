#include "datasets/store_files.h"

#include "datasets/image.h"
#include "datasets/image_labels.h"

namespace neon {

bool is_hidden(const std::string& name) { return name.starts_with('.') || name.find("/.") != name.npos; }

StoreFiles sort_files(const ImageStore& store) {
  StoreFiles out;
  for (const std::string& name : store.names()) {
    const bool image = is_image_name(name), label = is_label_name(name);
    (is_hidden(name) ? out.others : image ? out.images : label ? out.labels : out.others).push_back(name);
  }
  if (!out.images.empty()) return out;
  std::vector<std::string>& files = out.others;
  files.insert(files.end(), out.labels.begin(), out.labels.end());
  fail(ErrorKind::data, store.path(), ": holds no ", image_endings_text(),
       files.empty() ? "" : text(", but ", files.size(), " other files, such as ", in_quotes(files.front())));
}

std::string other_files_text(const ImageStore& store, const std::vector<std::string>& others, bool labelled) {
  if (others.size() == 1)
    return text(store.path(), ": the file ", in_quotes(others.front()), " is no image, or hidden,",
                labelled ? " or has no label of its own," : "", " and is left out");
  return text(store.path(), ": ", others.size(), " files that are no images, or hidden,",
              labelled ? " or have no label of their own" : "",
              " are left out; the first: ", in_quotes(others.front()));
}

}  // namespace neon
