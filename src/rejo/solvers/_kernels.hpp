// Kernel values: one point against many, Gram matrices, and g = sum_j coef_j k(x_j, .).
// Included once for each instruction set, inside its own namespace: no include guard.

inline vd transform(const Kernel& kernel, vd t) {
  switch (kernel.name) {
    case KernelName::linear:
      return t;
    case KernelName::rbf:  // t = squared distance
      return exp(min(-kernel.gamma * t, splat(0.0)));
    case KernelName::poly: {
      const vd base = kernel.gamma * t + kernel.coef0;
      vd power = splat(1.0), square = base;
      for (int d = kernel.degree; d > 0; d >>= 1, square *= square)
        if (d & 1) power *= square;
      return power;
    }
    default: {
      vd out = kernel.gamma * t + kernel.coef0;
      for (std::size_t k = 0; k < kD; ++k) out[k] = std::tanh(out[k]);
      return out;
    }
  }
}

// out[j] = k(x, point j) for j in [begin, end), both multiples of the vector length; x is (p,).
// Squared distances come from differences: the expansion x'x - 2x'y + y'y cancels.
template <bool Distance, std::size_t Tile>
inline void kernel_tile(const Kernel& kernel, const double* x, const Points& points,
                        std::size_t j, double* out) {
  vd acc[Tile] = {};
  const double* column = points.columns.data() + j;
  for (std::size_t k = 0; k < points.p; ++k, column += points.stride) {
    const vd xk = splat(x[k]);
    for (std::size_t t = 0; t < Tile; ++t) {
      const vd c = load(column + t * kD);
      if (Distance) {
        const vd d = c - xk;
        acc[t] += d * d;
      } else {
        acc[t] += c * xk;
      }
    }
  }
  for (std::size_t t = 0; t < Tile; ++t) store(out + t * kD, transform(kernel, acc[t]));
}

template <bool Distance>
inline void kernel_run(const Kernel& kernel, const double* x, const Points& points,
                       std::size_t begin, std::size_t end, double* out) {
  std::size_t j = begin;
  for (; j + 4 * kD <= end; j += 4 * kD)
    kernel_tile<Distance, 4>(kernel, x, points, j, out + (j - begin));
  for (; j < end; j += kD) kernel_tile<Distance, 1>(kernel, x, points, j, out + (j - begin));
}

// Sparse: scatter x once, then one dot product a row.
inline void kernel_run_sparse(const Kernel& kernel, const double* x, double norm,
                              const Points& points, std::size_t begin, std::size_t end,
                              double* out) {
  for (std::size_t j = begin; j < end; ++j) {
    double s = 0;
    if (j < points.n)
      for (std::int64_t k = points.indptr[j]; k < points.indptr[j + 1]; ++k)
        s += points.values[k] * x[points.indices[k]];
    if (kernel.name == KernelName::rbf)
      s = j < points.n ? std::max(0.0, norm + points.squared_norms[j] - 2 * s) : 0.0;
    out[j - begin] = s;
  }
  for (std::size_t j = 0; j < end - begin; j += kD) store(out + j, transform(kernel, load(out + j)));
}

// One point of a set, ready to be compared with the points of another.
class Probe {
 public:
  Probe(const Kernel& kernel, const Points& from, const Points& to)
      : kernel_(kernel), from_(from), to_(to), x_(from.p) {}
  // out[j - begin] = k(from_i, to_j); begin and end are multiples of the vector length
  void row(std::size_t i, std::size_t begin, std::size_t end, double* out) {
    if (to_.sparse()) {
      const std::int64_t first = from_.indptr[i], last = from_.indptr[i + 1];
      for (std::int64_t k = first; k < last; ++k) x_[from_.indices[k]] += from_.values[k];
      kernel_run_sparse(kernel_, x_.data(), from_.squared_norms[i], to_, begin, end, out);
      for (std::int64_t k = first; k < last; ++k) x_[from_.indices[k]] = 0;
      return;
    }
    const double* x = from_.rows ? from_.rows + i * from_.p : x_.data();
    if (!from_.rows)
      for (std::size_t k = 0; k < from_.p; ++k) x_[k] = from_.columns[k * from_.stride + i];
    if (kernel_.name == KernelName::rbf)
      kernel_run<true>(kernel_, x, to_, begin, end, out);
    else
      kernel_run<false>(kernel_, x, to_, begin, end, out);
  }

 private:
  const Kernel& kernel_;
  const Points &from_, &to_;
  std::vector<double> x_;
};

// The Gram matrix (n, ld), ld >= padded(n): the upper triangle, then its mirror, in blocks.
template <class T>
void gram(const Kernel& kernel, const Points& points, T* K, std::size_t ld, Watch& watch) {
  constexpr std::size_t kBlock = 64;
  const std::size_t n = points.n;
  Probe probe(kernel, points, points);
  Buffer<double> row(padded(n));
  for (std::size_t top = 0; top < n; top += kBlock) {
    watch.check();
    const std::size_t bottom = std::min(n, top + kBlock);
    for (std::size_t i = top; i < bottom; ++i) {
      probe.row(i, top, padded(n), row.data());
      T* out = K + i * ld + top;
      const std::size_t length = padded(n) - top;
      for (std::size_t j = 0; j < length; ++j) out[j] = static_cast<T>(row[j]);
    }
    for (std::size_t left = bottom; left < n; left += kBlock)
      for (std::size_t j = left; j < std::min(n, left + kBlock); ++j)
        for (std::size_t i = top; i < bottom; ++i) K[j * ld + i] = K[i * ld + j];
  }
}

// g at every point of `at`: one row of kernel values and one dot product each.
inline void evaluate(const Kernel& kernel, const Points& basis, const double* coef,
                     const Points& at, double* g, Watch& watch) {
  Probe probe(kernel, at, basis);
  const std::size_t m = padded(basis.n);
  Buffer<double> row(m), weight(m);
  std::copy(coef, coef + basis.n, weight.data());
  for (std::size_t i = 0; i < at.n; ++i) {
    watch.check(static_cast<double>(m * (at.p + 8)));
    probe.row(i, 0, m, row.data());
    g[i] = dot(row.data(), weight.data(), m);
  }
}

// Rows of a Gram matrix in memory.
template <class T>
struct GramRows {
  const T* K;
  std::size_t ld;
  const T* row(std::size_t i) const { return K + i * ld; }
  const T* peek(std::size_t i) const { return K + i * ld; }
  double entry(std::size_t i, std::size_t j) const { return static_cast<double>(K[i * ld + j]); }
  double cost() const { return 1; }  // of a row, in passes over it
};

// Rows on demand: as many are kept as fit in `bytes`, at least four; the longest unused leaves.
template <class T>
class CachedRows {
 public:
  CachedRows(const Kernel& kernel, const Points& points, std::size_t bytes)
      : points_(points), probe_(kernel, points, points),
        places_(std::max<std::size_t>(4, bytes / (sizeof(T) * padded(points.n)))),
        place_of_(points.n, kNowhere), wide_(padded(points.n)), spare_(padded(points.n)) {}

  // Valid until two other rows were asked for.
  const T* row(std::size_t i) {
    std::size_t place = place_of_[i];
    if (place == kNowhere) {
      if (rows_.size() < places_) {
        place = rows_.size();
        rows_.emplace_back(padded(points_.n), false);
        owner_.push_back(i);
        used_.push_back(0);
      } else {
        place = static_cast<std::size_t>(std::min_element(used_.begin(), used_.end()) - used_.begin());
        place_of_[owner_[place]] = kNowhere;
        owner_[place] = i;
      }
      place_of_[i] = place;
      compute(i, rows_[place].data());
    }
    used_[place] = ++clock_;
    return rows_[place].data();
  }
  // The same, but a row that is not kept is not kept now either.  Valid until the next call.
  const T* peek(std::size_t i) {
    if (place_of_[i] != kNowhere) return rows_[place_of_[i]].data();
    compute(i, spare_.data());
    return spare_.data();
  }
  double entry(std::size_t i, std::size_t j) {
    for (const auto& [a, b] : {std::pair(i, j), std::pair(j, i)})
      if (place_of_[a] != kNowhere) return static_cast<double>(rows_[place_of_[a]][b]);
    alignas(64) double block[kD];
    const std::size_t base = j / kD * kD;
    probe_.row(i, base, base + kD, block);
    return block[j - base];
  }
  double cost() const { return static_cast<double>(points_.p) + 8; }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  void compute(std::size_t i, T* out) {
    probe_.row(i, 0, wide_.size(), wide_.data());
    for (std::size_t j = 0; j < wide_.size(); ++j) out[j] = static_cast<T>(wide_[j]);
  }

  const Points& points_;
  Probe probe_;
  std::size_t places_;
  std::vector<Buffer<T>> rows_;
  std::vector<std::size_t> place_of_, owner_;
  std::vector<Count> used_;
  Count clock_ = 0;
  Buffer<double> wide_;
  Buffer<T> spare_;
};
