// Digits drawn by the program: every sample is a glyph under a random slant, stretch and elastic distortion,
// written with a random pen. There without any file, so that a first run needs no network; a result on it
// says nothing about MNIST.
#include <algorithm>

#include "datasets/dataset.h"
#include "datasets/digit_glyphs.h"
#include "neon/core/random.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

constexpr int kSide = 28, kClasses = 10;

struct DigitsParams {
  int64_t ntrain = 60000, ntest = 10000;
  bool normalize = true;
  bool sym_range = false;
  float distortion = 1;
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("ntrain", &DigitsParams::ntrain, "Number of training samples.", closed(1, 1e8), Unit{"samples"});
    p("ntest", &DigitsParams::ntest, "Number of test samples.", closed(0, 1e8), Unit{"samples"});
    p("normalize", &DigitsParams::normalize, "Scales pixels to 0 to 1 instead of 0 to 255.");
    p("sym_range", &DigitsParams::sym_range, "Scales pixels to -1 to 1 instead of 0 to 1.");
    p("distortion", &DigitsParams::distortion, "Strength of the random slant, stretch and bend; 0: none.",
      closed(0, 2));
    p("seed", &DigitsParams::seed, "Seed of the drawings. Default: the run's.");
  }
};

// Random numbers of one sample.
class Draw {
 public:
  Draw(uint64_t seed, std::string_view split, int64_t index) : stream_(seed, split, uint64_t(index)) {}
  int below(size_t bound) { return int(stream_.below(uint32_t(bound))); }
  float between(float low, float high) { return low + (high - low) * uniform_from_bits(stream_.bits()); }
  // Around 0, within +-reach, the middle likelier: the sum of two uniforms.
  float around(float reach) { return reach * (between(-0.5f, 0.5f) + between(-0.5f, 0.5f)); }

 private:
  Stream stream_;
};

// A smooth field of displacements: random at 4 x 4 knots over the unit square, bilinear between.
class Bend {
 public:
  Bend(Draw& draw, float reach) {
    for (Point& knot : knots_) knot = {draw.around(reach), draw.around(reach)};
  }
  Point operator()(Point p) const {
    const float x = std::clamp(p.x, 0.0f, 1.0f) * 3, y = std::clamp(p.y, 0.0f, 1.0f) * 3;
    const int i = std::min(int(x), 2), j = std::min(int(y), 2);
    const float u = x - float(i), v = y - float(j);
    const Point a = knots_[j * 4 + i], b = knots_[j * 4 + i + 1], c = knots_[j * 4 + i + 4], d = knots_[j * 4 + i + 5];
    auto mix = [&](float q, float r, float s, float t) {
      return (q * (1 - u) + r * u) * (1 - v) + (s * (1 - u) + t * u) * v;
    };
    return {p.x + mix(a.x, b.x, c.x, d.x), p.y + mix(a.y, b.y, c.y, d.y)};
  }

 private:
  Point knots_[16];
};

// The memory that one thread draws with, kept from sample to sample.
struct Workspace {
  std::vector<Point> through, points;
  std::vector<Stroke> strokes;
  std::vector<float> coverage = std::vector<float>(kSide * kSide);
};

// From the unit square to pixels; the centre is put right afterwards.
struct Placement {
  float width, height, slant, turn;
  Point operator()(Point p) const {
    const float x = p.x - 0.5f, y = p.y - 0.5f;
    return {width * x - slant * height * y, height * y + turn * width * x};
  }
};

void add_strokes(const Glyph& glyph, Draw& draw, float distortion, Workspace& work) {
  const Bend bend(draw, 0.23f * distortion);
  const float height = draw.between(18.5f - 3 * distortion, 18.5f + 1.5f * distortion);
  const Placement place{height * (0.72f + 0.3f * draw.around(distortion)), height,
                        0.12f + 0.5f * draw.around(distortion), 0.3f * draw.around(distortion)};
  work.strokes.clear();
  for (const auto& stroke : glyph) {
    work.through.clear();
    for (Point p : stroke) {
      const Point moved = bend(p);
      work.through.push_back(
          place({moved.x + draw.around(0.045f * distortion), moved.y + draw.around(0.045f * distortion)}));
    }
    work.points.clear();
    add_curve(work.through, 3, work.points);
    for (size_t i = 0; i + 1 < work.points.size(); ++i) work.strokes.push_back({work.points[i], work.points[i + 1]});
  }
}

// Puts the middle of the drawing's box near the middle of the image.
void centre(std::vector<Stroke>& strokes, Draw& draw, float distortion) {
  Point low{1e9f, 1e9f}, high{-1e9f, -1e9f};
  for (const Stroke& s : strokes)
    for (Point p : {s.from, s.to}) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
  const float middle = float(kSide - 1) / 2;
  const float dx = middle - (low.x + high.x) / 2 + draw.around(2 * distortion);
  const float dy = middle - (low.y + high.y) / 2 + draw.around(2 * distortion);
  for (Stroke& s : strokes) {
    s.from = {s.from.x + dx, s.from.y + dy};
    s.to = {s.to.x + dx, s.to.y + dy};
  }
}

int32_t draw_sample(Draw draw, float distortion, Workspace& work, std::span<uint8_t> image) {
  const int label = draw.below(kClasses);
  const auto& variants = digit_glyphs(label);
  add_strokes(variants[size_t(draw.below(variants.size()))], draw, distortion, work);
  centre(work.strokes, draw, distortion);
  const Pen pen{draw.between(0.5f, 1.45f), draw.between(0.9f, 1.4f), draw.between(225, 255)};
  draw_strokes(work.strokes, pen, kSide, work.coverage, image);
  return label;
}

class Digits : public Parametrized<Dataset, DigitsParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    const uint64_t seed = params.seed.value_or(context.seed);
    Data data;
    data.train = draw_split(params.ntrain, seed, "digits/train");
    data.test = draw_split(params.ntest, seed, "digits/test");
    data.meaning() = meaning();
    data.source = kSource;
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext&) const override {
    DataCheck out;
    out.found = true;
    out.source = kSource;
    out.meaning() = meaning();
    out.train_size = params.ntrain;
    out.test_size = params.ntest;
    return finish(out);
  }

 private:
  static constexpr const char* kSource = "digits drawn by the program";

  SampleMeaning meaning() const {
    SampleMeaning out;
    out.sample = {1, kSide, kSide};
    out.dtype = DType::u8;
    if (params.normalize || params.sym_range) out.scale_bytes(params.sym_range);
    out.classes = kClasses;
    for (int i = 0; i < kClasses; ++i) out.class_names.push_back(std::to_string(i));
    return out;
  }

  // Each sample has random numbers of its own, so threads change nothing.
  Split draw_split(int64_t n, uint64_t seed, std::string_view name) const {
    if (n == 0) return {};
    Split out{Tensor(DType::u8, {n, 1, kSide, kSide}), Tensor(DType::i32, {n})};
    const auto images = out.inputs.as<uint8_t>();
    const auto labels = out.targets.as<int32_t>();
#pragma omp parallel num_threads(available_threads())
    {
      Workspace work;
#pragma omp for schedule(static)
      for (int64_t i = 0; i < n; ++i)
        labels[size_t(i)] = draw_sample(Draw(seed, name, i), params.distortion, work,
                                        images.subspan(size_t(i) * kSide * kSide, kSide * kSide));
    }
    return out;
  }
};

NEON_REGISTER(Dataset, Digits, "Digits that neon draws, with MNIST's shape; needs no files.");

}  // namespace

}  // namespace neon
