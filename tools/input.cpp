// How fast samples come: images/s of a stream of batches as a run reads it, and, of JPEG files, of libjpeg-turbo alone
// that decodes the same files from memory with as many threads. The files should lie in the page cache.
//
//   input FOLDER|ARCHIVE|SHARDS [SIZE [THREADS [IMAGES]]]
#include <cstdio>
// After cstdio, which it needs.
#include <jpeglib.h>

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

double seconds_of(auto&& work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

// Every sample once.
double stream_rate(const SampleReader& reader, int threads) {
  constexpr int64_t kBatch = 128, kSlots = 8;
  const int64_t bytes = reader.sample().elements();
  std::vector<uint8_t> pixels(size_t(kSlots * kBatch * bytes));
  std::vector<int32_t> labels(size_t(kSlots * kBatch));
  std::vector<BatchSlot> slots;
  for (int64_t k = 0; k < kSlots; ++k)
    slots.push_back({std::span(pixels).subspan(size_t(k * kBatch * bytes), size_t(kBatch * bytes)),
                     std::span(labels).subspan(size_t(k * kBatch), size_t(kBatch))});
  const int64_t batches = (reader.size() + kBatch - 1) / kBatch;
  int64_t samples = 0;
  const double seconds = seconds_of([&] {
    BatchStream stream(reader, {.batch = kBatch, .threads = threads}, slots);
    for (int64_t k = 0; k < batches; ++k) {
      int64_t count = 0;
      while (count == 0) count = stream.take(k, std::chrono::milliseconds(100));
      samples += count;
      stream.release();
    }
  });
  return double(samples) / seconds;
}

void decode(const std::string& file, std::vector<uint8_t>& to) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const size_t row = size_t(info.output_width) * 3;
  to.resize(row * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW rows[] = {to.data() + info.output_scanline * row};
    jpeg_read_scanlines(&info, rows, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

double library_rate(const std::vector<std::string>& files, int threads) {
  std::atomic<size_t> next = 0;
  const double seconds = seconds_of([&] {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        std::vector<uint8_t> pixels;
        for (size_t i = next++; i < files.size(); i = next++) decode(files[i], pixels);
      });
  });
  return double(files.size()) / seconds;
}

int measure(const std::string& path, const ImageParams& params, int threads, size_t most) {
  if (file_exists(join_path(path, "index.json"))) {
    const auto reader = open_shards(path, read_shard_index(path), LabelledImage::train, params);
    stream_rate(*reader, threads);  // into the page cache
    const double rate = stream_rate(*reader, threads);
    std::printf("%s, %d threads: %.0f images/s, %.2f GB/s\n", path.c_str(), threads, rate,
                rate * double(reader->sample().elements()) * 1e-9);
    return 0;
  }
  const std::shared_ptr<const ImageStore> store = open_image_store(path);
  std::vector<LabelledImage> images;
  std::vector<std::string> files;
  for (const std::string& name : store->names()) {
    if (!is_image_name(name) || images.size() == most) continue;
    files.push_back(store->content(name));
    if (!is_jpeg(files.back())) fail(ErrorKind::data, store->where(name), ": is no JPEG");
    images.push_back({name});
  }
  std::shared_ptr<ImageStore> sizes = open_image_store(path);
  const Shape sample = image_sample_shape(params, *sizes, images);
  const StoredImages reader(params, store, images, sample);
  double alone = 0, stream = 0;  // the best of three that take turns
  for (int i = 0; i < 3; ++i) {
    alone = std::max(alone, library_rate(files, threads));
    stream = std::max(stream, stream_rate(reader, threads));
  }
  std::printf("%s, %d threads, %zu images to %s: libjpeg-turbo alone %.0f images/s, streamed %.0f images/s: %.0f %%\n",
              path.c_str(), threads, images.size(), sample.to_string().c_str(), alone, stream, 100 * stream / alone);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) fail(ErrorKind::config, "usage: input FOLDER|ARCHIVE|SHARDS [SIZE [THREADS [IMAGES]]]");
  ImageParams params;
  if (argc > 2) params.size = std::atoll(argv[2]);
  return measure(argv[1], params, argc > 3 ? std::atoi(argv[3]) : available_threads(),
                 argc > 4 ? size_t(std::atoll(argv[4])) : 4000);
} catch (const Error& error) {
  std::fprintf(stderr, "input: %s\n", error.what());
  return exit_code(error.kind());
}
