#include "datasets/given_images.h"

#include "datasets/file.h"
#include "datasets/image.h"
#include "datasets/store_files.h"
#include "datasets/tar.h"

namespace neon {

namespace {

class ListedImages : public OpenStore {
 public:
  explicit ListedImages(std::vector<std::string> paths) { names_ = std::move(paths); }
  std::string where(const std::string& name) const override { return printable(name); }
  void read(const std::string& name, std::string& to) const override { read_file(name, kMostImageBytes, to); }
  int64_t bytes_of(const std::string& name) const override { return file_size(name); }
};

class PipedImages : public OrderedStore {
 public:
  explicit PipedImages(std::unique_ptr<ByteStream> archive) : tar_(std::move(archive)) {}
  std::string where(const std::string& name) const override { return printable(text("stdin: ", name)); }
  std::string only_in_order() const override { return "an archive in a pipe is read from its start to its end only"; }
  int64_t bytes_of(const std::string&) const override { return 0; }

 protected:
  TarReader& archive() override { return tar_; }
  std::optional<size_t> index_of(const std::string& name) override {
    if (is_hidden(name) || !is_image_name(name)) return std::nullopt;
    wanted_.push_back(name);
    return wanted_.size() - 1;
  }

 private:
  TarReader tar_;
};

}  // namespace

std::unique_ptr<ImageStore> listed_images(std::vector<std::string> paths) {
  return std::make_unique<ListedImages>(std::move(paths));
}

std::unique_ptr<ImageStore> piped_images(std::unique_ptr<ByteStream> archive) {
  return std::make_unique<PipedImages>(std::move(archive));
}

}  // namespace neon
