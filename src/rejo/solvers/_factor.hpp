// Low rank: K ~ Z Z' by pivoted Cholesky.  Pivots are sought on a sample of the points; all other
// rows follow by forward substitution, and points that the pivots miss become pivots themselves.
// Included once for each instruction set, inside its own namespace: no include guard.

class Cholesky {
 public:
  Cholesky(const Kernel& kernel, const Points<double>& points, std::size_t max_rank, Factor& out)
      : kernel_(kernel), points_(points), values_(kernel, points, points), max_rank_(max_rank),
        out_(out), row_(padded(points.n)) {
    out.n = points.n;
    out.residual.resize(points.n);
    for (std::size_t i = 0; i < points.n; ++i) out.residual[i] = diagonal(i);
  }

  // False where the rank needed for residuals below `eps` exceeds `max_rank`.
  bool run(double eps, Watch& watch) {
    const std::size_t n = points_.n, step = std::max<std::size_t>(1, n / kSample);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < n; i += step) rows.push_back(i);
    // The sample's rows stand at the top of Z until its pivots are known.
    out_.width = (max_rank_ + kD - 1) / kD * kD;
    out_.Z.reset(padded(rows.size()) * out_.width);
    if (!pivot(rows, eps, watch)) return false;
    if (step == 1) {
      resize((out_.rank + kD - 1) / kD * kD, n);
      return true;
    }
    extend(rows, watch);
    rows.resize(n);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return pivot(rows, eps, watch);
  }

 private:
  double diagonal(std::size_t i) {
    if (kernel_.name == KernelName::rbf) return 1.0;
    alignas(64) double value[kTile];
    const std::size_t first = i / kTile * kTile;
    values_.row(i, first, first + kTile, value);
    return value[i - first];
  }

  // Adds pivots until no residual among `rows` exceeds eps; Z's row t belongs to point rows[t].
  bool pivot(const std::vector<std::size_t>& rows, double eps, Watch& watch) {
    Factor& F = out_;
    double start = 0;  // mean residual with no pivot
    for (const std::size_t i : rows) start += diagonal(i) / static_cast<double>(rows.size());
    while (true) {
      std::size_t best = 0;
      double mean = 0;
      for (std::size_t t = 0; t < rows.size(); ++t) {
        mean += F.residual[rows[t]];
        if (F.residual[rows[t]] > F.residual[rows[best]]) best = t;
      }
      mean /= static_cast<double>(rows.size());
      const double largest = F.residual[rows[best]];
      if (!(largest > eps)) return true;
      const std::size_t k = F.rank;
      if (k >= max_rank_) return false;
      if (k >= 16 && k % 8 == 0 && hopeless(k, start / mean, mean / eps)) return false;
      if (k == F.width) resize(F.width + 2 * kD, rows.size());
      watch.check();
      values_.row(rows[best], 0, row_.size(), row_.data());
      const double scale = 1 / std::sqrt(largest);
      const double* pivot_row = F.row(best);
      for (std::size_t t = 0; t < rows.size(); ++t) {
        double* z = F.Z.data() + t * F.width;
        double& residual = F.residual[rows[t]];
        z[k] = (row_[rows[t]] - dot(z, pivot_row, k)) * scale;
        residual = std::max(0.0, residual - z[k] * z[k]);
      }
      F.residual[rows[best]] = 0;
      F.pivots.push_back(rows[best]);
      ++F.rank;
    }
  }

  // The mean residual falls about geometrically, faster towards the end: after k pivots it has
  // fallen by `done` and must fall by `left` more.
  bool hopeless(std::size_t k, double done, double left) const {
    const double rate = std::max(std::log(done) / static_cast<double>(k), 1e-3);
    const double more = left > 1 ? 0.5 * std::log(left) / rate : 0.0;
    return static_cast<double>(k) + more > static_cast<double>(max_rank_);
  }

  void resize(std::size_t width, std::size_t rows) {
    Buffer<double> Z(padded(rows) * width);
    for (std::size_t t = 0; t < rows; ++t)
      std::copy(out_.row(t), out_.row(t) + out_.rank, &Z[t * width]);
    out_.Z = std::move(Z);
    out_.width = width;
  }

  // Z = K_P L^-T for every point, L = Z_P: forward substitution on tiles of points.
  void extend(const std::vector<std::size_t>& rows, Watch& watch) {
    constexpr std::size_t kSome = 4 * kD;
    Factor& F = out_;
    const std::size_t r = F.rank, n = points_.n;
    Buffer<double> tile(r * kSome), L(r * r);
    std::vector<std::size_t> place(n);
    for (std::size_t t = 0; t < rows.size(); ++t) place[rows[t]] = t;
    for (std::size_t a = 0; a < r; ++a) {
      const double* z = F.row(place[F.pivots[a]]);
      std::copy(z, z + r, &L[a * r]);
    }
    F.width = (r + kD - 1) / kD * kD;
    F.Z.reset(padded(n) * F.width);
    for (std::size_t base = 0; base < padded(n); base += kSome) {
      watch.check();
      for (std::size_t a = 0; a < r; ++a) {
        double* t = &tile[a * kSome];
        values_.row(F.pivots[a], base, base + kSome, t);
        vd v[4];
        for (std::size_t c = 0; c < 4; ++c) v[c] = load(t + c * kD);
        for (std::size_t b = 0; b < a; ++b) {
          const vd l = splat(L[a * r + b]);
          for (std::size_t c = 0; c < 4; ++c) v[c] -= l * load(&tile[b * kSome + c * kD]);
        }
        const double inverse = 1 / L[a * r + a];
        for (std::size_t c = 0; c < 4; ++c) store(t + c * kD, v[c] * inverse);
      }
      for (std::size_t i = base; i < std::min(n, base + kSome); ++i) {
        double* z = F.Z.data() + i * F.width;
        double norm = 0;
        for (std::size_t a = 0; a < r; ++a) {
          z[a] = tile[a * kSome + (i - base)];
          norm += z[a] * z[a];
        }
        F.residual[i] = std::max(0.0, diagonal(i) - norm);
      }
    }
    for (const std::size_t i : F.pivots) F.residual[i] = 0;
  }

  static constexpr std::size_t kSample = 700;
  const Kernel& kernel_;
  const Points<double>& points_;
  Values<double> values_;
  std::size_t max_rank_;
  Factor& out_;
  Buffer<double> row_;
};
