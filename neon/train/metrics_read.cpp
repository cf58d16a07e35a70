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
#include <cstdlib>
#include <cstring>
#include <new>

#include "neon/core/error.h"
#include "neon/train/atomic_file.h"
#include "neon/train/metrics_file.h"
#include "neon/train/metrics_hdf5.h"

namespace neon {

namespace {

constexpr rlim_t kChildSeconds = 4;              // of computing, beside one for each 16 MiB of the file
constexpr size_t kChildBytes = size_t(1) << 30;  // beside a multiple of the file's size

// Plain bytes, both ways: the two ends are one program. Every part takes a multiple of 8 bytes, so that numbers can be
// read where they lie.
class Packer {
 public:
  std::string out;
  void number(int64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    number(int64_t(value.size()));
    out += value;
    out.resize((out.size() + 7) / 8 * 8);
  }
  void reals(const std::vector<double>& values) {
    number(int64_t(values.size()));
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
};

class Unpacker {
 public:
  explicit Unpacker(const char* in) : at_(in) {}
  int64_t number() {
    int64_t value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const auto size = size_t(number());
    const char* const begin = at_;
    at_ += (size + 7) / 8 * 8;
    return {begin, size};
  }
  std::vector<double> reals() {
    const auto count = size_t(number());
    const auto* const begin = reinterpret_cast<const double*>(at_);
    at_ += count * sizeof(double);
    return {begin, begin + count};
  }

 private:
  const char* at_;
};

constexpr int64_t kContents = 'c', kError = 'e';  // what follows

std::string pack(const MetricsContents& contents) {
  Packer p;
  size_t numbers = 0;
  for (const StoredSeries& stored : contents.series) numbers += stored.values.size();
  p.out.reserve(numbers * sizeof(double) + (size_t(1) << 16));
  p.number(kContents);
  p.number(int64_t(contents.series.size()));
  for (const auto& [spec, values] : contents.series) {
    for (const std::string* part : {&spec.path, &spec.units, &spec.x, &spec.time_markers}) p.text(*part);
    for (int64_t part :
         {spec.length, spec.width, int64_t(spec.columns), int64_t(spec.dtype), spec.epoch_freq, spec.minibatch_freq})
      p.number(part);
    p.reals(values);
  }
  p.number(int64_t(contents.pictures.size()));
  for (const auto& [path, dims, bytes] : contents.pictures) {
    p.text(path);
    for (const uint64_t axis : dims) p.number(int64_t(axis));
    p.text(bytes);
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
  return std::move(p.out);
}

MetricsContents unpack(Unpacker& p) {
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
  out.pictures.resize(size_t(p.number()));
  for (auto& [path, dims, bytes] : out.pictures) {
    path = p.text();
    for (uint64_t& axis : dims) axis = uint64_t(p.number());
    bytes = p.text();
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

// The contents or a message, then the length of all: what was cut short is seen.
[[noreturn]] void run_child(const std::string& path, MetricsMakers of, size_t file_bytes, int to, pid_t parent) {
  part_from(parent, to);
  limit_child(file_bytes);
  std::string out;
  try {
    const MetricsPart& hdf5 = part<MetricsPart>();
    const bool old = of == MetricsMakers::neon_and_1x && hdf5.is_old(path);
    out = pack(old ? hdf5.read_old(path) : hdf5.read(path));
  } catch (const std::exception& error) {
    Packer p;
    p.number(kError);
    p.text(error.what());
    out = p.out;
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

constexpr size_t kPipeBytes = size_t(1) << 20;

// Memory that grows without a copy or zeros.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  ~Bytes() { std::free(data_); }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  // Reads to the end.
  void read_all(int from) {
    for (size_t room = 0;;) {
      if (room - size_ < kPipeBytes) {
        room = 2 * room + 2 * kPipeBytes;
        char* const grown = static_cast<char*>(std::realloc(data_, room));
        if (!grown) throw std::bad_alloc();
        data_ = grown;
      }
      const ssize_t got = read(from, data_ + size_, room - size_);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      size_ += size_t(got);
    }
  }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

MetricsReading::MetricsReading(const std::string& path, MetricsMakers of) : path_(path) {
  const FileHandle file = open_to_read(path);
  const size_t bytes = file_size(file, path);
  std::string begin(std::min(bytes, kSignature.size()), '\0');
  read_exactly(file, 0, begin.data(), begin.size(), path);
  if (begin != kSignature) fail(ErrorKind::data, path, ": is no metrics file: it does not begin as HDF5 files do");
  part<MetricsPart>();  // opened before the child, which may take little memory
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::failed, "cannot read ", path, ": no pipe: ", system_message(errno));
  from_ = FileHandle(ends[0]);
  fcntl(ends[0], F_SETPIPE_SZ, int(kPipeBytes));  // where it is refused, reading is only slower
  const FileHandle to(ends[1]);
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ < 0) fail(ErrorKind::failed, "cannot read ", path, ": no child process: ", system_message(errno));
  if (child_ == 0) run_child(path, of, bytes, to.get(), parent);
}

MetricsReading::~MetricsReading() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  wait_for_child();
}

int MetricsReading::wait_for_child() {
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return status;
}

MetricsContents MetricsReading::take() {
  Bytes out;
  out.read_all(from_.get());
  const int status = wait_for_child();
  uint64_t length = 0;
  const bool whole = out.size() > sizeof length;
  if (whole) std::memcpy(&length, out.data() + out.size() - sizeof length, sizeof length);
  if (!whole || length != out.size() - sizeof length)
    fail(ErrorKind::data, path_, ": HDF5 could not read it ",
         WIFSIGNALED(status) ? text("and ended with signal ", WTERMSIG(status)) : std::string("to its end"),
         "; the file is damaged");
  Unpacker p(out.data());
  if (p.number() == kError) fail(ErrorKind::data, p.text());
  return unpack(p);
}

MetricsContents read_metrics(const std::string& path) { return MetricsReading(path).take(); }

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
