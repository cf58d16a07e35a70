// ToyBoxes: filled shapes on a noisy ground, and the boxes that they lie in: enough to see a net learn detection in
// seconds.
#include <algorithm>
#include <array>

#include "datasets/drawn_set.h"
#include "neon/core/box_rows.h"

namespace neon {

namespace {

struct ToyBoxesParams {
  int64_t ntrain = 512, ntest = 128, most = 3;
  std::vector<int64_t> size = {48, 64};
  std::vector<std::string> shapes = {"disc", "block", "triangle"};
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("ntrain", &ToyBoxesParams::ntrain, "Training samples.", closed(1, 1e7), Unit{"samples"});
    p("ntest", &ToyBoxesParams::ntest, "Test samples.", closed(0, 1e7), Unit{"samples"});
    p("most", &ToyBoxesParams::most, "Most shapes in an image; each has one at least.", closed(1, 64));
    p("size", &ToyBoxesParams::size, "Height and width of the images; a lone number is both.", closed(16, 1024),
      Unit{"pixels"});
    p("shapes", &ToyBoxesParams::shapes, "The shapes, which are the classes.", one_of({"disc", "block", "triangle"}));
    p("seed", &ToyBoxesParams::seed, "Seed of the drawings; otherwise the run's.");
  }
};

// A shape about a middle, half as tall and wide as `down` and `across`.
struct Figure {
  std::string shape;
  double y, x, down, across;
  bool holds(double row, double column) const {
    const double v = (row - y) / down, u = (column - x) / across;
    if (std::abs(u) > 1 || std::abs(v) > 1) return false;
    if (shape == "disc") return u * u + v * v <= 1;
    return shape == "block" || std::abs(u) <= (v + 1) / 2;
  }
  bool meets(const Figure& other) const {
    return std::abs(y - other.y) < down + other.down && std::abs(x - other.x) < across + other.across;
  }
};

class ToyBoxes : public DrawnSet<ToyBoxesParams> {
 public:
  explicit ToyBoxes(ToyBoxesParams given) : DrawnSet(std::move(given)) {
    if (params.size.size() == 1) params.size.push_back(params.size[0]);
    if (params.size.size() != 2)
      fail(ErrorKind::config, "size: ", Shape(params.size), " should be two numbers, height and width");
    for (const auto& shape : params.shapes)
      if (std::ranges::count(params.shapes, shape) > 1) fail(ErrorKind::config, "shapes: ", shape, " is given twice");
    if (params.shapes.empty()) fail(ErrorKind::config, "shapes: at least one is needed");
  }

 protected:
  const char* source() const override { return "shapes with boxes, drawn by the program"; }
  const char* streams() const override { return "toy_boxes"; }
  Shape target() const override { return {params.most, kBoxNumbers}; }
  SampleMeaning meaning() const override {
    SampleMeaning out;
    out.sample = {3, params.size[0], params.size[1]};
    out.channels_last = true;
    out.dtype = DType::u8;
    out.scale_bytes();
    out.classes = int64_t(params.shapes.size());
    out.class_names = params.shapes;
    out.label_of = LabelOf::box;
    return out;
  }

  Split draw(int64_t n, Stream stream) const override {
    if (n == 0) return {};
    Split out{Tensor(DType::u8, {n, params.size[0], params.size[1], 3}),
              Tensor(DType::f32, {n, params.most, kBoxNumbers})};
    for (int64_t i = 0; i < n; ++i)
      draw_sample(stream, out.inputs.rows(i, 1).as<uint8_t>(), out.targets.rows(i, 1).as<float>());
    return out;
  }

 private:
  void draw_sample(Stream& stream, std::span<uint8_t> image, std::span<float> boxes) const {
    for (uint8_t& pixel : image) pixel = uint8_t(stream.below(96));
    std::vector<Figure> figures;
    const int64_t wanted = 1 + stream.below(uint32_t(params.most));
    for (int tries = 0; tries < 32 && int64_t(figures.size()) < wanted; ++tries) {
      const Figure figure = draw_figure(stream);
      if (std::ranges::none_of(figures, [&](const Figure& other) { return figure.meets(other); }))
        figures.push_back(figure);
    }
    for (size_t k = 0; k < size_t(params.most); ++k) {
      float* const row = &boxes[k * kBoxNumbers];
      if (k < figures.size()) fill(figures[k], stream, image, row);
      else std::fill_n(row, kBoxNumbers, 0.0f), row[0] = -1;
    }
  }

  Figure draw_figure(Stream& stream) const {
    const auto height = double(params.size[0]), width = double(params.size[1]), side = std::min(height, width);
    const auto between = [&](double low, double high) { return low + (high - low) * stream.uniform(); };
    Figure out{params.shapes[stream.below(uint32_t(params.shapes.size()))], 0, 0, 0, 0};
    out.down = between(side / 9, side / 4), out.across = out.down * between(0.7, 1.4);
    out.y = between(out.down, height - out.down), out.x = between(out.across, width - out.across);
    return out;
  }

  // Colours the shape's pixels, whose outermost are its box.
  void fill(const Figure& figure, Stream& stream, std::span<uint8_t> image, float* row) const {
    std::array<uint8_t, 3> colour;
    for (uint8_t& part : colour) part = uint8_t(128 + stream.below(128));
    const int64_t height = params.size[0], width = params.size[1];
    int64_t top = height, left = width, bottom = 0, right = 0;
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        if (!figure.holds(double(y) + 0.5, double(x) + 0.5)) continue;
        std::ranges::copy(colour, image.begin() + (y * width + x) * 3);
        top = std::min(top, y), bottom = std::max(bottom, y + 1);
        left = std::min(left, x), right = std::max(right, x + 1);
      }
    row[0] = float(std::ranges::find(params.shapes, figure.shape) - params.shapes.begin());
    row[1] = float(left) / float(width), row[2] = float(top) / float(height);
    row[3] = float(right) / float(width), row[4] = float(bottom) / float(height);
    row[5] = 0;
  }
};
NEON_REGISTER(Dataset, ToyBoxes,
              "Filled shapes on a noisy ground, drawn by the program, with their boxes: for MultiBox and MBox.");

}  // namespace

}  // namespace neon
