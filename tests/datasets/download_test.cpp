#include "datasets/download.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "datasets/file.h"
#include "datasets/hash.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// serve.py, for as long as this lives.
class Server {
 public:
  Server() {
    int in[2], out[2];
    REQUIRE(pipe(in) == 0);
    REQUIRE(pipe(out) == 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      close(in[1]);
      close(out[0]);
      execlp("python3", "python3", NEON_SERVE, nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    char c;
    while (read(out[0], &c, 1) == 1 && c != '\n') port_ += c;
    close(out[0]);
    REQUIRE(!port_.empty());
  }
  ~Server() {
    close(in_);
    waitpid(child_, nullptr, 0);
  }
  std::string operator/(const std::string& page) const { return "http://127.0.0.1:" + port_ + "/" + page; }

 private:
  pid_t child_ = 0;
  int in_ = -1;
  std::string port_;
};

std::string body() {
  std::string out;
  for (int i = 0; i < 100; ++i) out += "0123456789";
  return out;
}

Download request(std::vector<std::string> urls, const std::string& path) {
  Download what;
  what.urls = std::move(urls);
  what.path = path;
  what.sha256 = sha256(body());
  what.size_cap = 2000;
  what.https_only = false;
  return what;
}

std::string download_error(const Download& what) {
  return error_of([&] { download(what); });
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("a download arrives whole under its name, through a redirect too") {
  const Variable direct("no_proxy", "127.0.0.1");
  const Server server;
  TempDir dir;
  for (const char* page : {"good", "moved"}) {
    const std::string path = dir / std::string("new/folder/") + page;
    CHECK(download_error(request({server / page}, path)) == "no error");
    CHECK(read_file(path) == body());
    CHECK_FALSE(file_exists(path + ".part"));
    // It is there now: nobody is asked again.
    CHECK(download_error(request({"http://127.0.0.1:1/"}, path)) == "no error");
  }
}

TEST_CASE("the next mirror is asked when one fails, and every failure is told") {
  const Variable direct("no_proxy", "127.0.0.1");
  const Server server;
  TempDir dir;
  CHECK(download_error(request({server / "none", server / "html", server / "good"}, dir / "a")) == "no error");
  CHECK(read_file(dir / "a") == body());
  const std::string error = download_error(request({server / "none", server / "html", server / "broken"}, dir / "b"));
  CHECK_THAT(error, Catch::StartsWith("data: " + (dir / "b") + ": cannot be downloaded; 127.0.0.1:") &&
                        Catch::Contains("404") && Catch::Contains("sent another file: its SHA-256 is") &&
                        Catch::Contains("looks like an HTML page") && Catch::Contains("broke off after 400 bytes"));
  CHECK_FALSE(file_exists(dir / "b"));
  CHECK_FALSE(file_exists(dir / "b.part"));
}

TEST_CASE("a download that is too large, stalls, or leads to another protocol is given up") {
  const Variable direct("no_proxy", "127.0.0.1");
  const Server server;
  TempDir dir;
  CHECK_THAT(download_error(request({server / "endless"}, dir / "a")),
             Catch::Contains("sends more than the 2000 bytes"));
  Download declared = request({server / "good"}, dir / "b");
  declared.size_cap = 500;
  CHECK_THAT(download_error(declared), Catch::Contains("cannot be downloaded") && Catch::Contains("file size"));
  CHECK_THAT(download_error(request({server / "escape"}, dir / "c")), Catch::Contains("rotocol"));
  Download stalled = request({server / "stall"}, dir / "d");
  stalled.stall_seconds = 1;
  const auto start = std::chrono::steady_clock::now();
  CHECK_THAT(download_error(stalled), Catch::Contains("too slow"));
  CHECK(seconds_since(start) < 8);
  Download dripping = request({server / "drip"}, dir / "e");
  dripping.stall_seconds = 1;
  dripping.connect_seconds = 0.5;
  dripping.size_cap = 40'000;
  dripping.least_rate = 80'000;  // in all two seconds
  // The whole file would come, in ten seconds, and have another sum.
  CHECK_THAT(download_error(dripping), Catch::Contains("cannot be downloaded") && !Catch::Contains("SHA-256"));
  for (const char* name : {"e", "e.part", "a", "b", "c", "d", "a.part", "b.part", "c.part", "d.part"})
    CHECK_FALSE(file_exists(dir / name));
}

TEST_CASE("only https is spoken unless a test says otherwise") {
  const Variable direct("no_proxy", "127.0.0.1");
  const Server server;
  TempDir dir;
  Download what = request({server / "good"}, dir / "a");
  what.https_only = true;
  CHECK_THAT(download_error(what), Catch::Contains("\"http\" not supported or disabled"));
  CHECK_FALSE(file_exists(dir / "a"));
}

TEST_CASE("a refused connection is told at once, a silent one within the time for connecting") {
  const Variable direct("no_proxy", "*");
  TempDir dir;
  auto start = std::chrono::steady_clock::now();
  const std::string refused = download_error(request({"http://127.0.0.1:1/a", "http://127.0.0.1:1/b"}, dir / "a"));
  CHECK_THAT(refused, Catch::Contains("cannot be downloaded; 127.0.0.1:1: "));
  CHECK_THAT(refused, !Catch::Contains("http://"));
  CHECK(seconds_since(start) < 5);
  // 192.0.2.0/24 is kept for documentation: nobody answers there. Some networks refuse at once.
  start = std::chrono::steady_clock::now();
  Download silent = request({"http://192.0.2.1/a", "http://192.0.2.2/b", "http://192.0.2.3/c"}, dir / "b");
  silent.connect_seconds = 2;
  CHECK_THAT(download_error(silent), Catch::Contains("cannot be downloaded"));
  CHECK(seconds_since(start) < 5);  // one after the other would take 6
}

TEST_CASE("a file that is there with another sum is an error and is left") {
  TempDir dir;
  const std::string path = dir.write("a", "something else");
  CHECK_THAT(
      download_error(request({"http://127.0.0.1:1/"}, path)),
      Catch::StartsWith("data: " + path + ": its SHA-256 is ") && Catch::EndsWith("delete it to fetch it again"));
  CHECK(read_file(path) == "something else");
}

TEST_CASE("processes that want the same file take turns, and one that was killed leaves nothing in the way") {
  const Variable direct("no_proxy", "127.0.0.1");
  const Server server;
  TempDir dir;
  dir.write("a.part", "left by a process that was killed");
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(download_error(request({server / "slow"}, dir / "a")) == "no error" ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(read_file(dir / "a") == body());
  CHECK_FALSE(file_exists(dir / "a.part"));
}

TEST_CASE("a folder that cannot be written is a data error") {
  TempDir dir;
  const std::string path = dir.write("file", "x");
  CHECK_THAT(download_error(request({"http://127.0.0.1:1/"}, path + "/a")), Catch::StartsWith("data: " + path));
}
