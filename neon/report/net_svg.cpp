#include "neon/core/text.h"
#include "neon/report/net_drawing.h"

namespace neon {

namespace {

constexpr double kHead = 5;  // of an arrow, its length

// Colours for a light background and for a dark one, and what has them.
constexpr const char* kLight =
    "svg{--paper:#fbfbfa;--ink:#1c1d21;--quiet:#63666e;--card:#fff;--edge:#c9cad0;--line:#8d9099;"
    "--learned:#3257d6;--join:#178a6b;--data:#b58100}";
constexpr const char* kDark =
    "@media(prefers-color-scheme:dark){svg{--paper:#131418;--ink:#eceef2;--quiet:#a0a5b0;--card:#1b1d22;"
    "--edge:#454954;--line:#7d828e;--learned:#8ca7ff;--join:#55d3a8;--data:#f2c94c}}";
constexpr const char* kBoxes = ".paper{fill:var(--paper);stroke:none}g rect{fill:var(--card);stroke:var(--edge)}";
constexpr const char* kLooks =
    ".learned rect{stroke:var(--learned)}.join rect{stroke:var(--join)}.data rect{stroke:var(--data)}";
constexpr const char* kLabels =
    "text{font:12px system-ui,sans-serif;fill:var(--quiet);text-anchor:middle}"
    ".title{fill:var(--ink);font-weight:600}.lines{fill:none;stroke:var(--line);stroke-width:1.4}";

// Text of an XML document, which takes no control characters.
std::string xml(const std::string& content) {
  std::string out;
  for (const char c : content)
    if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out;
}

std::string whole(double x) { return std::to_string(int64_t(x + 0.5)); }

void add_box(const NetBox& box, std::string& out) {
  const std::string middle = whole(box.width / 2);
  out += text("<g class=\"", name_of(box.look), "\" transform=\"translate(", whole(box.x), ' ', whole(box.y),
              ")\"><rect width=\"", whole(box.width), "\" height=\"", whole(box.height), "\" rx=\"7\"/>");
  out += text("<text x=\"", middle, "\" y=\"16\"><tspan class=\"title\">", xml(box.title), "</tspan>");
  if (!box.name.empty()) out += text("<tspan dx=\"6\">", xml(box.name), "</tspan>");
  out += "</text>";
  for (size_t i = 0; i < box.notes.size(); ++i)
    out += text("<text x=\"", middle, "\" y=\"", 33 + 15 * i, "\">", xml(box.notes[i]), "</text>");
  out += "</g>\n";
}

}  // namespace

std::string path_of(const NetLine& line) {
  const NetPoint* before = &line.points.front();
  std::string out = text('M', whole(before->x), ' ', whole(before->y));
  for (size_t i = 1; i < line.points.size(); ++i) {
    const NetPoint& to = line.points[i];
    const std::string x = whole(to.x), y = whole(to.y), middle = whole((before->y + to.y) / 2);
    if (x == whole(before->x)) out += text('V', y);
    else out += text('C', whole(before->x), ' ', middle, ' ', x, ' ', middle, ' ', x, ' ', y);
    before = &to;
  }
  const auto head = [&](double sideways) { return text(whole(before->x + sideways), ' ', whole(before->y - kHead)); };
  return text(out, 'M', head(-kHead + 1), 'L', whole(before->x), ' ', whole(before->y), 'L', head(kHead - 1));
}

std::string net_svg(const NetDrawing& drawing, const std::string& title) {
  const std::string width = whole(drawing.width), height = whole(drawing.height);
  std::string out = text(kSvgBegin, "\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"",
                         height, "\" viewBox=\"0 0 ", width, ' ', height, "\">\n<title>", xml(title),
                         "</title>\n<style>", kLight, kDark, kBoxes, kLooks, kLabels,
                         "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n<g class=\"lines\">\n");
  for (const NetLine& line : drawing.lines) out += text("<path d=\"", path_of(line), "\"/>\n");
  out += "</g>\n";
  for (const NetBox& box : drawing.boxes) add_box(box, out);
  return out + "</svg>\n";
}

}  // namespace neon
