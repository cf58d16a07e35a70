// A fused kernel on the CPU: the tiles of all segments in one parallel loop, each thread a fixed run of them; those of
// tall segments in passes of their own; then the totals, added up in the order of the tiles whatever the number of
// threads, and the scalars that follow from them.
#include <omp.h>

#include <deque>
#include <exception>

#include "backends/cpu/fused_tile.h"

namespace neon::cpu {

namespace {

// Below this many element operations a kernel is not worth a second thread.
constexpr int64_t kWorkOfOneThread = 16384;

template <typename R>
class FusedKernelOnCpu : public Kernel {
 public:
  FusedKernelOnCpu(const FusedKernel& code, Context& context) {
    int64_t work = 0, all_tiles = 0;
    segments_.reserve(code.segments.size());
    for (const Segment& segment : code.segments) {
      segments_.push_back(plan_segment<R>(segment, context));
      const auto& plan = segments_.back();
      first_tile_.push_back(tiles_);
      if (plan.tall) tall_.push_back(segments_.size() - 1);
      else tiles_ += plan.tiles();
      all_tiles += plan.tiles();
      columns_.emplace_back(plan);
      work += plan.rows * plan.columns * int64_t(plan.registers.size());
      partials_.emplace_back(size_t(plan.tiles() * int64_t(plan.totals.size())) + 1);
      totals_.emplace_back(plan.totals.size());
    }
    first_tile_.push_back(tiles_);
    threads_ = team_of(std::min(work / kWorkOfOneThread + 1, all_tiles), context.threads);
    runners_.resize(size_t(threads_));
    for (auto& runners : runners_)
      for (const auto& plan : segments_) runners.emplace_back(plan);
    for (const Instruction& i : code.post) {
      post_.push_back(plan_register<R>(i, context));
      post_totals_.push_back({i.segment, i.total});
    }
    post_values_.resize(code.post.size());
    for (const Store& store : code.post_stores) post_stores_.push_back(plan_store<R>(store, context));
    if (code.guard) {
      guard_ = context.slot(code.guard);
      load_guard_ = elementwise::load_function(context.type(code.guard).dtype, dtype_of<R>());
    }
  }

  void run(const Run& run) override {
    if (guard_) {
      R open = 0;
      load_guard_(*guard_, &open, 1);
      if (open == 0) return;
    }
    in_parallel([&](int thread, int team) {
      run_tiles(run, runners_[size_t(thread)], tiles_ * thread / team, tiles_ * (thread + 1) / team);
    });
    for (size_t s : tall_) run_passes(run, s);
    add_up();
    run_post(run);
  }

  std::string implementation() const override { return "fused"; }

 private:
  // Calls work(thread, threads) in all threads.
  template <typename Work>
  void in_parallel(Work&& work) {
    if (threads_ == 1) return work(0, 1);
    std::exception_ptr problem;
#pragma omp parallel num_threads(threads_)
    {
      try {
        work(omp_get_thread_num(), omp_get_num_threads());
      } catch (...) {
#pragma omp critical
        problem = std::current_exception();
      }
    }
    if (problem) std::rethrow_exception(problem);
  }

  void run_tiles(const Run& run, std::deque<TileRunner<R>>& runners, int64_t first, int64_t last) {
    for (size_t s = 0; s < segments_.size(); ++s) {
      const int64_t from = std::max(first, first_tile_[s]), to = std::min(last, first_tile_[s + 1]);
      if (from >= to) continue;
      const int64_t width = int64_t(segments_[s].totals.size());
      runners[s].begin(run);
      for (int64_t tile = from - first_tile_[s]; tile < to - first_tile_[s]; ++tile)
        runners[s].run_tile(tile, partials_[s].data() + tile * width);
    }
  }

  // All passes over a tall segment; between them the reductions of its rows of tiles are joined.
  void run_passes(const Run& run, size_t s) {
    const SegmentPlan<R>& plan = segments_[s];
    const int64_t tiles = plan.tiles(), width = int64_t(plan.totals.size());
    for (int pass = 0; pass <= plan.last_pass(); ++pass) {
      in_parallel([&](int thread, int team) {
        TileRunner<R>& runner = runners_[size_t(thread)][s];
        runner.begin(run);
        for (int64_t tile = tiles * thread / team; tile < tiles * (thread + 1) / team; ++tile)
          runner.run_pass(pass, tile, partials_[s].data() + tile * width, columns_[s]);
      });
      for (int i : plan.reductions)
        if (plan.registers[size_t(i)].known == pass + 1) join(plan, plan.registers[size_t(i)], columns_[s]);
    }
    runners_[0][s].run_kept(partials_[s].data(), columns_[s]);
  }

  // Adds up the rows of tiles of each run, then those of all runs. In halves: one after the other, sums of many tiles
  // would drift. Threads share the columns.
  void join(const SegmentPlan<R>& plan, const RegisterPlan<R>& reg, Columns<R>& columns) {
    const int64_t width = columns.width;
    const auto join_share = [&](int thread, int team) {
      const int64_t first = width * thread / team, count = width * (thread + 1) / team - first;
      if (count > 0) join_columns(plan, reg, columns, first, count);
    };
    if (width * plan.row_tiles_of_stack() > kWorkOfOneThread) in_parallel(join_share);
    else join_share(0, 1);
  }

  static void join_columns(const SegmentPlan<R>& plan, const RegisterPlan<R>& reg, Columns<R>& columns, int64_t first,
                           int64_t count) {
    const auto row = [&](int64_t row_tile) { return columns.partial(row_tile, reg.reduction_slot) + first; };
    const int64_t all = plan.row_tiles_of_stack(), of_run = plan.row_tiles_of_run();
    const auto join_rows = [&](int64_t begin, int64_t rows, int64_t step) {
      halve(rows, [&](int64_t half, int64_t pairs) {
        for (int64_t pair = 0; pair < pairs; ++pair) {
          R* to = row(begin + pair * step);
          const R* inputs[] = {to, row(begin + (half + pair) * step)};
          reg.functions[0](inputs, to, count);
        }
      });
    };
    for (int64_t begin = 0; begin < all; begin += of_run) join_rows(begin, of_run, 1);
    join_rows(0, all / of_run, of_run);
    std::copy_n(row(0), count, columns.value(reg.reduction_slot) + first);
  }

  void add_up() {
    for (size_t s = 0; s < segments_.size(); ++s) {
      const size_t width = segments_[s].totals.size();
      for (size_t t = 0; t < width; ++t) {
        const Reduction kind = segments_[s].totals[t].kind;
        double total = kind == Reduction::sum ? 0 : kind == Reduction::min ? INFINITY : -INFINITY;
        for (int64_t tile = 0; tile < segments_[s].tiles(); ++tile) {
          const double part = double(partials_[s][size_t(tile) * width + t]);
          if (kind == Reduction::sum) total += part;
          else if (total == total && (part != part || (kind == Reduction::min ? part < total : part > total)))
            total = part;
        }
        totals_[s][t] = R(total);
      }
    }
  }

  void run_post(const Run& run) {
    for (size_t i = 0; i < post_.size(); ++i) {
      const RegisterPlan<R>& reg = post_[i];
      R& to = post_values_[i];
      switch (reg.kind) {
        case Instruction::Kind::total:
          to = totals_[size_t(post_totals_[i].first)][size_t(post_totals_[i].second)];
          break;
        case Instruction::Kind::constant: to = R(reg.number); break;
        case Instruction::Kind::record: to = R(run.scalars[reg.record]); break;
        case Instruction::Kind::load: reg.load.convert(reg.load.address(0), &to, 1); break;
        case Instruction::Kind::uniform: draw(reg, run, 0, &to, 1); break;
        default: {
          const R* inputs[kMostOperands];
          for (size_t k = 0; k < reg.inputs.size(); ++k) inputs[k] = &post_values_[size_t(reg.inputs[k])];
          reg.functions[0](inputs, &to, 1);
        }
      }
    }
    for (const StorePlan& store : post_stores_) store.put(&post_values_[size_t(store.reg)], 0, 1);
  }

  std::vector<SegmentPlan<R>> segments_;
  std::vector<std::deque<TileRunner<R>>> runners_;  // by thread, by segment
  std::vector<std::vector<R>> partials_, totals_;
  std::vector<int64_t> first_tile_;  // by segment; of those that are not tall
  int64_t tiles_ = 0;
  std::vector<size_t> tall_;         // segments
  std::vector<Columns<R>> columns_;  // by segment
  int threads_ = 1;
  std::vector<RegisterPlan<R>> post_;
  std::vector<std::pair<int, int>> post_totals_;
  std::vector<R> post_values_;
  std::vector<StorePlan> post_stores_;
  void** guard_ = nullptr;
  ConvertFunction load_guard_ = nullptr;
};

std::unique_ptr<Kernel> make_fused(const LoweredKernel& kernel, Context& context) {
  if (kernel.fused->compute == DType::f64) return std::make_unique<FusedKernelOnCpu<double>>(*kernel.fused, context);
  return std::make_unique<FusedKernelOnCpu<float>>(*kernel.fused, context);
}

const KernelRegistration fused_kernel_kernel("fused", 0, make_fused);

}  // namespace

}  // namespace neon::cpu
