// Crossover: engine 1 on a working set of points of K = Z Z', the rest held fixed, until nothing
// violates.
// Included once for each instruction set, inside its own namespace: no include guard.

// f += Z Z' delta, with delta given on some points
inline void move(const Factor& factor, const std::vector<std::size_t>& points,
                 const std::vector<double>& delta, Dual& dual) {
  Buffer<double> w(factor.width);
  for (std::size_t a = 0; a < points.size(); ++a)
    axpy(delta[a], factor.row(points[a]), w.data(), factor.width);
  for (std::size_t i = 0; i < dual.n; ++i) dual.f[i] += dot(factor.row(i), w.data(), factor.width);
}

// f = Z Z' B
inline void gradient(const Factor& factor, Dual& dual) {
  std::vector<std::size_t> points;
  std::vector<double> weights;
  for (std::size_t i = 0; i < dual.n; ++i)
    if (const double B = dual.weight(i)) points.push_back(i), weights.push_back(B);
  std::fill(dual.f.data(), dual.f.data() + dual.stride, 0.0);
  move(factor, points, weights, dual);
}

class WorkingSet {
 public:
  WorkingSet(const Dual& dual, std::size_t most) : most_(most), taken_(dual.n) {}

  // Points with free variables, and those of the worst violators on either side of `middle`.
  const std::vector<std::size_t>& choose(const Dual& dual, double middle) {
    points_.clear();
    const double* target = dual.targets();
    up_.clear();
    low_.clear();
    std::fill(taken_.begin(), taken_.end(), char{0});
    for (std::size_t q = 0; q < dual.Q; ++q) {
      const double offset = dual.offset(q);
      for (std::size_t i = 0, k = q * dual.stride; i < dual.n; ++i, ++k) {
        const bool rises = dual.u[k] < dual.hi(k), falls = dual.u[k] > dual.lo(k);
        const double v = target[k] - dual.f[i] - offset;
        if (rises && falls) take(i, most_ / 2);
        if (rises && v > middle) up_.push_back({-v, i});
        if (falls && v < middle) low_.push_back({v, i});
      }
    }
    const std::size_t grow = std::max<std::size_t>(16, (most_ - points_.size()) / 2);
    for (auto* side : {&up_, &low_}) {
      const std::size_t some = std::min(grow, side->size());
      std::partial_sort(side->begin(), side->begin() + static_cast<std::ptrdiff_t>(some), side->end());
      for (std::size_t k = 0; k < some; ++k) take((*side)[k].second, most_ + 2);
    }
    std::sort(points_.begin(), points_.end());
    return points_;
  }

 private:
  void take(std::size_t i, std::size_t limit) {
    if (taken_[i] || points_.size() >= limit) return;
    taken_[i] = 1;
    points_.push_back(i);
  }
  std::size_t most_;
  std::vector<char> taken_;
  std::vector<std::size_t> points_;
  std::vector<std::pair<double, std::size_t>> up_, low_;
};

constexpr int kRounds = 10000;

inline Progress crossover(Dual& dual, const Factor& factor, std::size_t most, double tol,
                          Count max_iter, Watch& watch) {
  Progress progress;
  WorkingSet set(dual, most);
  Buffer<double> K;
  Dual part;
  for (int round = 0; round < kRounds; ++round) {
    const Spread spread = violation(dual);
    progress.violation = spread.width();
    progress.converged = progress.violation <= tol;
    if (progress.converged || progress.iterations >= max_iter) break;
    watch.check();
    const std::vector<std::size_t>& points = set.choose(dual, spread.middle());
    const std::size_t m = points.size();
    part.resize(m, dual.Q);
    part.h2 = dual.h2;
    part.G = dual.G;
    if (!dual.target.empty()) part.target.reset(dual.Q * part.stride);
    for (std::size_t a = 0; a < m; ++a) {
      part.f[a] = dual.f[points[a]];
      for (std::size_t q = 0; q < dual.Q; ++q) {
        const std::size_t to = q * part.stride + a, from = q * dual.stride + points[a];
        part.y[to] = dual.y[from];
        if (!dual.target.empty()) part.target[to] = dual.target[from];
        part.cap[to] = dual.cap[from];
        part.u[to] = dual.u[from];
      }
    }
    K.reset(m * part.stride);
    for (std::size_t a = 0; a < m; ++a)
      for (std::size_t b = 0; b <= a; ++b)
        K[a * part.stride + b] = K[b * part.stride + a] =
            dot(factor.row(points[a]), factor.row(points[b]), factor.width);
    GramRows<double> rows{K.data(), part.stride};
    std::vector<double> outside(part.f.data(), part.f.data() + part.stride), own(part.stride);
    gradient(part, rows, own.data(), watch);
    for (std::size_t a = 0; a < part.stride; ++a) outside[a] -= own[a];
    std::vector<double> delta(m);
    for (std::size_t a = 0; a < m; ++a) delta[a] = -part.weight(a);
    const double inner = std::max(0.3 * tol, 0.05 * progress.violation);
    const Progress sub = Smo<double, GramRows<double>>(part, rows)
                             .run(inner, max_iter - progress.iterations, outside.data(), watch);
    progress.iterations += sub.iterations;
    if (sub.iterations == 0) break;
    dual.G = part.G;
    for (std::size_t a = 0; a < m; ++a) {
      delta[a] += part.weight(a);
      for (std::size_t q = 0; q < dual.Q; ++q)
        dual.u[q * dual.stride + points[a]] = part.u[q * part.stride + a];
    }
    move(factor, points, delta, dual);
  }
  return progress;
}
