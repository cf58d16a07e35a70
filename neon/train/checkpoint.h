// Checkpoints: .safetensors files that are checked byte by byte before they are used, and replaced so that a
// crash at any instant leaves a complete one under a name that load_checkpoint looks at.
//
// PATH is always the newest. With history H the H before it stand beside it as NAME.EPOCH-NUMBER.EXT
// (model.safetensors: model.3-12.safetensors is the 12th save, made after epoch 3). NUMBER counts the saves
// under this name and orders them.
//
// The metadata that a checkpoint has beside its maker's:
//   neon.format           "1"; a higher one is refused
//   neon.run              16 hex digits, the same for all saves of a run; only these are ever pruned
//   neon.epoch            epochs finished
//   neon.number           see above
//   neon.checksums        a JSON object, tensor name to "crc32:" and 8 hex digits, of its bytes as written
//   neon.header_checksum  the same of the whole JSON header as written, with these 8 digits as zeros
// CRC-32 is zlib's (polynomial 0x04C11DB7, reflected).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neon/train/atomic_file.h"
#include "neon/train/safetensors.h"

namespace neon {

class CheckpointSaver {
 public:
  // `history` is how many older ones are kept beside the newest, 0 or more. Nothing is touched yet.
  CheckpointSaver(std::string path, int history);

  // Before a long run: makes the folder, looks whether all names and `bytes` for each checkpoint fit there (a quota
  // shows only when they are reserved), and keeps the place until the first save does: PATH.part stands there, empty
  // and locked. Throws a failed error, also where another process saves.
  void claim(int64_t bytes);

  // Writes PATH.part, flushes it, reads it back and checks it, gives the newest so far its older name,
  // renames the .part over PATH, flushes the folder, and only then removes those beyond the history that
  // this run made. A run that goes on from a checkpoint passes its "neon.run" on in the metadata. A file at
  // PATH that is no sound checkpoint is renamed, not overwritten. Returns messages for the user.
  // Throws a failed error that says why and what is kept; the .part is then gone and PATH as it was.
  std::vector<std::string> save(TensorFile contents, int64_t epoch);

 private:
  struct Saved {
    int64_t epoch = 0, number = 0;
  };
  void look_at_existing(std::vector<std::string>& messages);
  void write(TensorFile& contents, std::vector<std::string>& messages);
  bool keep_previous(const std::string& older, std::vector<std::string>& messages);
  void prune(std::vector<std::string>& messages);
  std::string path_, run_;
  std::unique_ptr<AtomicFile> claim_;
  FileHandle current_;  // what stands at path_ and is ours: other processes see that it is held
  int history_;
  bool looked_ = false, unsound_ = false;  // unsound_: what stands at path_ must be set aside
  std::optional<Saved> newest_;            // what stands at path_
  int64_t last_number_ = 0;
};

// The newest checkpoint that verifies: PATH, else an older one beside it that is not known to be another run's. Each
// that was passed over, and a .part left by a crash, adds a warning. The checksums are taken out of the metadata.
// Throws a data error that says what is wrong with each when none is sound, and a memory error when there is no room.
TensorFile load_checkpoint(const std::string& path, std::vector<std::string>& warnings);

// Reads that very file; throws a data error when it is not a sound checkpoint.
TensorFile read_checkpoint(const std::string& path);

}  // namespace neon
