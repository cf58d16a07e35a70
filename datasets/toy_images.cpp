// Outlines of simple shapes to classify: enough to see a convolutional net learn in a second.
#include <algorithm>

#include "datasets/dataset.h"
#include "datasets/strokes.h"
#include "neon/core/random.h"

namespace neon {

namespace {

struct ToyParams {
  int64_t ntrain = 128, ntest = 128, size = 32, channels = 3;
  std::vector<std::string> shapes = {"circle", "ellipse"};
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("ntrain", &ToyParams::ntrain, "Training samples.", closed(1, 1e8), Unit{"samples"});
    p("ntest", &ToyParams::ntest, "Test samples.", closed(0, 1e8), Unit{"samples"});
    p("size", &ToyParams::size, "Side of the image.", closed(16, 1024), Unit{"pixels"});
    p("channels", &ToyParams::channels, "Channels; the outline has a random grey in each.", closed(1, 64));
    p("shapes", &ToyParams::shapes, "The shapes, which are the classes.",
      one_of({"circle", "ellipse", "square", "triangle", "cross"}));
    p("seed", &ToyParams::seed, "Seed of the drawings; otherwise the run's.");
  }
};

constexpr int kSides = 48;  // of the polygon that stands for a circle
// Cosine and sine of 2 pi / 48: turning by them instead of calling cos keeps the bits the same everywhere.
constexpr float kCos = 0.99144486137381f, kSin = 0.13052619222005f;

float between(Stream& stream, float low, float high) { return low + (high - low) * uniform_from_bits(stream.bits()); }

void add_polygon(std::initializer_list<Point> corners, std::vector<Stroke>& out) {
  for (const Point* p = corners.begin(); p + 1 != corners.end(); ++p) out.push_back({p[0], p[1]});
  out.push_back({*(corners.end() - 1), *corners.begin()});
}

// An outline about the origin, within the radii.
void add_shape(const std::string& shape, float rx, float ry, std::vector<Stroke>& out) {
  if (shape == "square") return add_polygon({{-rx, -rx}, {rx, -rx}, {rx, rx}, {-rx, rx}}, out);
  if (shape == "triangle") return add_polygon({{0, -rx}, {rx, rx}, {-rx, rx}}, out);
  if (shape == "cross") {
    out.push_back({{-rx, 0}, {rx, 0}});
    out.push_back({{0, -rx}, {0, rx}});
    return;
  }
  if (shape == "circle") ry = rx;
  Point unit{1, 0};
  for (int i = 0; i < kSides; ++i) {
    const Point next{unit.x * kCos - unit.y * kSin, unit.x * kSin + unit.y * kCos};
    out.push_back({{unit.x * rx, unit.y * ry}, {next.x * rx, next.y * ry}});
    unit = next;
  }
}

class ToyImages : public Parametrized<Dataset, ToyParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    check_shapes();
    const uint64_t seed = params.seed.value_or(context.seed);
    Data data;
    data.train = draw_split(params.ntrain, seed, "toy_images/train");
    data.test = draw_split(params.ntest, seed, "toy_images/test");
    data.meaning() = meaning();
    data.source = kSource;
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext&) const override {
    check_shapes();
    DataCheck out;
    out.found = true;
    out.source = kSource;
    out.meaning() = meaning();
    out.train_size = params.ntrain;
    out.test_size = params.ntest;
    return finish(out);
  }

 private:
  static constexpr const char* kSource = "shapes drawn by the program";

  SampleMeaning meaning() const {
    SampleMeaning out;
    out.sample = {params.channels, params.size, params.size};
    out.channels_last = true;
    out.dtype = DType::u8;
    out.scale_bytes();
    out.classes = int64_t(params.shapes.size());
    out.class_names = params.shapes;
    return out;
  }

  void check_shapes() const {
    if (params.shapes.size() < 2) fail(ErrorKind::config, "shapes: at least two are needed to tell apart");
    for (const auto& shape : params.shapes)
      if (std::ranges::count(params.shapes, shape) > 1) fail(ErrorKind::config, "shapes: ", shape, " is given twice");
  }

  Split draw_split(int64_t n, uint64_t seed, std::string_view name) const {
    if (n == 0) return {};
    const int64_t places = params.size * params.size;
    Split out{Tensor(DType::u8, {n, params.size, params.size, params.channels}), Tensor(DType::i32, {n})};
    std::vector<float> coverage(static_cast<size_t>(places));
    std::vector<uint8_t> plane(static_cast<size_t>(places));
    for (int64_t i = 0; i < n; ++i) {
      Stream stream(seed, name, uint64_t(i));
      const auto label = stream.below(uint32_t(params.shapes.size()));
      out.targets.set(i, label);
      draw_sample(params.shapes[label], stream, coverage, plane, out.inputs.rows(i, 1).as<uint8_t>());
    }
    return out;
  }

  void draw_sample(const std::string& shape, Stream& stream, std::span<float> coverage, std::span<uint8_t> plane,
                   std::span<uint8_t> image) const {
    const auto side = float(params.size);
    const float rx = between(stream, side / 8, side / 2 - 2);
    // An ellipse is never nearly a circle: that would be a wrong label.
    float ry = between(stream, side / 8, side / 2 - 2);
    if (ry > 0.75f * rx && ry < 1.33f * rx) ry = rx * (rx > side / 4 ? 0.5f : 1.7f);
    const float reach = (shape == "ellipse" ? std::max(rx, ry) : rx) + 1.5f;
    const float x = between(stream, reach, side - 1 - reach), y = between(stream, reach, side - 1 - reach);
    std::vector<Stroke> strokes;
    add_shape(shape, rx, ry, strokes);
    for (Stroke& s : strokes) s = {{s.from.x + x, s.from.y + y}, {s.to.x + x, s.to.y + y}};
    const auto channels = size_t(params.channels);
    for (size_t c = 0; c < channels; ++c) {
      draw_strokes(strokes, {0.4f, 1, between(stream, 64, 255)}, int(params.size), coverage, plane);
      for (size_t at = 0; at < plane.size(); ++at) image[at * channels + c] = plane[at];
    }
  }
};

NEON_REGISTER(Dataset, ToyImages, "Outlines of simple shapes, drawn by the program; the shape is the class.");

}  // namespace

}  // namespace neon
