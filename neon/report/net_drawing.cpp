// Layers are laid out as Sugiyama, Tagawa and Toda (1981) do: each box in the rank after its last input, chains of
// points where a line passes ranks, few crossings within ranks, and then places near those of the neighbours.
#include "neon/report/net_drawing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace neon {

namespace {

constexpr double kLetter = 6.7, kPadding = 12, kLeastWidth = 96, kLineHeight = 15, kHeadHeight = 22;
constexpr double kBetweenBoxes = 26, kBetweenLines = 16, kBetweenRanks = 30, kMargin = 14;
constexpr int kSweeps = 12, kSweepsOfPlaces = 400;
constexpr size_t kManyPlaces = 4000;  // which get fewer sweeps
// A line that passes ranks is worth more than one between neighbours, so that it is straight (Gansner et al. 1993).
constexpr double kOfPoints = 8, kOfPointAndBox = 2;

size_t letters_of(const std::string& text) {
  return size_t(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// A box, or the point at which a line passes a rank.
struct Place {
  int rank = 0, box = -1;  // -1: a point
  double width = 0, x = 0;
  std::vector<int> above, below;  // places of the neighbouring ranks
};

class Layout {
 public:
  explicit Layout(const std::vector<NetNode>& nodes) {
    for (const NetNode& node : nodes) add_box(node);
    for (size_t to = 0; to < nodes.size(); ++to)
      for (const int from : nodes[to].inputs) add_line(from, int(to));
    order_ranks();
    place_ranks();
  }

  NetDrawing drawing() {
    set_boxes();
    for (NetLine& line : out_.lines) set_points(line);
    return std::move(out_);
  }

 private:
  void add_box(const NetNode& node) {
    NetBox box;
    static_cast<NetNode&>(box) = node;
    size_t letters = letters_of(node.title) + (node.name.empty() ? 0 : letters_of(node.name) + 2);
    for (const std::string& note : node.notes) letters = std::max(letters, letters_of(note));
    box.width = std::max(kLeastWidth, double(letters) * kLetter + 2 * kPadding);
    box.height = kHeadHeight + double(node.notes.size()) * kLineHeight + (node.notes.empty() ? 4 : 8);
    int rank = 0;
    for (const int from : node.inputs) rank = std::max(rank, places_[size_t(from)].rank + 1);
    places_.push_back({rank, int(out_.boxes.size()), box.width, 0, {}, {}});
    out_.boxes.push_back(std::move(box));
    enter(int(places_.size()) - 1);
  }

  void enter(int place) {
    const auto rank = size_t(places_[size_t(place)].rank);
    if (ranks_.size() <= rank) ranks_.resize(rank + 1);
    ranks_[rank].push_back(place);
  }

  void connect(int from, int to) {
    places_[size_t(from)].below.push_back(to);
    places_[size_t(to)].above.push_back(from);
  }

  // Boxes are the first places, in their order. A line goes through a point in each rank that it passes.
  void add_line(int from, int to) {
    std::vector<int> through = {from};
    for (int rank = places_[size_t(from)].rank + 1; rank < places_[size_t(to)].rank; ++rank) {
      places_.push_back({rank, -1, 0, 0, {}, {}});
      const int point = int(places_.size()) - 1;
      enter(point);
      connect(through.back(), point);
      through.push_back(point);
    }
    connect(through.back(), to);
    through.push_back(to);
    out_.lines.push_back({from, to, {}});
    through_.push_back(std::move(through));
  }

  std::vector<double> positions() const {
    std::vector<double> at(places_.size());
    for (const auto& rank : ranks_)
      for (size_t i = 0; i < rank.size(); ++i) at[size_t(rank[i])] = double(i);
    return at;
  }

  // Lines between a rank and the next that cross.
  int64_t crossings() const {
    const std::vector<double> at = positions();
    int64_t count = 0;
    for (const auto& rank : ranks_) {
      std::vector<std::pair<double, double>> lines;
      for (const int place : rank)
        for (const int to : places_[size_t(place)].below) lines.emplace_back(at[size_t(place)], at[size_t(to)]);
      for (size_t a = 0; a < lines.size(); ++a)
        for (size_t b = 0; b < a; ++b)
          count += (lines[a].first - lines[b].first) * (lines[a].second - lines[b].second) < 0;
    }
    return count;
  }

  // Orders each rank by the means of its neighbours' places, downwards and upwards in turn. The best order counts; the
  // first one follows the branches from left to right.
  void order_ranks() {
    first_order();
    std::vector<std::vector<int>> best = ranks_;
    int64_t least = crossings();
    for (int sweep = 0; sweep < kSweeps && least > 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t k = 1; k < ranks_.size(); ++k) order_rank(down ? k : ranks_.size() - 1 - k, down);
      if (const int64_t count = crossings(); count < least) least = count, best = ranks_;
    }
    ranks_ = std::move(best);
  }

  void first_order() {
    for (auto& rank : ranks_) rank.clear();
    std::vector<bool> seen(places_.size());
    for (size_t begin = 0; begin < out_.boxes.size(); ++begin) {
      std::vector<int> stack = {int(begin)};
      while (!stack.empty()) {
        const int place = stack.back();
        stack.pop_back();
        if (seen[size_t(place)]) continue;
        seen[size_t(place)] = true;
        enter(place);
        const std::vector<int>& below = places_[size_t(place)].below;
        stack.insert(stack.end(), below.rbegin(), below.rend());
      }
    }
  }

  void order_rank(size_t rank, bool down) {
    const std::vector<double> at = positions();
    const auto centre = [&](int place) {
      const std::vector<int>& near = down ? places_[size_t(place)].above : places_[size_t(place)].below;
      if (near.empty()) return at[size_t(place)];
      double sum = 0;
      for (const int other : near) sum += at[size_t(other)];
      return sum / double(near.size());
    };
    std::ranges::stable_sort(ranks_[rank], {}, centre);
  }

  double distance(int left, int right) const {
    const Place &a = places_[size_t(left)], &b = places_[size_t(right)];
    return (a.width + b.width) / 2 + (a.box >= 0 || b.box >= 0 ? kBetweenBoxes : kBetweenLines);
  }

  // Moves the places of each rank towards their neighbours, keeping distances.
  void place_ranks() {
    for (auto& rank : ranks_)
      for (size_t i = 1; i < rank.size(); ++i)
        places_[size_t(rank[i])].x = places_[size_t(rank[i - 1])].x + distance(rank[i - 1], rank[i]);
    const int sweeps = places_.size() < kManyPlaces ? kSweepsOfPlaces : 2 * kSweeps;
    for (int sweep = 0; sweep < sweeps; ++sweep)
      for (size_t k = 0; k < ranks_.size(); ++k) place_rank(sweep % 2 == 0 ? k : ranks_.size() - 1 - k);
  }

  // The places x with the least sum of weight * (x - wanted)^2 that keep their order and distances: with the distances
  // taken off, a monotonic regression, by pooling neighbours that are out of order.
  void place_rank(size_t number) {
    const std::vector<int>& rank = ranks_[number];
    struct Pool {
      double sum = 0, weight = 0;
      size_t end = 0;
      double mean() const { return sum / weight; }
    };
    std::vector<Pool> pools;
    std::vector<double> off(rank.size());
    for (size_t i = 0; i < rank.size(); ++i) {
      if (i > 0) off[i] = off[i - 1] + distance(rank[i - 1], rank[i]);
      const auto [wanted, weight] = wanted_place(rank[i]);
      pools.push_back({(wanted - off[i]) * weight, weight, i + 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back() = {pools.back().sum + last.sum, pools.back().weight + last.weight, last.end};
      }
    }
    size_t i = 0;
    for (const Pool& pool : pools)
      for (; i < pool.end; ++i) places_[size_t(rank[i])].x = pool.mean() + off[i];
  }

  std::pair<double, double> wanted_place(int number) const {
    const Place& place = places_[size_t(number)];
    double sum = 0, weight = 0;
    for (const auto* near : {&place.above, &place.below})
      for (const int other : *near) {
        const int points = (place.box < 0) + (places_[size_t(other)].box < 0);
        const double of = points == 2 ? kOfPoints : points == 1 ? kOfPointAndBox : 1;
        sum += of * places_[size_t(other)].x;
        weight += of;
      }
    return weight > 0 ? std::pair(sum / weight, weight) : std::pair(place.x, 1e-3);
  }

  void set_boxes() {
    double left = INFINITY, right = -INFINITY, y = kMargin;
    for (const Place& place : places_)
      left = std::min(left, place.x - place.width / 2), right = std::max(right, place.x + place.width / 2);
    for (const auto& rank : ranks_) {
      double height = 0;
      for (const int place : rank)
        if (const int box = places_[size_t(place)].box; box >= 0)
          height = std::max(height, out_.boxes[size_t(box)].height);
      tops_.push_back(y), bottoms_.push_back(y + height);
      y += height + kBetweenRanks;
    }
    for (Place& place : places_) {
      place.x += kMargin - left;
      if (place.box < 0) continue;
      NetBox& box = out_.boxes[size_t(place.box)];
      box.x = place.x - box.width / 2;
      const auto rank = size_t(place.rank);
      box.y = (tops_[rank] + bottoms_[rank] - box.height) / 2;
    }
    out_.width = right - left + 2 * kMargin;
    out_.height = y - kBetweenRanks + kMargin;
  }

  // Down through the ranks that the line passes, straight in each.
  void set_points(NetLine& line) {
    const std::vector<int>& through = through_[size_t(&line - out_.lines.data())];
    const NetBox &from = out_.boxes[size_t(line.from)], &to = out_.boxes[size_t(line.to)];
    const Place &begin = places_[size_t(through.front())], &end = places_[size_t(through.back())];
    line.points.push_back({begin.x, from.y + from.height});
    line.points.push_back({begin.x, bottoms_[size_t(begin.rank)]});
    for (size_t i = 1; i + 1 < through.size(); ++i) {
      const Place& place = places_[size_t(through[i])];
      line.points.push_back({place.x, tops_[size_t(place.rank)]});
      line.points.push_back({place.x, bottoms_[size_t(place.rank)]});
    }
    line.points.push_back({end.x, tops_[size_t(end.rank)]});
    line.points.push_back({end.x, to.y});
  }

  NetDrawing out_;
  std::vector<Place> places_;
  std::vector<std::vector<int>> ranks_;    // places from left to right
  std::vector<std::vector<int>> through_;  // of each line
  std::vector<double> tops_, bottoms_;     // of ranks
};

}  // namespace

NetDrawing draw_net(const std::vector<NetNode>& nodes) {
  return nodes.empty() ? NetDrawing() : Layout(nodes).drawing();
}

}  // namespace neon
