// Images of a folder, an archive or a list as samples, a batch decoded at a time by all threads.
#pragma once
#include "datasets/image_store.h"
#include "neon/cli/samples.h"

namespace neon {

// Keeps the images of a folder or archive that training would read. A warning names the other files.
void want_images(ImageStore& store);

// The images that the store gives, in its order: of a folder by name, of an archive as they lie. `prefix` begins what
// each is called. A bad one ends the run, or is left out with a warning, as the training set's on_bad_sample says.
std::unique_ptr<SampleSource> samples_of_images(std::unique_ptr<ImageStore> store, std::string prefix,
                                                const StoredData& stored);

// The content of one image as a sample (1, ...).
Tensor image_sample(std::string_view content, const std::string& name, const StoredData& stored);

}  // namespace neon
