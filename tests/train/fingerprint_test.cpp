#include "neon/train/fingerprint.h"

#include <catch2/catch.hpp>

using namespace neon;

TEST_CASE("two fingerprints are compared by what both have") {
  const std::string files = "9 training samples (files aa), 3 test samples (files bb)",
                    both = "9 training samples (files aa, values cc), 3 test samples (files bb, values dd)",
                    values = "9 training samples (cc), 3 test samples (dd)";  // as before there were streams
  for (const std::string& one : {files, both, values}) CHECK(same_data(one, one));
  CHECK((same_data(files, both) && same_data(both, files) && same_data(both, values) && same_data(values, both)));
  CHECK_FALSE(same_data(files, values));
  CHECK_FALSE(same_data(both, "9 training samples (cc), 3 test samples (ee)"));
  CHECK_FALSE(same_data(both, "9 training samples (ee), 3 test samples (dd)"));
  CHECK_FALSE(same_data(both, "9 training samples (files aa, values cc), 3 test samples (files bb, values ee)"));
  CHECK_FALSE(same_data(both, "9 training samples (files ee), 3 test samples (files bb)"));
  const std::string contents = "9 training samples (files aa, contents ff), 3 test samples (files bb, contents gg)",
                    all =
                        "9 training samples (files aa, contents ff, values cc), 3 test samples (files bb, contents gg, "
                        "values dd)";
  for (const std::string& one : {files, both, contents}) CHECK((same_data(all, one) && same_data(one, all)));
  CHECK((same_data(contents, both) && !same_data(contents, values)));
  CHECK_FALSE(
      same_data(contents, "9 training samples (files aa, contents ff), 3 test samples (files bb, contents hh)"));
  CHECK_FALSE(same_data(all, ""));
  CHECK((part_of(all, "test") == "3 test samples (files bb, contents gg, values dd)" && part_of(all, "x").empty()));
  CHECK((was_streamed(contents) == true && was_streamed(all) == false));
  CHECK_FALSE(same_data(values, "8 training samples (files aa, values cc), 3 test samples (files bb, values dd)"));
  CHECK((was_streamed(files) == true && was_streamed(both) == false && was_streamed(values) == std::nullopt));
  CHECK(was_streamed("9 training samples (files aa), 3 test samples (files bb, values dd)") == true);
}
