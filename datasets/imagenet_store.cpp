// ImageNet's archives. The devkit labels the validation images: line i of a text is the number of image i's class. The
// devkit's meta.mat has the WordNet name of each number.
#include <charconv>
#include <set>

#include "datasets/archive_store.h"
#include "datasets/matlab.h"
#include "datasets/tar.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

constexpr const char* kTrain = "ILSVRC2012_img_train.tar";
constexpr const char* kValidation = "ILSVRC2012_img_val.tar";
constexpr const char* kDevkit = "ILSVRC2012_devkit_t12.tar.gz";
constexpr const char* kTruth = "data/ILSVRC2012_validation_ground_truth.txt";
constexpr const char* kMeta = "data/meta.mat";
constexpr int64_t kMostOfDevkit = int64_t(1) << 26;  // of a file of the devkit

struct Devkit {
  std::string path;
  std::map<int64_t, std::string> classes;  // by number
  std::vector<int64_t> truth;              // of the images to validate with
};

std::vector<int64_t> lines_of_numbers(std::string_view text_of, const std::string& name) {
  std::vector<int64_t> out;
  for (size_t line = 1; !text_of.empty(); ++line) {
    const size_t end = std::min(text_of.find('\n'), text_of.size());
    std::string_view own = text_of.substr(0, end);
    if (own.ends_with('\r')) own.remove_suffix(1);
    text_of.remove_prefix(std::min(end + 1, text_of.size()));
    int64_t number = 0;
    const auto [rest, error] = std::from_chars(own.data(), own.data() + own.size(), number);
    if (error != std::errc() || rest != own.data() + own.size())
      fail(ErrorKind::data, name, ":", line, ": expected the number of a class, found ", in_quotes(own));
    out.push_back(number);
  }
  return out;
}

Devkit read_devkit(const std::string& path) {
  Devkit out{path, {}, {}};
  TarReader tar(path);
  bool has_truth = false;
  while (tar.next()) {
    if (tar.name().ends_with(kTruth)) {
      const std::string where = tar.where();
      out.truth = lines_of_numbers(tar.content(kMostOfDevkit), where);
      has_truth = true;
    } else if (tar.name().ends_with(kMeta)) {
      const std::string where = tar.where();
      for (const MatlabStruct& synset : read_matlab_structs(tar.content(kMostOfDevkit), "synsets", where)) {
        const auto number = synset.find("ILSVRC2012_ID"), name = synset.find("WNID");
        if (number == synset.end() || name == synset.end() || number->second.numbers.size() != 1 ||
            name->second.text.empty())
          fail(ErrorKind::data, where, ": a synset has no ILSVRC2012_ID or no WNID");
        out.classes[int64_t(number->second.numbers[0])] = name->second.text;
      }
    }
  }
  if (!has_truth || out.classes.empty())
    fail(ErrorKind::data, path, ": has no ", has_truth ? kMeta : kTruth, "; fetch it again");
  return out;
}

// val/CLASS/NAME of ILSVRC2012_val_00000001.JPEG.
std::string validation_name(const std::string& name, const Devkit& devkit) {
  const size_t digits = name.rfind('_') + 1, end = std::min(name.find('.', digits), name.size());
  int64_t number = 0;
  const auto [rest, error] = std::from_chars(name.data() + digits, name.data() + end, number);
  if (error != std::errc() || rest != name.data() + end || number < 1 || number > int64_t(devkit.truth.size()))
    fail(ErrorKind::data, kValidation, ": ", printable(name),
         ": expected ILSVRC2012_val_NUMBER.JPEG, of a number up to ", devkit.truth.size(), ", as many as ", devkit.path,
         " has classes of images");
  const int64_t label = devkit.truth[size_t(number) - 1];
  const auto found = devkit.classes.find(label);
  if (found == devkit.classes.end())
    fail(ErrorKind::data, devkit.path, ": image ", number, " is of class ", label, ", which ", kMeta, " does not have");
  return text("val/", found->second, "/", name);
}

}  // namespace

bool is_imagenet(const std::string& folder) { return file_exists(join_path(folder, kTrain)); }

std::unique_ptr<ImageStore> open_imagenet(const std::string& folder) {
  auto out = std::make_unique<ArchiveStore>(folder);
  out->add(join_path(folder, kTrain), [](const std::string& name) { return "train/" + name; });
  const std::string validation = join_path(folder, kValidation), devkit = join_path(folder, kDevkit);
  if (file_exists(validation)) {
    if (!file_exists(devkit))
      fail(ErrorKind::data, devkit, ": no such file; it says the classes of the images of ", kValidation,
           ", fetch it from where those are from");
    const Devkit known = read_devkit(devkit);
    out->add(validation, [&](const std::string& name) { return validation_name(name, known); });
  }
  out->finish();
  return out;
}

}  // namespace neon
