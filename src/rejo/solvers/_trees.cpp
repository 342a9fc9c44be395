// Boosted trees: the walk from root to leaf, and the gradients of the threshold booster.
// Trees may come from a model file: every index is checked once, when they are packed, and a walk
// then reads nothing outside its own nodes and row.
#include <cmath>
#include <cstdint>

#include "_binding.hpp"

namespace py = pybind11;
using namespace rejo;

namespace {

// At a split, a case goes left if its value is at most `limit`, or missing and kMissingLeft is set;
// the right child stands next to the left one.  A leaf leads to itself, so that all cases of a tree
// take the same number of steps and none needs a test for the end.
struct Node {
  float limit;
  std::int32_t left;
  std::uint32_t feature;
  float value;
};
constexpr std::uint32_t kMissingLeft = 1u << 31, kCategory = 1u << 30, kFeature = kCategory - 1;
constexpr std::size_t kLanes = 16;        // cases that walk side by side, to hide latency
constexpr std::size_t kBlockBytes = 1 << 15;  // of rows that stay in the cache while all trees pass
constexpr std::size_t kMostBytes = 1 << 20;   // of them, also where a row is very long
constexpr std::size_t kWorkBetweenLooks = 1 << 26;  // steps between two looks for Ctrl-C

class Trees {
 public:
  Trees(const Array<std::int32_t>& feature, const Array<float>& threshold,
        const Array<std::int32_t>& left, const Array<bool>& missing_left, const Array<float>& value,
        const Array<std::int32_t>& category, const Array<std::uint32_t>& words,
        const Array<std::int64_t>& roots, const Array<std::int32_t>& target, std::size_t p,
        std::size_t n_targets, float known)
      : p_(p), n_targets_(n_targets), words_(copied(words)) {
    const std::size_t n = static_cast<std::size_t>(feature.size());
    for (const py::array* column : {static_cast<const py::array*>(&threshold),
                                    static_cast<const py::array*>(&left),
                                    static_cast<const py::array*>(&missing_left),
                                    static_cast<const py::array*>(&value),
                                    static_cast<const py::array*>(&category)})
      require(column->ndim() == 1 && static_cast<std::size_t>(column->size()) == n,
              "the nodes must have one entry each");
    require(feature.ndim() == 1 && roots.ndim() == 1 && target.size() == roots.size(),
            "the trees must have one root and one target each");
    require(p > 0 && p < kFeature && n_targets > 0 && n < (1u << 31), "too many features or nodes");
    pack(feature.data(), threshold.data(), left.data(), missing_left.data(), value.data(),
         category.data(), n);
    const std::size_t n_trees = static_cast<std::size_t>(roots.size());
    for (std::size_t t = 0; t < n_trees; ++t) {
      const std::int64_t first = roots.data()[t];
      const std::int64_t end = t + 1 < n_trees ? roots.data()[t + 1] : static_cast<std::int64_t>(n);
      require(first >= 0 && first < end && end <= static_cast<std::int64_t>(n) && (t || !first),
              "the trees must stand one after the other");
      const std::int32_t adds_to = target.data()[t];
      require(adds_to >= 0 && static_cast<std::size_t>(adds_to) < n_targets,
              "a tree adds to a score that there is not");
      check(first, end);
      settle(first, end, known);
      trees_.push_back({static_cast<std::int32_t>(first), depth(first, end), adds_to});
    }
  }

  // Adds the leaves of all trees to out (n, n_targets), of cases X (n, p).
  template <class T>
  void add(const Array<T>& X, py::array_t<double, py::array::c_style> out) const {
    require(X.ndim() == 2 && static_cast<std::size_t>(X.shape(1)) == p_, "X has other features");
    require(out.ndim() == 2 && out.shape(0) == X.shape(0) &&
                static_cast<std::size_t>(out.shape(1)) == n_targets_,
            "out must have a row for each case");
    const T* x = X.data();
    double* sums = out.mutable_data();
    const std::size_t n = static_cast<std::size_t>(X.shape(0));
    const std::size_t row = p_ * sizeof(float);
    const std::size_t block = std::max<std::size_t>(
        {1, std::min(kLanes, kMostBytes / row), kBlockBytes / row / kLanes * kLanes});
    std::size_t steps = 0;
    for (const Tree& tree : trees_) steps += tree.depth + 1;
    const std::size_t at_once = std::max(block, kWorkBetweenLooks / std::max<std::size_t>(steps, 1));
    for (std::size_t first = 0; first < n; first += at_once) {
      const std::size_t last = std::min(n, first + at_once);
      {
        py::gil_scoped_release release;
        std::vector<float> rows(block * p_);
        for (std::size_t i = first; i < last; i += block) {
          const std::size_t m = std::min(block, last - i);
          for (std::size_t j = 0; j < m * p_; ++j) rows[j] = static_cast<float>(x[i * p_ + j]);
          walk(rows.data(), sums + i * n_targets_, m);
        }
      }
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
  }

 private:
  struct Tree {
    std::int32_t root;
    std::size_t depth;
    std::int32_t target;
  };

  void pack(const std::int32_t* feature, const float* threshold, const std::int32_t* left,
            const bool* missing_left, const float* value, const std::int32_t* category,
            std::size_t n) {
    nodes_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      Node& node = nodes_[i];
      const std::int32_t by = feature[i], child = left[i], set = category[i];  // each read once
      if (by < 0) {
        node = {std::numeric_limits<float>::infinity(), static_cast<std::int32_t>(i), kMissingLeft,
                value[i]};
        continue;
      }
      // Features from p on are known, and settled before any walk.
      require(static_cast<std::uint32_t>(by) <= p_, "a split is by an unknown feature");
      require(child > static_cast<std::int64_t>(i), "a split leads out of its tree");
      node.feature = static_cast<std::uint32_t>(by) | (missing_left[i] ? kMissingLeft : 0);
      // x < t in single precision is x <= the number before t
      node.limit = std::nextafter(threshold[i], -std::numeric_limits<float>::infinity());
      node.left = child;
      node.value = 0;
      if (set >= 0) {
        // words_[c]: how many words of 32 bits follow; a set bit sends its category to the right
        const std::size_t c = static_cast<std::size_t>(set);
        require(c < words_.size() && words_[c] < words_.size() - c, "a set of categories is cut off");
        node.feature |= kCategory;
        sets_.resize(n, 0);
        sets_[i] = set;
        by_category_ = true;
      }
    }
  }

  bool is_leaf(std::int64_t i) const { return nodes_[i].left == i; }

  void check(std::int64_t first, std::int64_t end) const {
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t left = nodes_[i].left;
      require(is_leaf(i) || (left > i && left + 1 < end), "a split leads out of its tree");
    }
  }

  // Replaces splits by the feature p, which has one known value, by what stands on its side.
  void settle(std::int64_t first, std::int64_t end, float known) {
    for (std::int64_t i = end - 1; i >= first; --i) {
      const Node& node = nodes_[i];
      if (is_leaf(i) || (node.feature & kFeature) != p_) continue;
      require(!(node.feature & kCategory), "the last feature is not a category");
      const std::int64_t child = node.left + !(known <= node.limit);
      const bool leaf = is_leaf(child);
      nodes_[i] = nodes_[child];  // its children lie below already
      if (leaf) nodes_[i].left = static_cast<std::int32_t>(i);
      if (!sets_.empty()) sets_[i] = sets_[child];
    }
  }

  std::size_t depth(std::int64_t first, std::int64_t end) const {
    std::vector<std::uint32_t> level(static_cast<std::size_t>(end - first), 0);
    std::uint32_t deepest = 0;
    std::vector<bool> reached(level.size(), false);
    reached[0] = true;
    for (std::int64_t i = first; i < end; ++i) {
      if (is_leaf(i) || !reached[i - first]) continue;
      for (std::int64_t child : {nodes_[i].left + 0, nodes_[i].left + 1}) {
        reached[child - first] = true;
        level[child - first] = std::max(level[child - first], level[i - first] + 1);
        deepest = std::max(deepest, level[child - first]);
      }
    }
    return deepest;
  }

  template <bool Categories, bool Missing>
  std::int32_t step(std::int32_t at, const float* x) const {
    const Node& node = nodes_[at];
    const float value = x[node.feature & kFeature];
    bool left = value <= node.limit;
    if (Categories && (node.feature & kCategory)) left = !in_set(at, value);
    if (Missing) left |= (value != value) & (node.feature >> 31);
    return node.left + !left;
  }

  bool in_set(std::int32_t at, float value) const {
    const std::uint32_t* set = &words_[sets_[at]];
    const float most = static_cast<float>(set[0]) * 32.0f;
    if (!(value >= 0 && value < most)) return value != value;  // missing: as the flag says
    const std::uint32_t category = static_cast<std::uint32_t>(value);
    return set[1 + category / 32] >> (category % 32) & 1;
  }

  void walk(const float* x, double* sums, std::size_t n) const {
    bool missing = false;  // most blocks have none, and need no test at each step
    for (std::size_t i = 0; i < n * p_; ++i) missing |= x[i] != x[i];
    if (by_category_)
      walk_as<true, true>(x, sums, n);
    else if (missing)
      walk_as<false, true>(x, sums, n);
    else
      walk_as<false, false>(x, sums, n);
  }

  template <bool Categories, bool Missing>
  void walk_as(const float* x, double* sums, std::size_t n) const {
    for (const Tree& tree : trees_) {
      double* out = sums + tree.target;
      std::size_t i = 0;
      for (; i + kLanes <= n; i += kLanes) {
        std::int32_t at[kLanes];
        for (std::size_t j = 0; j < kLanes; ++j) at[j] = tree.root;
        const float* rows = x + i * p_;
        for (std::size_t d = 0; d < tree.depth; ++d)
          for (std::size_t j = 0; j < kLanes; ++j)
            at[j] = step<Categories, Missing>(at[j], rows + j * p_);
        for (std::size_t j = 0; j < kLanes; ++j) out[(i + j) * n_targets_] += nodes_[at[j]].value;
      }
      for (; i < n; ++i) {
        std::int32_t at = tree.root;
        for (std::size_t d = 0; d < tree.depth; ++d)
          at = step<Categories, Missing>(at, x + i * p_);
        out[i * n_targets_] += nodes_[at].value;
      }
    }
  }

  std::size_t p_, n_targets_;
  std::vector<std::uint32_t> words_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> sets_;  // by node, where splits are by category
  std::vector<Tree> trees_;
  bool by_category_ = false;
};

// Gradient and hessian (n,) of the threshold booster at scores g (n,) of rows of class k (n,) and
// weight v (n,) or (0,), and the sums (2, Q) of both for each threshold b (Q,); costs and labels (0
// or 1) are (K, Q).
py::tuple gradients(const Array<float>& g, const Array<std::int32_t>& k, const Array<float>& v,
                    const Array<double>& costs, const Array<double>& labels,
                    const Array<double>& b) {
  const std::size_t n = static_cast<std::size_t>(g.size());
  require(costs.ndim() == 2 && labels.ndim() == 2 && costs.shape(0) == labels.shape(0) &&
              costs.shape(1) == labels.shape(1) && b.size() == costs.shape(1),
          "costs, labels and thresholds must agree");
  require(static_cast<std::size_t>(k.size()) == n &&
              (v.size() == 0 || static_cast<std::size_t>(v.size()) == n),
          "there must be a class and a weight for each row");
  const std::size_t K = static_cast<std::size_t>(costs.shape(0));
  const std::size_t Q = static_cast<std::size_t>(costs.shape(1));
  py::array_t<float> grad(static_cast<py::ssize_t>(n)), hess(static_cast<py::ssize_t>(n));
  py::array_t<double> sums({static_cast<py::ssize_t>(2), static_cast<py::ssize_t>(Q)});
  std::vector<double> total(2 * Q, 0.0), shrink(Q);
  for (std::size_t q = 0; q < Q; ++q) shrink[q] = std::exp(-std::clamp(b.data()[q], -300., 300.));
  const float *score = g.data(), *weight = v.size() ? v.data() : nullptr;
  const std::int32_t* of = k.data();
  const double *c = costs.data(), *t = labels.data();
  float *to_grad = grad.mutable_data(), *to_hess = hess.mutable_data();
  {
    py::gil_scoped_release release;
    for (std::size_t i = 0; i < n; ++i) {
      const double w = weight ? weight[i] : 1.0;
      const double e = std::exp(-std::clamp(static_cast<double>(score[i]), -300., 300.));
      const std::size_t kind = static_cast<std::uint32_t>(of[i]);  // negative ones become very large
      require(kind < K, "a class is unknown");
      const std::size_t row = kind * Q;
      double first = 0, second = 0;
      for (std::size_t q = 0; q < Q; ++q) {
        const double s = 1.0 / (1.0 + e * shrink[q]), cost = w * c[row + q];
        const double slope = cost * (s - t[row + q]), bend = cost * s * (1.0 - s);
        total[q] += slope;
        total[Q + q] += bend;
        first += slope;
        second += bend;
      }
      to_grad[i] = static_cast<float>(first);
      to_hess[i] = static_cast<float>(std::max(second, 1e-12));
    }
  }
  std::copy(total.begin(), total.end(), sums.mutable_data());
  return py::make_tuple(grad, hess, sums);
}

}  // namespace

PYBIND11_MODULE(_trees, module) {
  module.attr("sources") = REJO_TEXT(REJO_SOURCES);
  auto trees = complete_class<Trees>(module, "Trees");
  trees
      .def_static("_make",
                  &make<Trees, const Array<std::int32_t>&, const Array<float>&,
                        const Array<std::int32_t>&, const Array<bool>&, const Array<float>&,
                        const Array<std::int32_t>&, const Array<std::uint32_t>&,
                        const Array<std::int64_t>&, const Array<std::int32_t>&, std::size_t,
                        std::size_t, float>)
      .def("add", &Trees::add<float>, py::arg("X").noconvert(), py::arg("out").noconvert())
      .def("add", &Trees::add<double>, py::arg("X").noconvert(), py::arg("out").noconvert());
  seal(trees);
  module.def("gradients", &gradients);
}
