// Recurrent nets of neon 0.9, over the letters of a text.
#include <algorithm>

#include "neon/spec/old/old_datasets.h"
#include "neon/spec/old/old_layers.h"

namespace neon {

namespace {

constexpr int64_t kLetters = 96;
const OldKey kUnrolls = old_idle("unrolls", "the data set says the steps");

// Our cells have Tanh where no activation is given; 0.9's had none.
void keep_linear(const OldObject& object, OldResult& out) {
  if (!out.params.find("activation"))
    out.set("activation", Setting::scalar("Identity", object.where_of("activation")), object.where_of("activation"));
}

void finish_hidden(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_weights(t, object, out, false);
  keep_linear(object, out);
  const auto inner = object.find("weight_init_rec");
  if (inner) out.set("init_inner", t.object(*inner, "initializer"));
  t.frozen.push_back(out.params.find("name")->value + "/b");
  t.remark(object.node.where(), "a recurrent layer has biases, which stay 0 (freeze), as 0.9 added none");
}

// All eight matrices came from weight_init_rec.
void finish_lstm(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_weights(t, object, out, false);
  keep_linear(object, out);
  if (const auto inner = object.find("weight_init_rec")) {
    out.set("init", t.object(*inner, "initializer"));
    t.remark(inner->where(), "weight_init_rec fills all matrices of an LSTM, as in 0.9");
  }
  Setting biases = Setting::list({}, object.node.where());
  for (const char* each : {"1", "-1", "1", "0"}) biases.items.push_back(Setting::scalar(each, biases.where));
  out.set("gate_bias", std::move(biases));
  t.remark(object.node.where(), "gate_bias: first biases of the gates i, f, o and g, as 0.9 had them");
}

void finish_output(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_weights(t, object, out, false);
}

void finish_moby_dick(OldTranslation& t, const OldObject& object, OldResult& out) {
  if (const double share = t.number_of(object, "sample_pct", 100); share < 1)
    out.set("subset_pct", Setting::scalar(number(100 * share), object.where_of("sample_pct")));
  finish_old_dataset(t, object, out);
  if (const auto letters = t.whole_of(object, "data_dim"); letters && *letters != kLetters)
    t.problem(object.where_of("data_dim"), text("data_dim is ", *letters, ", expected ", kLetters, ", as in 0.9"));
  check_old_shape(t, {kLetters});
}

const OldClasses recurrent_layers(std::vector<OldClass>{
    {"layers.RecurrentHiddenLayer", "layer", "Recurrent",
     old_weight_keys({required(old_value("nout", "output_size")), kUnrolls, required(old_read("weight_init_rec"))}),
     finish_hidden},
    {"layers.RecurrentLSTMLayer", "layer", "LSTM",
     old_weight_keys({required(old_value("nout", "output_size")), kUnrolls, required(old_read("weight_init_rec")),
                      required(old_object("gate_activation", "gate_activation", "activation"))}),
     finish_lstm},
    {"layers.RecurrentOutputLayer", "layer", "Affine", old_weight_keys({required(old_value("nout")), kUnrolls}),
     finish_output},
    {"datasets.MOBYDICK", "data set", "MobyDick", old_dataset_keys({required(old_value("unrolls", "steps"))}),
     finish_moby_dick},
});

}  // namespace

}  // namespace neon
