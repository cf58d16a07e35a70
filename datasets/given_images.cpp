#include "datasets/given_images.h"

#include "datasets/file.h"
#include "datasets/image.h"
#include "datasets/store_files.h"
#include "datasets/tar.h"

namespace neon {

namespace {

class ListedImages : public ImageStore {
 public:
  explicit ListedImages(std::vector<std::string> paths) { names_ = std::move(paths); }
  std::string where(const std::string& name) const override { return printable(name); }
  void want(std::vector<std::string> names) override {
    ImageStore::want(std::move(names));
    at_ = 0;
  }
  std::vector<File> next() override {
    std::vector<File> out;
    while (at_ < wanted_.size() && out.size() < kFilesAtOnce) out.push_back({at_++, ""});
    return out;
  }
  void load(File& file) const override { read(wanted_[file.index], file.content); }
  void read(const std::string& name, std::string& to) const override { read_file(name, kMostImageBytes, to); }
  int64_t bytes_of(const std::string& name) const override { return file_size(name); }

 private:
  size_t at_ = 0;
};

class PipedImages : public ImageStore {
 public:
  explicit PipedImages(std::unique_ptr<ByteStream> archive) : tar_(std::move(archive)) {}
  std::string where(const std::string& name) const override { return printable(text("stdin: ", name)); }
  std::vector<File> next() override {
    std::vector<File> out;
    int64_t bytes = 0;
    while (out.size() < kFilesAtOnce && bytes < kBytesAtOnce && tar_.next()) {
      if (is_hidden(tar_.name()) || !is_image_name(tar_.name())) continue;
      out.push_back({wanted_.size(), tar_.content(kMostImageBytes)});
      wanted_.push_back(tar_.name());
      bytes += tar_.size();
    }
    return out;
  }
  void read(const std::string&, std::string&) const override { fail(ErrorKind::failed, only_in_order()); }
  std::string only_in_order() const override { return "an archive in a pipe is read from its start to its end only"; }
  int64_t bytes_of(const std::string&) const override { return 0; }

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
