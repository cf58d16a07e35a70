#include "models/check_outputs.h"

#include <algorithm>

#include "backends/graph/ops.h"
#include "models/measures.h"
#include "models/several_targets.h"
#include "transforms/output_form.h"

namespace neon {

namespace {

int64_t width(Expr x) { return x.shape().slice(1, x.shape().rank()).elements(); }

// Whether outputs y (N,...) have more than one axis of several numbers.
bool are_maps(Expr y) {
  return std::ranges::count_if(y.shape().slice(1, y.shape().rank()), [](int64_t size) { return size > 1; }) > 1;
}

// The shape of one sample's outputs, as people know it: (C,H,W).
Shape output_shape(const LayerContext& context, Expr y) {
  const Shape shape = y.shape().slice(1, y.shape().rank());
  if (!context.outputs_channels_last || shape.rank() < 3) return shape;
  return Shape{shape.back()}.concat(shape.slice(0, shape.rank() - 1));
}

// How outputs y become that many, maps, (N,C,H,W), above all.
std::string mend(const LayerContext& context, Expr y, int64_t targets) {
  if (!are_maps(y)) return text(", as Affine: {nout: ", targets, "}");
  return text(": these are maps ", output_shape(context, y), ", so end with Affine: {nout: ", targets,
              "}, by itself or after Pooling: {fshape: all, op: avg}");
}

// The end of a message about one output where the data set has two classes.
std::string one_for_both(int64_t outputs, int64_t classes) {
  if (outputs != 1 || classes != 2) return "";
  return "; one output compares with 0 and 1 as numbers: task: regression of a table, regression: true of arrays";
}

// The end of a message: the outputs that the data want, and how to mend a net whose outputs are y.
std::string wanted(const LayerContext& context, const DataLayout& data, Expr x, int64_t targets, Expr y) {
  if (data.target_is_input)
    return text("a sample, which is its own target, is ", context.sample_shape(x), ", ", targets, " numbers");
  const std::string mended = mend(context, y, targets);
  if (data.classes == 0)
    return text("a target of the data set has ", targets, "; give the last layer that many", mended);
  const std::string line = text("the data set has ", data.classes, " classes");
  if (width(y) == width(x)) return line + "; for an autoencoder give the data set `autoencoder: true`";
  return text(line, "; give the last layer ", data.classes, " outputs", mended, one_for_both(width(y), data.classes));
}

// "has 3 classes"
std::string size_text(const NamedTarget& target) {
  if (target.kind != TargetKind::number) return text("has ", target.width, " ", name_of(target.kind));
  return target.width == 1 ? "is one number" : text("has ", target.width, " numbers");
}

class OutputCheck {
 public:
  OutputCheck(const Network& network, const LayerContext& context, const DataLayout& data, const Batch& batch, Expr t)
      : network_(network), context_(context), data_(data), batch_(batch), t_(t) {}

  // Output `number` of the net: 0 is the last layer's.
  void check(size_t number, Expr y) const {
    const std::string which = number == 0 ? "the last layer" : text("branch ", number, " of the Tree");
    if (data_.label_of == LabelOf::pixel) return check_pixels(which, y);
    if (data_.label_of == LabelOf::step) return check_steps(which, y);
    if (data_.label_of == LabelOf::sequence) return check_scores(which, y);
    if (data_.label_of == LabelOf::box) return check_boxes(which, y);
    check_padding(which, y);
    if (const int64_t count = width(y), targets = width(t_); count != targets)
      refuse(which, " has ", count, count == 1 ? " output" : " outputs", ", but ",
             wanted(context_, data_, batch_.x, targets, y));
    check_softmax(which, y);
    if (batch_.moves && data_.target.rank() == 1 && data_.classes == 0 && !data_.target_is_input && are_maps(y))
      refuse(which, " gives maps ", output_shape(context_, y),
             ", and augment moves pixels, but not those of targets in ", "rows of ", data_.target.elements(),
             " numbers; give targets as images (n, C, H, W)");
  }

  // The outputs of a net for several targets.
  void check_several(const std::vector<Expr>& outputs, const StepOptions& options) const {
    const std::vector<size_t> places = targets_of_outputs(data_, options);
    for (size_t i = 0; i < places.size(); ++i) {
      const NamedTarget& target = data_.targets[places[i]];
      const std::string which = text("outputs: ", target.name, ": layer ", options.outputs[i].layer);
      if (const int64_t count = width(outputs[i]); count != target.width)
        refuse(which, " has ", count, count == 1 ? " output" : " outputs", ", but the target ", size_text(target),
               "; give the layer that many", mend(context_, outputs[i], target.width));
      check_softmax(which, outputs[i]);
    }
  }

  void check_tree() const {
    if (context_.tree_outputs && data_.classes == 0 && !data_.target_is_input && data_.target.elements() > 1)
      refuse("Tree", " has ", context_.more_outputs.size() + 1, " outputs, and each would be compared with all ",
             data_.target.elements(),
             " numbers of a target; name the columns under targets of the data set, and give each an output and a cost "
             "under outputs, or end one net in all numbers");
  }

 private:
  // Outputs of sequences of different lengths that a cost would compare with padding.
  void check_padding(const std::string& which, Expr y) const {
    if (data_.target_is_input && batch_.lengths && !data_.steps_are_targets)
      refuse("targets", " are the samples themselves, sequences of different lengths, whose padding the cost would ",
             "compare, too; give the data set targets of their own, or sequences of one length");
    if (data_.steps_have_numbers() && !gives_numbers_of_steps(context_, data_, y))
      refuse(which, " gives ", output_shape(context_, y), ", but each step of the targets ", data_.target_of_steps(),
             " has ", data_.numbers_of_step(), data_.numbers_of_step() == 1 ? " number" : " numbers",
             data_.masked ? " with a mask" : "", ", and sequences have different lengths: ", "keep the ",
             data_.sample[0], " steps of the samples, and end with Affine: {nout: ", data_.numbers_of_step(), "}");
  }

  template <typename... Parts>
  [[noreturn]] void refuse(const std::string& which, const Parts&... parts) const {
    const std::string place = network_.end().to_string();
    fail(ErrorKind::config, place, place.empty() ? "" : ": ", which, parts..., "; shapes: ", context_.shapes);
  }

  // y (N,H,W,K) for targets (N H W,K).
  void check_pixels(const std::string& which, Expr y) const {
    const Shape& shape = y.shape();
    const Shape area = batch_.moves ? batch_.x.shape().slice(1, 3) : data_.target;
    const std::string end =
        text("Conv: {fshape: 1, nofm: ", data_.classes, ", activation: {PixelwiseSoftmax: {c: ", data_.classes, "}}}");
    if (shape.rank() != 4 || shape.slice(1, 3) != area || shape[3] != data_.classes)
      refuse(which, " gives ", output_shape(context_, y), ", but each pixel of the targets ", area, " has one of ",
             data_.classes, " classes: end with maps (", data_.classes, ", ", area[0], ", ", area[1], "), as ", end,
             "; targets that are numbers, not classes, need regression: true in the data set");
    check_softmax(which, y);
  }

  // y (N,T,K) for targets (N T,K).
  void check_steps(const std::string& which, Expr y) const {
    const Shape& shape = y.shape();
    const int64_t steps = data_.target[0];
    if (shape.rank() == 3 && context_.is_sequence(y) && shape[1] == steps && shape[2] == data_.classes) return;
    const bool of_steps = shape.rank() == 3 && context_.is_sequence(y) && shape[1] == steps;
    refuse(which, " gives ", output_shape(context_, y), ", but each of the ", steps,
           " steps of the targets has one of ", data_.classes, " classes: ", of_steps ? "" : "keep the steps, and ",
           "end with Affine: {nout: ", data_.classes, ", activation: Softmax}",
           of_steps ? one_for_both(shape[2], data_.classes) : "");
  }

  // y (N,T,K) for sequences of labels.
  void check_scores(const std::string& which, Expr y) const {
    const Shape& shape = y.shape();
    if (shape.rank() == 3 && context_.is_sequence(y) && shape[2] == data_.classes) return;
    refuse(which, " gives ", output_shape(context_, y), ", but the targets are sequences of labels of ", data_.classes,
           " classes, the blank included: end with a score of each class for each step, as Affine: {nout: ",
           data_.classes, "}");
  }

  // y is what a MultiBox predicts.
  void check_boxes(const std::string& which, Expr y) const {
    if (context_.boxes && context_.boxes->y.value() == y.value()) return;
    refuse(which, " gives ", output_shape(context_, y), ", but the targets are boxes of objects of ", data_.classes,
           " classes: end with MultiBox");
  }

  // A softmax of all numbers of several maps is hardly ever meant.
  void check_softmax(const std::string& which, Expr y) const {
    const Shape& shape = y.shape();
    if (shape.rank() != 4) return;
    const Node* node = &y.graph().producer(y);
    while (node->op->is(ops::reshape) || node->op->is(ops::transpose)) node = &y.graph().producer(node->inputs[0]);
    const Shape maps = output_shape(context_, y);
    if (!node->op->is(ops::softmax) || y.graph().shape(node->inputs[0])[1] != maps.elements()) return;
    if (maps[0] < 2 || maps.elements() == maps[0]) return;
    refuse(which, " gives maps ", maps, ", of which Softmax makes one distribution over all ", maps.elements(),
           " numbers; for classes of each pixel give PixelwiseSoftmax: {c: ", maps[0], "}");
  }

  const Network& network_;
  const LayerContext& context_;
  const DataLayout& data_;
  const Batch& batch_;
  const Expr t_;
};

}  // namespace

void check_outputs(const Network& network, const LayerContext& context, const Compared& with, Expr t, Expr y) {
  const OutputCheck check(network, context, with.data, with.batch, t);
  if (!with.options.outputs.empty()) return check.check_several(all_outputs(context, with.data, y), with.options);
  check.check_tree();
  check.check(0, y);
  for (size_t i = 0; i < context.more_outputs.size(); ++i) check.check(i + 1, context.more_outputs[i]);
}

std::string activation_of(Expr y) {
  const Graph& graph = y.graph();
  const Node* node = &graph.producer(y);
  const Node* slice = nullptr;  // of outputs; one of steps leaves those of a step together
  Value value = y.value();
  for (; node->op->is(ops::reshape) || node->op->is(ops::transpose) || node->op->is(ops::slice);
       value = node->inputs[0], node = &graph.producer(value))
    if (!slice && node->op->is(ops::slice) && graph.shape(value).back() != graph.shape(node->inputs[0]).back())
      slice = node;
  if (slice) return node->op->is(ops::softmax) ? kPartOfSoftmax : std::string(slice->op->name);
  return std::string(node->op->name);
}

}  // namespace neon
