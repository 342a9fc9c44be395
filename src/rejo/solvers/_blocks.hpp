// Blocks: engine 1 on a working set of points, the rest held fixed, until nothing violates.
// Included once for each instruction set, inside its own namespace: no include guard.

// Where blocks come from, Gram matrices of some points and sums of their kernel functions at all:
// the kernel itself,
template <class T>
struct KernelSource {
  typedef T Value;
  const Kernel& kernel;
  const Points<T>& points;
  std::size_t threads;
  void gram(const std::vector<std::size_t>& chosen, T* K, std::size_t ld, Watch& watch) const {
    REJO_ARCH::gram(kernel, points.part(chosen), K, ld, threads, watch);
  }
  void add(const std::vector<std::size_t>& chosen, const std::vector<double>& coef, double* f,
           Watch& watch) const {
    REJO_ARCH::add(kernel, points, chosen, coef, f, threads, watch);
  }
};
// or its factor, K = Z Z'.
struct FactorSource {
  typedef double Value;
  const Factor& factor;
  void gram(const std::vector<std::size_t>& chosen, double* K, std::size_t ld, Watch&) const {
    for (std::size_t a = 0; a < chosen.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b)
        K[a * ld + b] = K[b * ld + a] =
            dot(factor.row(chosen[a]), factor.row(chosen[b]), factor.width);
  }
  void add(const std::vector<std::size_t>& chosen, const std::vector<double>& coef, double* f,
           Watch&) const {
    Buffer<double> w(factor.width);
    for (std::size_t a = 0; a < chosen.size(); ++a)
      axpy(coef[a], factor.row(chosen[a]), w.data(), factor.width);
    for (std::size_t i = 0; i < factor.n; ++i) f[i] += dot(factor.row(i), w.data(), factor.width);
  }
};

// f = K B
template <class Source>
void gradient(const Source& source, Dual& dual, Watch& watch) {
  std::vector<std::size_t> points;
  std::vector<double> weights;
  for (std::size_t i = 0; i < dual.n; ++i)
    if (const double B = dual.weight(i)) points.push_back(i), weights.push_back(B);
  std::fill(dual.f.data(), dual.f.data() + dual.stride, 0.0);
  source.add(points, weights, dual.f.data(), watch);
}

// The points that may move next, all replicas of each.
class WorkingSet {
 public:
  WorkingSet(std::size_t n, std::size_t most) : most_(std::min(most, n)), taken_(n), newest_(n) {
    std::iota(newest_.begin(), newest_.end(), std::size_t{0});
  }

  // The worst violators on either side of `middle`, and of the last set, the newest first, points
  // with free variables: up to a half.  In ascending order.
  std::vector<std::size_t> choose(const Dual& dual, double middle) {
    std::vector<std::size_t> kept, fresh;
    std::fill(taken_.begin(), taken_.end(), char{0});
    for (const std::size_t i : newest_)
      if (kept.size() < most_ / 2 && is_free(dual, i)) take(i, kept);
    rank(dual, middle);
    for (std::size_t k = 0; k < std::max(up_.size(), low_.size()); ++k)
      for (const auto* side : {&up_, &low_})
        if (k < side->size() && kept.size() + fresh.size() < most_) take((*side)[k].second, fresh);
    newest_ = std::move(fresh);
    newest_.insert(newest_.end(), kept.begin(), kept.end());
    std::vector<std::size_t> points = newest_;
    std::sort(points.begin(), points.end());
    return points;
  }

 private:
  void take(std::size_t i, std::vector<std::size_t>& list) {
    if (!taken_[i]) list.push_back(i);
    taken_[i] = 1;
  }
  static bool is_free(const Dual& dual, std::size_t i) {
    for (std::size_t k = i; k < dual.Q * dual.stride; k += dual.stride)
      if (dual.u[k] > dual.lo(k) && dual.u[k] < dual.hi(k)) return true;
    return false;
  }
  // Violators on either side, the worst first, no more than could be taken.
  void rank(const Dual& dual, double middle) {
    const double* target = dual.targets();
    up_.clear();
    low_.clear();
    for (std::size_t i = 0; i < dual.n; ++i) {
      Spread of;
      for (std::size_t q = 0, k = i; q < dual.Q; ++q, k += dual.stride) {
        const double v = target[k] - dual.f[i] - dual.offset(q);
        if (dual.u[k] < dual.hi(k)) of.up = std::max(of.up, v);
        if (dual.u[k] > dual.lo(k)) of.low = std::min(of.low, v);
      }
      if (of.up > middle) up_.push_back({-of.up, i});
      if (of.low < middle) low_.push_back({of.low, i});
    }
    for (auto* side : {&up_, &low_}) {
      const auto last = side->begin() + static_cast<std::ptrdiff_t>(std::min(most_, side->size()));
      std::nth_element(side->begin(), last, side->end());
      std::sort(side->begin(), last);
      side->erase(last, side->end());
    }
  }

  std::size_t most_;
  std::vector<char> taken_;
  std::vector<std::size_t> newest_;
  std::vector<std::pair<double, std::size_t>> up_, low_;
};

// The duals of some points; the others' are constant.
inline Dual part_of(const Dual& dual, const std::vector<std::size_t>& points) {
  Dual part;
  part.resize(points.size(), dual.Q);
  part.h2 = dual.h2;
  part.G = dual.G;
  if (!dual.target.empty()) part.target.reset(dual.Q * part.stride);
  for (std::size_t a = 0; a < points.size(); ++a) {
    part.f[a] = dual.f[points[a]];
    for (std::size_t q = 0; q < dual.Q; ++q) {
      const std::size_t to = q * part.stride + a, from = q * dual.stride + points[a];
      part.y[to] = dual.y[from];
      if (!dual.target.empty()) part.target[to] = dual.target[from];
      part.cap[to] = dual.cap[from];
      part.u[to] = dual.u[from];
    }
  }
  return part;
}

template <class Source>
Progress blocks(Dual& dual, const Source& source, std::size_t most, double tol, Count max_iter,
                Watch& watch) {
  typedef typename Source::Value T;
  constexpr int kRounds = 10000, kIdle = 300;
  clip(dual);
  gradient(source, dual, watch);
  if (balance(dual)) gradient(source, dual, watch);
  Progress progress;
  WorkingSet set(dual.n, most);
  Buffer<T> K;
  double best = kBig;
  int idle = 0;  // rounds in a row that came no closer; those that missed their own aim count more
  for (int round = 0; round < kRounds; ++round) {
    const Spread spread = violation(dual);
    progress.violation = spread.width();
    progress.converged = progress.violation <= tol;
    if (progress.violation < best) idle = 0;
    best = std::min(best, progress.violation);
    if (progress.converged || progress.iterations >= max_iter || idle > kIdle) break;
    watch.check();
    const std::vector<std::size_t> points = set.choose(dual, spread.middle());
    const std::size_t m = points.size();
    Dual part = part_of(dual, points);
    const std::size_t ld = part.stride + kTile;  // not a power of two, which caches are slow with
    if (K.size() < m * ld) K.reset(m * ld);
    source.gram(points, K.data(), ld, watch);
    GramRows<T> rows{K.data(), ld};
    std::vector<double> outside(part.f.data(), part.f.data() + part.stride), own(part.stride);
    gradient(part, rows, own.data(), watch);
    for (std::size_t a = 0; a < part.stride; ++a) outside[a] -= own[a];
    const double inner = std::max(0.3 * tol, 0.1 * progress.violation);
    const Progress sub = Smo<T, GramRows<T>>(part, rows)
                             .run(inner, max_iter - progress.iterations, outside.data(), watch);
    progress.iterations += sub.iterations;
    idle += sub.converged ? 1 : 100;
    std::vector<std::size_t> moved;
    std::vector<double> by;
    bool stuck = true;
    for (std::size_t a = 0; a < m; ++a) {
      double change = 0;
      for (std::size_t q = 0; q < dual.Q; ++q) {
        double& u = dual.u[q * dual.stride + points[a]];
        const double d = part.u[q * part.stride + a] - u;
        stuck &= d == 0;
        change += d;
        u = part.u[q * part.stride + a];
      }
      if (change != 0) moved.push_back(points[a]), by.push_back(change);
    }
    if (stuck) break;
    dual.G = part.G;
    source.add(moved, by, dual.f.data(), watch);
  }
  return progress;
}
