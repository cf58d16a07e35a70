// The names of layers, and that `inputs` mean something.
#include <map>
#include <set>

#include "models/network.h"
#include "neon/core/counted.h"

namespace neon {

namespace {

class Namer {
 public:
  Namer(Problems& problems, const std::string& prefix, const WantedLayers& wanted)
      : problems_(problems), prefix_(prefix), wanted_(wanted), used_(wanted.named.begin(), wanted.named.end()) {
    used_.insert(wanted.possible.begin(), wanted.possible.end());
  }

  void run(Chain& chain, bool in_branch = false) {
    for (size_t i = 0; i < chain.links.size(); ++i) {
      Link& link = chain.links[i];
      if (is_met_before(link)) {
        link.name = link.layer->common.name;
        link.met_before = true;
        if (i > 0 || !in_branch)
          add(link, text("BranchNode ", in_quotes(link.name), " appears again; it may only begin a branch"));
        continue;
      }
      give_name(link);
      check_inputs(link);
      check_share(link);
      if (i > 0 && !link.layer->common.inputs.empty()) passed_over_.push_back(&chain.links[i - 1]);
      if (Container* container = link.layer->container()) run_branches(*container);
      before_.insert(link.name);
    }
  }

  void run_branches(Container& container) {
    bool first = true;
    for (Chain& branch : container.branches()) {
      const Link& start = branch.links.front();
      if (!first && container.begins_at_nodes() && !is_met_before(start))
        add(start, text("no BranchNode before this branch is named ", in_quotes(start.layer->common.name),
                        did_you_mean(start.layer->common.name, {nodes_.begin(), nodes_.end()})));
      run(branch, true);
      first = false;
    }
  }

  // What `inputs` took the place of must go somewhere else. Where a name is unknown, any layer may be meant by it.
  void finish() {
    for (const std::string& name : wanted_.named) names_unknown_ = names_unknown_ || !all_.contains(name);
    if (names_unknown_) return;
    for (const Link* link : passed_over_)
      if (!used_.count(link->name))
        add(*link, text("no layer takes the outputs of ", in_quotes(link->name),
                        ": the next layer has `inputs`, which do not name it"));
  }

 private:
  void add(const Link& link, std::string line) { problems_.add(link.where, link.path, std::move(line)); }

  bool is_met_before(const Link& link) const {
    return link.kind == kBranchNode && nodes_.count(link.layer->common.name) > 0;
  }

  void give_name(Link& link) {
    const int number = counts_[link.kind]++;
    const std::string& given = link.layer->common.name;
    link.name = given.empty() ? text(prefix_, link.kind, "_", number) : given;
    if (link.name.find('/') != link.name.npos) add(link, "a layer's name has no '/'");
    if (printable(link.name) != link.name)
      add(link, text("the layer's name ", in_quotes(link.name), " has control characters; leave them out"));
    if (link.name == kDataName) add(link, "a layer is named 'data', the name of the samples in `inputs`");
    if (!all_.insert(link.name).second) add(link, text("two layers are named ", in_quotes(link.name)));
    if (link.kind == kBranchNode) nodes_.insert(link.name);
  }

  void check_inputs(const Link& link) {
    const std::vector<std::string>& inputs = link.layer->common.inputs;
    for (const std::string& name : inputs) {
      used_.insert(name);
      if (before_.count(name)) continue;
      names_unknown_ = true;
      add(link, text("inputs: no layer before this one is named ", in_quotes(name),
                     did_you_mean(name, {before_.begin(), before_.end()})));
    }
    Container* container = link.layer->container();
    const size_t branches = container ? container->branches().size() : 0, most = size_t(link.layer->most_inputs());
    if (container && most > 1 && inputs.size() != most) {
      add(link, text(link.kind, " gives each of its ", most, " branches an input of its own, and `inputs` names ",
                     inputs.size(), "; name one for each branch, such as a Slice of `data`, or write MergeBroadcast, ",
                     "whose branches all read the same input"));
      return;
    }
    if (!container && inputs.size() > most)
      add(link, text(link.kind, " takes ", most == 1 ? "one input" : text("at most ", most, " inputs"),
                     ", `inputs` has ", inputs.size(), "; MergeSum and MergeConcat make one of several"));
    if (container && branches == 0 && inputs.empty())
      add(link, text(link.kind, " has neither branches of layers nor `inputs`"));
    if (branches > 0 && inputs.size() > 1 && inputs.size() != branches)
      add(link, text("`inputs` has ", counted(int64_t(inputs.size()), "name"), " for ", branches,
                     " branches; give one for all, or one for each"));
  }

  void check_share(Link& link) {
    const std::string& share = link.layer->common.share;
    const bool has_weights = !link.layer->container();
    if (!share.empty() && !has_weights)
      add(link, text(link.kind, " has no weights of its own to share; give share to the layers in it"));
    else if (!share.empty() && !with_weights_.count(share))
      add(link, text("share: no layer with weights before this one is named ", in_quotes(share),
                     did_you_mean(share, {with_weights_.begin(), with_weights_.end()})));
    if (has_weights) with_weights_.insert(link.name);
  }

  Problems& problems_;
  const std::string prefix_;
  const WantedLayers& wanted_;
  std::map<std::string, int> counts_;  // by kind
  std::set<std::string> all_, before_ = {kDataName}, used_, nodes_, with_weights_;
  std::vector<const Link*> passed_over_;
  bool names_unknown_ = false;  // of some layer's `inputs`
};

}  // namespace

void name_layers(Chain& chain, Problems& problems, const std::string& prefix, const WantedLayers& wanted) {
  Namer namer(problems, prefix, wanted);
  namer.run(chain);
  namer.finish();
}

}  // namespace neon
