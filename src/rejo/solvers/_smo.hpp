// Engine 1: sequential minimal optimisation on the structure, with Newton steps on the free set.
// State: g at n points and Q sums; no replica is ever formed.
// Included once for each instruction set, inside its own namespace: no include guard.

// The free variables' quadratic, min 1/2 d'Hd - v'd with sum d = 0, by Cholesky: the step is cut
// at the first bound, that variable is fixed there, its column leaves the factor, and so on.
class FreeSet {
 public:
  std::vector<std::size_t> variable;  // indices into the dual's (Q, stride) arrays
  std::vector<double> slope;          // v = target - f - offset of each

  static double cost(std::size_t m) { return static_cast<double>(m * m * m) / 6; }

  // Moves the duals towards the minimum of the quadratic within the box, as far as `allowance`
  // operations take it; returns those spent.
  template <class Rows>
  double descend(Dual& dual, Rows& rows, double ridge, double allowance) {
    double flops = cost(variable.size());
    fill(dual, rows, ridge);
    if (!factorise(ridge)) return flops;
    while (left_.size() > 1 && flops <= allowance) {
      const std::size_t m = left_.size();
      const double lambda = direction();
      flops += 2.0 * static_cast<double>(m * m);
      double step = 1;
      std::size_t blocking = m;
      for (std::size_t a = 0; a < m; ++a) {
        const std::size_t k = left_[a];
        const double room = d_[a] > 0 ? dual.hi(k) - dual.u[k] : dual.lo(k) - dual.u[k];
        const double reach = d_[a] != 0 ? room / d_[a] : 2.0;
        if (reach < step) step = reach, blocking = a;
      }
      step = std::max(step, 0.0);
      for (std::size_t a = 0; a < m; ++a) {
        const std::size_t k = left_[a];
        const double next = a == blocking ? (d_[a] > 0 ? dual.hi(k) : dual.lo(k))
                                          : dual.u[k] + step * d_[a];
        dual.G[k / dual.stride] += next - dual.u[k];
        dual.u[k] = next;
        row(a)[m] += step * (lambda * row(a)[m + 1] - row(a)[m]);
      }
      if (blocking == m) break;
      remove(blocking);
      flops += 3.0 * static_cast<double>((m - 1) * (m - 1));
    }
    return flops;
  }

 private:
  double* row(std::size_t a) { return &R_[a * ld_]; }

  // The upper triangle of H_ab = K_{i_a i_b} + h^2 [q_a == q_b >= 1] + ridge, and two columns
  // beside it: the slopes, and ones.
  template <class Rows>
  void fill(const Dual& dual, Rows& rows, double ridge) {
    const std::size_t m = variable.size();
    left_ = variable;
    ld_ = padded(m + 2) + kD;  // not a power of two, which caches are slow with
    if (R_.size() < (m + kPanel) * ld_) R_.reset((m + kPanel) * ld_);
    point_.resize(m);
    for (std::size_t a = 0; a < m; ++a) point_[a] = variable[a] % dual.stride;
    for (std::size_t a = 0; a < m; ++a) {
      const auto* K = rows.row(point_[a]);
      const std::size_t q = variable[a] / dual.stride, end = (q + 1) * dual.stride;
      double* R = row(a);
      for (std::size_t b = a; b < m; ++b)
        R[b] = static_cast<double>(K[point_[b]]) + (q > 0 && variable[b] < end ? dual.h2 : 0.0);
      R[a] *= 1 + ridge;
      R[m] = slope[a];
      R[m + 1] = 1;
    }
  }

  // H = R'R; the columns beside it become R'^-1 times themselves.
  bool factorise(double ridge) {
    const std::size_t m = left_.size();
    for (std::size_t top = 0; top < m; top += kPanel) {
      double whole[kPanel];
      for (std::size_t r = 0; r < kPanel; ++r) whole[r] = row(top + r)[top + r];
      for (std::size_t j = top / kD * kD; j < m + 2; j += 2 * kD) {  // less what earlier rows give
        vd sums[kPanel][2] = {};
        for (std::size_t c = 0; c < top; ++c) {
          const double *at = row(c) + j, *by = row(c) + top;
          for (std::size_t r = 0; r < kPanel; ++r)
            for (std::size_t w = 0; w < 2; ++w) sums[r][w] += by[r] * load(at + w * kD);
        }
        for (std::size_t r = 0; r < kPanel; ++r)
          for (std::size_t w = 0; w < 2; ++w) {
            double* to = row(top + r) + j + w * kD;
            store(to, load(to) - sums[r][w]);
          }
      }
      for (std::size_t a = top; a < std::min(m, top + kPanel); ++a) {
        double* R = row(a);
        for (std::size_t c = top; c < a; ++c) axpy(-row(c)[a], row(c) + a, R + a, m + 2 - a);
        if (!(R[a] > 0.25 * ridge * whole[a - top])) return false;
        const double scale = 1 / std::sqrt(R[a]);
        for (std::size_t j = a; j < m + 2; ++j) R[j] *= scale;
      }
    }
    return true;
  }

  // The Newton step d over the variables still free; returns the multiplier of its sum.
  double direction() {
    const std::size_t m = left_.size();
    d_.resize(m);
    double sd = 0, s1 = 0;
    for (std::size_t a = 0; a < m; ++a) {
      const double *beside = row(a) + m;
      sd += beside[0] * beside[1];
      s1 += beside[1] * beside[1];
    }
    const double lambda = s1 > 0 ? sd / s1 : 0.0;
    double drift = 0;
    for (std::size_t end = m, top; end > 0; end = top) {
      top = end - std::min(end, kPanel);
      double sums[kPanel];
      dots<kPanel>(row(top) + end, ld_, d_.data() + end, m - end, sums);
      for (std::size_t a = end; a-- > top;) {
        const double* R = row(a);
        double s = R[m] - lambda * R[m + 1] - sums[a - top];
        for (std::size_t b = a + 1; b < end; ++b) s -= R[b] * d_[b];
        drift += d_[a] = s / R[a];
      }
    }
    // Where H is nearly singular the parts cancel: the sum must stay 0 all the same.
    for (double& d : d_) d -= drift / static_cast<double>(m);
    return lambda;
  }

  // Deletes column `gone` of R and restores the triangle by Givens rotations of rows.
  void remove(std::size_t gone) {
    const std::size_t m = left_.size();
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(gone));
    for (std::size_t a = 0; a < m; ++a) {
      const std::size_t from = std::max(a, gone + 1);
      std::copy(row(a) + from, row(a) + m + 2, row(a) + from - 1);
    }
    for (std::size_t c = gone; c + 1 < m; ++c) {  // zero the entry (c + 1, c) below the diagonal
      double *upper = row(c), *lower = row(c + 1);
      const double x = upper[c], z = lower[c], r = std::sqrt(x * x + z * z), cs = x / r, sn = z / r;
      for (std::size_t j = c; j <= m; ++j) {
        const double p = upper[j], t = lower[j];
        upper[j] = cs * p + sn * t;
        lower[j] = cs * t - sn * p;
      }
    }
  }

  static constexpr std::size_t kPanel = 4;
  Buffer<double> R_;  // (variables, ld)
  std::size_t ld_ = 0;
  std::vector<std::size_t> left_, point_;
  std::vector<double> d_;
};

// f = K B, in double, whatever the type of the rows.
template <class Rows>
void gradient(const Dual& dual, Rows& rows, double* f, Watch& watch) {
  std::fill(f, f + dual.stride, 0.0);
  for (std::size_t i = 0; i < dual.n; ++i) {
    const double B = dual.weight(i);
    if (B == 0) continue;
    watch.check(static_cast<double>(dual.stride));
    axpy(B, rows.row(i), f, dual.stride);
  }
}

// max of v over u < hi and min of v over u > lo: optimal where the first is not above the second
struct Spread {
  double up = -kBig, low = kBig;
  double width() const { return std::max(up - low, 0.0); }
  double middle() const { return 0.5 * (up + low); }
};
inline Spread violation(const Dual& dual) {
  Spread spread;
  const double* target = dual.targets();
  for (std::size_t q = 0; q < dual.Q; ++q) {
    const double offset = dual.offset(q);
    for (std::size_t i = 0, k = q * dual.stride; i < dual.n; ++i, ++k) {
      const double v = target[k] - dual.f[i] - offset;
      if (dual.u[k] < dual.hi(k)) spread.up = std::max(spread.up, v);
      if (dual.u[k] > dual.lo(k)) spread.low = std::min(spread.low, v);
    }
  }
  return spread;
}

// Puts u into its boxes.
inline void clip(Dual& dual) {
  for (std::size_t k = 0; k < dual.Q * dual.stride; ++k)
    dual.u[k] = std::min(std::max(dual.u[k], dual.lo(k)), dual.hi(k));
  dual.sum_duals();
}

// Takes the sum of u back to zero within the boxes, and tells whether u changed.  Free variables
// give in proportion to their room; where that is not enough, those that the objective misses
// least, by v, go to their other bound one after the other.  Needs f.
inline bool balance(Dual& dual) {
  const double excess = std::accumulate(dual.G.begin(), dual.G.end(), 0.0);
  if (excess == 0) return false;
  const double sign = excess > 0 ? 1 : -1;
  double left = std::fabs(excess), total = 0;
  const auto room = [&](std::size_t k) { return sign > 0 ? dual.u[k] - dual.lo(k) : dual.hi(k) - dual.u[k]; };
  const auto free = [&](std::size_t k) { return dual.u[k] > dual.lo(k) && dual.u[k] < dual.hi(k); };
  const std::size_t size = dual.Q * dual.stride;
  for (std::size_t k = 0; k < size; ++k)
    if (free(k)) total += room(k);
  if (total > left) {
    for (std::size_t k = 0; k < size; ++k)
      if (free(k)) dual.u[k] -= sign * room(k) * left / total;
  } else {
    const double* target = dual.targets();
    std::vector<std::pair<double, std::size_t>> candidates;
    for (std::size_t k = 0; k < size; ++k)
      if (room(k) > 0) {
        const double v = sign * (target[k] - dual.f[k % dual.stride] - dual.offset(k / dual.stride));
        candidates.push_back({std::isnan(v) ? kBig : v, k});  // NaN has no place in an order
      }
    std::sort(candidates.begin(), candidates.end());
    for (const auto& [v, k] : candidates) {
      const double most = room(k);
      if (left < most) {
        dual.u[k] -= sign * left;
        break;
      }
      dual.u[k] = sign > 0 ? dual.lo(k) : dual.hi(k);
      left -= most;
    }
  }
  dual.sum_duals();
  return true;
}

template <class T, class Rows>
class Smo {
  typedef typename Simd<T>::V V;
  typedef typename Simd<T>::I I;
  static constexpr std::size_t N = Simd<T>::N;

 public:
  Smo(Dual& dual, Rows& rows)
      : dual_(dual), rows_(rows), target_(dual.targets()), stride_(dual.stride), f_(stride_), diagonal_(stride_),
        curvature_(stride_), top_(dual.Q * stride_), bottom_(dual.Q * stride_) {
    for (std::size_t i = 0; i < dual.n; ++i) diagonal_[i] = static_cast<T>(rows.entry(i, i));
  }

  // Needs dual.f and dual.G to agree with dual.u up to a constant part from elsewhere;
  // leaves them so.  `outside` is that part of f (null: none), used to resynchronise.
  Progress run(double tol, Count max_iter, const double* outside, Watch& watch) {
    Progress progress;
    refresh();
    double target = tol;
    Count next_newton = std::min<Count>(40, static_cast<Count>(dual_.n));
    double smo_flops = 0, newton_flops = 0;
    const double pass =
        static_cast<double>(stride_) * (2.0 + 5.0 * static_cast<double>(dual_.Q));
    int resyncs = 0;
    T di = 0;
    std::size_t i = 0, j = 0;
    while (true) {
      const Pick up = pick_up(i, j, di);
      di = 0;
      double spread = 0;
      Pick low{};
      if (up.value > T(-0.5 * kBig) && is_point(up.k)) {
        low = pick_low(up);
        spread = static_cast<double>(low.value);
      }
      if (!(spread > target)) {
        resync(outside, watch);
        progress.violation = violation(dual_).width();
        if (progress.violation <= tol) {
          progress.converged = true;
          break;
        }
        if (++resyncs > 8) break;
        target = std::max(0.5 * target, 0.25 * tol);
        refresh();
        continue;
      }
      if (progress.iterations >= max_iter) {
        resync(outside, watch);
        progress.violation = violation(dual_).width();
        break;
      }
      watch.check(pass);
      ++progress.iterations;
      smo_flops += pass;
      di = step(up, low, i, j);
      if (stalls_ > kStalls) {
        resync(outside, watch);
        progress.violation = violation(dual_).width();
        progress.converged = progress.violation <= tol;
        break;
      }
      if (progress.iterations >= next_newton) {
        apply(i, j, di);
        di = 0;
        next_newton = progress.iterations + 40;
        if (newton_flops <= smo_flops / 2) newton_flops += newton(4 * smo_flops);
      }
    }
    return progress;
  }

 private:
  struct Pick {
    T value;             // v of the first, or largest v_i - v_j for the second
    std::size_t k;       // index into (Q, stride)
  };

  void refresh() {  // selection arrays from the dual
    for (std::size_t i = 0; i < stride_; ++i) f_[i] = static_cast<T>(dual_.f[i]);
    for (std::size_t k = 0; k < dual_.Q * stride_; ++k) mark(k);
  }
  void mark(std::size_t k) {
    const T target = static_cast<T>(target_[k]);
    top_[k] = dual_.u[k] < dual_.hi(k) ? target : T(-kBig);
    bottom_[k] = dual_.u[k] > dual_.lo(k) ? target : T(kBig);
  }
  void resync(const double* outside, Watch& watch) {
    gradient(dual_, rows_, dual_.f.data(), watch);
    if (outside)
      for (std::size_t i = 0; i < stride_; ++i) dual_.f[i] += outside[i];
  }

  void apply(std::size_t i, std::size_t j, T d) {  // f += d (K_i - K_j)
    if (d == 0 || i == j) return;
    const T* Ki = rows_.row(i);
    const T* Kj = rows_.row(j);
    for (std::size_t k = 0; k < stride_; k += N)
      store(&f_[k], load(&f_[k]) + d * (load(Ki + k) - load(Kj + k)));
  }

  static Pick largest(V value, I index) {
    std::size_t best = 0;
    for (std::size_t t = 1; t < N; ++t)
      if (value[t] > value[best]) best = t;
    return {value[best], static_cast<std::size_t>(index[best])};
  }

  // argmax over u < hi of v = top - f - offset, after the pending update of f
  Pick pick_up(std::size_t i, std::size_t j, T d) {
    apply(i, j, d);
    V best0 = splat(T(-kBig)), best1 = best0;
    I at0{}, at1{};
    for (std::size_t q = 0; q < dual_.Q; ++q) {
      const T offset = static_cast<T>(dual_.offset(q));
      const T* top = &top_[q * stride_];
      I index = iota<T>() + static_cast<typename Simd<T>::Int>(q * stride_);
      for (std::size_t k = 0; k < stride_; k += 2 * N) {
        const V v0 = load(top + k) - load(&f_[k]) - offset;
        const V v1 = load(top + k + N) - load(&f_[k + N]) - offset;
        const I better0 = v0 > best0, better1 = v1 > best1;
        best0 = better0 ? v0 : best0;
        best1 = better1 ? v1 : best1;
        at0 = better0 ? index : at0;
        index += static_cast<typename Simd<T>::Int>(N);
        at1 = better1 ? index : at1;
        index += static_cast<typename Simd<T>::Int>(N);
      }
    }
    const I better = best1 > best0;
    return largest(better ? best1 : best0, better ? at1 : at0);
  }

  // argmax over u > lo of d^2 / a, d = v_i - v_j; its value is the largest d, for the stop
  Pick pick_low(const Pick& up) {
    const std::size_t i = up.k % stride_, q = up.k / stride_;
    const T* Ki = rows_.row(i);
    const T Kii = diagonal_[i];
    for (std::size_t k = 0; k < stride_; k += N)
      store(&curvature_[k], Kii + load(&diagonal_[k]) - T(2) * load(Ki + k));
    const V floor = splat(static_cast<T>(kFloor));
    V best = splat(T(0)), widest = splat(T(0));
    I at = iota<T>() - iota<T>() - 1;
    for (std::size_t r = 0; r < dual_.Q; ++r) {
      const T shift = up.value + static_cast<T>(dual_.offset(r));
      const T extra = static_cast<T>(extension(q, r));
      const T* bottom = &bottom_[r * stride_];
      I index = iota<T>() + static_cast<typename Simd<T>::Int>(r * stride_);
      for (std::size_t k = 0; k < stride_; k += N) {
        const V d = max(shift - load(bottom + k) + load(&f_[k]), V{});
        const V a = max(load(&curvature_[k]) + extra, floor);
        const V gain = d * d * rough_reciprocal<T>(a);
        const I better = gain > best;
        best = better ? gain : best;
        at = better ? index : at;
        widest = max(d, widest);
        index += static_cast<typename Simd<T>::Int>(N);
      }
    }
    T spread = 0;
    for (std::size_t t = 0; t < N; ++t) spread = std::max(spread, widest[t]);
    return {spread, largest(best, at).k};
  }

  // Padding has no row.  It is picked only where f is so large that kBig does not stand out.
  bool is_point(std::size_t k) const { return k % stride_ < dual_.n; }

  // h^2 (e_q - e_r)^2: what two replicas add to the curvature of a pair
  double extension(std::size_t q, std::size_t r) const {
    return q == r ? 0.0 : dual_.h2 * ((q > 0) + (r > 0));
  }

  // The pair's exact minimum within its box; returns the amount moved from j to i.
  T step(const Pick& up, const Pick& low, std::size_t& i, std::size_t& j) {
    const std::size_t a = up.k, b = low.k;
    ++stalls_;  // until the pair is seen to move
    if (b >= dual_.Q * stride_ || !is_point(b) || a == b) return 0;
    i = a % stride_;
    j = b % stride_;
    const std::size_t q = a / stride_, r = b / stride_;
    const double curvature =
        std::max(static_cast<double>(diagonal_[i]) + static_cast<double>(diagonal_[j]) -
                     2.0 * rows_.entry(i, j) + extension(q, r),
                 kFloor);
    const double slope = (target_[a] - f_[i] - dual_.offset(q)) - (target_[b] - f_[j] - dual_.offset(r));
    if (!(slope > 0)) return 0;
    const double room_a = dual_.hi(a) - dual_.u[a], room_b = dual_.u[b] - dual_.lo(b);
    const double room = std::min(room_a, room_b);
    double d = slope / curvature;
    if (room - d <= kSnap * std::min(dual_.cap[a], dual_.cap[b])) d = room;
    const double before_a = dual_.u[a], before_b = dual_.u[b];
    dual_.u[a] = d == room_a ? dual_.hi(a) : dual_.u[a] + d;
    dual_.u[b] = d == room_b ? dual_.lo(b) : dual_.u[b] - d;
    dual_.G[q] += d;
    dual_.G[r] -= d;
    mark(a);
    mark(b);
    if (dual_.u[a] != before_a || dual_.u[b] != before_b) stalls_ = 0;
    return static_cast<T>(d);
  }

  double newton(double allowance) {
    free_.variable.clear();
    for (std::size_t k = 0; k < dual_.Q * stride_; ++k)
      if (top_[k] > T(-0.5 * kBig) && bottom_[k] < T(0.5 * kBig)) free_.variable.push_back(k);
    const std::size_t m = free_.variable.size();
    if (m < 2 || m > kMostFree || FreeSet::cost(m) > allowance) return 0;
    free_.slope.resize(m);
    for (std::size_t a = 0; a < m; ++a) {
      const std::size_t k = free_.variable[a];
      free_.slope[a] = target_[k] - static_cast<double>(f_[k % stride_]) - dual_.offset(k / stride_);
    }
    before_.resize(m);
    for (std::size_t a = 0; a < m; ++a) before_[a] = dual_.u[free_.variable[a]];
    double flops = free_.descend(dual_, rows_, sizeof(T) == 4 ? 4e-6 : 1e-11, allowance);
    for (std::size_t a = 0; a < m; ++a) {
      const std::size_t k = free_.variable[a];
      const double d = dual_.u[k] - before_[a];
      if (d == 0) continue;
      mark(k);
      const T* row = rows_.row(k % stride_);
      const T t = static_cast<T>(d);
      for (std::size_t s = 0; s < stride_; s += N) store(&f_[s], load(&f_[s]) + t * load(row + s));
      flops += static_cast<double>(stride_);
    }
    return flops;
  }

  static constexpr double kFloor = sizeof(T) == 4 ? 1e-6 : 1e-12;
  static constexpr double kSnap = 1e-13;  // of a box: closer to a bound counts as on it
  static constexpr int kStalls = 16;
  static constexpr std::size_t kMostFree = 256;
  Dual& dual_;
  Rows& rows_;
  const double* target_;
  std::size_t stride_;
  Buffer<T> f_, diagonal_, curvature_, top_, bottom_;
  FreeSet free_;
  std::vector<double> before_;
  int stalls_ = 0;
};
