// Folders, archives and lists of images.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Two classes, told apart by `kind`, with train and test.
Files pets(int64_t side = 8) {
  Files out;
  for (const char* part : {"train", "test"})
    for (int k = 0; k < (part == std::string("train") ? 3 : 2); ++k)
      for (int kind : {0, 1})
        out.emplace_back(text("pets/", part, "/", kind ? "dog" : "cat", "/", k, k == 1 ? ".png" : ".JPG"),
                         k == 1 ? png_of(picture(side, side, 3, kind)) : jpeg_of(picture(side, side, 3, kind), 100));
  return out;
}

void write_all(const TempDir& dir, const Files& files) {
  for (const auto& [name, content] : files) dir.write(name, content);
}

Data load_images(const TempDir& dir, const std::string& name, const Keys& keys,
                 std::vector<std::string>* warnings = nullptr) {
  DataContext context = offline(dir.path(), 4);
  context.warnings = warnings;
  const auto set = make(name, keys);
  const Data data = set->load(context);
  if (!warnings) CHECK(agrees(set->check(context), data));
  return data;
}

void check_pets(const Data& data, int64_t side = 8) {
  CHECK(data.sample == Shape{3, side, side});
  CHECK(data.channels_last);
  CHECK(data.class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(data.scale == 1.0f / 255);
  CHECK(values(data.train.targets) == std::vector<double>{0, 0, 0, 1, 1, 1});
  CHECK(values(data.test.targets) == std::vector<double>{0, 0, 1, 1});
  for (const Split* split : {&data.train, &data.test})
    for (int64_t i = 0; i < split->size(); ++i)
      CHECK(farthest(split->inputs.rows(i, 1).reshaped({side, side, 3}),
                     picture(side, side, 3, int(split->targets.at(i)))) <= 4);
}

std::string folder_trouble(const TempDir& dir, const Keys& keys, const std::string& name = "ImageFolder") {
  std::string out = error_of([&] { make(name, keys)->load(offline(dir.path())); });
  for (size_t at; (at = out.find(dir.path())) != out.npos;) out.replace(at, dir.path().size() + 1, "");
  return out;
}

}  // namespace

TEST_CASE("a folder, and archives of it, give the same images") {
  const TempDir dir;
  write_all(dir, pets());
  const Data folder = load_images(dir, "ImageFolder", {{"path", "pets"}});
  check_pets(folder);
  CHECK(folder.source == dir / "pets");
  REQUIRE(std::system(text("cd ", dir.path(), " && tar cf a.tar pets && tar czf b.tgz -C pets train test").c_str()) ==
          0);
  for (const char* archive : {"a.tar", "b.tgz"}) {
    const Data data = load_images(dir, "ImageFolder", {{"path", archive}});
    check_pets(data);
    CHECK(values(data.train.inputs) == values(folder.train.inputs));
    CHECK(values(data.test.inputs) == values(folder.test.inputs));
  }
}

TEST_CASE("names with more words say the part, where classes lie within and one is to train with") {
  const TempDir dir;
  for (const auto& [train, test] : {std::pair{"training_set", "test_set"},
                                    {"Train_data", "TEST_data"},
                                    {"seg_train", "seg_val"},
                                    {"training_set/training_set", "test_set/test_set"}})
    for (auto [name, content] : pets()) {
      const std::string from = name.find("/train/") != name.npos ? "pets/train/" : "pets/test/";
      dir.write(text(train, "-set/", from == "pets/train/" ? train : test, "/", name.substr(from.size())), content);
    }
  for (const auto& [path, note] :
       {std::pair{"training_set-set", "'test_set' is read as test, 'training_set' as training"},
        {"Train_data-set", "'TEST_data' is read as test, 'Train_data' as train"},
        {"seg_train-set", "'seg_train' is read as train, 'seg_val' as val"},
        {"training_set/training_set-set", "'test_set' is read as test, 'training_set' as training"}}) {
    std::vector<std::string> warnings;
    check_pets(load_images(dir, "ImageFolder", {{"path", path}}, &warnings));
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], Catch::EndsWith(note));
    DataContext former = offline(dir.path());
    former.rules = kRulesOfPartWords - 1;
    if (std::string(path).find('/') == std::string::npos)
      CHECK(make("ImageFolder", {{"path", path}})->load(former).class_names.size() == 2);
  }
}

TEST_CASE("folders that only look like parts are classes, with a note where both have the same folders") {
  const TempDir dir;
  for (const auto& [name, content] : pets()) {
    const std::string inner = name.substr(name.find('/', 5) + 1);
    const bool train = name.find("/train/") != name.npos;
    dir.write(text("trains/", train ? "freight_train/" : "test_tube/", inner.substr(4)), content);
    dir.write(text("sides/", train ? "left/" : "right/", inner), content);
    dir.write(text("things/", train ? "train-lines/" : "test-tubes/", inner), content);
  }
  std::vector<std::string> warnings;
  CHECK(load_images(dir, "ImageFolder", {{"path", "trains"}, {"test", "none"}}, &warnings).class_names ==
        std::vector<std::string>{"freight_train", "test_tube"});
  CHECK(warnings.empty());
  CHECK(load_images(dir, "ImageFolder", {{"path", "sides"}, {"test", "none"}}, &warnings).class_names ==
        std::vector<std::string>{"left", "right"});
  CHECK(load_images(dir, "ImageFolder", {{"path", "things"}, {"test", "none"}}).class_names ==
        std::vector<std::string>{"test-tubes", "train-lines"});
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::EndsWith("'left' and 'right' are classes, though both have folders 'cat' and 'dog'; if "
                             "these are the classes, name the outer folders train and test"));
}

TEST_CASE("a folder whose name is not UTF-8 is no class") {
  const TempDir dir;
  for (auto [name, content] : pets()) {
    if (const size_t at = name.find("/dog/"); at != name.npos) name.replace(at, 5, "/L\xf6we/");
    dir.write(name, content);
  }
  CHECK_THAT(folder_trouble(dir, {{"path", "pets"}}),
             Catch::Contains("is not UTF-8, as names of classes must be; rename"));
}

TEST_CASE("what is hidden, or lies in a hidden folder, is no sample") {
  const TempDir dir;
  write_all(dir, pets());
  for (const char* hidden : {"train/.trash/0.JPG", "train/cat/.ipynb_checkpoints/0-checkpoint.JPG", "train/dog/.7.JPG"})
    dir.write(text("pets/", hidden), jpeg_of(picture(8, 8, 3, 0), 100));
  std::vector<std::string> warnings;
  check_pets(load_images(dir, "ImageFolder", {{"path", "pets"}}, &warnings));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::Contains("3 files that are no images, or hidden, are left out; the first: 'train/.trash/0.JPG'"));
  std::filesystem::remove_all(dir / "pets/train/.trash");
  std::filesystem::remove(dir / "pets/train/dog/.7.JPG");
  warnings.clear();
  check_pets(load_images(dir, "ImageFolder", {{"path", "pets"}}, &warnings));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::EndsWith("the file 'train/cat/.ipynb_checkpoints/0-checkpoint.JPG' is no image, or hidden, and is "
                             "left out"));
}

TEST_CASE("empty folders are told, as the net has no output for them") {
  const TempDir dir;
  write_all(dir, pets());
  for (const char* empty : {"pets/train/newt", "pets/train/hen", "pets/train/.cache", "pets/test/hen"})
    std::filesystem::create_directories(dir / empty);
  std::vector<std::string> warnings;
  check_pets(load_images(dir, "ImageFolder", {{"path", "pets"}}, &warnings));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::Contains("pets: 3 empty folders, or links to nothing, are no classes; the first: 'test/hen'"));
}

TEST_CASE("the only image of a class is never drawn to test with") {
  const TempDir dir;
  for (const auto& [name, content] : pets())
    if (name.find("/train/cat/") != name.npos || name.ends_with("/train/dog/0.JPG")) dir.write(name, content);
  dir.write("list.csv", "train/cat/0.JPG,0\ntrain/cat/1.png,0\ntrain/cat/2.JPG,0\ntrain/dog/0.JPG,1\n");
  const Keys folder{{"path", "pets/train"}, {"test", "0.25"}};
  const Keys list{{"path", "list.csv"}, {"root", "pets"}, {"test", "0.25"}};
  for (uint64_t seed = 0; seed < 16; ++seed)
    for (const bool listed : {false, true}) {
      std::vector<std::string> warnings;
      DataContext context = offline(dir.path(), seed);
      context.warnings = &warnings;
      const Data data = make(listed ? "ImageList" : "ImageFolder", listed ? list : folder)->load(context);
      CHECK(values(data.test.targets) == std::vector<double>{0});
      CHECK(warnings.empty());
    }
}

TEST_CASE("one folder is split by the seed; a folder val serves as test") {
  const TempDir dir;
  Files files;
  for (auto& [name, content] : pets())
    if (name.find("/train/") != name.npos) files.emplace_back("all/" + name.substr(11), content);
  write_all(dir, files);
  const Data data = load_images(dir, "ImageFolder", {{"path", "all"}, {"test", "0.5"}});
  CHECK(data.train.size() == 3);
  CHECK(data.test.size() == 3);
  CHECK(load_images(dir, "ImageFolder", {{"path", "all"}, {"test", "none"}}).test.size() == 0);
  for (const char* share : {"0.01", "0.99"})
    CHECK(folder_trouble(dir, {{"path", "all"}, {"test", share}}) ==
          text("data: all: 6 images are too few to test with ", share, " of them"));
  for (auto& [name, content] : pets()) {
    std::string other = name;
    if (const size_t at = other.find("/test/"); at != other.npos) other.replace(at, 6, "/val/");
    dir.write("second/" + other, content);
  }
  CHECK(load_images(dir, "ImageFolder", {{"path", "second"}}).test.size() == 4);
  CHECK(load_images(dir, "ImageFolder", {{"path", "second"}, {"validation", "2"}}).validation.size() == 2);
  // Beside a folder test it is for validation, and not to be thrown away for others.
  dir.write("second/pets/test/cat/0.png", png_of(picture(8, 8, 3)));
  CHECK(load_images(dir, "ImageFolder", {{"path", "second"}}).validation.size() == 4);
  const Keys both = {{"path", "second"}, {"validation", "2"}};
  const std::string trouble = folder_trouble(dir, both);
  CHECK(trouble ==
        "config: validation: 2 takes samples from the training set, but second has 4 validation samples of its own; "
        "leave it out");
  CHECK(error_of([&] {
          make("ImageFolder", both)->check(offline(dir.path()));
        }).find("4 validation samples of its own") != std::string::npos);
}

TEST_CASE("images are brought to one size, and to grey") {
  const TempDir dir;
  write_all(dir, pets());
  dir.write("pets/train/cat/wide.png", png_of(picture(12, 30, 3, 0)));
  CHECK(folder_trouble(dir, {{"path", "pets"}}) ==
        "data: pets/train/cat/wide.png: 30 x 12 pixels, the first image has 8 x 8; give size: N to bring all to N x N "
        "(--set dataset.on_bad_sample=skip leaves such files out)");
  const Data data =
      load_images(dir, "ImageFolder", {{"path", "pets"}, {"size", "6"}, {"channels", "1"}, {"normalize", "false"}});
  CHECK(data.sample == Shape{1, 6, 6});
  CHECK(data.train.inputs.shape() == Shape{7, 6, 6, 1});
  CHECK(data.scale == 1);
  CHECK(data.image_size == SampleSize(6));
}

TEST_CASE("bad images end the run, or are counted and left out") {
  const std::string good = jpeg_of(picture(8, 8, 3));
  const Files bad = {{"cut.jpg", good.substr(0, good.size() - 60)},
                     {"empty.jpg", ""},
                     {"huge.jpg", with_jpeg_size(good, 65000, 65000)},
                     {"page.png", "<html>"}};
  for (const auto& [name, content] : bad) {
    INFO(name);
    const TempDir dir;
    write_all(dir, pets());
    dir.write("pets/train/dog/" + name, content);
    REQUIRE(std::system(text("cd ", dir.path(), " && tar cf a.tar pets").c_str()) == 0);
    CHECK(folder_trouble(dir, {{"path", "pets"}}).starts_with("data: pets/train/dog/" + name + ": "));
    CHECK(folder_trouble(dir, {{"path", "a.tar"}}).starts_with("data: a.tar: pets/train/dog/" + name + ": "));
    for (const char* path : {"pets", "a.tar"}) {
      std::vector<std::string> warnings;
      check_pets(load_images(dir, "ImageFolder", {{"path", path}, {"on_bad_sample", "skip"}}, &warnings));
      REQUIRE(warnings.size() == 1);
      CHECK(warnings[0].find("1 of 11 images is left out; the first: ") != std::string::npos);
      CHECK(warnings[0].find(name) != std::string::npos);
    }
  }
}

TEST_CASE("what is no file is a bad image, also where a class is made of nothing else") {
  const TempDir dir;
  write_all(dir, pets());
  const auto link = [&](const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(dir / name).parent_path());
    std::filesystem::create_symlink("gone.jpg", dir / name);
  };
  link("pets/train/dog/9.jpg");
  CHECK(
      folder_trouble(dir, {{"path", "pets"}}) ==
      "data: pets/train/dog/9.jpg: a link to a missing file (--set dataset.on_bad_sample=skip leaves such files out)");
  std::vector<std::string> warnings;
  check_pets(load_images(dir, "ImageFolder", {{"path", "pets"}, {"on_bad_sample", "skip"}}, &warnings));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("1 of 11 images is left out; the first: ") && Catch::Contains("dog/9.jpg"));
  std::filesystem::remove(dir / "pets/train/dog/9.jpg");
  REQUIRE(mkfifo((dir / "pets/train/dog/9.jpg").c_str(), 0666) == 0);
  CHECK(folder_trouble(dir, {{"path", "pets"}}) ==
        "data: pets/train/dog/9.jpg: expected a file, this is a device, pipe or socket (--set "
        "dataset.on_bad_sample=skip leaves such "
        "files out)");
  std::filesystem::remove(dir / "pets/train/dog/9.jpg");
  link("pets/train/horse");  // that might have been a folder
  warnings.clear();
  check_pets(load_images(dir, "ImageFolder", {{"path", "pets"}}, &warnings));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::Contains("pets: 1 empty folders, or links to nothing, are no classes; the first: 'train/horse'"));
  for (const char* part : {"train", "test"}) link(text("pets/", part, "/eel/0.jpg"));
  CHECK(
      folder_trouble(dir, {{"path", "pets"}}) ==
      "data: pets/train/eel/0.jpg: a link to a missing file (--set dataset.on_bad_sample=skip leaves such files out)");
}

TEST_CASE("folders to train and test with are told from classes") {
  const TempDir dir;
  Files files;
  for (auto& [name, content] : pets()) {
    const bool train = name.find("/train/") != name.npos;
    files.emplace_back((train ? "pets/Train/" : "pets/TEST/") + name.substr(train ? 11 : 10), content);
  }
  write_all(dir, files);
  check_pets(load_images(dir, "ImageFolder", {{"path", "pets"}}));
  dir.write("pets/docs/figure.png", png_of(picture(8, 8, 3)));
  CHECK(folder_trouble(dir, {{"path", "pets"}})
            .starts_with("data: pets/docs/figure.png: lies beside the folder 'TEST', and is neither to train nor to "
                         "test with; expected "));
  // Vehicles of the classes bus and train.
  dir.write("vehicles/bus/a.png", png_of(picture(8, 8, 3)));
  dir.write("vehicles/train/b.png", png_of(picture(8, 8, 3)));
  CHECK(load_images(dir, "ImageFolder", {{"path", "vehicles"}}).class_names ==
        std::vector<std::string>{"bus", "train"});
}

TEST_CASE("folders that say no classes are errors") {
  const TempDir dir;
  CHECK(
      folder_trouble(dir, {{"path", "nowhere"}}).starts_with("data: nowhere: no such folder or archive; looked for "));
  dir.write("text/a/readme.txt", "x");
  CHECK(folder_trouble(dir, {{"path", "text"}}) ==
        "data: text: holds no .jpg, .jpeg, .png, .bmp, .gif, .tif, .tiff or .webp, but 1 other files, such as "
        "'a/readme.txt'");
  dir.write("flat/a.png", png_of(picture(4, 4, 3)));
  CHECK(folder_trouble(dir, {{"path", "flat"}}).find("lies in no class's folder; expected CLASS/IMAGE") !=
        std::string::npos);
  dir.write("one/train/cat/a.png", png_of(picture(4, 4, 3)));
  CHECK(folder_trouble(dir, {{"path", "one"}}).find("has training images of 1 class, ") != std::string::npos);
  dir.write("one.csv", "one/train/cat/a.png,cat\n");
  CHECK(folder_trouble(dir, {{"path", "one.csv"}}, "ImageList").find("every training image is of class 'cat'") !=
        std::string::npos);
  // An autoencoder has no use for them.
  for (const auto& [name, path] : {std::pair("ImageFolder", "one"), {"ImageList", "one.csv"}}) {
    const Data data = load_images(dir, name, {{"path", path}, {"autoencoder", "true"}});
    CHECK(data.train.size() == 1);
    CHECK((data.classes == 0 && data.class_names.empty()));
  }
  write_all(dir, pets());
  dir.write("pets/test/cats/a.png", png_of(picture(8, 8, 3)));
  CHECK(folder_trouble(dir, {{"path", "pets"}}) ==
        "data: pets/test/cats/a.png: there is no training image of class 'cats'; did you mean cat?");
  CHECK(error_of([] {
          make("ImageFolder", {{"path", "x"}, {"channels", "2"}});
        }).find("1 (grey) or 3 (RGB)") != std::string::npos);
  dir.write("slip.tar", tar_of({{"train/../../a.png", "x"}}));
  CHECK(folder_trouble(dir, {{"path", "slip.tar"}}).find("could lead out of the archive") != std::string::npos);
  dir.write("twice.tar", tar_of({{"a/a.png", "x"}, {"a/a.png", "x"}}));
  CHECK(folder_trouble(dir, {{"path", "twice.tar"}}) == "data: twice.tar: a/a.png: is in the archive twice");
}

TEST_CASE("lists of images and classes") {
  const TempDir dir;
  write_all(dir, pets());
  std::string named = "file,kind\n", numbered, test;
  for (const auto& [name, content] : pets()) {
    const bool dog = name.find("dog") != name.npos, train = name.find("/train/") != name.npos;
    if (train)
      named += name + "," + (dog ? "dog" : "cat") + "\n", numbered += name.substr(5) + "\t" + (dog ? "1" : "0") + "\n";
    else test += name + "," + (dog ? "dog" : "cat") + "\n";
  }
  dir.write("named.csv", named);
  dir.write("test.csv", test);
  dir.write("numbered.tsv", "@FILE\tASCII_INT\n" + numbered);
  const Data data = load_images(dir, "ImageList", {{"path", "named.csv"}, {"test_list", "test.csv"}});
  CHECK(data.class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(data.train.size() == 6);
  CHECK(data.test.size() == 4);
  for (int64_t i = 0; i < 6; ++i)
    CHECK(farthest(data.train.inputs.rows(i, 1).reshaped({8, 8, 3}), picture(8, 8, 3, int(data.train.targets.at(i)))) <=
          4);
  const Data numbers = load_images(dir, "ImageList", {{"path", "numbered.tsv"}, {"root", "pets"}, {"test", "0.5"}});
  CHECK(numbers.class_names.empty());
  CHECK(numbers.classes == 2);
  CHECK(numbers.train.size() == 3);
  dir.write("wrong.csv", named + "pets/train/cat/9.jpg,cat\n");
  CHECK(folder_trouble(dir, {{"path", "wrong.csv"}}, "ImageList")
            .starts_with("data: wrong.csv:8:1: there is no file 'pets/train/cat/9.jpg' in "));
  dir.write("first.csv", "pets/train/cat/9.jpg,cat\n" + named.substr(10));
  CHECK(folder_trouble(dir, {{"path", "first.csv"}}, "ImageList").starts_with("data: first.csv:1:1: there is no file"));
  dir.write("none.csv", named + "pets/test/cat/0.JPG,\n");
  CHECK(folder_trouble(dir, {{"path", "none.csv"}}, "ImageList") ==
        "data: none.csv:8:21: the class is empty; fill in or remove rows with missing values");
  std::string absolute = named;
  for (size_t at = 0; (at = absolute.find("pets/", at)) != absolute.npos; at += dir.path().size() + 6)
    absolute.insert(at, dir.path() + "/");
  dir.write("absolute.csv", absolute);
  CHECK(values(load_images(dir, "ImageList", {{"path", "absolute.csv"}}).train.inputs) == values(data.train.inputs));
  dir.write("twice.csv", named + "pets/train/cat/0.JPG,cat\n");
  CHECK(folder_trouble(dir, {{"path", "twice.csv"}}, "ImageList").find("is listed in twice.csv:2 already") !=
        std::string::npos);
  dir.write("three.csv", "a,b,c\n");
  CHECK(
      folder_trouble(dir, {{"path", "three.csv"}}, "ImageList").find("expected a file and its class, found 3 cells") !=
      std::string::npos);
  dir.write("bird.csv", test + "pets/test/cat/1.png,bird\n");
  dir.write("third.csv", "test/cat/0.JPG,1\ntest/dog/0.JPG,2\n");
  CHECK(folder_trouble(dir, {{"path", "numbered.tsv"}, {"root", "pets"}, {"test_list", "third.csv"}}, "ImageList") ==
        "data: third.csv:2: class '2' is not one of the training list's, 0 to 1");
  CHECK(folder_trouble(dir, {{"path", "named.csv"}, {"test_list", "bird.csv"}}, "ImageList").find("listed") !=
        std::string::npos);
}
