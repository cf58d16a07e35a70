// Drawing lines of a given width into a grey image, with soft edges: what Digits and ToyImages are made of.
// Only sums, products and square roots: the same bits on every machine.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace neon {

struct Point {
  float x = 0, y = 0;  // pixels, from the centre of the pixel top left; y goes down
};

struct Stroke {
  Point from, to;
};

// How a line looks: full grey up to `half_width` from its middle, falling to nothing over `soft` pixels.
struct Pen {
  float half_width = 1, soft = 1;
  float grey = 255;
};

// The points of a smooth curve through `through` (Catmull and Rom 1974), `steps` for each piece, added to
// `out`. Two points make a straight line.
void add_curve(std::span<const Point> through, int steps, std::vector<Point>& out);

// Draws the strokes, united, into an image of size x size that is black; coverage[size * size] is scratch.
void draw_strokes(std::span<const Stroke> strokes, const Pen& pen, int size, std::span<float> coverage,
                  std::span<uint8_t> image);

}  // namespace neon
