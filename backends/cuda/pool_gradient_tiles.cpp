#include "backends/cuda/pool_gradient_tiles.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostSeen = 64;  // elements of a tile, times the windows that see it

const char* unroll(int64_t times) { return times <= kMostSeen ? "#pragma unroll\n" : "#pragma unroll 1\n"; }

}  // namespace

std::string PoolGradientTiles::place(const char* prefix, int64_t PoolAxis::*size) const {
  std::string out = "i64(n)";
  for (size_t a = 0; a < axes_.size(); ++a) out = text("(", out, " * ", axes_[a].*size, " + ", prefix, a, ")");
  return out;
}

std::string PoolGradientTiles::for_windows(const std::string& body) const {
  const int64_t windows = windows_of_tile();
  std::string out, there;
  for (size_t a = 0; a < axes_.size(); ++a) {
    const PoolAxis& axis = axes_[a];
    out += text(unroll(windows * elements()), "  for (int q", a, " = ", axis.first(), "; q", a, " <= ", axis.last(),
                "; ++q", a, ") {\n  const int o", a, " = t", a, " * ", axis.step(), " + q", a, ";\n");
    if (!by_channel() || a < last())
      if (!axis.has_all_windows())
        there += text(there.empty() ? "" : " && ", "o", a, " >= 0 && o", a, " < ", axis.small);
  }
  return text(out, "  const bool there = ", there.empty() ? "true" : there, ";\n", body, "  ",
              std::string(axes_.size(), '}'), "\n");
}

std::string PoolGradientTiles::for_elements(const std::string& body) const {
  std::string out, inside;
  for (size_t a = 0; a < axes_.size(); ++a) {
    const PoolAxis& axis = axes_[a];
    out += text(unroll(elements()), "  for (int i", a, " = 0; i", a, " < ", axis.tile, "; ++i", a, ") {\n  const int x",
                a, " = t", a, " * ", axis.tile, " + i", a, ";\n");
    if (axis.large % axis.tile) inside += text(inside.empty() ? "" : " && ", "x", a, " < ", axis.large);
  }
  return text(out, "  const bool inside = ", inside.empty() ? "true" : inside, ";\n", body, "  ",
              std::string(axes_.size(), '}'), "\n");
}

std::string PoolGradientTiles::place_in_window() const {
  std::string out, at = "0", sees, within;
  for (size_t a = 0; a < axes_.size(); ++a) {
    const PoolAxis& axis = axes_[a];
    out += text("  const int r", a, " = i", a, " + ", axis.before, " - q", a, " * ", axis.stride, ";\n");
    at = text("(", at, " * ", axis.window, " + r", a, ")");
    const char* also = a ? " && " : "";
    sees += text(also, "r", a, " >= 0 && r", a, " < ", std::max(axis.window, axis.stride));
    within += text(also, "r", a, " < ", axis.window);
  }
  return text(out, "  const bool sees = ", sees, ";\n  const int at = ", within, " ? ", at, " : -1;\n");
}

int64_t PoolGradientTiles::windows_of_tile() const {
  int64_t out = 1;
  for (const PoolAxis& axis : axes_) out *= axis.last() - axis.first() + 1;
  return out;
}
std::string PoolGradientTiles::window_of_tile() const {
  std::string out = "0";
  for (size_t a = 0; a < axes_.size(); ++a)
    out = text("(", out, " * ", axes_[a].last() - axes_[a].first() + 1, " + q", a, " - ", axes_[a].first(), ")");
  return out;
}
std::string PoolGradientTiles::element_of_tile() const {
  std::string out = "0";
  for (size_t a = 0; a < axes_.size(); ++a) out = text("(", out, " * ", axes_[a].tile, " + i", a, ")");
  return out;
}

std::string PoolGradientTiles::coordinates(size_t axes) const {
  std::string out;
  for (size_t a = axes; a-- > 0;)
    out += text("  const int t", a, " = int(rest % ", axes_[a].tiles, ")",
                a == last() && width_ > 1 ? text(" * ", width_) : "", "; rest /= ", axes_[a].tiles, ";\n");
  return out + "  const int n = int(rest);\n";
}
int64_t PoolGradientTiles::tiles(size_t axes) const {
  int64_t out = samples_;
  for (size_t a = 0; a < axes; ++a) out *= axes_[a].tiles;
  return out;
}

}  // namespace neon::cuda
