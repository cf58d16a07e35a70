// ImageList: a table of image files and their classes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>

#include "datasets/csv.h"
#include "datasets/gzip.h"
#include "datasets/image.h"
#include "datasets/image_list_targets.h"
#include "datasets/image_samples.h"
#include "datasets/labels.h"
#include "datasets/table_header.h"
#include "datasets/test_images.h"
#include "neon/core/counted.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

struct ListParams : ImageParams {
  std::string path, root, test_list, header = "auto";
  double test = 0;
  int64_t classes = 0;
  ListTargets targets;
  bool standardize = true;
  std::vector<std::string> missing = default_missing_marks();
  static void describe(auto&& p) {
    p("path", &ListParams::path,
      "CSV with commas, semicolons or tabs: a file and its class a line. Classes are names, or the whole numbers 0 to "
      "k - 1, which "
      "are "
      "compared as numbers: 1 is 1.0.",
      Required{}, Alias{"manifest_filename"});
    p("root", &ListParams::root, "Folder or tar archive with the files. Default: the list's folder.",
      Alias{"manifest_root"});
    p("test_list", &ListParams::test_list, "List of the test images, in the same form.");
    p("test", &ListParams::test,
      "Share of the images that is kept to test with, drawn by the seed, from each class in proportion; without a "
      "test_list.",
      half_open(0, 1));
    p("header", &ListParams::header,
      "Whether the first line of a list is a header. auto: it is if its first cell is neither a file that exists nor "
      "like the name of one. neon refuses a first line that could be both.",
      one_of({"auto", "true", "false"}));
    p("classes", &ListParams::classes,
      "Number of classes that are numbers; needed where some of them have no training image. 0: those listed, which "
      "must be 0 to k - 1, each at least once.",
      closed(0, 1e6));
    p("targets", &ListParams::targets,
      "Columns behind the files to predict in place of one class, by name or index. Each has an output of its own "
      "(`outputs` of the spec). Kinds are number, classes, and labels, of which a cell has any number, as in "
      "red;round. "
      "Example: {age: number, breed: classes}. Numbers may have decimal commas throughout, between semicolons or tabs.",
      one_of({"number", "classes", "labels"}));
    p("standardize", &ListParams::standardize,
      "Brings targets that are numbers to mean 0 and deviation 1, measured on the training images; neon predict turns "
      "outputs back.");
    p("missing", &ListParams::missing,
      "Marks of a missing target beside the empty cell; letter case does not matter. A missing target is refused.");
    ImageParams::describe(p);
  }
};

// A list's text, and how it is read.
struct List {
  std::string path, content, root;
  LabelledImage::Part part = LabelledImage::train;
  std::optional<ListCells> cells;  // of several targets
  List(std::string from, std::string folder, LabelledImage::Part to)
      : path(std::move(from)), content(read_maybe_gzip(path)), root(std::move(folder)), part(to) {}
  // Tabs, or the first comma or semicolon of the first line that stands in no quotes.
  char delimiter() const {
    const std::string_view line = std::string_view(content).substr(0, content.find('\n'));
    if (path.ends_with(".tsv") || line.find('\t') != line.npos) return '\t';
    bool quoted = false;
    for (const char letter : line) {
      quoted = quoted != (letter == '"');
      if (!quoted && (letter == ',' || letter == ';')) return letter;
    }
    return ',';
  }
  CsvReader reader() const { return {content, delimiter(), path}; }
  // `earlier` is the decimal character of the list of training images, for that of test images.
  CsvDialect dialect(char earlier) const { return find_dialect(content, path, {delimiter()}, "auto", earlier); }
};

// A line of a list, which is borrowed.
struct Entry {
  std::string file, label;
  const List* list;
  size_t at, label_at;  // bytes of the list
  // "list.csv:3"
  std::string where() const { return text(list->path, ":", list->reader().line(at)); }
};

// The name of a listed file within `root`, with which an absolute one may begin.
std::string name_within(std::string file, const std::string& root) {
  while (file.starts_with("./")) file.erase(0, 2);
  std::string folder = join_path(current_dir(), root);
  for (const std::string_view end : {"/.", "/"})
    if (folder.ends_with(end)) folder.erase(folder.size() - end.size());
  return file.starts_with(folder + "/") ? file.substr(folder.size() + 1) : file;
}

// Whether the first line of a list is a header. The caller has seen that it names no existing file, or `header`
// decides.
bool is_list_header(const std::string& header, const CsvReader& reader, const Entry& entry) {
  if (header != "auto") return header == "true";
  if (is_image_name(entry.file)) return false;
  if (entry.file.find_first_of("./") != entry.file.npos)
    fail(ErrorKind::config, reader.place(entry.at), ": ",
         unclear_header(text("there is no file ", in_quotes(entry.file), " in ", entry.list->root)));
  return true;
}

// The way to a file that a list names and that is not there.
std::string mend_of_name(const std::string& name, const std::set<std::string>& known) {
  for (const std::string& ending : image_endings())
    if (known.contains(name + ending))
      return text("; there is ", in_quotes(name + ending), ": write the names with their endings");
  return "; names are from that folder on, and root: gives another";
}

void read_list(List& list, const ListTargets& targets, const std::string& header, const std::set<std::string>& known,
               std::vector<Entry>& out, char decimal_earlier = '\0') {
  CsvReader reader = list.reader();
  std::vector<CsvCell> cells;
  std::optional<Entry> head;
  for (bool first = true; reader.next(cells); first = false) {
    if (cells.size() != 2 && targets.empty())
      reader.fail_at(cells.front().at,
                     text("expected a file and its class, found ", counted(int64_t(cells.size()), "cell"),
                          cells.size() > 2 ? "; targets names columns to predict" : ""));
    if (cells.size() < 2) reader.fail_at(cells.front().at, "expected a file and its targets, found 1 cell");
    Entry entry{name_within(std::string(cells[0].text), list.root), std::string(cells[1].text), &list, cells[0].at,
                cells[1].at};
    const bool there = known.contains(entry.file);
    const bool is_header = first && (header == "true" || !there) && is_list_header(header, reader, entry);
    if (first && !targets.empty())
      list.cells.emplace(targets, reader, list.path, list.dialect(decimal_earlier), cells, is_header);
    if (is_header) {
      head = std::move(entry);
      continue;
    }
    if (!there)
      reader.fail_at(entry.at, text("there is no file ", in_quotes(entry.file), " in ", list.root,
                                    mend_of_name(entry.file, known)));
    if (list.cells) list.cells->add(reader, cells);
    else if (head && header == "auto" && head->label == entry.label)
      fail(ErrorKind::config, reader.place(head->at), ": ",
           unclear_header(text("its class ", in_quotes(head->label), " is the class of another line")));
    out.push_back(std::move(entry));
  }
}

// The classes of a set's lists.
class ListLabels {
 public:
  ListLabels(const ListParams& params, const std::vector<Entry>& entries)
      : params_(params), entries_(entries), fail_at_([this](size_t index, const std::string& message) {
          const Entry& entry = entries_[index];
          entry.list->reader().fail_at(entry.label_at, text("the class ", message));
        }) {}

  // Gives the set its images and classes: names, or none where classes are numbers. A data error for fewer classes than
  // `least` to train with.
  void fill(size_t least, ImageSet& set) const {
    std::vector<std::string_view> all, training;
    for (const Entry& entry : entries_) {
      all.push_back(entry.label);
      if (entry.list->part == LabelledImage::train) training.push_back(entry.label);
    }
    const MissingMarks missing(params_.missing);
    label_numbers(all, missing, fail_at_);
    const LabelNumbers numbers = label_numbers(training, missing, fail_at_);
    const LabelClasses classes(training, numbers.all_numbers, fail_at_);
    const std::vector<std::string>& names = classes.names();
    if (numbers.all_numbers) check_numbers(numbers, names.size());
    else check_names(names, set);
    if (names.size() < least)
      fail(ErrorKind::data, entries_.front().where(), ": every training image is of class ", in_quotes(names.front()));
    set.classes = std::max<int64_t>(2, params_.classes > 0 ? params_.classes : int64_t(names.size()));
    for (const Entry& entry : entries_)
      set.images.push_back({entry.file, label_of(entry, classes, numbers.all_numbers), entry.list->part});
  }

 private:
  void check_names(const std::vector<std::string>& names, ImageSet& set) const {
    if (params_.classes > 0)
      fail(ErrorKind::config, "classes: ", params_.classes, ", but the classes of ", entries_.front().list->path,
           " are names; leave it out");
    set.class_names = names;
  }

  void check_numbers(const LabelNumbers& numbers, size_t different) const {
    const std::string& path = entries_.front().list->path;
    if (!numbers.all_whole || numbers.smallest < 0 || numbers.largest >= kMostClasses)
      fail(ErrorKind::data, path, ": has classes from ", numbers.smallest, " to ", numbers.largest,
           ": numbers as classes must be whole, from 0 to ", kMostClasses - 1);
    if (params_.classes > 0 && numbers.largest >= double(params_.classes))
      fail(ErrorKind::config, path, ": has the class ", numbers.largest, ", but classes: ", params_.classes,
           " allows 0 to ", params_.classes - 1);
    if (const std::string what = ask_about_labels(numbers.smallest, numbers.largest, different);
        params_.classes == 0 && !what.empty())
      fail(ErrorKind::config, path, ": its classes are ", what, ": say classes: ", numbers.largest + 1,
           " where some have no training image, or number them from 0");
  }

  int32_t label_of(const Entry& entry, const LabelClasses& classes, bool numbers) const {
    double value = 0;
    if (!numbers || params_.classes == 0) {
      const int64_t found = classes.find(entry.label);
      if (found < 0)
        fail(ErrorKind::data, entry.where(), ": class ", in_quotes(entry.label), " is not one of the training list's",
             numbers ? text(", 0 to ", classes.names().size() - 1) : did_you_mean(entry.label, classes.names()));
      return int32_t(found);
    }
    if (!parse_number(entry.label, value) || value < 0 || value >= double(params_.classes) ||
        value != std::floor(value))
      fail(ErrorKind::data, entry.where(), ": class ", in_quotes(entry.label),
           " is not one of classes: ", params_.classes, ", 0 to ", params_.classes - 1);
    return int32_t(value);
  }

  static constexpr double kMostClasses = 1e6;
  const ListParams& params_;
  const std::vector<Entry>& entries_;
  const FailAtLabel fail_at_;
};

class ImageList : public Parametrized<Dataset, ListParams> {
 public:
  explicit ImageList(ListParams given) : Parametrized(std::move(given)) {
    check_image_params(params);
    if (params.test > 0 && !params.test_list.empty())
      fail(ErrorKind::config, "test and test_list are both given; leave one out");
    if (!params.targets.empty() && params.classes > 0)
      fail(ErrorKind::config, "classes is for lists of one class; targets says the kind of each, leave classes out");
    if (has_names(params.targets) && params.header == "false")
      fail(ErrorKind::config, "targets has names, and header: false says that columns have none; give indices");
  }

  Data load(const DataContext& context) const override {
    std::shared_ptr<ListedTargets> several;
    const ImageSet set = read(find_data_file(params.path, context), context, several);
    Data out = finish(load_image_set(set, context), context, false);
    if (!params.test_list.empty()) out.test_source = find_data_file(params.test_list, context);
    if (several && params.standardize) several->targets.standardize(out, context);
    reconstruct(out);
    return out;
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck missing;
    const std::string path = find_data_file(params.path, context, missing.missing);
    std::shared_ptr<ListedTargets> several;
    return path.empty() ? missing : finish(check_image_set(read(path, context, several), context));
  }

  std::shared_ptr<ImageSet> images(const DataContext& context) const override {
    std::shared_ptr<ListedTargets> several;
    return std::make_shared<ImageSet>(read(find_data_file(params.path, context), context, several));
  }

 private:
  // `several`: the targets, where the list has several.
  ImageSet read(const std::string& path, const DataContext& context, std::shared_ptr<ListedTargets>& several) const {
    ImageSet out;
    out.source = path;
    out.params = params;
    out.memory_share = common.memory_share;
    const size_t slash = path.rfind('/');
    std::string root = slash == path.npos ? "." : path.substr(0, slash), looked_for;
    if (params.root.empty()) context.check_may_read(root, params.path);
    else root = find_image_store(params.root, context, looked_for);
    if (root.empty()) fail(ErrorKind::data, params.root, ": no such folder or archive; looked for ", looked_for);
    out.store = open_image_store(root);
    const std::set<std::string> known(out.store->names().begin(), out.store->names().end());
    std::vector<Entry> entries;
    List train(path, root, LabelledImage::train);
    const std::string header = has_names(params.targets) ? "true" : params.header;
    read_list(train, params.targets, header, known, entries);
    if (entries.empty()) fail(ErrorKind::data, path, ": names no file that is in ", root);
    std::optional<List> test;
    if (!params.test_list.empty()) {
      test.emplace(find_data_file(params.test_list, context), root, LabelledImage::test);
      out.listed_before = int64_t(entries.size());
      const char decimal = train.cells ? train.cells->table().decimal : '\0';
      read_list(*test, params.targets, header, known, entries, decimal);
      const bool named = std::ranges::all_of(params.targets, [](const auto& target) {
        return target.first.find_first_not_of("0123456789") != std::string::npos;
      });
      if (test->cells && !named && test->cells->table().names != train.cells->table().names)
        fail(ErrorKind::data, test->path, ": its columns are not those of ", train.path, " (the names differ)");
    }
    for (const List* const list : {&train, test ? &*test : nullptr})
      if (list && list->cells) list->cells->check_groups(list->reader(), context);
    check_unique(entries);
    if (!params.targets.empty()) several = take_targets(train, test, entries, context, out);
    else ListLabels(params, entries).fill(context.some_classes ? 1 : least_classes(), out);
    draw_test_images(out, {params.test}, common, context);
    choose_size(out, context);
    return out;
  }

  std::shared_ptr<ListedTargets> take_targets(List& train, std::optional<List>& test, const std::vector<Entry>& entries,
                                              const DataContext& context, ImageSet& set) const {
    if (const std::string others = train.cells->left_out(); !others.empty())
      context.note(text(train.path, ": left out, since targets does not name them: ", others));
    for (List* const list : {&train, test ? &*test : nullptr})
      if (list) list->cells->know_file();
    const Table* const tested = test ? &test->cells->table() : nullptr;
    auto out = listed_targets(params.targets, params.missing, train.cells->table(), tested, context);
    set.targets = out->named;
    set.target_rows = out->rows;
    for (const Entry& entry : entries)
      set.images.push_back({entry.file, 0, entry.list->part, int64_t(set.images.size())});
    return out;
  }

  static void check_unique(const std::vector<Entry>& entries) {
    std::unordered_map<std::string_view, const Entry*> seen;
    for (const Entry& entry : entries)
      if (const auto [other, added] = seen.emplace(entry.file, &entry); !added)
        fail(ErrorKind::data, entry.where(), ": ", in_quotes(entry.file), " is listed in ", other->second->where(),
             " already");
  }
};

NEON_REGISTER(Dataset, ImageList, "Images (JPEG, PNG, BMP, GIF, TIFF, WebP) and classes from a CSV or TSV list.");

}  // namespace

}  // namespace neon
