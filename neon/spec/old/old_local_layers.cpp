// Layers of images of neon 0.9.
#include "neon/spec/old/old_layers.h"

namespace neon {

namespace {

const OldKey kMapsOfInput = old_idle("nofm", "the maps are those of the input");

OldKeys window_keys(OldKey maps) {
  return {required(old_value("fshape")),
          maps,
          old_value("stride", "strides"),
          old_value("pad", "padding"),
          old_idle("ofmshape", "shapes follow from the layers"),
          old_idle("ifmshape", "shapes follow from the layers")};
}

constexpr const char* kOutputSizes =
    "sizes of outputs: floor((in - fshape + 2 padding) / strides) + 1, as in 0.9; a rest at the edge is left out";

Setting named(std::string name, Setting params, const Location& where) {
  return Setting::map({{std::move(name), std::move(params), where}}, where);
}

// The layer itself takes no batch_norm. The one behind an alias shares the first one's scale and shift.
void put_norm_behind(const Location& where, OldResult& out) {
  const std::string name = out.params.find("name")->value + "_bnorm";
  const Setting* const given = out.params.find("activation");
  const std::optional<Setting> activation = given ? std::optional(*given) : std::nullopt;
  Setting norm = *out.params.find("batch_norm");
  std::erase_if(out.params.entries,
                [](const auto& entry) { return entry.key == "batch_norm" || entry.key == "activation"; });
  norm.entries.push_back({"name", Setting::scalar(name, where), where});
  if (const Setting* const first = out.params.find("share"))
    norm.entries.push_back({"share", Setting::scalar(first->value + "_bnorm", where), where});
  Setting layers =
      Setting::list({named(out.name, out.params, where), named("BatchNorm", std::move(norm), where)}, where);
  if (activation) layers.items.push_back(named("Activation", named("transform", *activation, where), where));
  out = {"Sequential", named("layers", std::move(layers), where)};
}

void finish_convolution(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_weights(t, object, out, true);
  const bool shared = t.truth_of(object, "shared_bias", true);
  if (t.truth_of(object, "local_conv", false)) {
    out.name = "Local";
    const Setting* const init = out.params.find("init");
    const std::string_view kind = init ? class_of(*init) : "";
    for (const char* of_matrix : {"IdentityInit", "SparseEigen", "Orthonormal", "AutoUniform", "NodeNormalized"})
      if (kind == of_matrix)
        t.remark(init->where, text(kind,
                                   ": the filters of each place are a matrix (C R S, K) of their own; 0.9's matrix "
                                   "had those of all places below each other"));
    if (!shared) out.set("shared_bias", Setting::scalar("false", object.where_of("shared_bias")));
  } else if (!shared && out.params.find("bias")) {
    out.set("shared_bias", Setting::scalar("false", object.where_of("shared_bias")));
  }
  t.remark(object.node.where(), kOutputSizes);
  const bool apart = out.name == "Local" || out.params.find("bias");
  if (apart && out.params.find("batch_norm")) put_norm_behind(object.node.where(), out);
}

void finish_pooling(OldTranslation& t, const OldObject& object, OldResult& out) {
  const std::string op = t.word_of(object, "op", "max");
  if (op == "unpool")
    t.problem(object.where_of("op"),
              "op: unpool, which 0.9 had on one GPU backend alone, is not taken over; the nearest is Deconv");
  // The step is 1 unless given; ours is the window.
  if (!out.params.find("strides")) out.set("strides", Setting::scalar("1", object.node.where()));
  t.remark(object.node.where(), kOutputSizes);
  if (const auto pieces = t.whole_of(object, "maxout"); pieces && *pieces > 1) {
    const Location where = object.where_of("maxout");
    if (op != "max") return t.problem(where, "maxout: 0.9 took the largest of maps with op: max alone");
    Setting maxout = named("Maxout", Setting::scalar(text(*pieces), where), where);
    out = {"Sequential",
           named("layers", Setting::list({std::move(maxout), named(out.name, out.params, where)}, where), where)};
    t.remark(where, "maxout: Maxout takes the largest of neighbouring maps, the pooling that of each window");
  }
}

void finish_cross_map(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_weights(t, object, out, false);
}

void finish_norm(OldTranslation&, const OldObject&, OldResult&) {}

// 0.9 divided alpha by ksize twice, and so does the mean over ksize x ksize pixels.
const OldKeys kNormKeys =
    old_layer_keys({required(old_value("ksize")), required(old_value("alpha")), required(old_value("beta")),
                    old_idle("stride", "it had to be 1"), old_idle("fshape", "ksize counts"),
                    old_idle("pad", "0.9 did not read it here"), kMapsOfInput});

const OldClasses local_layers(std::vector<OldClass>{
    {"layers.ConvLayer", "layer", "Conv",
     old_weight_keys(window_keys(old_value("nofm")) + OldKeys{old_read("shared_bias"), old_read("local_conv")}),
     finish_convolution},
    {"layers.PoolingLayer", "layer", "Pooling",
     old_layer_keys(window_keys(kMapsOfInput) + OldKeys{required(old_value("op")), old_read("maxout")}),
     finish_pooling},
    {"layers.CrossMapPoolingLayer", "layer", "CrossMapPooling", old_weight_keys({required(old_value("nofm"))}),
     finish_cross_map},
    {"layers.CrossMapResponseNormLayer", "layer", "CrossMapResponseNorm", kNormKeys, finish_norm},
    {"layers.LocalContrastNormLayer", "layer", "LocalContrastNorm", kNormKeys, finish_norm,
     "LocalContrastNorm: a pixel is divided as it is, not its distance from the mean around it, as 0.9 did on a CPU"},
});

}  // namespace

}  // namespace neon
