// The graph of a net, laid out: boxes in ranks from top to bottom, and lines between them. The page and the SVG draw
// it.
#pragma once
#include <string>
#include <vector>

namespace neon {

enum class NetLook { data, learned, plain, join };  // `join`: makes one array of branches
constexpr const char* name_of(NetLook look) {
  constexpr const char* kNames[] = {"data", "learned", "plain", "join"};
  return kNames[size_t(look)];
}

// A layer, or the samples. Nodes whose outputs it takes stand before it.
struct NetNode {
  std::string title;               // "Convolution"
  std::string name;                // "stem"; "" where it says no more than the title
  std::vector<std::string> notes;  // "3x3, 64 maps", "(64, 16, 16)", "1728 parameters"
  std::vector<int> inputs;
  NetLook look = NetLook::plain;
};

struct NetPoint {
  double x = 0, y = 0;
};

struct NetBox : NetNode {
  double x = 0, y = 0, width = 0, height = 0;  // the corner at the left and top
};

struct NetLine {
  int from = 0, to = 0;
  std::vector<NetPoint> points;  // begins at the lower edge of a box, ends at the upper edge of another
};

struct NetDrawing {
  std::vector<NetBox> boxes;
  std::vector<NetLine> lines;
  double width = 0, height = 0;
};

NetDrawing draw_net(const std::vector<NetNode>& nodes);

// The `d` of SVG paths: a line and its head.
std::string path_of(const NetLine& line);
// The first bytes of every SVG file.
constexpr const char* kSvgBegin = "<!-- neon summary -->";
// The whole drawing as an SVG file, for light and dark backgrounds.
std::string net_svg(const NetDrawing& drawing, const std::string& title);

}  // namespace neon
