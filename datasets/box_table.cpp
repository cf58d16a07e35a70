#include "datasets/box_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "datasets/csv.h"
#include "datasets/gzip.h"
#include "datasets/table_cell.h"
#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

using nlohmann::json;

// A box whose class is still a name; "": the line has none.
struct NamedBox {
  std::string file, name;
  ListedBox box;
};

BoxTable grouped(const std::string& path, std::vector<NamedBox> lines, const std::vector<std::string>& given,
                 std::vector<std::string> own) {
  BoxTable out;
  out.classes = given.empty() ? std::move(own) : given;
  if (out.classes.empty()) fail(ErrorKind::data, path, ": has no box");
  std::map<std::string, size_t> places;
  for (NamedBox& line : lines) {
    const auto [place, added] = places.emplace(line.file, out.images.size());
    if (added) out.images.push_back({line.file, {}});
    if (line.name.empty()) continue;
    const auto found = std::ranges::find(out.classes, line.name);
    if (found == out.classes.end())
      fail(ErrorKind::data, line.box.where, ": class ", in_quotes(line.name), " is not one of the training table's",
           did_you_mean(line.name, out.classes));
    line.box.label = found - out.classes.begin();
    out.images[place->second].boxes.push_back(std::move(line.box));
  }
  return out;
}

// The columns of a CSV table, by what they are.
class BoxColumns {
 public:
  BoxColumns(const CsvReader& reader, const std::vector<CsvCell>& head) {
    for (size_t i = 0; i < head.size(); ++i) {
      const std::string name = lower(std::string(head[i].text));
      bool known = std::ranges::count(kUnused, name) > 0;
      for (const auto& [what, names] : kNames)
        if (std::ranges::count(names, name)) {
          if (!place_.emplace(what, i).second)
            reader.fail_at(head[i].at, text("a second column of what is ", what, ": ", in_quotes(name)));
          known = true;
        }
      if (!known)
        reader.fail_at(head[i].at, text("column ", in_quotes(name), " is unknown; expected image, class, x1, y1, x2, ",
                                        "y2, difficult, width or height"));
    }
    for (const auto& [what, names] : kNames)
      if (what != "difficult" && !place_.contains(what))
        reader.fail_at(head[0].at, text("the header names no column ", what,
                                        "; expected image, class, x1, y1, x2, y2, and difficult if some are"));
  }
  bool has(const std::string& what) const { return place_.contains(what); }
  const CsvCell& cell(const std::vector<CsvCell>& cells, const std::string& what) const {
    return cells[place_.at(what)];
  }

 private:
  static inline const std::map<std::string, std::vector<std::string>> kNames = {
      {"image", {"image", "file", "filename", "path"}},
      {"class", {"class", "label", "name"}},
      {"x1", {"x1", "xmin"}},
      {"y1", {"y1", "ymin"}},
      {"x2", {"x2", "xmax"}},
      {"y2", {"y2", "ymax"}},
      {"difficult", {"difficult"}}};
  static inline const std::vector<std::string> kUnused = {"width", "height", "depth"};
  std::map<std::string, size_t> place_;
};

BoxTable read_csv_boxes(const std::string& path, const std::string& content, const std::vector<std::string>& classes) {
  const bool tabs = content.substr(0, content.find('\n')).find('\t') != content.npos;
  CsvReader reader(content, tabs ? '\t' : ',', path);
  std::vector<CsvCell> cells;
  if (!reader.next(cells)) fail(ErrorKind::data, path, ": is empty");
  const BoxColumns columns(reader, cells);
  const size_t width = cells.size();
  CsvReader::KnownLine known;
  std::vector<NamedBox> lines;
  std::set<std::string> names;
  while (reader.next(cells)) {
    if (cells.size() != width)
      reader.fail_at(cells[0].at, text("expected ", width, " cells, as the header has, found ", cells.size()));
    NamedBox line{std::string(columns.cell(cells, "image").text), std::string(columns.cell(cells, "class").text), {}};
    line.box.where = text(path, ":", reader.line(cells[0].at, known));
    const char* const corners[] = {"x1", "y1", "x2", "y2"};
    for (size_t k = 0; k < 4; ++k) {
      const CsvCell& cell = columns.cell(cells, corners[k]);
      if (line.name.empty() && cell.text.empty()) continue;  // an image without objects
      if (!parse_number(cell.text, line.box.corners[k]) || !std::isfinite(line.box.corners[k]))
        reader.fail_at(cell.at, text(in_quotes(std::string(cell.text)), " is no number of pixels"));
      if (line.name.empty()) reader.fail_at(cell.at, "a box without a class");
    }
    if (columns.has("difficult")) {
      const CsvCell& cell = columns.cell(cells, "difficult");
      if (cell.text != "0" && cell.text != "1" && !cell.text.empty())
        reader.fail_at(cell.at, text("difficult is 0 or 1, found ", in_quotes(std::string(cell.text))));
      line.box.difficult = cell.text == "1";
    }
    if (!line.name.empty()) names.insert(line.name);
    lines.push_back(std::move(line));
  }
  return grouped(path, std::move(lines), classes, {names.begin(), names.end()});
}

BoxTable read_json_boxes(const std::string& path, const std::string& content, const std::vector<std::string>& classes) {
  try {
    const json all = json::parse(content);
    std::map<int64_t, std::string> names, files;
    for (const json& category : all.at("categories"))
      names[category.at("id").get<int64_t>()] = category.at("name").get<std::string>();
    std::vector<NamedBox> lines;
    for (const json& image : all.at("images")) {
      files[image.at("id").get<int64_t>()] = image.at("file_name").get<std::string>();
      lines.push_back({image.at("file_name").get<std::string>(), "", {}});
    }
    size_t number = 0;
    for (const json& annotation : all.at("annotations")) {
      NamedBox line;
      line.box.where = text(path, ": annotations[", number++, "]");
      const auto file = files.find(annotation.at("image_id").get<int64_t>());
      const auto name = names.find(annotation.at("category_id").get<int64_t>());
      if (file == files.end() || name == names.end())
        fail(ErrorKind::data, line.box.where, ": ", file == files.end() ? "image_id" : "category_id",
             " is not in the lists of the file");
      const auto box = annotation.at("bbox").get<std::vector<double>>();
      if (box.size() != 4) fail(ErrorKind::data, line.box.where, ": bbox: expected x, y, width and height");
      line.file = file->second, line.name = name->second;
      line.box.corners = {box[0], box[1], box[0] + box[2], box[1] + box[3]};
      line.box.difficult = annotation.value("iscrowd", 0) != 0;
      lines.push_back(std::move(line));
    }
    std::vector<std::string> own;
    for (const auto& [id, name] : names) own.push_back(name);
    return grouped(path, std::move(lines), classes, std::move(own));
  } catch (const json::exception& error) {
    fail(ErrorKind::data, path,
         ": is no JSON file of boxes, with images, annotations and categories as COCO has them: ", error.what());
  }
}

}  // namespace

BoxTable read_boxes(const std::string& path, const std::vector<std::string>& classes) {
  const std::string content = read_maybe_gzip(path);
  return path.ends_with(".json") || path.ends_with(".json.gz") ? read_json_boxes(path, content, classes)
                                                               : read_csv_boxes(path, content, classes);
}

}  // namespace neon
