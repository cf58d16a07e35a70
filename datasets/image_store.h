// Images in a folder, in one or several tar archives, or in ImageNet's archives: their names, and their contents in a
// quick order.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace neon {

class TarReader;
struct Macrobatches;

constexpr size_t kFilesAtOnce = 4096;                  // next() gives no more
constexpr int64_t kBytesAtOnce = int64_t(64) << 20;    // next() reads about so many of a packed archive
constexpr int64_t kMostImageBytes = int64_t(1) << 28;  // of one image

class ImageStore {
 public:
  virtual ~ImageStore() = default;
  // Names of the files, relative to the folder or as in the archive, in order of bytes.
  const std::vector<std::string>& names() const { return names_; }
  // Empty folders, relative likewise.
  const std::vector<std::string>& empty_folders() const { return empty_folders_; }
  const std::string& path() const { return path_; }
  // For messages.
  virtual std::string where(const std::string& name) const = 0;
  // The name with the folders that tell class and part, without the folders above them.
  virtual std::string layout(const std::string& name) const { return name; }

  // Throws a data error that names a file whose layout tells two classes.
  virtual void check_class_folders() const {}

  struct File {
    size_t index = 0;     // among those wanted
    std::string content;  // empty until load(), if that reads it
  };
  // Chooses the files that next() gives, and starts at the first.
  virtual void want(std::vector<std::string> names) { wanted_ = std::move(names); }
  const std::vector<std::string>& wanted() const { return wanted_; }
  // Some more of the wanted files; none after the last.
  virtual std::vector<File> next() = 0;
  // A file's content, in any order and by any thread. Throws a failed error if only_in_order() has a reason.
  virtual void read(const std::string& name, std::string& to) const = 0;
  std::string content(const std::string& name) const {
    std::string out;
    read(name, out);
    return out;
  }
  virtual std::string only_in_order() const { return ""; }
  // The last bytes of a file's content, at most so many, like read().
  virtual std::string end_of(const std::string& name, int64_t most) const {
    const std::string all = content(name);
    return all.substr(all.size() - std::min(all.size(), size_t(most)));
  }
  // Bytes of a file's content.
  virtual int64_t bytes_of(const std::string& name) const = 0;
  // Reads the content of a file of next(), unless next() did; by any thread.
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

// Opens a folder of images or, if it has none, of archives; an archive; or several archives by a pattern
// (archive_names.h). Throws a data error that names the path for anything else, or if it holds no file. It takes
// the `chosen` macrobatches; a config error about them where the path holds none.
std::unique_ptr<ImageStore> open_image_store(const std::string& path, const Macrobatches& chosen);
std::unique_ptr<ImageStore> open_image_store(const std::string& path);

// Finds the folder, file or pattern of a spec: absolute, or in the current folder, the spec's or the data folder. If it
// is missing, returns "" and lists the places in `looked_for`. Throws a config error as DataContext::check_may_read.
struct DataContext;
std::string find_image_store(const std::string& path, const DataContext& context, std::string& looked_for);

}  // namespace neon
