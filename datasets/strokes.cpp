#include "datasets/strokes.h"

#include <algorithm>
#include <cmath>

namespace neon {

void add_curve(std::span<const Point> through, int steps, std::vector<Point>& out) {
  const size_t n = through.size();
  out.push_back(through[0]);
  if (n == 2) return out.push_back(through[1]);
  for (size_t i = 0; i + 1 < n; ++i) {
    const Point a = through[i ? i - 1 : 0], b = through[i], c = through[i + 1], d = through[std::min(i + 2, n - 1)];
    for (int step = 1; step <= steps; ++step) {
      const float t = float(step) / float(steps), u = t * t, v = u * t;
      auto at = [&](float p, float q, float r, float s) {
        return 0.5f * (2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * u + (3 * q - p - 3 * r + s) * v);
      };
      out.push_back({at(a.x, b.x, c.x, d.x), at(a.y, b.y, c.y, d.y)});
    }
  }
}

void draw_strokes(std::span<const Stroke> strokes, const Pen& pen, int size, std::span<float> coverage,
                  std::span<uint8_t> image) {
  std::ranges::fill(coverage, 0.0f);
  const float reach = pen.half_width + pen.soft;
  for (const Stroke& stroke : strokes) {
    const auto [from, to] = stroke;
    auto clamped = [&](float v) { return int(std::clamp(v, 0.0f, float(size - 1))); };
    const int left = clamped(std::min(from.x, to.x) - reach + 1), right = clamped(std::max(from.x, to.x) + reach);
    const int top = clamped(std::min(from.y, to.y) - reach + 1), bottom = clamped(std::max(from.y, to.y) + reach);
    const float dx = to.x - from.x, dy = to.y - from.y;
    const float inverse = 1 / std::max(dx * dx + dy * dy, 1e-12f), soft = 1 / pen.soft;
    for (int y = top; y <= bottom; ++y)
      for (int x = left; x <= right; ++x) {
        const float px = float(x) - from.x, py = float(y) - from.y;
        const float along = std::clamp((px * dx + py * dy) * inverse, 0.0f, 1.0f);
        const float ex = px - along * dx, ey = py - along * dy;
        const float distance = std::sqrt(ex * ex + ey * ey);
        float& covered = coverage[size_t(y * size + x)];
        covered = std::max(covered, std::min(1.0f, (reach - distance) * soft));
      }
  }
  for (size_t i = 0; i < image.size(); ++i) image[i] = uint8_t(coverage[i] * pen.grey + 0.5f);
}

}  // namespace neon
