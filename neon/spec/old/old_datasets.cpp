// Data sets of neon 0.9, but Imageset.
#include "neon/spec/old/old_datasets.h"

#include <cmath>

#include "neon/core/shape.h"

namespace neon {

bool is_old_flat(std::string_view name) {
  return name == "datasets.UniformRandom" || name == "datasets.Iris" || name == "datasets.Housing";
}

OldKeys old_dataset_keys(OldKeys own) {
  const OldKeys common = {
      old_word("repo_path"),
      old_value("sample_pct", "subset_pct"),
      old_read("validation_pct"),
      old_idle("save_dir", "neon predict --format csv prints predictions, > FILE keeps them"),
      old_idle("serialized_path", "0.9 only warned of it"),
      old_idle("backend_type", "samples have the type of the net"),
      old_idle("data_dim", "the data set knows its sizes"),
  };
  return own + common;
}

void finish_old_dataset(OldTranslation& t, const OldObject& object, OldResult& out) {
  if (const auto folder = t.path_of(object, "repo_path")) {
    t.option("data_dir", *folder);
    t.remark(folder->where, text("repo_path: data sets are looked for in ", folder->value,
                                 " if that folder exists (-w ", folder->value, "), else in neon's own folder"));
  }
  if (object.find("validation_pct")) {
    const double percent = t.number_of(object, "validation_pct", 0);
    if (percent > 0) out.set("validation", Setting::scalar(number(percent / 100), object.where_of("validation_pct")));
  }
  if (t.autoencoder) out.set("autoencoder", Setting::scalar("true", object.node.where()));
  if (t.reconstruct) out.set("reconstruct", Setting::scalar("true", object.node.where()));
}

void check_old_shape(OldTranslation& t, const std::vector<int64_t>& shape) {
  int64_t expected = 1, given = 1;
  for (int64_t n : shape) expected *= n;
  for (int64_t n : t.data_shape) given *= n;
  if (t.data_shape.empty()) return;
  const bool square = shape.size() == 3 && shape[0] == 1;
  if (given != expected)
    t.problem(t.data_where, text("the data layer is for ", given, " numbers a sample, the data set has ", expected));
  else if (t.data_shape.size() == 3 && t.data_shape != shape)
    t.problem(t.data_where,
              text("the data layer is for samples ", Shape(t.data_shape), ", the data set has ", Shape(shape)));
  else if (t.data_shape.size() == 1 && t.starts_local && !square)
    t.problem(
        t.data_where,
        text("a layer of images follows a flat data layer, which 0.9 took for one square map; give it is_local: True, "
             "nofm: ",
             shape[0], ", ofmshape: [", shape.size() > 1 ? shape[1] : 1, ", ", shape.size() > 2 ? shape[2] : 1, "]"));
}

namespace {

void finish_mnist(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_dataset(t, object, out);
  out.set("fallback", Setting::scalar("Digits", object.node.where()));
  t.remark(object.node.where(),
           "fallback: where MNIST is not here and cannot be downloaded, digits that neon draws stand in");
  constexpr int64_t kTestSamples = 10'000;
  if (const auto samples = t.whole_of(object, "num_test_sample"); samples && *samples != kTestSamples)
    t.warning(object.where_of("num_test_sample"),
              text("num_test_sample: ", *samples, " is left out: all ", kTestSamples, " test samples are used"));
  check_old_shape(t, {1, 28, 28});
}

void finish_cifar(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_dataset(t, object, out);
  check_old_shape(t, {3, 32, 32});
}

void drop_share(OldTranslation& t, const OldObject& object, OldResult& out) {
  std::erase_if(out.params.entries, [](const auto& entry) { return entry.key == "subset_pct"; });
  if (object.find("sample_pct"))
    t.remark(object.where_of("sample_pct"), text("'sample_pct' is left out: ", out.name, " ignored it"));
}

void finish_iris(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_dataset(t, object, out);
  drop_share(t, object, out);
  out.set("fixed", Setting::scalar("true", object.node.where()));
  const bool draws = out.params.find("validation");
  t.remark(object.node.where(),
           draws
               ? "Iris: the flowers to test with are those of 0.9; the seed draws those to validate with, others than "
                 "0.9 drew for validation_pct"
               : "Iris: the flowers to train, to validate and to test with are those of 0.9");
  check_old_shape(t, {4});
}

// nin is the data layer's where that has images.
void finish_uniform(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_dataset(t, object, out);
  drop_share(t, object, out);
  const auto nin = t.whole_of(object, "nin");
  t.has_test = t.number_of(object, "ntest", 0) > 0;
  const int64_t given = Shape(t.data_shape).elements(), numbers = nin.value_or(0);
  if (t.data_shape.size() == 3 && given != numbers) check_old_shape(t, {numbers});
  Setting shape = Setting::list({}, object.where_of("nin"));
  for (int64_t n : t.data_shape.size() == 3 ? t.data_shape : std::vector{numbers})
    shape.items.push_back(Setting::scalar(text(n), shape.where));
  out.set("nin", std::move(shape));
}

void finish_toy(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_dataset(t, object, out);
  drop_share(t, object, out);
  check_old_shape(t, {3, 32, 32});
}

void finish_housing(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_dataset(t, object, out);
  const double percent = t.number_of(object, "test_pct", 0);
  t.has_test = percent > 0;
  out.set("test", Setting::scalar(number(percent / 100), object.where_of("test_pct")));
  check_old_shape(t, {13});
}

// Up to 1, sample_pct was a share, and percent above.
void finish_sparse_net(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_dataset(t, object, out);
  t.has_test = false;
  const double given = t.number_of(object, "sample_pct", 100);
  if (Setting* const percent = out.params.find("subset_pct"); percent && given <= 1)
    *percent = Setting::scalar(number(given * 100), percent->where);
  check_old_shape(t, {1, 16, 16});
}

const OldClasses datasets(std::vector<OldClass>{
    {"datasets.MNIST", "data set", "MNIST", old_dataset_keys({old_read("num_test_sample")}), finish_mnist},
    {"datasets.CIFAR10", "data set", "CIFAR10", old_dataset_keys({}), finish_cifar},
    {"datasets.CIFAR100", "data set", "CIFAR100", old_dataset_keys({old_value("coarse_labels")}), finish_cifar},
    {"datasets.Iris", "data set", "Iris", old_dataset_keys({}), finish_iris},
    {"datasets.UniformRandom", "data set", "UniformRandom",
     old_dataset_keys({required(old_value("ntrain")), required(old_value("ntest")), required(old_read("nin")),
                       required(old_value("nout"))}),
     finish_uniform},
    {"datasets.Housing", "data set", "Housing", old_dataset_keys({old_read("test_pct")}), finish_housing},
    {"datasets.SPARSENET", "data set", "SparseNet", old_dataset_keys({}), finish_sparse_net},
    {"datasets.ToyImages", "data set", "ToyImages", old_dataset_keys({}), finish_toy},
});

}  // namespace

}  // namespace neon
