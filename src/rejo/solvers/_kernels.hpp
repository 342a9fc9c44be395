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
    for (std::size_t k = 0; k < from_.p; ++k) x_[k] = from_.columns[k * from_.stride + i];
    if (kernel_.name == KernelName::rbf)
      kernel_run<true>(kernel_, x_.data(), to_, begin, end, out);
    else
      kernel_run<false>(kernel_, x_.data(), to_, begin, end, out);
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
    if (i % 64 == 0) watch.check();
    probe.row(i, 0, m, row.data());
    g[i] = dot(row.data(), weight.data(), m);
  }
}
