// Arrays that NumPy saved: a file each (NPY), or one file with all (NPZ).
#include "datasets/array_targets.h"
#include "datasets/npy.h"

namespace neon {

namespace {

struct NpyParams : ArrayParams {
  std::string inputs, targets, test_inputs, test_targets;
  static void describe(auto&& p) {
    p("inputs", &NpyParams::inputs, ".npy file of the training inputs, a sample per row.", Required{});
    p("targets", &NpyParams::targets, ".npy file of the training targets; none: the target is the input.");
    p("test_inputs", &NpyParams::test_inputs, ".npy file of the test inputs; none: there is no test set.");
    p("test_targets", &NpyParams::test_targets, ".npy file of the test targets.");
    ArrayParams::describe(p);
  }
};

struct NpzParams : ArrayParams {
  std::string path;
  std::string x_train = "x_train", y_train = "y_train", x_test = "x_test", y_test = "y_test";
  TargetArrays targets;
  static void describe(auto&& p) {
    p("path", &NpzParams::path, "The .npz file.", Required{});
    p("x_train", &NpzParams::x_train, "Name of the array of training inputs, a sample per row.");
    p("y_train", &NpzParams::y_train, "Name of the training targets; empty: the target is the input.");
    p("x_test", &NpzParams::x_test,
      "Name of the test inputs; empty, or neither test array there: there is no test set.");
    p("y_test", &NpzParams::y_test, "Name of the test targets; empty when y_train is.");
    p("targets", &NpzParams::targets,
      "Several targets in place of y_train and y_test, each for an output of its own (`outputs` of the spec): names, "
      "and "
      "the arrays' names without _train and _test. Example: {price: y_price, grade: y_grade}.");
    ArrayParams::describe(p);
  }
};

// One array that may or may not be there, by its header.
struct Array {
  std::string name;  // "": none
  NpyHeader header;
};

ArrayForm form_of(const Array& array) {
  if (array.name.empty()) return {};
  const NpyHeader& header = array.header;
  const bool bytes = header.kind == 'b' || (header.kind == 'u' && header.item == 1);
  return {array.name, header.shape, header.is_floating(), double(header.shape.elements()) * header.item,
          bytes ? DType::u8 : DType::f32};
}

SplitForm form_of(const Array& x, const Array& y) { return {form_of(x), form_of(y)}; }

class NPY : public Parametrized<Dataset, NpyParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    check_pairs();
    Data data;
    data.source = find_data_file(params.inputs, context);
    check_forms(params, form_of(header(params.inputs, context), header(params.targets, context)),
                form_of(header(params.test_inputs, context), header(params.test_targets, context)));
    interpret(params, read(params.inputs, params.targets, context),
              read(params.test_inputs, params.test_targets, context), context, common.autoencoder, data);
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    check_pairs();
    DataCheck out;
    for (const std::string* path : {&params.inputs, &params.targets, &params.test_inputs, &params.test_targets})
      if (!path->empty() && find_data_file(*path, context, out.missing).empty()) return out;
    out.missing.clear();
    const Array x = header(params.inputs, context), y = header(params.targets, context);
    out.source = x.name;
    const SplitForm train = form_of(x, y),
                    test = form_of(header(params.test_inputs, context), header(params.test_targets, context));
    check_forms(params, train, test);
    check_arrays(
        params, train, test, context, [&] { return read_npy(y.name); }, common.autoencoder, out);
    return finish(out);
  }

 private:
  void check_pairs() const {
    if (params.test_inputs.empty() && !params.test_targets.empty())
      fail(ErrorKind::config, "test_targets: given without test_inputs");
    if (!params.test_inputs.empty() && params.test_targets.empty() != params.targets.empty())
      fail(ErrorKind::config, "targets and test_targets: give both or neither");
  }

  static Array header(const std::string& path, const DataContext& context) {
    if (path.empty()) return {};
    Array out{find_data_file(path, context), {}};
    out.header = read_npy_header(out.name);
    return out;
  }

  static RawSplit read(const std::string& inputs, const std::string& targets, const DataContext& context) {
    RawSplit out;
    if (inputs.empty()) return out;
    out.inputs_name = find_data_file(inputs, context);
    out.inputs = read_npy(out.inputs_name);
    if (targets.empty()) return out;
    out.targets_name = find_data_file(targets, context);
    out.targets = read_npy(out.targets_name);
    return out;
  }
};

class NPZ : public Parametrized<Dataset, NpzParams> {
 public:
  explicit NPZ(NpzParams given) : Parametrized(std::move(given)) {
    check_one_target_alone(params, params.targets);
    if (params.targets.empty()) return;
    const NpzParams usual;
    const auto is_own = [](const std::string& name, const std::string& usually) {
      return !name.empty() && name != usually;
    };
    if (is_own(params.y_train, usual.y_train) || is_own(params.y_test, usual.y_test))
      fail(ErrorKind::config, "targets and y_train or y_test are both given; name all arrays in targets");
    params.y_train.clear(), params.y_test.clear();
  }

  Data load(const DataContext& context) const override {
    Data data;
    data.source = find_data_file(params.path, context);
    const Npz archive(data.source);
    const bool with_test = has_test(archive);
    check_forms(
        params, form(archive, data.source, params.x_train, targets_in(archive, params.y_train)),
        with_test ? form(archive, data.source, params.x_test, targets_in(archive, params.y_test)) : SplitForm{});
    const RawSplit train = read(archive, data.source, params.x_train, targets_in(archive, params.y_train));
    interpret(params, train,
              with_test ? read(archive, data.source, params.x_test, targets_in(archive, params.y_test)) : RawSplit{},
              context, common.autoencoder, data);
    if (!params.targets.empty()) {
      data.targets = describe_targets(params.targets, params, data, context, reader(archive, data.source, "_train"));
      for (const auto& [split, end] : {std::pair{&data.train, "_train"}, std::pair{&data.test, "_test"}})
        if (split->size() > 0)
          split->targets =
              rows_of_targets(data.targets, params.targets, split->size(), reader(archive, data.source, end));
    }
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    out.source = find_data_file(params.path, context, out.missing);
    if (out.source.empty()) return out;
    out.missing.clear();
    const Npz archive(out.source);
    const SplitForm train = form(archive, out.source, params.x_train, targets_in(archive, params.y_train));
    const SplitForm test =
        has_test(archive) ? form(archive, out.source, params.x_test, targets_in(archive, params.y_test)) : SplitForm{};
    check_forms(params, train, test);
    check_arrays(
        params, train, test, context, [&] { return archive.read(params.y_train); }, common.autoencoder, out);
    if (!params.targets.empty()) {
      out.targets = describe_targets(params.targets, params, out, context, reader(archive, out.source, "_train"));
      out.target = {columns_of(out.targets)};
    }
    return finish(out);
  }

 private:
  bool has_test(const Npz& archive) const {
    if (params.x_test.empty()) return false;
    return archive.has(params.x_test) || (!params.y_test.empty() && archive.has(params.y_test));
  }

  // An autoencoder needs no array of targets.
  std::string targets_in(const Npz& archive, const std::string& name) const {
    return common.autoencoder && !archive.has(name) ? "" : name;
  }

  // Reads arrays of targets, whose names have this end.
  static ReadTarget reader(const Npz& archive, const std::string& path, const std::string& end) {
    return [&archive, path, end](const std::string& name) {
      return std::pair{archive.read(name + end), text(path, ": ", name, end)};
    };
  }

  static Array header(const Npz& archive, const std::string& path, const std::string& key) {
    if (key.empty()) return {};
    return {text(path, ": ", key), archive.header(key)};
  }

  static SplitForm form(const Npz& archive, const std::string& path, const std::string& x, const std::string& y) {
    return form_of(header(archive, path, x), header(archive, path, y));
  }

  static RawSplit read(const Npz& archive, const std::string& path, const std::string& x, const std::string& y) {
    RawSplit out{archive.read(x), {}, text(path, ": ", x), text(path, ": ", y)};
    if (!y.empty()) out.targets = archive.read(y);
    return out;
  }
};

NEON_REGISTER(Dataset, NPY, "Arrays that NumPy saved, each in its .npy file.");
NEON_REGISTER(Dataset, NPZ, "Arrays that NumPy saved in one .npz file.");

}  // namespace

}  // namespace neon
