// GuidedBackprop: what feature maps respond to, as the callback Deconv of neon 1.x and nvis showed it.
#include "models/guided_graph.h"
#include "neon/core/key_error.h"
#include "neon/train/callback.h"

namespace neon {

namespace {

struct GuidedBackpropParams {
  int64_t max_fm = 16;
  double dataset_pct = 25;
  static void describe(auto&& p) {
    p("max_fm", &GuidedBackpropParams::max_fm, "Feature maps of each convolution to draw, the first ones.",
      closed(1, 1024));
    p("dataset_pct", &GuidedBackpropParams::dataset_pct,
      "Share of the validation set, or else the test set, to search for the image that a map responds to most.",
      open_closed(0, 100), Unit{"percent"});
  }
};

class GuidedBackprop : public Parametrized<Callback, GuidedBackpropParams> {
 public:
  using Parametrized::Parametrized;
  std::optional<MapsToDraw> maps_to_draw() const override { return MapsToDraw{params.max_fm, params.dataset_pct}; }
  void plan(RunPlan& plan) override {
    if (convolutions_of(plan.graph.parameters).empty())
      fail_about("callbacks", "GuidedBackprop: the net has no convolution of images; leave GuidedBackprop out");
  }
};
NEON_REGISTER(Callback, GuidedBackprop,
              "At the end of a run, draws a sheet guided_LAYER.png for each convolution: for each of its first feature "
              "maps the pixels of the image that it responds to most, by guided backpropagation, and the image.",
              {"DeconvCallback"});

}  // namespace

}  // namespace neon
