// `normalize` of a spec: images minus the means of their channels, divided by their deviations, as the last thing
// before the net, in training and evaluation alike.
#pragma once
#include <vector>

#include "datasets/dataset.h"
#include "neon/core/params.h"

namespace neon {

struct Normalize {
  std::vector<double> mean, std;
  bool measured = false;  // from the training set
  bool measure_mean = false;
  static void describe(auto&& p) {
    p("mean", &Normalize::mean, "Mean of each channel, in the range of the data set's values. Empty: 0.");
    p("std", &Normalize::std, "Standard deviation of each channel. Empty: 1.", above(0));
    p("measure_mean", &Normalize::measure_mean, "Takes the means of the training images, beside the std given here.");
  }
  bool is_measured() const { return measured || measure_mean; }
  bool is_given() const { return is_measured() || !mean.empty() || !std.empty(); }
};

template <>
struct Value_of<Normalize> {
  static std::string type() { return "true, false, or mean and std by channel"; }
  static void read(const Setting& s, Normalize& out, const Constraint&, Problems& problems) {
    out = {};
    if (s.is_map()) schema_of<Normalize>().read(s, &out, problems);
    else if (!detail::read_bool(s, out.measured))
      detail::wrong_type(s, "true, false, or {mean: [...], std: [...]}", problems);
  }
  static Setting write(const Normalize& value) {
    if (value.mean.empty() && value.std.empty() && !value.measure_mean)
      return Setting::scalar(value.measured ? "true" : "false");
    return schema_of<Normalize>().write(&value);
  }
};

// Fills `means` and `deviations` of data by channel: given, or measured on its training set. A config error where the
// samples are no images, or have another number of channels. Without samples (of a DataCheck), what is measured is left
// at 0 and 1.
void set_normalization(const Normalize& normalize, Data& data);
void set_normalization(const Normalize& normalize, DataCheck& check);

}  // namespace neon
