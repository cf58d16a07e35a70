// Reading a metrics file in a child process, which hands back what it read through a pipe.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "neon/core/error.h"
#include "neon/train/atomic_file.h"
#include "neon/train/metrics_file.h"
#include "neon/train/metrics_hdf5.h"

namespace neon {

namespace {

constexpr rlim_t kChildSeconds = 4;              // of computing, beside one for each 16 MiB of the file
constexpr size_t kChildBytes = size_t(1) << 30;  // beside a multiple of the file's size

// Plain bytes, both ways: the two ends are one program.
class Packer {
 public:
  std::string out;
  void number(int64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    number(int64_t(value.size()));
    out += value;
  }
  void reals(const std::vector<double>& values) {
    number(int64_t(values.size()));
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& in) : at_(in.data()) {}
  int64_t number() {
    int64_t value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const size_t size = size_t(number());
    at_ += size;
    return {at_ - size, size};
  }
  std::vector<double> reals() {
    std::vector<double> out(static_cast<size_t>(number()));
    if (!out.empty()) std::memcpy(out.data(), at_, out.size() * sizeof(double));
    at_ += out.size() * sizeof(double);
    return out;
  }

 private:
  const char* at_;
};

std::string pack(const MetricsContents& contents) {
  Packer p;
  p.number(int64_t(contents.series.size()));
  for (const auto& [spec, values] : contents.series) {
    for (const std::string* part : {&spec.path, &spec.units, &spec.x, &spec.time_markers}) p.text(*part);
    for (int64_t part :
         {spec.length, spec.width, int64_t(spec.columns), int64_t(spec.dtype), spec.epoch_freq, spec.minibatch_freq})
      p.number(part);
    p.reals(values);
  }
  p.number(int64_t(contents.attributes.size()));
  for (const auto& [owner, name, value] : contents.attributes) {
    p.text(owner);
    p.text(name);
    p.number(int64_t(value.index()));
    if (const auto* content = std::get_if<std::string>(&value)) p.text(*content);
    if (const auto* whole = std::get_if<int64_t>(&value)) p.number(*whole);
    if (const auto* real = std::get_if<double>(&value)) p.reals({*real});
  }
  return p.out;
}

MetricsContents unpack(const std::string& bytes) {
  Unpacker p(bytes);
  MetricsContents out;
  out.series.resize(size_t(p.number()));
  for (auto& [spec, values] : out.series) {
    for (std::string* part : {&spec.path, &spec.units, &spec.x, &spec.time_markers}) *part = p.text();
    spec.length = p.number();
    spec.width = p.number();
    spec.columns = p.number() != 0;
    spec.dtype = DType(p.number());
    spec.epoch_freq = p.number();
    spec.minibatch_freq = p.number();
    values = p.reals();
  }
  out.attributes.resize(size_t(p.number()));
  for (auto& [owner, name, value] : out.attributes) {
    owner = p.text();
    name = p.text();
    const int64_t kind = p.number();
    if (kind == 0) value = p.text();
    else if (kind == 1) value = p.number();
    else value = p.reals()[0];
  }
  return out;
}

// A damaged file must take neither all memory nor all time, nor leave a core file.
void limit_child(size_t file_bytes) {
  long pages = 0, ignored = 0;
  if (FILE* statm = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(statm, "%ld %ld %ld %ld %ld %ld", &ignored, &ignored, &ignored, &ignored, &ignored, &pages) != 6)
      pages = 0;
    std::fclose(statm);
  }
  const rlim_t data = rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + kChildBytes + 16 * file_bytes;
  const rlim_t time = kChildSeconds + file_bytes / (16 << 20);
  const rlimit memory{data, data}, seconds{time, time}, core{0, 0};
  if (pages > 0) setrlimit(RLIMIT_DATA, &memory);
  setrlimit(RLIMIT_CPU, &seconds);
  setrlimit(RLIMIT_CORE, &core);
  // The C library's text about a destroyed heap is not for the user.
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  alarm(unsigned(10 * time));  // HDF5 can also sleep for ever
  for (int number : {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU}) signal(number, SIG_DFL);
}

// It neither outlives the parent nor keeps anything of it open: locks are held by whoever has the open file.
void part_from(pid_t parent, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const pid_t now = getppid();  // 0: the parent is in another namespace
  if (now != 0 && now != parent) _exit(1);
  const unsigned kept = unsigned(to);
  if (kept > 3) close_range(3, kept - 1, 0);
  close_range(kept + 1, ~0u, 0);
}

// 'c' and the contents or 'e' and a message, then its length: what was cut short is seen.
[[noreturn]] void run_child(const std::string& path, size_t file_bytes, int to, pid_t parent) {
  part_from(parent, to);
  limit_child(file_bytes);
  std::string out;
  try {
    out = 'c' + pack(read_metrics_hdf5(path));
  } catch (const std::exception& error) {
    out = text('e', error.what());
  }
  const uint64_t length = out.size();
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  for (size_t done = 0; done < out.size();) {
    const ssize_t put = write(to, out.data() + done, out.size() - done);
    if (put < 0 && errno != EINTR) break;
    if (put > 0) done += size_t(put);
  }
  _exit(0);  // no destructors, no exit handlers: they are the parent's
}

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";

std::string read_all(int from) {
  std::string out;
  std::vector<char> buffer(size_t(1) << 16);
  for (;;) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return out;
    out.append(buffer.data(), size_t(got));
  }
}

}  // namespace

MetricsContents read_metrics(const std::string& path) {
  const FileHandle file = open_to_read(path);
  const size_t bytes = file_size(file, path);
  std::string begin(std::min(bytes, kSignature.size()), '\0');
  read_exactly(file, 0, begin.data(), begin.size(), path);
  if (begin != kSignature) fail(ErrorKind::data, path, ": is no metrics file: it does not begin as HDF5 files do");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::failed, "cannot read ", path, ": no pipe: ", system_message(errno));
  const FileHandle from(ends[0]);
  FileHandle to(ends[1]);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) fail(ErrorKind::failed, "cannot read ", path, ": no child process: ", system_message(errno));
  if (child == 0) run_child(path, bytes, to.get(), parent);
  to.close();
  std::string out = read_all(from.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  uint64_t length = 0;
  const bool whole = out.size() > sizeof length;
  if (whole) std::memcpy(&length, out.data() + out.size() - sizeof length, sizeof length);
  if (!whole || length != out.size() - sizeof length)
    fail(ErrorKind::data, path, ": HDF5 could not read it ",
         WIFSIGNALED(status) ? text("and ended with signal ", WTERMSIG(status)) : std::string("to its end"),
         "; the file is damaged");
  out.resize(length);
  if (out[0] == 'e') fail(ErrorKind::data, out.substr(1));
  return unpack(out.substr(1));
}

double StoredSeries::at(int64_t index, int64_t part) const {
  NEON_ASSERT(index >= 0 && index < spec.length && part >= 0 && part < spec.width);
  return values[size_t(spec.columns ? part * spec.length + index : index * spec.width + part)];
}

const StoredSeries* MetricsContents::find(std::string_view path) const {
  for (const StoredSeries& stored : series)
    if (stored.spec.path == path) return &stored;
  return nullptr;
}

const AttributeValue* MetricsContents::find(std::string_view owner, std::string_view name) const {
  for (const AttributeSpec& attribute : attributes)
    if (attribute.owner == owner && attribute.name == name) return &attribute.value;
  return nullptr;
}

}  // namespace neon
