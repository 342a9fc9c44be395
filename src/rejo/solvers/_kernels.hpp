// Kernel values: a few points against many, Gram matrices, and sums of kernel functions.
// Included once for each instruction set, inside its own namespace: no include guard.

template <class T>
inline typename Simd<T>::V transform(const Kernel& kernel, typename Simd<T>::V t) {
  typedef typename Simd<T>::V V;
  const T gamma = static_cast<T>(kernel.gamma), coef0 = static_cast<T>(kernel.coef0);
  switch (kernel.name) {
    case KernelName::linear:
      return t;
    case KernelName::rbf:  // t = squared distance
      return exp(min(-gamma * t, V{}));
    case KernelName::poly: {
      const V base = gamma * t + coef0;
      V power = splat(T(1)), square = base;
      for (int d = kernel.degree; d > 0; d >>= 1, square *= square)
        if (d & 1) power *= square;
      return power;
    }
    default: {
      V out = gamma * t + coef0;
      for (std::size_t k = 0; k < Simd<T>::N; ++k) out[k] = std::tanh(out[k]);
      return out;
    }
  }
}

constexpr std::size_t kTall = REJO_WIDTH == 64 ? 8 : 4;  // points at a time: sums stay in registers

// K[r] (Wide vectors) = k(x_r, points of a tile from `at` on), for the points x (p, Tall).
// Squared distances come from differences: the expansion x'x - 2x'y + y'y cancels.
template <class T, std::size_t Tall, std::size_t Wide, bool Distance>
inline void strip(const Kernel& kernel, const T* x, const T* at, std::size_t p,
                  typename Simd<T>::V (*K)[Wide]) {
  typedef typename Simd<T>::V V;
  V sums[Tall][Wide] = {};
  for (std::size_t k = 0; k < p; ++k, at += kTile, x += Tall) {
    V c[Wide];
    for (std::size_t w = 0; w < Wide; ++w) c[w] = load(at + w * Simd<T>::N);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Tall; ++r)
      for (std::size_t w = 0; w < Wide; ++w) {
        const V d = Distance ? c[w] - x[r] : c[w];
        sums[r][w] += Distance ? d * d : d * x[r];
      }
  }
  for (std::size_t r = 0; r < Tall; ++r)
    for (std::size_t w = 0; w < Wide; ++w) K[r][w] = transform<T>(kernel, sums[r][w]);
}

// out (Tall, ld)[r][j - begin] = k(x_r, y_j) for the points y of whole tiles.
template <class T, std::size_t Tall>
inline void strips(const Kernel& kernel, const T* x, const Points<T>& y, std::size_t begin,
                   std::size_t end, T* out, std::size_t ld) {
  typedef typename Simd<T>::V V;
  constexpr std::size_t kWide = std::min<std::size_t>(Tall > 1 ? 2 : 4, kTile / Simd<T>::N);
  constexpr std::size_t kStep = kWide * Simd<T>::N;
  V K[Tall][kWide];
  for (std::size_t j = begin; j < end; j += kStep) {
    if (kernel.name == KernelName::rbf)
      strip<T, Tall, kWide, true>(kernel, x, y.at(j), y.p, K);
    else
      strip<T, Tall, kWide, false>(kernel, x, y.at(j), y.p, K);
    for (std::size_t r = 0; r < Tall; ++r)
      for (std::size_t w = 0; w < kWide; ++w) store(out + r * ld + (j - begin) + w * Simd<T>::N, K[r][w]);
  }
}

// Calls `use(Tall, i, {i, i + 1, ...})` for points from `begin` on, kTall at a time as long as it goes.
template <class Use>
inline void in_groups(std::size_t begin, std::size_t end, Use use) {
  std::size_t who[kTall], i = begin;
  for (; i + kTall <= end; i += kTall) {
    std::iota(who, who + kTall, i);
    use(std::integral_constant<std::size_t, kTall>{}, i, who);
  }
  for (; i < end; ++i) use(std::integral_constant<std::size_t, 1>{}, i, &i);
}

constexpr double kAtOnce = 4e8;  // operations of a thread between two looks for Ctrl-C

// Kernel values of points of one set against those of another.
template <class T>
class Values {
 public:
  Values(const Kernel& kernel, const Points<T>& from, const Points<T>& to)
      : kernel_(kernel), from_(from), to_(to), x_(kTall * from.p), wide_(to.csr ? kTall * to.p : 0) {}

  // out (Tall, ld)[r][j - begin] = k(from_{who[r]}, to_j) for j in [begin, end): whole tiles, or for
  // one row in double four vectors
  template <std::size_t Tall>
  void rows(const std::size_t* who, std::size_t begin, std::size_t end, T* out, std::size_t ld) {
    if (to_.csr) return sparse_rows<Tall>(who, begin, end, out, ld);
    for (std::size_t r = 0; r < Tall; ++r)
      for (std::size_t k = 0; k < from_.p; ++k)
        x_[k * Tall + r] = from_.rows ? static_cast<T>(from_.rows[who[r] * from_.p + k])
                                      : from_.at(who[r])[k * kTile];
    strips<T, Tall>(kernel_, x_.data(), to_, begin, end, out, ld);
  }
  void row(std::size_t i, std::size_t begin, std::size_t end, T* out) { rows<1>(&i, begin, end, out, 0); }

 private:
  // Sparse: the rows of `from` side by side, so that each entry of a row of `to` serves them all.
  template <std::size_t Tall>
  void sparse_rows(const std::size_t* who, std::size_t begin, std::size_t end, T* out, std::size_t ld) {
    const Csr &from = *from_.csr, &to = *to_.csr;
    for (std::size_t r = 0; r < Tall; ++r)
      for (std::int64_t k = from.indptr[who[r]]; k < from.indptr[who[r] + 1]; ++k)
        wide_[static_cast<std::size_t>(from.indices[k]) * Tall + r] += from.values[k];
    for (std::size_t j = begin; j < end; ++j) {
      double sums[Tall] = {};
      for (std::int64_t k = j < to_.n ? to.indptr[j] : 0; k < (j < to_.n ? to.indptr[j + 1] : 0); ++k) {
        const double* x = &wide_[static_cast<std::size_t>(to.indices[k]) * Tall];
        for (std::size_t r = 0; r < Tall; ++r) sums[r] += to.values[k] * x[r];
      }
      for (std::size_t r = 0; r < Tall; ++r) {
        if (kernel_.name == KernelName::rbf && j < to_.n)
          sums[r] = std::max(0.0, from.squared_norms[who[r]] + to.squared_norms[j] - 2 * sums[r]);
        out[r * ld + (j - begin)] = static_cast<T>(sums[r]);
      }
    }
    for (std::size_t r = 0; r < Tall; ++r) {
      for (std::int64_t k = from.indptr[who[r]]; k < from.indptr[who[r] + 1]; ++k)
        wide_[static_cast<std::size_t>(from.indices[k]) * Tall + r] = 0;
      for (T* at = out + r * ld; at < out + r * ld + (end - begin); at += Simd<T>::N)
        store(at, transform<T>(kernel_, load(at)));
    }
  }

  const Kernel& kernel_;
  const Points<T>&from_, &to_;
  std::vector<T> x_;
  std::vector<double> wide_;  // (p, Tall)
};

// The Gram matrix (n, ld), ld >= padded(n): the upper triangle, then its mirror, in blocks.
template <class T>
void gram(const Kernel& kernel, const Points<T>& points, T* K, std::size_t ld, std::size_t threads,
          Watch& watch) {
  const std::size_t n = points.n, width = padded(n);
  const double cost = static_cast<double>(width) * points.cost();
  threads = worth(threads, cost * static_cast<double>(n));
  const std::size_t most = std::min(n / 8, static_cast<std::size_t>(kAtOnce / cost));
  const std::size_t batch = threads * padded(std::max<std::size_t>(most, 1));
  for (std::size_t first = 0; first < n; first += batch) {
    share(threads, first, std::min(n, first + batch), kTile, [&](std::size_t top, std::size_t bottom) {
      Values<T> values(kernel, points, points);
      in_groups(top, bottom, [&](auto tall, std::size_t i, const std::size_t* who) {
        values.template rows<tall>(who, top, width, K + i * ld + top, ld);
      });
      for (std::size_t j = bottom; j < n; j += kTile)
        for (std::size_t b = j; b < std::min(n, j + kTile); ++b)
          for (std::size_t i = top; i < bottom; ++i) K[b * ld + i] = K[i * ld + b];
    });
    watch.check(cost * static_cast<double>(std::min(n - first, batch)));
  }
}

// f_j += sum_a coef_a k(x_{chosen_a}, x_j) for all points x, in double whatever T is.
template <class T>
void add(const Kernel& kernel, const Points<T>& points, const std::vector<std::size_t>& chosen,
         const std::vector<double>& coef, double* f, std::size_t threads, Watch& watch) {
  constexpr std::size_t kChunk = 16 * kTile;
  const double cost = static_cast<double>(padded(points.n)) * points.cost();
  threads = worth(threads, cost * static_cast<double>(chosen.size()));
  const std::size_t most = kTall + static_cast<std::size_t>(kAtOnce * static_cast<double>(threads) / cost);
  for (std::size_t start = 0; start < chosen.size(); start += most) {
    const std::size_t stop = std::min(chosen.size(), start + most);
    share(threads, 0, padded(points.n), kTile, [&](std::size_t begin, std::size_t end) {
      Values<T> values(kernel, points, points);
      Buffer<T> K(kTall * kChunk);
      for (std::size_t base = begin; base < end; base += kChunk) {
        const std::size_t last = std::min(end, base + kChunk);
        in_groups(start, stop, [&](auto tall, std::size_t a, const std::size_t*) {
          values.template rows<tall>(&chosen[a], base, last, K.data(), kChunk);
          for (std::size_t j = base; j < last; ++j) {
            double s = f[j];
            for (std::size_t r = 0; r < tall; ++r)
              s += coef[a + r] * static_cast<double>(K[r * kChunk + (j - base)]);
            f[j] = s;
          }
        });
      }
    });
    watch.check(cost * static_cast<double>(stop - start));
  }
}

// g at every point of `at`: kernel values with the basis, and one dot product each.
inline void evaluate(const Kernel& kernel, const Points<double>& basis, const double* coef,
                     const Points<double>& at, double* g, std::size_t threads, Watch& watch) {
  constexpr std::size_t kChunk = 16 * kTile;
  const std::size_t m = padded(basis.n);
  Buffer<double> weight(m);
  std::copy(coef, coef + basis.n, weight.data());
  const double cost = static_cast<double>(m + 1) * basis.cost();
  threads = worth(threads, cost * static_cast<double>(at.n));
  const std::size_t most = threads * (kTall + static_cast<std::size_t>(kAtOnce / cost));
  for (std::size_t start = 0; start < at.n; start += most) {
    const std::size_t stop = std::min(at.n, start + most);
    share(threads, start, stop, kTall, [&](std::size_t begin, std::size_t end) {
      Values<double> values(kernel, at, basis);
      Buffer<double> K(kTall * kChunk);
      std::fill(g + begin, g + end, 0.0);
      for (std::size_t base = 0; base < m; base += kChunk) {
        const std::size_t last = std::min(m, base + kChunk);
        in_groups(begin, end, [&](auto tall, std::size_t i, const std::size_t* who) {
          values.template rows<tall>(who, base, last, K.data(), kChunk);
          for (std::size_t r = 0; r < tall; ++r)
            g[i + r] += dot(&K[r * kChunk], &weight[base], last - base);
        });
      }
    });
    watch.check(cost * static_cast<double>(stop - start));
  }
}

// Rows of a Gram matrix in memory.
template <class T>
struct GramRows {
  const T* K;
  std::size_t ld;
  const T* row(std::size_t i) const { return K + i * ld; }
  double entry(std::size_t i, std::size_t j) const { return static_cast<double>(K[i * ld + j]); }
};
