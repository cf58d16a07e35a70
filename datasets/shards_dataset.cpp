// Shards: what `neon data pack` wrote, decoded into memory by all threads, or streamed.
#include <omp.h>

#include "datasets/gzip.h"
#include "datasets/shard_folder.h"
#include "datasets/shard_names.h"
#include "neon/core/paths.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

struct ShardsParams : ImageParams {
  std::string path;
  static void describe(auto&& p) {
    p("path", &ShardsParams::path, "Folder that neon data pack wrote.", Required{});
    ImageParams::describe(p);
  }
};

// All samples of a part: of those that cannot be read the first throws, or they are left out and noted.
Split load_part(const SampleReader& reader) {
  const Shape sample = reader.sample();
  Split out{Tensor(DType::u8, Shape{reader.size(), sample[1], sample[2], sample[0]}),
            Tensor(DType::i32, {reader.size()})};
  std::vector<std::string> troubles(static_cast<size_t>(reader.size()));
  const int threads = available_threads();
  std::vector<ReadScratch> scratches(static_cast<size_t>(threads));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (int64_t i = 0; i < reader.size(); ++i) try {
      ReadScratch& scratch = scratches[size_t(omp_get_thread_num())];
      const auto pixels = out.inputs.as<uint8_t>().subspan(size_t(i * sample.elements()), size_t(sample.elements()));
      out.targets.as<int32_t>()[size_t(i)] = reader.read(i, pixels, scratch);
    } catch (const std::exception& error) {
      troubles[size_t(i)] = reason_of(error, text("sample ", i, " cannot be read"));
    }
  std::vector<int64_t> good;
  for (int64_t i = 0; i < reader.size(); ++i) {
    const std::string& trouble = troubles[size_t(i)];
    if (trouble.empty()) good.push_back(i);
    else if (reader.left_out()) reader.left_out()->add(i, trouble);
    else fail(ErrorKind::data, trouble);
  }
  return int64_t(good.size()) == reader.size() ? out : rows_of(out, good);
}

class Shards : public Parametrized<Dataset, ShardsParams> {
 public:
  explicit Shards(ShardsParams given) : Parametrized(std::move(given)) {
    check_image_params(params);
    if (params.size.automatic)
      fail(ErrorKind::config, "size: auto is for images of a folder or a list; give shards a number, as size: 64");
  }

  Data load(const DataContext& context) const override {
    std::string looked_for;
    Data data;
    data.source = find_image_store(params.path, context, looked_for);
    if (data.source.empty())
      fail(ErrorKind::data, params.path, ": no such folder (", maker(), "); looked for ", looked_for);
    const ShardIndex index = open_index(data.source);
    std::array<std::shared_ptr<const SampleReader>, 3> readers;
    if (!index.pixels) need_image_library();
    for (int part : {0, 1, 2}) readers[size_t(part)] = open_shards(data.source, index, part, params);
    data.meaning() = meaning(index, readers[0]->sample());
    const bool streamed = is_streamed(params, bytes_of(index, data.sample), common.memory_share, {}, context);
    if (!streamed) check_room_to_hold(bytes_of(index, data.sample), data.source);
    for (int part : {0, 1, 2}) {
      const auto& reader = readers[size_t(part)];
      if (reader->size() == 0) continue;
      Split& split = part == 0 ? data.train : part == 1 ? data.test : data.validation;
      if (streamed) split.reader = reader;
      else split = held_part(*reader, data.source, context);
      split.identity = identity_of(index, part);
      for (int64_t i = 0;
           (common.folds > 0 || common.validation > 0) && split.size() == reader->size() && i < split.size(); ++i)
        split.groups.push_back(reader->checksum(i));
      split.files = reader;
      if (const std::string& names = index.names[size_t(part)]; !names.empty())
        split.paths = shard_names(join_path(data.source, names), reader->size());
    }
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    out.source = find_image_store(params.path, context, out.missing);
    if (out.source.empty()) return out.command = maker(), out;
    const ShardIndex index = open_index(out.source);
    out.found = true;
    const auto train = open_shards(out.source, index, LabelledImage::train, params);
    out.meaning() = meaning(index, train->sample());
    out.train_size = index.samples(LabelledImage::train);
    out.test_size = index.samples(LabelledImage::test);
    out.validation_size = index.samples(LabelledImage::validation);
    out.streamed = is_streamed(params, bytes_of(index, out.sample), common.memory_share, {}, context);
    out.class_counts.resize(size_t(out.classes));
    for (int64_t i = 0; i < train->size(); ++i)
      if (const int32_t label = train->label(i); label >= 0 && label < out.classes) ++out.class_counts[size_t(label)];
    return finish(out);
  }

 private:
  std::string maker() const { return text("neon data pack IMAGES ", shell_word(params.path)); }

  ShardIndex open_index(const std::string& folder) const {
    ShardIndex out = read_shard_index(folder);
    if (out.classes.size() < least_classes())
      fail(ErrorKind::data, folder, ": all samples are of class ", in_quotes(out.classes.front()),
           ", at least two classes are needed");
    return out;
  }

  static Split held_part(const SampleReader& reader, const std::string& source, const DataContext& context) {
    Split out = load_part(reader);
    const LeftOut* const left_out = reader.left_out();
    const int64_t bad = left_out ? left_out->count() : 0;
    if (out.size() == 0)
      fail(ErrorKind::data, source, ": none of the ", bad, " samples can be read; the first: ", left_out->first());
    if (bad > 0)
      context.warn(text(source, ": ", bad, " of ", reader.size(), bad == 1 ? " samples is" : " samples are",
                        " left out; the first: ", left_out->first()));
    return out;
  }

  // A text that differs from that of other samples, whatever their values.
  std::string identity_of(const ShardIndex& index, int part) const {
    std::string all = text(params.size.to_string(), ' ', params.channels);
    for (const ShardIndex::File& file : index.parts[size_t(part)]) all += text(' ', file.sha256, ' ', file.samples);
    return text("shards ", crc32_of(all));
  }

  static double bytes_of(const ShardIndex& index, const Shape& sample) {
    int64_t samples = 0;
    for (int part : {0, 1, 2}) samples += index.samples(part);
    return double(samples) * double(sample.elements());
  }

  SampleMeaning meaning(const ShardIndex& index, const Shape& sample) const {
    SampleMeaning out = params.meaning(sample);
    out.classes = int64_t(index.classes.size());
    out.class_names = index.classes;
    return out;
  }
};

NEON_REGISTER(Dataset, Shards, "Images that neon data pack wrote to shards.");

}  // namespace

}  // namespace neon
