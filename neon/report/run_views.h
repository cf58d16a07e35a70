// The views of a run beside its curves: the graph of the net, the evaluation, pictures.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "neon/report/net_drawing.h"
#include "neon/report/pictures.h"

namespace neon {

// Samples without pictures.
struct ListedSamples {
  std::string title;
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
};

struct RunViews {
  std::optional<NetDrawing> net;
  std::string net_summary;  // "12 layers, 1 234 parameters, ..."
  std::string evaluation;   // JSON for the page, or ""
  std::string evaluation_note;
  std::vector<ListedSamples> tables;
  std::vector<PictureSheet> sheets;
};

// How large pictures are in a page of so many runs, and how many of a kind.
struct PictureLimits {
  explicit PictureLimits(size_t runs) : side(runs > 3 ? 40 : 72), most(runs > 3 ? 32 : 64) {}
  int64_t side, most;
};

// Pictures (2 maps,H,W,C) of guided backpropagation, each map's and that of the image beside it.
PictureSheet guided_sheet(const std::string& layer, const Tensor& pairs, const PictureLimits& limits);

// Reads views from the files in a run's folder: its best or last checkpoint, eval.json, and the sheets beside it. A
// file that cannot be read is left out with a warning; one that is not there, without. `checkpoint` takes the place of
// the one in the folder.
RunViews views_of_folder(const std::string& folder, const PictureLimits& limits, std::vector<std::string>& warnings,
                         std::string checkpoint = "");

}  // namespace neon
