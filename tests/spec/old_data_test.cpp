// Conventions of neon 0.9's data sets, and where they are looked for.
#include <catch2/catch.hpp>

#include "tests/spec/old_parts.h"
#include "tests/support/variable.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

TEST_CASE("0.9: synthetic sets ignored sample_pct") {
  OldParts parts;
  parts.data = "nout: 9";
  parts.dataset = "!obj:datasets.UniformRandom {ntrain: 20, ntest: 20, nin: 9, nout: 2, sample_pct: 50}";
  CHECK(parts.part("dataset") == "{UniformRandom: {ntrain: 20, ntest: 20, nout: 2, nin: [9]}}");
  CHECK(has_note(parts.spec(), "'sample_pct' is left out: UniformRandom ignored it"));
  parts.data = "nout: 3072";
  parts.dataset = "!obj:datasets.ToyImages {sample_pct: 50}";
  CHECK(parts.part("dataset") == "ToyImages");
  CHECK(has_note(parts.spec(), "'sample_pct' is left out: ToyImages ignored it"));
}

TEST_CASE("0.9: variables of the environment in paths") {
  const neon_test::Variable folder("NEON_TEST_FOLDER", "/data");
  OldParts parts;
  parts.dataset = "!obj:datasets.MNIST {repo_path: '$NEON_TEST_FOLDER/sets'}";
  parts.model += ", serialized_path: '${NEON_TEST_FOLDER}/a.prm'";
  parts.rest = "logging: {filename: '$NEON_TEST_FOLDER/$UNKNOWN.txt'},";
  CHECK(parts.spec().conversion.options.to_string() ==
        R"({save_path: "/data/a.safetensors", data_dir: "/data/sets", log_file: "/data/$UNKNOWN.txt"})");
  CHECK(has_note(parts.spec(), "repo_path: $NEON_TEST_FOLDER/sets is /data/sets here"));
}

TEST_CASE("0.9: fewer test samples of MNIST are not taken, and a run says so") {
  OldParts parts;
  for (const auto& [number, warnings] : {std::pair("500", 1), std::pair("10000", 0)}) {
    parts.dataset = text("!obj:datasets.MNIST {num_test_sample: ", number, "}");
    const Spec made = parts.spec();
    REQUIRE(made.conversion.warnings.size() == size_t(warnings));
    if (warnings)
      CHECK(made.conversion.warnings[0].text == "num_test_sample: 500 is left out: all 10000 test samples are used");
  }
}

TEST_CASE("0.9: Iris' samples") {
  OldParts parts;
  parts.data = "nout: 4";
  parts.dataset = "!obj:datasets.Iris {sample_pct: 50, validation_pct: 20}";
  CHECK(parts.part("dataset") == "{Iris: {validation: 0.2, fixed: true}}");
  CHECK(has_note(parts.spec(), "'sample_pct' is left out"));
  CHECK(
      has_note(parts.spec(), "Iris: the flowers to test with are those of 0.9; the seed draws those to validate with"));
  parts.dataset = "!obj:datasets.Iris {validation_pct: 0}";
  CHECK(parts.part("dataset") == "{Iris: {fixed: true}}");
  CHECK(has_note(parts.spec(), "Iris: the flowers to train, to validate and to test with are those of 0.9"));
}
