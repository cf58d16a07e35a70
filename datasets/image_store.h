// A folder of images, or a tar archive of the same, several of them, or ImageNet's archives: names, and contents in the
// order in which they are quickly read.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace neon {

class TarReader;

constexpr size_t kFilesAtOnce = 4096;                  // next() gives no more
constexpr int64_t kBytesAtOnce = int64_t(64) << 20;    // next() reads about so many of a packed archive
constexpr int64_t kMostImageBytes = int64_t(1) << 28;  // of one image

class ImageStore {
 public:
  virtual ~ImageStore() = default;
  // Names of the files, relative to the folder or as in the archive, in order of bytes.
  const std::vector<std::string>& names() const { return names_; }
  // Folders in which nothing is, relative likewise.
  const std::vector<std::string>& empty_folders() const { return empty_folders_; }
  const std::string& path() const { return path_; }
  // For messages.
  virtual std::string where(const std::string& name) const = 0;
  // The name and the folders that say what the file is, without those of the way to it.
  virtual std::string layout(const std::string& name) const { return name; }

  // Throws a data error that names a file of which the layout may say two classes.
  virtual void check_class_folders() const {}

  struct File {
    size_t index = 0;     // among those wanted
    std::string content;  // empty until load(), where that is what reads it
  };
  // What next() gives from now on, from the start.
  virtual void want(std::vector<std::string> names) { wanted_ = std::move(names); }
  const std::vector<std::string>& wanted() const { return wanted_; }
  // Some of the files wanted, until all have come; then none.
  virtual std::vector<File> next() = 0;
  // A file's content, in any order and by any thread, unless the store gives them only in its own: then the reason.
  virtual void read(const std::string& name, std::string& to) const = 0;
  std::string content(const std::string& name) const {
    std::string out;
    read(name, out);
    return out;
  }
  virtual std::string only_in_order() const { return ""; }
  // Bytes of a file's content.
  virtual int64_t bytes_of(const std::string& name) const = 0;
  // Reads the content of what next() gave, unless it has; by any thread.
  virtual void load(File&) const {}

 protected:
  std::string path_;
  std::vector<std::string> names_, wanted_, empty_folders_;
};

// A store that reads any file at any time.
class OpenStore : public ImageStore {
 public:
  void want(std::vector<std::string> names) override;
  std::vector<File> next() override;
  void load(File& file) const override { read(wanted_[file.index], file.content); }

 protected:
  // The indices of the files wanted, in the order in which they are quickly read; empty: the order wanted.
  virtual std::vector<size_t> quick_order() const { return {}; }

 private:
  std::vector<size_t> order_;
  size_t at_ = 0;
};

// A store of a tar archive that is read once, from its start to its end.
class OrderedStore : public ImageStore {
 public:
  std::vector<File> next() override;
  void read(const std::string&, std::string&) const override;

 protected:
  // The archive, which next() reads on from where it is.
  virtual TarReader& archive() = 0;
  // The index of an archive's file among those wanted; none: it is passed over.
  virtual std::optional<size_t> index_of(const std::string& name) = 0;
};

// A folder, whose images are read or, where there are none, its archives; an archive; or several, by a pattern
// (archive_names.h). Throws a data error that names the path when it is none of these, or holds no file.
std::unique_ptr<ImageStore> open_image_store(const std::string& path);

// The path that a spec means, a folder or a file: absolute, or in the current folder, the spec's, the data folder; ""
// when there is none, and where it was looked for.
struct DataContext;
std::string find_image_store(const std::string& path, const DataContext& context, std::string& looked_for);

}  // namespace neon
