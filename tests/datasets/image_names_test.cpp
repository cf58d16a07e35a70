// Names of classes and files of images that are written otherwise than expected.
#include <catch2/catch.hpp>

#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::string trouble(const TempDir& dir, const std::string& set, const Keys& keys) {
  return error_of([&] { make(set, keys)->load(offline(dir.path())); });
}

void write_photos(const TempDir& dir, const std::string& folder, int kind) {
  for (int i = 0; i < 2; ++i) dir.write(text(folder, "/", i, ".png"), numbered_png(8 * kind + i));
}

}  // namespace

TEST_CASE("folders whose names are written alike are noted, or named where one lacks training images") {
  const TempDir dir;
  write_photos(dir, "a/cat", 0), write_photos(dir, "a/Cat", 1), write_photos(dir, "a/cat ", 2);
  write_photos(dir, "a/dog", 3);
  const auto set = make("ImageFolder", {{"path", "a"}, {"test", "none"}});
  for (const bool checks : {false, true}) {
    std::vector<std::string> notes;
    DataContext context = offline(dir.path());
    context.warnings = &notes;
    if (checks) set->check(context);
    else set->load(context);
    CHECK_THAT(join(notes, "\n"), Catch::EndsWith("a: 'Cat', 'cat' and 'cat ' are 3 classes"));
  }
  const std::string composed = "caf\u00e9", decomposed = "cafe\u0301";
  write_photos(dir, "b/train/" + composed, 0), write_photos(dir, "b/train/dog", 1);
  write_photos(dir, "b/test/" + decomposed, 2), write_photos(dir, "b/test/dog", 3);
  CHECK_THAT(trouble(dir, "ImageFolder", {{"path", "b"}}),
             Catch::Contains(text("there is no training image of class '", decomposed, "'; the class '", composed,
                                  "' looks the same and has other code points")));
}

TEST_CASE("lists have semicolons between cells, and name files with their endings") {
  const TempDir dir;
  write_photos(dir, "photos", 0);
  dir.write("a.csv", "file;class\nphotos/0.png;cat\nphotos/1.png;dog\n");
  const Data data = make("ImageList", {{"path", "a.csv"}})->load(offline(dir.path()));
  CHECK(data.class_names == std::vector<std::string>{"cat", "dog"});
  // The first mark outside of quotes counts.
  const auto classes_of = [&](const std::string& list) {
    dir.write("c.csv", list);
    return make("ImageList", {{"path", "c.csv"}, {"test", "0"}})->load(offline(dir.path())).class_names;
  };
  CHECK(classes_of("photos/0.png;\"a, b\"\nphotos/1.png;c\n") == std::vector<std::string>{"a, b", "c"});
  CHECK(classes_of("photos/0.png,a;b\nphotos/1.png,c\n") == std::vector<std::string>{"a;b", "c"});
  CHECK(data.train.size() == 2);
  dir.write("b.csv", "id,class\nphotos/0,cat\nphotos/1,dog\n");
  CHECK_THAT(trouble(dir, "ImageList", {{"path", "b.csv"}}),
             Catch::Contains("b.csv:2:1: there is no file 'photos/0' in ") &&
                 Catch::EndsWith("; there is 'photos/0.png': write the names with their endings"));
}
