#include "neon/train/checkpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "neon/core/error.h"
#include "neon/train/file_lock.h"
#include "tests/support/temp_folder.h"

using namespace neon;
using Catch::Matchers::Contains;
using Names = std::vector<std::string>;

namespace {

// Contents that say which save they are of.
TensorFile contents(int mark) {
  Tensor w(DType::f32, {2, 3}), step(DType::i64, {});
  for (int64_t i = 0; i < 6; ++i) w.set(i, mark + double(i) / 8);
  step.set(0, mark);
  return {{{"w", w}, {"step", step}, {"none", Tensor(DType::f16, {0})}}, {{"mark", std::to_string(mark)}}};
}

bool holds(const TensorFile& file, int mark) {
  const TensorFile expected = contents(mark);
  if (file.tensors.size() != expected.tensors.size() || file.metadata.at("mark") != std::to_string(mark)) return false;
  return std::ranges::all_of(expected.tensors, [&](const NamedTensor& named) {
    const Tensor* got = file.find(named.name);
    return got && got->dtype() == named.tensor.dtype() && got->shape() == named.tensor.shape() &&
           (!got->bytes() || std::memcmp(got->data(), named.tensor.data(), got->bytes()) == 0);
  });
}

Names names_in(const std::string& folder) {
  Names out;
  for (const auto& file : std::filesystem::directory_iterator(folder)) out.push_back(file.path().filename());
  std::ranges::sort(out);
  return out;
}

std::string loading_error(const std::string& path) {
  Names warnings;
  try {
    load_checkpoint(path, warnings);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a checkpoint comes back, with what identifies it") {
  TempFolder folder;
  const std::string path = folder / "new/folders/model.safetensors";
  CheckpointSaver saver(path, 0);
  CHECK(saver.save(contents(4), 3).empty());
  CHECK(saver.save(contents(5), 4).empty());
  CHECK(names_in(folder / "new/folders") == Names{"model.safetensors"});
  Names warnings;
  const TensorFile back = load_checkpoint(path, warnings);
  CHECK(warnings.empty());
  CHECK(holds(back, 5));
  CHECK(back.metadata.at("neon.format") == "1");
  CHECK(back.metadata.at("neon.epoch") == "4");
  CHECK(back.metadata.at("neon.number") == "2");
  CHECK(back.metadata.at("neon.run").size() == 16);
  CHECK_FALSE(back.metadata.contains("neon.checksums"));
}

TEST_CASE("the history keeps as many older ones as asked, and a later process goes on with it") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  {
    CheckpointSaver saver(path, 2);
    for (int epoch = 1; epoch <= 5; ++epoch) CHECK(saver.save(contents(epoch), epoch).empty());
  }
  CHECK(names_in(folder.path()) == Names{"model.3-3.safetensors", "model.4-4.safetensors", "model.safetensors"});
  CHECK(holds(read_checkpoint(folder / "model.3-3.safetensors"), 3));
  CHECK(holds(read_checkpoint(folder / "model.4-4.safetensors"), 4));

  Names warnings;
  TensorFile resumed = load_checkpoint(path, warnings);
  TensorFile next = contents(6);
  next.metadata["neon.run"] = resumed.metadata.at("neon.run");
  CheckpointSaver saver(path, 1);
  saver.save(next, 5);  // a second one of epoch 5
  CHECK(names_in(folder.path()) == Names{"model.5-5.safetensors", "model.safetensors"});
  CHECK(holds(read_checkpoint(folder / "model.5-5.safetensors"), 5));
  CHECK(holds(read_checkpoint(path), 6));
}

TEST_CASE("what this run did not make is never removed") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  {
    CheckpointSaver first(path, 1);
    first.save(contents(1), 1);
    first.save(contents(2), 2);
  }
  put_file(folder / "model.7-1.safetensors", "notes");  // by name only
  put_file(folder / "model.1-x.safetensors", "notes");
  put_file(folder / "model.01-2.safetensors", "notes");
  CheckpointSaver second(path, 0);  // another run under the same name
  for (int epoch = 1; epoch <= 3; ++epoch) second.save(contents(10 + epoch), epoch);
  CHECK(names_in(folder.path()) == Names{"model.01-2.safetensors", "model.1-1.safetensors", "model.1-x.safetensors",
                                         "model.7-1.safetensors", "model.safetensors"});
  CHECK(holds(read_checkpoint(path), 13));
  CHECK(read_checkpoint(path).metadata.at("neon.number") == "5");
}

TEST_CASE("a file that is no checkpoint is renamed, not overwritten") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  put_file(path, "somebody's work");
  const Names messages = CheckpointSaver(path, 1).save(contents(1), 1);
  REQUIRE(messages.size() == 2);
  CHECK_THAT(messages[1], Contains("model.unreadable-1.safetensors"));
  CHECK(file_content(folder / "model.unreadable-1.safetensors") == "somebody's work");
  CHECK(holds(read_checkpoint(path), 1));

  put_file(path, "again");
  CHECK(CheckpointSaver(path, 0).save(contents(2), 2).size() == 2);
  CHECK(file_content(folder / "model.unreadable-2.safetensors") == "again");
}

TEST_CASE("a foreign safetensors file is not a checkpoint") {
  TempFolder folder;
  write_safetensors(folder / "weights.safetensors", contents(1));
  CHECK_THAT(loading_error(folder / "weights.safetensors"), Contains("not a checkpoint"));
  CHECK_THAT(loading_error(folder / "nobody.safetensors"), Contains("there is no such checkpoint"));
}

TEST_CASE("a checkpoint of a newer format is refused by its number") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  CheckpointSaver(path, 0).save(contents(1), 1);
  // As a newer neon would write it: format 2, with the header checksum that zlib gives in Python.
  const auto [status, out] =
      output_of("/usr/bin/python3 -c \"import sys, zlib, re; b = bytearray(open('" + path +
                "', 'rb').read());"
                "n = int.from_bytes(b[:8], 'little'); h = b[8:8 + n].replace(b'format\\\":\\\"1', b'format\\\":\\\"2');"
                "i = h.index(b'header_checksum\\\":\\\"crc32:') + 24; h[i:i + 8] = b'0' * 8;"
                "h[i:i + 8] = b'%08x' % zlib.crc32(h); b[8:8 + n] = h; open('" +
                path + "', 'wb').write(b)\"");
  REQUIRE(status == 0);
  CHECK_THAT(loading_error(path), Contains("format 2, made by a newer neon; this one reads 1"));
}

TEST_CASE("a checkpoint of format 1, made by an independent writer, is read") {
  const TensorFile file = read_checkpoint(TEST_FOLDER "/golden/checkpoint_1.safetensors");
  CHECK(file.metadata.at("neon.epoch") == "3");
  CHECK(file.metadata.at("neon.number") == "12");
  CHECK(file.metadata.at("note") == "not \"neon.header_checksum\":\"crc32:00000000\" itself");
  REQUIRE(file.find("bias"));
  CHECK(file.find("bias")->shape() == Shape{3});
  CHECK(file.find("bias")->at(1) == -1);
  CHECK(file.find("step")->as<int64_t>()[0] == 1200);
}

TEST_CASE("the checksums are zlib's, of the bytes as written") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  CheckpointSaver(path, 0).save(contents(3), 1);
  const auto [status, out] = output_of("/usr/bin/python3 " TEST_FOLDER "/check_checkpoint.py " + path);
  CHECK(status == 0);
  CHECK(out == "none ok\nstep ok\nw ok\nheader ok\n");
}

TEST_CASE("cut off or with any bit flipped: the older one, or an error when there is none") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors", alone = folder / "alone.safetensors";
  CheckpointSaver saver(path, 1);
  saver.save(contents(1), 1);
  saver.save(contents(2), 2);
  const std::string whole = file_content(path);
  const auto check_damaged = [&](const std::string& damaged) {
    put_file(path, damaged);
    put_file(alone, damaged);
    Names warnings;
    CHECK(holds(load_checkpoint(path, warnings), 1));
    CHECK(warnings.size() == 2);
    const std::string error = loading_error(alone);
    CHECK_THAT(error, Contains(alone));
    CHECK(error.find('\n') == std::string::npos);
  };
  for (size_t length = 0; length < whole.size(); ++length) {
    INFO("length " << length);
    check_damaged(whole.substr(0, length));
  }
  check_damaged(whole + '\0');
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    INFO("bit " << bit);
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    check_damaged(flipped);
  }
}

TEST_CASE("the newest that verifies is used, and every other is named") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  CheckpointSaver saver(path, 3);
  for (int epoch = 8; epoch <= 11; ++epoch) saver.save(contents(epoch), epoch);
  put_file(path + ".part", "half");
  put_file(folder / "model.10-3.safetensors", "damaged");
  std::filesystem::remove(path);
  Names warnings;
  CHECK(holds(load_checkpoint(path, warnings), 9));
  REQUIRE(warnings.size() == 4);
  CHECK_THAT(warnings[0], Contains("model.safetensors.part is left over"));
  CHECK_THAT(warnings[1], Contains("model.safetensors: No such file"));
  CHECK_THAT(warnings[2], Contains("model.10-3.safetensors"));
  CHECK_THAT(warnings[3], Contains("using the older checkpoint") && Contains("model.9-2.safetensors"));
  CHECK(is_file(path + ".part"));

  // A save goes on from there: its number is above all that are there.
  CHECK(saver.save(contents(12), 12).empty());
  CHECK(read_checkpoint(path).metadata.at("neon.number") == "5");
}

TEST_CASE("an older one of another run is not taken for a damaged or a cut one, and has to be named") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors", older = folder / "model.7-1.safetensors";
  CheckpointSaver(path, 1).save(contents(7), 7);
  CheckpointSaver(path, 1).save(contents(1), 1);  // another run
  const std::string whole = file_content(path);
  std::string flipped = whole;
  flipped[whole.size() - 2] ^= 1;
  for (const std::string& damaged : {flipped, whole.substr(0, whole.size() - 1)}) {
    put_file(path, damaged);
    Names warnings;
    CHECK_THROWS_WITH(load_checkpoint(path, warnings),
                      Contains("no sound checkpoint") && Contains("model.7-1.safetensors is of another run"));
    CHECK(holds(load_checkpoint(older, warnings), 7));
    // Where the header is damaged, too, nothing tells whose it was.
    put_file(path, whole.substr(0, 30));
    CHECK(holds(load_checkpoint(path, warnings), 7));
  }
}

TEST_CASE("a failing save says why, keeps the last one and leaves nothing") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  CheckpointSaver saver(path, 2);
  saver.save(contents(1), 1);
  saver.save(contents(2), 2);
  const Names before = names_in(folder.path());
  const int lock = open((path + ".part").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(lock_file(lock, true));
  CHECK_THROWS_WITH(saver.save(contents(3), 3), Contains("checkpoint of epoch 3 not saved") &&
                                                    Contains("another process is writing it") &&
                                                    Contains("the last checkpoint, of epoch 2, is kept"));
  close(lock);
  std::filesystem::remove(path + ".part");
  CHECK_THROWS_WITH(saver.save({{{"w", Tensor()}}, {}}, 3), Contains("has no data"));
  CHECK(names_in(folder.path()) == before);
  CHECK(holds(read_checkpoint(path), 2));
  CHECK_THROWS_WITH(CheckpointSaver("/proc/no/model", 0).save(contents(1), 1),
                    Contains("no earlier checkpoint exists"));

  CHECK(saver.save(contents(3), 3).empty());  // and the next one succeeds
  CHECK(holds(read_checkpoint(path), 3));
  CHECK(holds(read_checkpoint(folder / "model.2-2.safetensors"), 2));
}

TEST_CASE("an older name that somebody took is left alone") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  CheckpointSaver saver(path, 1);
  saver.save(contents(1), 1);
  put_file(folder / "model.1-1.safetensors", "mine");
  const Names messages = saver.save(contents(2), 2);
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], Contains("model.1-1.safetensors is there and is another file"));
  CHECK(file_content(folder / "model.1-1.safetensors") == "mine");
  CHECK(holds(read_checkpoint(path), 2));
}

TEST_CASE("through a symbolic link all checkpoints stand where it leads") {
  TempFolder folder;
  std::filesystem::create_directory(folder / "disk");
  CheckpointSaver(folder / "disk/model.safetensors", 0).save(contents(1), 1);
  std::filesystem::create_symlink("disk/model.safetensors", folder / "link.safetensors");
  CheckpointSaver(folder / "link.safetensors", 1).save(contents(2), 2);
  CHECK(names_in(folder / "disk") == Names{"model.1-1.safetensors", "model.safetensors"});
  put_file(folder / "disk/model.safetensors", "damaged");
  Names warnings;
  CHECK(holds(load_checkpoint(folder / "link.safetensors", warnings), 1));
}

TEST_CASE("a claim finds a place that cannot hold the checkpoints") {
  TempFolder folder;
  const auto claim = [&](const std::string& path, int64_t bytes, int history = 1) {
    CheckpointSaver(path, history).claim(bytes);
  };
  claim(folder / "a/b/model.safetensors", 1 << 20);
  CHECK(names_in(folder / "a/b").empty());
  CHECK_THROWS_WITH(claim(folder / "model", int64_t(1) << 60),
                    Contains("no room for checkpoints in " + folder.path()) && Contains("needed"));
  CHECK_THROWS_WITH(claim("/proc/model", 1), Contains("cannot write /proc/model.part"));
  put_file(folder / "file", "");
  CHECK_THROWS_WITH(claim(folder / "file/model", 1), Contains("it is not a folder"));
  CHECK_THROWS_WITH(claim(folder / "a", 1), Contains("it is a folder"));
  // 242 letters fit with ".part", but not with ".999999-999999", where the disk takes 255.
  const std::string name(242, 'm');
  CHECK_THROWS_WITH(claim(folder / name, 1), Contains("is too long") && Contains("256 letters"));
  claim(folder / name, 1, 0);
  CHECK(names_in(folder.path()) == Names{"a", "file"});
  CHECK_THROWS_WITH(CheckpointSaver("x", -1), Contains("a history of -1"));
}

TEST_CASE("a place that a run has claimed is no other's until it ends, however it ends") {
  TempFolder folder;
  const std::string path = folder / "model.safetensors";
  const auto refused = [&] {
    const Names before = names_in(folder.path());
    CHECK_THROWS_WITH(CheckpointSaver(path, 1).claim(1), Contains(path + ": another process is writing it"));
    CHECK_THROWS_WITH(CheckpointSaver(path, 1).save(contents(9), 9), Contains("another process is writing it"));
    CHECK(names_in(folder.path()) == before);
  };
  {
    CheckpointSaver run(path, 1);
    run.claim(1 << 20);
    CHECK(std::filesystem::file_size(path + ".part") == 0);
    CHECK_THAT(loading_error(path), Contains("there is no such checkpoint"));
    refused();
    run.save(contents(1), 1);
    CHECK(names_in(folder.path()) == Names{"model.safetensors"});
    refused();
    Names warnings;
    CHECK(holds(load_checkpoint(path, warnings), 1));
    CHECK(warnings.empty());
    CHECK(run.save(contents(2), 2).empty());
    refused();
  }
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    CheckpointSaver run(path, 1);
    run.claim(1);
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  refused();
  Names warnings;
  CHECK(holds(load_checkpoint(path, warnings), 2));
  CHECK(warnings.empty());  // that .part is not left over
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(is_file(path + ".part"));
  CHECK(holds(load_checkpoint(path, warnings), 2));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("left over"));
  CheckpointSaver next(path, 1);
  next.claim(1);
  CHECK(next.save(contents(3), 3).empty());
  CHECK(names_in(folder.path()) == Names{"model.1-1.safetensors", "model.2-2.safetensors", "model.safetensors"});
}
