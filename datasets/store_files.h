// Which files of a folder or archive are images. Training, eval, data check and predict all ask here.
#pragma once
#include <string>
#include <vector>

#include "datasets/image_store.h"

namespace neon {

struct StoreFiles {
  std::vector<std::string> images;  // by their endings (image.h)
  std::vector<std::string> labels;  // KEY.cls
  std::vector<std::string> others;  // hidden files (.DS_Store, ._1.jpg), files in hidden folders, and all else
};

// Whether the name, or a folder in it, begins with a dot.
bool is_hidden(const std::string& name);

// Names as the store has them, in its order. A data error that counts the other files where there is no image.
StoreFiles sort_files(const ImageStore& store);

// "FOLDER: 3 files that are no images, or hidden, are left out; the first: 'a.txt'".
std::string other_files_text(const ImageStore& store, const std::vector<std::string>& others, bool labelled);

}  // namespace neon
