// Images that are no folder and no archive on disk, as a store: files named one by one, and an archive in a pipe.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "datasets/gzip.h"
#include "datasets/image_store.h"

namespace neon {

// The files at those paths, in that order; a path may come twice.
std::unique_ptr<ImageStore> listed_images(std::vector<std::string> paths);

// The images of a tar archive that is read once, from its start to its end. Hidden files are passed over. next() adds
// the names of its images to wanted(), since nobody knows them before.
std::unique_ptr<ImageStore> piped_images(std::unique_ptr<ByteStream> archive);

}  // namespace neon
