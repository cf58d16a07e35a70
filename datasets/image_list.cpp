// ImageList: a table of image files and their classes.
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "datasets/csv.h"
#include "datasets/gzip.h"
#include "datasets/image_samples.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

struct ListParams : ImageParams {
  std::string path, root, test_list;
  double test = 0;
  static void describe(auto&& p) {
    p("path", &ListParams::path,
      "CSV (.tsv: with tabs): a file and its class a line. A first line that names no file is a header.", Required{},
      Alias{"manifest_filename"});
    p("root", &ListParams::root, "Folder or tar archive that the files are in; by default the folder of the list.",
      Alias{"manifest_root"});
    p("test_list", &ListParams::test_list, "The same of the images to test with.");
    p("test", &ListParams::test,
      "Share of the images that is kept to test with, drawn by the seed, without a test_list.", half_open(0, 1));
    ImageParams::describe(p);
  }
};

// A line of a list.
struct Entry {
  std::string file, label, where;  // where: "list.csv:3", for messages
  LabelledImage::Part part;
};

// The name of a listed file within `root`, with which an absolute one may begin.
std::string name_within(std::string file, const std::string& root) {
  while (file.starts_with("./")) file.erase(0, 2);
  std::string folder = join_path(current_dir(), root);
  for (const std::string_view end : {"/.", "/"})
    if (folder.ends_with(end)) folder.erase(folder.size() - end.size());
  return file.starts_with(folder + "/") ? file.substr(folder.size() + 1) : file;
}

void read_list(const std::string& path, LabelledImage::Part part, const std::set<std::string>& known,
               const std::string& root, std::vector<Entry>& out) {
  const std::string content = read_maybe_gzip(path);
  const bool tabs = path.ends_with(".tsv") || content.substr(0, content.find('\n')).find('\t') != content.npos;
  CsvReader reader(content, tabs ? '\t' : ',', path);
  std::vector<CsvCell> cells;
  for (bool first = true; reader.next(cells); first = false) {
    if (cells.size() != 2)
      reader.fail_at(cells.front(), text("expected a file and its class, found ", cells.size(), " cells"));
    Entry entry{name_within(std::string(cells[0].text), root), std::string(cells[1].text),
                text(path, ":", cells[0].line), part};
    const bool there = known.count(entry.file) > 0;
    if (!there && first && !is_image_name(entry.file)) continue;  // a header
    if (!there)
      reader.fail_at(cells.front(), text("there is no file ", in_quotes(entry.file), " in ", root,
                                         "; names are from that folder on, and root: gives another"));
    if (entry.label.empty()) reader.fail_at(cells.back(), text(in_quotes(entry.file), " has no class"));
    out.push_back(std::move(entry));
  }
}

// Names of the classes, or none where labels are numbers; `images` get their labels. A data error for fewer than
// `least` to train with.
std::vector<std::string> take_labels(const std::vector<Entry>& entries, std::vector<LabelledImage>& images,
                                     size_t least, int64_t& classes) {
  double value = 0, largest = 0;
  const bool numbers = std::ranges::all_of(entries, [&](const Entry& entry) {
    if (!parse_number(entry.label, value) || value < 0 || value != std::floor(value) || value > 1e6) return false;
    if (entry.part == LabelledImage::train) largest = std::max(largest, value);
    return true;
  });
  std::set<std::string> seen;
  for (const Entry& entry : entries)
    if (entry.part == LabelledImage::train) seen.insert(entry.label);
  std::vector<std::string> names;
  if (!numbers) names = {seen.begin(), seen.end()};
  classes = std::max<int64_t>(2, numbers ? int64_t(largest) + 1 : int64_t(names.size()));
  for (const Entry& entry : entries) {
    const auto found = std::ranges::find(names, entry.label);
    if (!numbers && found == names.end())
      fail(ErrorKind::data, entry.where, ": class ", in_quotes(entry.label), " is not one of the training list's",
           did_you_mean(entry.label, names));
    if (numbers) parse_number(entry.label, value);
    if (numbers && value > largest)
      fail(ErrorKind::data, entry.where, ": class ", entry.label, ", the training list has classes 0 to ", largest);
    images.push_back({entry.file, numbers ? int32_t(value) : int32_t(found - names.begin()), entry.part});
  }
  if (seen.size() < least)
    fail(ErrorKind::data, entries.front().where, ": every training image is of class ", in_quotes(*seen.begin()));
  return names;
}

class ImageList : public Parametrized<Dataset, ListParams> {
 public:
  explicit ImageList(ListParams given) : Parametrized(std::move(given)) {
    check_image_params(params);
    if (params.test > 0 && !params.test_list.empty())
      fail(ErrorKind::config, "test and test_list are both given; leave one out");
  }

  Data load(const DataContext& context) const override {
    return finish(load_image_set(*images(context), context), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck missing;
    const std::string path = find_data_file(params.path, context, missing.missing);
    return path.empty() ? missing : finish(check_image_set(read(path, context), context));
  }

  std::shared_ptr<ImageSet> images(const DataContext& context) const override {
    return std::make_shared<ImageSet>(read(find_data_file(params.path, context), context));
  }

 private:
  ImageSet read(const std::string& path, const DataContext& context) const {
    ImageSet out;
    out.source = path;
    out.params = params;
    out.memory_share = common.memory_share;
    const size_t slash = path.rfind('/');
    std::string root = slash == path.npos ? "." : path.substr(0, slash), looked_for;
    if (!params.root.empty()) root = find_image_store(params.root, context, looked_for);
    if (root.empty()) fail(ErrorKind::data, params.root, ": no such folder or archive; looked for ", looked_for);
    out.store = open_image_store(root);
    const std::set<std::string> known(out.store->names().begin(), out.store->names().end());
    std::vector<Entry> entries;
    read_list(path, LabelledImage::train, known, root, entries);
    if (entries.empty()) fail(ErrorKind::data, path, ": names no file that is in ", root);
    if (!params.test_list.empty())
      read_list(find_data_file(params.test_list, context), LabelledImage::test, known, root, entries);
    check_unique(entries);
    out.class_names = take_labels(entries, out.images, least_classes(), out.classes);
    draw_test_images(out, params.test, context);
    return out;
  }

  static void check_unique(const std::vector<Entry>& entries) {
    std::unordered_map<std::string_view, const Entry*> seen;
    for (const Entry& entry : entries)
      if (const auto [other, added] = seen.emplace(entry.file, &entry); !added)
        fail(ErrorKind::data, entry.where, ": ", in_quotes(entry.file), " is listed in ", other->second->where,
             " already");
  }
};

NEON_REGISTER(Dataset, ImageList, "Images (JPEG, PNG) and classes of a CSV or TSV list.");

}  // namespace

}  // namespace neon
