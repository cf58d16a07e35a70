// Values of a metrics file, its layout, and how a resumed run goes on with it.
#include <catch2/catch.hpp>
#include <cmath>

#include "neon/core/error.h"
#include "tests/support/temp_folder.h"
#include "tests/train/metrics_support.h"

using namespace neon;
using namespace neon_test;
using Catch::Matchers::Contains;
using Lines = std::vector<std::string>;

TEST_CASE("h5py reads the layout and the values while the file is being written") {
  TempFolder folder;
  const std::string path = folder / "new/run.h5";
  MetricsFile file = small_file(path);
  CHECK(python_says(path, "f['cost/train'].shape, f['cost/train'].dtype, np.isnan(f['cost/train'][:]).all()") ==
        "(12,) float32 True");
  for (int i = 0; i < 5; ++i) file.set("cost/train", i, 1.0 / (1 + i));
  file.set("cost/loss", 0, 0.25);
  file.set("time/train/start_time", 0, 1234567890.125);
  const double pair[] = {1.5, -2.5};
  file.set("multicost/train", 3, pair);
  std::vector<double> column(64);
  for (size_t i = 0; i < 64; ++i) column[i] = double(i) * 3;
  file.set("hist/Affine_0_W", 2, column);
  file.set_attribute("time_markers", "epochs_complete", 1);
  file.set_attribute("", "loss_scale", 0.75);
  file.flush();
  CHECK(file.take_messages().empty());

  CHECK(python_says(path,
                    "np.array_equal(f['cost/train'][:5], (1 / (1 + np.arange(5))).astype('f4')), "
                    "np.isnan(f['cost/train'][5:]).all()") == "True True");
  CHECK(python_says(path,
                    "f['cost/loss'][:], f['cost/loss'].attrs['time_markers'], f['cost/loss'].attrs['epoch_freq'], "
                    "f['cost/loss'].attrs['x']") == "[0.25] epoch_freq 2 epoch");
  CHECK(python_says(path, "f['cost/train'].attrs['time_markers'], f['cost/train'].attrs['units'] == ''") ==
        "minibatch True");
  CHECK(python_says(path, "f['time/train/start_time'][0], f['time/train/start_time'].attrs['units']") ==
        "1234567890.125 seconds");
  CHECK(python_says(path,
                    "f['multicost/train'].shape, f['multicost/train'][3], np.isnan(f['multicost/train'][2]).all()") ==
        "(12, 2) [ 1.5 -2.5] True");
  CHECK(python_says(path,
                    "f['hist/Affine_0_W'].shape, np.array_equal(f['hist/Affine_0_W'][:, 2], 3 * np.arange(64)), "
                    "f['hist/Affine_0_W'][:].sum()") == "(64, 6) True 6048");
  CHECK(python_says(path, "f['metrics/Top1 (%)'].shape") == "(0,)");
  CHECK(python_says(path,
                    "f.attrs['status'], f['config'].attrs['total_minibatches'], f.attrs['loss_scale'], "
                    "f['time_markers'].attrs['epochs_complete'], f['hist'].attrs['bins']") == "running 12 0.75 1 64");
  CHECK(python_says(path, "type(f.attrs['status']).__name__, len(f.attrs['spec']), ascii(f.attrs['spec'][-5:])") ==
        "str 100014 'caf\\xe9]'");
  CHECK(python_says(path, "ascii(sorted(f)), sorted(f['time'])") ==
        "['config', 'cost', 'hist', 'metrics', 'multicost', 'time', 'time_markers'] ['loss', 'train']");

  const auto size = std::filesystem::file_size(path);
  file.close(RunStatus::complete);
  CHECK(python_says(path, "f.attrs['status']") == "complete");
  CHECK(std::filesystem::file_size(path) == size);
}

TEST_CASE("what was set is read back, by the file itself and by the reader") {
  TempFolder folder;
  const std::string path = folder / "run.h5";
  MetricsFile file = small_file(path);
  file.set("cost/train", 11, 0.1);
  CHECK(file.get("cost/train", 11) == double(0.1f));
  CHECK(std::isnan(file.get("cost/train", 10)));
  CHECK(std::isnan(file.get("cost/train", 12)));
  CHECK(std::isnan(file.get("nobody", 0)));
  const double pair[] = {NAN, INFINITY};
  file.set("multicost/train", 0, pair);
  std::vector<double> column(64, 7);
  column[63] = 1e30;  // saturates
  file.set("hist/Affine_0_W", 5, column);
  file.set_attribute("time_markers", "epochs_complete", 2);
  file.close(RunStatus::complete);

  const MetricsContents contents = read_metrics(path);
  CHECK(contents.series.size() == run_series().size());
  for (const SeriesSpec& spec : run_series()) {
    const StoredSeries* stored = contents.find(spec.path);
    REQUIRE(stored);
    INFO(spec.path);
    CHECK(stored->spec.length == spec.length);
    CHECK(stored->spec.width == spec.width);
    CHECK(stored->spec.columns == spec.columns);
    CHECK(stored->spec.dtype == spec.dtype);
    CHECK(stored->spec.units == spec.units);
    CHECK(stored->spec.axis() == spec.axis());
    CHECK(stored->spec.epoch_freq == spec.epoch_freq);
    CHECK(stored->spec.minibatch_freq == spec.minibatch_freq);
    CHECK(int64_t(stored->values.size()) == spec.values());
  }
  CHECK(contents.find("cost/train")->at(11) == double(0.1f));
  CHECK(std::isnan(contents.find("cost/train")->at(10)));
  CHECK(contents.find("multicost/train")->at(0, 1) == INFINITY);
  CHECK(contents.find("hist/Affine_0_W")->at(5, 62) == 7);
  CHECK(contents.find("hist/Affine_0_W")->at(5, 63) == 2147483647);
  CHECK(contents.find("hist/Affine_0_W")->at(4, 62) == 0);
  CHECK(std::get<std::string>(*contents.find("", "status")) == "complete");
  CHECK(std::get<int64_t>(*contents.find("config", "total_epochs")) == 3);
  CHECK(std::get<int64_t>(*contents.find("time_markers", "epochs_complete")) == 2);
  CHECK(std::get<double>(*contents.find("", "loss_scale")) == 1.5);
  CHECK(contents.find("", "nobody") == nullptr);
  CHECK(contents.find("nobody") == nullptr);
}

TEST_CASE("a resume keeps the points before the checkpoint and blanks those after, in a larger file") {
  TempFolder folder;
  const std::string path = folder / "run.h5";
  {
    MetricsFile file = small_file(path);
    for (int i = 0; i < 12; ++i) file.set("cost/train", i, i);
    for (int i = 0; i < 6; ++i) file.set("hist/Affine_0_W", i, std::vector<double>(64, i + 1));
    for (int i = 0; i < 3; ++i) file.set("time/loss", i, i);
    file.set("cost/loss", 0, 5);
    file.set("time/train/start_time", 0, 99);
    file.close(RunStatus::killed);
  }
  CHECK(python_says(path, "f.attrs['status']") == "killed");
  // The checkpoint is in the middle of epoch 2: 7 minibatches, 1 whole epoch.
  const MetricsFile::History history{path, 7, 1};
  MetricsFile file(path, run_series(6), run_attributes(6), &history);
  CHECK(file.take_messages().empty());
  CHECK(python_says(path, "f.attrs['status'], f['cost/train'].shape, f['cost/train'][:9].tolist()") ==
        "running (24,) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, nan, nan]");
  CHECK(python_says(path, "np.isnan(f['cost/train'][7:]).all(), f['hist/Affine_0_W'][5].tolist()") ==
        "True [1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]");
  CHECK(python_says(path, "f['time/loss'][:2].tolist(), f['cost/loss'][:].tolist()") == "[0.0, nan] [nan, nan, nan]");
  CHECK(python_says(path, "f['time/train/start_time'][0]") == "99.0");
  CHECK(file.get("cost/train", 6) == 6);
  file.set("cost/train", 7, 70);
  file.flush();
  CHECK(python_says(path, "f['cost/train'][6:9].tolist()") == "[6.0, 70.0, nan]");
}

TEST_CASE("points after other epochs than before keep their places") {
  TempFolder folder;
  const std::string path = folder / "run.h5";
  std::vector<SeriesSpec> series = {{.path = "cost/loss", .length = 3, .time_markers = "epoch_freq", .epoch_freq = 4}};
  {
    MetricsFile file(path, series, {});
    for (int64_t i = 0; i < 3; ++i) file.set("cost/loss", i, double(4 * (i + 1)));
    file.close(RunStatus::complete);
  }
  series[0].epoch_freq = 6;
  const MetricsFile::History history{path, 80, 11};  // epochs done: the point of epoch 12 is made again
  MetricsFile file(path, series, {}, &history);
  CHECK(file.take_messages().empty());
  for (int64_t i = 1; i < 3; ++i) file.set("cost/loss", i, double(6 * (i + 1)));
  file.set("cost/loss", 3, 24);
  CHECK_THAT(file.take_messages().at(0), Contains("no room beyond its 3 points"));
  CHECK(file.get("cost/loss", 1) == 12);
  file.close(RunStatus::complete);
  CHECK(python_says(path, "f['cost/loss'].attrs['epoch_freq'], f['cost/loss'][:].tolist()") ==
        "2 [nan, 4.0, nan, 8.0, nan, 12.0, nan, nan, 18.0]");
}

TEST_CASE("a history that does not fit or cannot be read is said, and lost files are kept aside") {
  TempFolder folder;
  const std::string path = folder / "run.h5";
  {
    MetricsFile file = small_file(path);
    file.set("time/loss", 0, 5);
    file.close(RunStatus::complete);
  }
  std::vector<SeriesSpec> changed = run_series();
  const std::string dropped = changed[2].path;
  changed[5].width = 3;
  changed[1].x = "minibatch";
  const MetricsFile::History history{path, 12, 3};
  Lines messages = MetricsFile(path, changed, run_attributes(), &history).take_messages();
  REQUIRE(messages.size() == 2);
  CHECK_THAT(messages[0], Contains("the history of cost/loss is not kept"));
  CHECK_THAT(messages[1], Contains("the history of multicost/train is not kept"));

  changed = run_series();
  changed.erase(changed.begin() + 2);
  messages = MetricsFile(path, changed, run_attributes(), &history).take_messages();
  REQUIRE(messages.size() >= 1);
  CHECK_THAT(messages[0], Contains("the history of " + dropped + " is not kept: this run has none"));

  put_file(path, "damaged");
  MetricsFile file(path, run_series(), run_attributes(), &history);
  messages = file.take_messages();
  REQUIRE(messages.size() == 2);
  CHECK_THAT(messages[0], Contains("the history of this run is not kept"));
  CHECK_THAT(messages[1], Contains("run.unreadable-1.h5"));
  CHECK(file_content(folder / "run.unreadable-1.h5") == "damaged");
  CHECK(std::isnan(file.get("time/loss", 0)));

  const MetricsFile::History gone{folder / "gone.h5", 12, 3};
  messages = MetricsFile(folder / "other.h5", run_series(), run_attributes(), &gone).take_messages();
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], Contains("other.h5 begins after epoch 3: what came before is in the metrics file that"));
}

TEST_CASE("a file that is not of a run is not overwritten") {
  TempFolder folder;
  put_file(folder / "train.csv", "a,b,c,d,e\n");
  CHECK_THROWS_WITH(small_file(folder / "train.csv"), Contains("train.csv is there and is not overwritten"));
  CHECK(file_content(folder / "train.csv") == "a,b,c,d,e\n");
  REQUIRE(
      output_of("/usr/bin/python3 -c \"import h5py; h5py.File('" + (folder / "data.h5") + "', 'w')['x'] = [1.0, 2.0]\"")
          .first == 0);
  const std::string data = file_content(folder / "data.h5");
  CHECK_THROWS_WITH(small_file(folder / "data.h5"), Contains("data.h5 is there and is not overwritten") &&
                                                        Contains("not a metrics file that neon wrote"));
  CHECK(file_content(folder / "data.h5") == data);
  CHECK_THROWS_WITH(small_file(folder.path()), Contains("it is a folder"));
  CHECK_THROWS_WITH(small_file("/proc/run.h5"), Contains("cannot write /proc/run.h5.part"));
}

TEST_CASE("wrong declarations are refused") {
  TempFolder folder;
  const auto make = [&](std::vector<SeriesSpec> series, std::vector<AttributeSpec> attributes = {}) {
    MetricsFile(folder / "run.h5", std::move(series), std::move(attributes));
  };
  CHECK_THROWS_WITH(make({{.path = "a/b", .length = 1}, {.path = "a/b", .length = 1}}),
                    Contains("two series are named a/b"));
  CHECK_THROWS_WITH(make({{.path = "", .length = 1}}), Contains("cannot be named ''"));
  CHECK_THROWS_WITH(make({{.path = "a//b", .length = 1}}), Contains("cannot be named 'a//b'"));
  CHECK_THROWS_WITH(make({{.path = "a", .length = -1}}), Contains("of -1 points"));
  CHECK_THROWS_WITH(make({{.path = "a", .length = 1, .dtype = DType::f16}}), Contains("f32, f64 or i32, not f16"));
  CHECK_THROWS_WITH(make({{.path = "a", .length = 1}, {.path = "a/b", .length = 1}}),
                    Contains("series a/b: HDF5 says"));
  CHECK_THROWS_WITH(make({{.path = "small", .length = 9}, {.path = "hist/w", .length = 1 << 30, .width = 64}}),
                    Contains("its largest series is hist/w"));
  CHECK_THROWS_WITH(make({}, {{"", "note", std::string("a\0b", 3)}}), Contains("attribute note has a zero byte"));
  CHECK_THROWS_WITH(make({}, {{"a", "b", int64_t(1)}, {"a", "b", int64_t(2)}}), Contains("attribute b: HDF5 says"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("mistakes of the caller are said once and end nothing") {
  TempFolder folder;
  MetricsFile file = small_file(folder / "run.h5");
  for (int i = 0; i < 3; ++i) {
    file.set("cost/trian", 0, 1);
    file.set("cost/train", 12 + i, 1);
    file.set("cost/train", -1, 1);
    file.set("multicost/train", 0, 1.0);
    file.set_attribute("config", "nobody", 1);
  }
  const Lines messages = file.take_messages();
  REQUIRE(messages.size() == 4);
  CHECK_THAT(messages[0], Contains("no series cost/trian was declared; did you mean cost/train?"));
  CHECK_THAT(messages[1], Contains("no room beyond its 12 points"));
  CHECK_THAT(messages[2], Contains("1 numbers for a point of multicost/train, which has 2"));
  CHECK_THAT(messages[3], Contains("no number nobody of 'config'"));
  CHECK(file.take_messages().empty());
}
