// How fast samples come: images/s of a stream of batches as a run reads it, and, of JPEG files, of libjpeg-turbo alone
// that decodes the same images in the same order with as many threads, from memory and, of a folder, from the files
// that it opens and reads. The files should lie in the page cache. Beside each rate stands the processor time of an
// image, which other work on the machine lengthens less; the share by that time is the median of turns.
//
//   input FOLDER|ARCHIVE|SHARDS [SIZE [THREADS [IMAGES]]]
#include <cstdio>
// After cstdio, which it needs.
#include <fcntl.h>
#include <jpeglib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "datasets/batch_stream.h"
#include "datasets/file.h"
#include "datasets/image_classes.h"
#include "datasets/jpeg_image.h"
#include "datasets/shard_folder.h"
#include "datasets/stored_images.h"
#include "neon/core/paths.h"
#include "neon/core/tensor.h"
#include "neon/core/threads.h"

using namespace neon;

namespace {

constexpr int kTurns = 40;

struct Speed {
  double rate = 0;            // images/s of the quickest of some turns
  std::vector<double> works;  // of each, µs of all threads for an image
  void print(const char* what) const {
    std::printf("  %-38s %8.0f images/s %8.1f µs\n", what, rate, *std::ranges::min_element(works));
  }
};

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void take_turn(Speed& speed, int64_t images, auto&& work) {
  const auto before = std::chrono::steady_clock::now();
  const double work_before = processor_seconds();
  work();
  speed.works.push_back((processor_seconds() - work_before) * 1e6 / double(images));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - before;
  speed.rate = std::max(speed.rate, double(images) / seconds.count());
}

// Every sample once, into batches.
class Streamed {
 public:
  Streamed(const SampleReader& reader, int threads)
      : reader_(reader),
        threads_(threads),
        pixels_(DType::u8, {kSlots * kBatch * reader.sample().elements()}),
        labels_(size_t(kSlots * kBatch)) {
    const auto bytes = size_t(kBatch * reader.sample().elements());
    for (size_t k = 0; k < kSlots; ++k)
      slots_.push_back({std::as_writable_bytes(pixels_.as<uint8_t>().subspan(k * bytes, bytes)),
                        std::as_writable_bytes(std::span(labels_).subspan(k * kBatch, kBatch))});
  }
  void operator()() const {
    BatchStream stream(reader_, {.batch = kBatch, .threads = threads_}, slots_);
    for (int64_t k = 0; k < stream.batches_per_epoch(); ++k) {
      while (stream.take(k, std::chrono::milliseconds(100)) == 0) {
      }
      stream.release();
    }
  }

 private:
  static constexpr int64_t kBatch = 128, kSlots = 8;
  const SampleReader& reader_;
  const int threads_;
  Tensor pixels_;
  std::vector<int32_t> labels_;
  std::vector<BatchSlot> slots_;
};

// libjpeg-turbo as a program uses it that does nothing else: what a thread needs is made once.
class Library {
 public:
  Library() {
    info_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&info_);
  }
  ~Library() { jpeg_destroy_decompress(&info_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void decode(std::span<const uint8_t> file) {
    jpeg_mem_src(&info_, file.data(), file.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info_);
    const size_t row = size_t(info_.output_width) * 3;
    pixels_.resize(kUneven + row * info_.output_height);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW rows[] = {pixels_.data() + kUneven + info_.output_scanline * row};
      jpeg_read_scanlines(&info_, rows, 1);
    }
    jpeg_finish_decompress(&info_);
  }
  void read_and_decode(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    fstat(file, &status);
    if (bytes_.size() < size_t(status.st_size)) bytes_.resize(size_t(status.st_size));
    const ssize_t size = read(file, bytes_.data(), bytes_.size());
    close(file);
    decode(std::span(bytes_).first(size_t(size)));
  }

 private:
  // What begins at a multiple of 32 bytes the library writes past the cache, which takes longer: 20 us instead of 11
  // for 32 x 32 pixels.
  static constexpr size_t kUneven = 8;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_;
  std::vector<uint8_t> bytes_, pixels_;
};

// Calls work(library, i) for each i < n, by all threads.
void by_library(size_t n, int threads, auto&& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&] {
      Library library;
      for (size_t i = next++; i < n; i = next++) work(library, i);
    });
}

int measure_shards(const std::string& path, const ImageParams& params, int threads) {
  const auto reader = open_shards(path, read_shard_index(path), LabelledImage::train, params);
  const Streamed stream(*reader, threads);
  stream();  // into the page cache
  Speed speed;
  for (int i = 0; i < kTurns; ++i) take_turn(speed, reader->size(), stream);
  std::printf("%s, %d threads: %.0f images/s, %.2f GB/s\n", path.c_str(), threads, speed.rate,
              speed.rate * double(reader->sample().elements()) * 1e-9);
  return 0;
}

int measure_images(const std::string& path, const ImageParams& params, int threads, size_t most) {
  const std::shared_ptr<const ImageStore> store = open_image_store(path);
  ImageSet set{.source = path, .store = open_image_store(path), .params = params};
  std::vector<LabelledImage>& images = set.images;
  std::vector<std::string> files;
  for (const std::string& name : store->names()) {
    if (!is_image_name(name) || images.size() == most) continue;
    files.push_back(store->content(name));
    if (!is_jpeg(files.back())) fail(ErrorKind::data, store->where(name), ": is no JPEG");
    images.push_back({name});
  }
  const Shape sample = image_sample_shape(set);
  const StoredImages reader(params, store, images, sample);
  const Streamed stream(reader, threads);
  const bool in_folder = file_exists(join_path(path, images.front().name));
  // Samples come shuffled, and files that lie all over the page cache take longer than such as lie in a row.
  const auto order = epoch_order(SampleOrder::drawn, reader.size(), StreamOptions().batch, StreamOptions().seed, 0);
  auto image = [&](size_t k) { return size_t(order[k]); };
  Speed from_memory, from_files, streamed;  // turn by turn
  for (int i = 0; i < kTurns; ++i) {
    take_turn(from_memory, reader.size(), [&] {
      by_library(files.size(), threads, [&](Library& library, size_t k) {
        const std::string& file = files[image(k)];
        library.decode({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
      });
    });
    if (in_folder)
      take_turn(from_files, reader.size(), [&] {
        by_library(files.size(), threads, [&](Library& library, size_t k) {
          library.read_and_decode(join_path(path, images[image(k)].name));
        });
      });
    take_turn(streamed, reader.size(), stream);
  }
  std::printf("%s, %zu images to %s, %d threads\n", path.c_str(), images.size(), sample.to_string().c_str(), threads);
  from_memory.print("libjpeg-turbo alone, from memory");
  if (in_folder) from_files.print("libjpeg-turbo alone, reading files");
  streamed.print("streamed");
  auto print_share = [&](const char* of, const Speed& peer) {
    std::vector<double> shares = peer.works;  // turn by turn: what else runs is much the same for both
    for (size_t i = 0; i < shares.size(); ++i) shares[i] /= streamed.works[i];
    std::ranges::nth_element(shares, shares.begin() + kTurns / 2);
    std::printf("  %.0f %% of libjpeg-turbo %s, by processor time %.0f %%\n", 100 * streamed.rate / peer.rate, of,
                100 * shares[kTurns / 2]);
  };
  print_share("from memory", from_memory);
  if (in_folder) print_share("reading files", from_files);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) fail(ErrorKind::config, "usage: input FOLDER|ARCHIVE|SHARDS [SIZE [THREADS [IMAGES]]]");
  ImageParams params;
  if (argc > 2) params.size = std::atoll(argv[2]);
  const int threads = argc > 3 ? std::atoi(argv[3]) : available_threads();
  if (file_exists(join_path(argv[1], "index.json"))) return measure_shards(argv[1], params, threads);
  return measure_images(argv[1], params, threads, argc > 4 ? size_t(std::atoll(argv[4])) : 4000);
} catch (const Error& error) {
  std::fprintf(stderr, "input: %s\n", error.what());
  return exit_code(error.kind());
}
