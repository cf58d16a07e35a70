// Several tar archives of images, and labels in files beside the images, as WebDataset has them.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "datasets/archive_names.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Samples KEY.png, KEY.cls and KEY.json. The image of class k is picture(8, 8, 3, k), but each file has bytes of its
// own.
Files keyed(int first, const std::vector<int>& classes) {
  Files out;
  for (size_t i = 0; i < classes.size(); ++i) {
    const std::string key = text("n0", size_t(first) + i, "_7");
    out.emplace_back(key + ".cls", text(classes[i], i % 2 ? "\n" : ""));
    out.emplace_back(key + ".json", "{}");
    out.emplace_back(key + ".png", png_of(picture(8, 8, 3, classes[i])) + key);
  }
  return out;
}

// Samples in the order of a split: labels, each with its image.
std::vector<int> labels_of(const Split& split) {
  std::vector<int> out;
  for (int64_t i = 0; i < split.size(); ++i) {
    Tensor pixels(DType::u8, {8, 8, 3});
    ReadScratch scratch;
    if (split.reader) split.reader->read(i, pixels.as<uint8_t>(), scratch);
    else pixels = split.inputs.rows(i, 1).reshaped({8, 8, 3});
    CHECK(values(pixels) == values(picture(8, 8, 3, split.label(i))));
    out.push_back(split.label(i));
  }
  return out;
}

Data load_archive(const TempDir& dir, Keys keys, const char* stream = "false") {
  keys.emplace_back("stream", stream);
  const auto set = make("ImageFolder", keys);
  const Data data = set->load(offline(dir.path(), 4));
  if (stream == std::string("false")) CHECK(agrees(set->check(offline(dir.path(), 4)), data));
  return data;
}

std::string archive_trouble(const TempDir& dir, const std::string& path) {
  std::string out = error_of([&] { make("ImageFolder", {{"path", path}})->load(offline(dir.path())); });
  for (size_t at; (at = out.find(dir.path())) != out.npos;) out.replace(at, dir.path().size() + 1, "");
  return out;
}

using Labels = std::vector<int>;

}  // namespace

TEST_CASE("shards of WebDataset: a folder, a pattern, one file, in memory and streamed") {
  const TempDir dir;
  dir.write("wds/train/000.tar", tar_of(keyed(0, {2, 0, 1})));
  dir.write("wds/train/001.tar", tar_of(keyed(0, {1, 2})));  // keys again
  dir.write("wds/val/000.tar", tar_of(keyed(10, {0, 2})));
  dir.write("flat/a-train-000.tar", tar_of(keyed(0, {2, 0, 1})));
  dir.write("flat/a-train-001.tar", tar_of(keyed(0, {1, 2})));
  dir.write("flat/a-val-000.tar", tar_of(keyed(10, {0, 2})));
  for (const char* stream : {"false", "true"}) {
    for (const char* path : {"wds", "flat", "wds/*/*.tar", "flat/a-{train,val}-*.tar", "wds/{train,val}/???.tar"}) {
      INFO(path);
      const Data data = load_archive(dir, {{"path", path}}, stream);
      CHECK(labels_of(data.train) == Labels{2, 0, 1, 1, 2});
      CHECK(labels_of(data.test) == Labels{0, 2});
      CHECK(data.classes == 3);
      CHECK(data.class_names == std::vector<std::string>{"0", "1", "2"});
    }
    CHECK(labels_of(load_archive(dir, {{"path", "flat/a-train-{000..001}.tar"}, {"test", "none"}}, stream).train) ==
          Labels{2, 0, 1, 1, 2});
    CHECK(labels_of(load_archive(dir, {{"path", "wds/train/001.tar"}, {"test", "none"}}, stream).train) ==
          Labels{1, 2});
    CHECK(load_archive(dir, {{"path", "wds/train"}, {"test", "0.4"}}, stream).test.size() == 2);
  }
  REQUIRE(std::system(text("cd ", dir.path(),
                           " && mkdir plain && tar xf wds/train/000.tar -C plain && "
                           "tar czf plain.tgz plain && mkdir one && cp wds/train/000.tar one")
                          .c_str()) == 0);
  for (const char* path : {"plain", "plain.tgz", "one"})
    CHECK(labels_of(load_archive(dir, {{"path", path}, {"test", "none"}}).train) == Labels{2, 0, 1});
}

TEST_CASE("braces, stars and what several paths have in common") {
  CHECK(expand_pattern("a{08..11}{x,}.tar") == std::vector<std::string>{"a08.tar", "a08x.tar", "a09.tar", "a09x.tar",
                                                                        "a10.tar", "a10x.tar", "a11.tar", "a11x.tar"});
  CHECK(expand_pattern("plain[1].tar") == std::vector<std::string>{"plain[1].tar"});
  CHECK(error_of([] { expand_pattern("{0..99999}{0..99999}.tar"); }).find("means more than 1000000 files") !=
        std::string::npos);
  for (const char* wrong : {"{a}", "{}", "{1..}", "{a..c}", "{9..1}"})
    CHECK(error_of([&] { expand_pattern(wrong); }).find("expected {first,second} or {000..009}") != std::string::npos);
  CHECK(common_folder({"a/b/c.tar", "a/b/d/e.tar"}) == "a/b/");
  CHECK(common_folder({"a/b.tar", "ab/c.tar"}).empty());
  CHECK(common_folder({"/a/b.tar", "c/d.tar"}).empty());
  CHECK(common_folder({"/a/b.tar", "/c.tar"}) == "/");
  const TempDir dir;
  dir.write("x[1]/a.tar", "");
  dir.write("x1/b.tar", "");
  CHECK(expand_pattern(dir / "x[1]/*.tar") == std::vector<std::string>{dir / "x[1]/a.tar"});
}

TEST_CASE("a pattern is expanded in folders whose names look like patterns") {
  const std::pair<std::string, std::string> none{"test", "none"};
  for (const char* name : {"sp{x}", "sp{a,b}", "sp*x", "sp?", "sp[1]", "sp\\*"}) {
    INFO(name);
    const TempDir dir;
    dir.write("spax/t-7.tar", tar_of(keyed(0, {0, 1})));
    dir.write(text(name, "/t-0.tar"), tar_of(keyed(0, {2, 0, 1})));
    dir.write(text(name, "/t-1.tar"), tar_of(keyed(0, {1, 2})));
    for (const char* path : {"t-*.tar", "t-{0,1}.tar", "t-?.{tar,tar}"}) {
      DataContext context = offline();
      context.spec_dir = dir / name;
      CHECK(labels_of(make("ImageFolder", {{"path", path}, none})->load(context).train) == Labels{2, 0, 1, 1, 2});
      CHECK(labels_of(load_archive(dir, {{"path", dir / name + "/" + path}, none}).train) == Labels{2, 0, 1, 1, 2});
    }
  }
}

TEST_CASE("archives whose folders are the classes are one set") {
  const TempDir dir;
  auto member = [](const std::string& name, int kind) { return std::pair(name, png_of(picture(8, 8, 3, kind))); };
  dir.write("pets/train-0.tar", tar_of({member("cat/0.png", 0), member("dog/0.png", 1)}));
  dir.write("pets/train-1.tar", tar_of({member("dog/0.png", 1)}));
  dir.write("pets/test-0.tar", tar_of({member("dog/5.png", 1), member("cat/6.png", 0)}));
  dir.write("inner/train-0.tar", tar_of({member("train/cat/0.png", 0), member("val/dog/0.png", 1)}));
  dir.write("inner/train-1.tar", tar_of({member("train/dog/0.png", 1)}));
  const Data pets = load_archive(dir, {{"path", "pets"}}), inner = load_archive(dir, {{"path", "inner"}});
  CHECK(pets.class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(labels_of(pets.train) == Labels{0, 1, 1});
  CHECK(labels_of(pets.test) == Labels{0, 1});
  CHECK(labels_of(inner.train) == Labels{0, 1});
  CHECK(labels_of(inner.test) == Labels{1});
}

TEST_CASE("what archives are for is said by names or folders, wherever they lie") {
  const TempDir dir;
  const std::string train = tar_of(keyed(0, {2, 0, 1})), more = tar_of(keyed(0, {1, 2})),
                    val = tar_of(keyed(10, {0, 2}));
  dir.write("names/x/train-0.tar", train);
  dir.write("names/x/train-1.tar", more);
  dir.write("names/y/val-0.tar", val);
  dir.write("folders/x/train/0.tar", train);
  dir.write("folders/x/train/1.tar", more);
  dir.write("folders/y/val/0.tar", val);
  dir.write("disks/part1/train-0.tar", train);
  dir.write("disks/part2/train-1.tar", more);
  dir.write("disks/part2/val-1.tar", val);
  for (const char* path : {"names", "folders", "disks", "names/?/*.tar", "disks/part{1,2}/*.tar"}) {
    INFO(path);
    const Data data = load_archive(dir, {{"path", path}});
    CHECK(labels_of(data.train) == Labels{2, 0, 1, 1, 2});
    CHECK(labels_of(data.test) == Labels{0, 2});
  }
}

TEST_CASE("classes are folders of archives, or folders in them, and not a mixture") {
  const TempDir dir;
  auto member = [](const std::string& name, int kind) { return std::pair(name, png_of(picture(8, 8, 3, kind))); };
  for (const char* set : {"of/", "one/x/"})
    for (int kind : {0, 1}) {
      const std::string folder = text(set, kind ? "dog" : "cat");
      dir.write(folder + "/train-0.tar", tar_of({member("0.png", kind), member("1.png", kind)}));
      dir.write(folder + "/val-0.tar", tar_of({member("2.png", kind)}));
    }
  for (const char* part : {"train", "val"})
    dir.write(text("in/x/", part, "-0.tar"), tar_of({member("cat/0.png", 0), member("dog/1.png", 1)}));
  for (const char* path : {"of", "one", "in"}) {
    INFO(path);
    const Data data = load_archive(dir, {{"path", path}});
    CHECK(data.class_names == std::vector<std::string>{"cat", "dog"});
    CHECK(labels_of(data.train) == (path == std::string("in") ? Labels{0, 1} : Labels{0, 0, 1, 1}));
    CHECK(labels_of(data.test) == Labels{0, 1});
  }
  dir.write("both/x/train-0.tar", tar_of({member("cat/0.png", 0), member("dog/1.png", 1)}));
  dir.write("both/y/val-0.tar", tar_of({member("cat/0.png", 0)}));
  CHECK(archive_trouble(dir, "both") ==
        "data: both/x/train-0.tar: cat/0.png: its class may be 'cat', its folder in the archive, or 'x', the folder "
        "of the archive; keep the folders of classes either in the archives or around them");
}

TEST_CASE("there may be more archives than files that a process may have open") {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const TempDir dir;
  Labels expected;
  for (int i = 0; i < 400; ++i) {
    dir.write(text("many/", 100 + i, ".tar"), tar_of(keyed(i, {i % 3})));
    expected.push_back(i % 3);
  }
  const rlimit few{200, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  for (const char* stream : {"false", "true"})
    CHECK(labels_of(load_archive(dir, {{"path", "many"}, {"test", "none"}}, stream).train) == expected);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("an image may have other images beside it that are no samples") {
  const TempDir dir;
  Files files = keyed(0, {1, 0});
  files.emplace_back("n00_7.mask.png", png_of(picture(8, 8, 3, 5)));
  dir.write("a.tar", tar_of(files));
  std::vector<std::string> warnings;
  DataContext context = offline(dir.path());
  context.warnings = &warnings;
  CHECK(labels_of(make("ImageFolder", {{"path", "a.tar"}, {"test", "none"}})->load(context).train) == Labels{1, 0});
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("3 files that are no images, or hidden, or have no label of their own are left out") !=
        std::string::npos);
}

TEST_CASE("what is wrong with labels and archives is said with the file's name") {
  const TempDir dir;
  const std::string png = png_of(picture(8, 8, 3));
  auto with = [&](const Files& more) {
    Files files = keyed(0, {0, 1});
    files.insert(files.end(), more.begin(), more.end());
    dir.write("set/train/0.tar", tar_of(files));
    dir.write("set/train/1.tar", tar_of(keyed(5, {1})));
    dir.write("set/test/1.tar", tar_of(keyed(5, {1})));
    return archive_trouble(dir, "set");
  };
  CHECK(with({{"x.jpg", png}}) ==
        "data: set/train/0.tar: x.jpg: has no label; expected 'x.cls' beside it, as others have");
  CHECK(with({{"x.cls", "0"}}) ==
        "data: set/train/0.tar: x.cls: a label without an image; expected one of that name with .jpg, .jpeg, .png, "
        ".bmp, .gif, .tif, .tiff or .webp");
  for (const char* label : {"cat", "", "-1", "1.5", "0x1", "1000000", "99999999999"})
    CHECK(with({{"x.cls", label}, {"x.png", png}}) ==
          text("data: set/train/0.tar: x.cls: '", label, "' is no class: expected a whole number from 0 to 999999"));
  CHECK(with({{"x.cls", "1"}, {"x.png", png}, {"x.jpg", png}}) ==
        "data: set/train/0.tar: x.png: is another image of the label 'x.cls'");
  dir.write("far/train/0.tar", tar_of(keyed(0, {0, 1})));
  dir.write("far/test/0.tar", tar_of(keyed(0, {2})));
  CHECK(archive_trouble(dir, "far") ==
        "data: far/test/0.tar: n00_7.cls: class 2, the training images have classes 0 to 1");
  dir.write("same/0.tar", tar_of(keyed(0, {4, 4})));
  CHECK(archive_trouble(dir, "same").find("has training images of 1 class, by their files KEY.cls") !=
        std::string::npos);
  dir.write("half/train-0.tar", tar_of(keyed(0, {0, 1})));
  dir.write("half/more.tar", tar_of(keyed(0, {0, 1})));
  CHECK(archive_trouble(dir, "half")
            .starts_with("data: half/more.tar: its name has no train, val or test, unlike half/train-0.tar; "
                         "put one of them into the names of all"));
  REQUIRE(std::system(
              text("cd ", dir.path(), " && mkdir packed && cp set/train/*.tar packed && gzip packed/0.tar").c_str()) ==
          0);
  CHECK(archive_trouble(dir, "packed").starts_with("data: packed/0.tar.gz: is compressed, and one of 2 archives"));
  CHECK(archive_trouble(dir, "set/train/{0..2}.tar").starts_with("data: set/train/2.tar: "));
  CHECK(archive_trouble(dir, "set/*/{0..2}.tar").starts_with("data: set/*/2.tar: there is no such archive, but"));
  CHECK(archive_trouble(dir, "set/{train,vall}/*.tar").starts_with("data: set/vall/*.tar: there is no such archive"));
  CHECK(archive_trouble(dir, "set/train/{9..1}.tar").find("expected {first,second} or {000..009} between braces") !=
        std::string::npos);
  CHECK(archive_trouble(dir, "none-*.tar").starts_with("data: none-*.tar: no such folder or archive; looked for "));
  write_images(dir, 4, 8);
  pack(dir, "shards", {});
  CHECK(archive_trouble(dir, "shards") ==
        text("data: shards: is what neon data pack wrote; to read it: dataset: {Shards: {path: shards}}"));
}
