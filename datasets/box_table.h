// Tables of the objects in images: CSV files, and JSON files as COCO has them.
#pragma once
#include <array>
#include <string>
#include <vector>

namespace neon {

struct ListedBox {
  int64_t label = 0;
  std::array<double, 4> corners{};  // x1, y1, x2, y2 in pixels of the image file
  bool difficult = false;
  std::string where;  // "boxes.csv:3", for messages
};

struct ListedImage {
  std::string file;
  std::vector<ListedBox> boxes;
};

struct BoxTable {
  std::vector<ListedImage> images;   // in the order of the table
  std::vector<std::string> classes;  // of the table that trains
};

// Reads a table. `classes`: those of the table that trains, in which all of this one must be; empty: its own, in order
// of their names in CSV, of their numbers in JSON. Throws a data error with the place of a fault.
BoxTable read_boxes(const std::string& path, const std::vector<std::string>& classes = {});

}  // namespace neon
