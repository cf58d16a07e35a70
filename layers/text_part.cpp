// One of several texts that a sample has, for nets that look at each by itself.
#include "layers/layer.h"

namespace neon {

namespace {

constexpr double kMostPlaces = 1 << 24;  // f32 counts no further

struct TextPartParams {
  int64_t part = 0;
  static void describe(auto&& p) { p("part", &TextPartParams::part, "Number of the text, from 0.", at_least(0)); }
};

// A text and all that lies before it.
struct PlaceOfText {
  Expr begins, length;  // (N,1,1) f32
};

struct TextPart : Parametrized<Layer, TextPartParams> {
  using Parametrized::Parametrized;

  // x (N,T) -> (N,T), with the tokens of the text in front and padding behind them.
  Expr forward(LayerContext& context, Expr x) const override {
    check_input(context, x);
    const int64_t samples = x.shape()[0], steps = x.shape()[1];
    const PlaceOfText place = place_of(context, x);
    const auto number = [&](const Shape& shape, int axis) {
      return cast(context.expr(iota(context.graph, shape, axis)), DType::f32);
    };
    const Expr step = number({1, steps, 1}, 1), sample = number({samples, 1, 1}, 0);
    const Expr from = minimum(place.begins + step, double(steps - 1)) + sample * double(steps);
    const Value rows = reshape(context.graph, x, {samples * steps, 1});
    const Expr moved = context.expr(gather(context.graph, rows, cast(reshape(from, {samples * steps}), DType::i32)));
    const Expr tokens = reshape(moved, {samples, steps, 1});
    const Expr shown = apply("select", apply("less", step, place.length), tokens, tokens.constant(0));
    const Expr y = cast(reshape(shown, {samples, steps}), x.dtype());
    context.keep_axes(x, y);
    context.set_lengths(y, cast(maximum(reshape(place.length, {samples}), 1), DType::i32));
    return y;
  }
  bool takes_tokens() const override { return true; }
  Sight sight() const override { return Sight::any; }

 private:
  void check_input(const LayerContext& context, Expr x) const {
    if (!context.are_tokens(x) || context.line_end < 0)
      fail(ErrorKind::config, "TextPart takes tokens of several texts, as TextClasses: {text: [premise, hypothesis]} ",
           "gives them; its input is ", context.sample_shape(x),
           context.are_tokens(x) ? " of one text; leave it out" : " of numbers; name the samples: inputs: data");
    if (params.part >= context.texts)
      fail(ErrorKind::config, "TextPart: part is ", params.part, ", but a sample has ", context.texts,
           " texts, which count from 0");
    if (double(x.shape().elements()) > kMostPlaces)
      fail(ErrorKind::config, "TextPart: a batch of ", x.shape().elements(), " tokens is more than ", kMostPlaces,
           "; give a smaller batch_size");
  }

  // A line's end stands between two texts.
  PlaceOfText place_of(LayerContext& context, Expr x) const {
    const int64_t samples = x.shape()[0], steps = x.shape()[1];
    Expr ends = cast(apply("equal", x, x.constant(double(context.line_end))), DType::f32);
    Expr counts = unpadded(context, x);
    if (counts.value()) {
      counts = cast(counts, DType::f32);
      ends = ends * reshape(counts, {samples, steps});
    }
    const auto number = [&](const Shape& shape, int axis) { return context.expr(iota(context.graph, shape, axis)); };
    const Expr earlier = cast(apply("less", number({1, 1, steps}, 2), number({1, steps, 1}, 1)), DType::f32);
    const Expr texts_before = sum(earlier * reshape(ends, {samples, 1, steps}), {2});  // (N,T,1)
    const auto counted = [&](Expr is_one) {
      const Expr ones = cast(is_one, DType::f32);
      return counts.value() ? ones * counts : ones;
    };
    const Expr part = texts_before.constant(double(params.part));
    const Expr before = counted(apply("less", texts_before, part));
    const Expr own = counted(apply("equal", texts_before, part)) * (1.0 - reshape(ends, {samples, steps, 1}));
    return {sum(before, {1}), sum(own, {1})};
  }
};
NEON_REGISTER(Layer, TextPart,
              "One of several texts that a sample has, with a line's end between them: tokens (T) become tokens (T), "
              "those of the text and padding behind them.");

}  // namespace

}  // namespace neon
