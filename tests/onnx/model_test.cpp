// A model is read as it was written.
#include "neon/onnx/model.h"

#include <catch2/catch.hpp>

#include "neon/core/error.h"
#include "neon/core/protobuf.h"

using namespace neon;
using namespace neon::onnx;

namespace {

Model small_model() {
  Tensor weights(DType::f32, {2, 3}), list(DType::i64, {2});
  for (int64_t i = 0; i < 6; ++i) weights.set(i, double(i) / 4 - 1);
  list.as<int64_t>()[0] = -1, list.as<int64_t>()[1] = int64_t(1) << 40;
  Model out;
  out.constants = {{"w", weights}, {"list", list}};
  out.operations = {
      {"Gemm", "first", {kInput, "w"}, {kOutput}, {{"transB", int64_t(1)}, {"alpha", 0.5}}},
      {"Pad", "second", {"x"}, {"y"}, {{"mode", std::string("edge")}, {"axes", std::vector<int64_t>{2, -1}}}}};
  out.input = {DType::i64, {kBatch, 300}};
  out.output = {DType::f32, {kBatch, 2}};
  out.graph_name = "net";
  out.metadata = {{"class_names", "[\"a\"]"}};
  return out;
}

}  // namespace

TEST_CASE("a model is read as it was written") {
  const Model given = small_model(), read = from_bytes(to_bytes(given));
  REQUIRE(read.operations.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const Operation &a = read.operations[i], &b = given.operations[i];
    CHECK((a.op == b.op && a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs));
    CHECK(a.attributes == b.attributes);
  }
  REQUIRE(read.constants.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const NamedConstant &a = read.constants[i], &b = given.constants[i];
    CHECK((a.name == b.name && a.tensor.dtype() == b.tensor.dtype() && a.tensor.shape() == b.tensor.shape()));
    CHECK(std::memcmp(a.tensor.data(), b.tensor.data(), b.tensor.bytes()) == 0);
  }
  CHECK((read.input.dtype == DType::i64 && read.input.sizes == given.input.sizes));
  CHECK((read.output.dtype == DType::f32 && read.output.sizes == given.output.sizes));
  CHECK((read.graph_name == "net" && read.metadata == given.metadata));
}

TEST_CASE("a model that is cut off gives an error or its first parts") {
  const std::string bytes = to_bytes(small_model());
  int refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    try {
      from_bytes(std::string_view(bytes).substr(0, length));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
      ++refused;
    }
  }
  CHECK(refused > int(bytes.size()) / 2);
}

TEST_CASE("numbers of protobuf have seven bits a byte") {
  // The examples of protobuf's description of its encoding: field 1 is 150; field 2 is the text "testing".
  CHECK(protobuf::whole_field(1, 150) == "\x08\x96\x01");
  CHECK(protobuf::field(2, "testing") == "\x12\x07testing");
  const std::string minus = protobuf::whole_field(1, -1);
  CHECK(minus.size() == 11);
  protobuf::Reader reader(minus);
  REQUIRE(reader.next());
  CHECK((reader.number() == 1 && reader.whole() == -1));
  CHECK(!reader.next());
}
