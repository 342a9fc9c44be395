// Engine 2: Mehrotra's predictor-corrector on the primal-dual pair for K = Z Z'.
// Unknowns (w in R^r, b in R^Q), where h = 0 one b that all replicas share; slacks s of a >= 0 and x
// of a <= cap, with y (z.w + b) - m = s - x for the margin m of the hinge.
// The normal matrix I + Z' diag(sum_q theta_iq) Z costs n r^2 whatever Q is.
// Included once for each instruction set, inside its own namespace: no include guard.

// C[a:a+Tall, v:v+N] += sum_i left_i right_i' for one vector of columns; C is in double.
template <class T, std::size_t Tall>
inline void outer_tile(const T* left, const T* right, std::size_t rows, std::size_t width, double* C) {
  typename Simd<T>::V acc[Tall] = {};
  for (std::size_t i = 0; i < rows; ++i, left += width, right += width) {
    const typename Simd<T>::V r = load(right);
#pragma GCC unroll 16
    for (std::size_t p = 0; p < Tall; ++p) acc[p] += left[p] * r;
  }
  for (std::size_t p = 0; p < Tall; ++p)
    for (std::size_t t = 0; t < Simd<T>::N; ++t) C[p * width + t] += static_cast<double>(acc[p][t]);
}

// C (width, width) += sum_i left_i right_i', lower tiles of the first `rank` rows; left and right
// are (rows, width).
template <class T>
inline void outer_products(const T* left, const T* right, std::size_t rows, std::size_t rank,
                           std::size_t width, double* C) {
  constexpr std::size_t kTall = REJO_WIDTH == 64 ? 16 : 8;
  for (std::size_t v = 0; v < rank; v += Simd<T>::N) {
    std::size_t a = v;
    for (; a + kTall <= rank; a += kTall)
      outer_tile<T, kTall>(left + a, right + v, rows, width, C + a * width + v);
    for (; a + 4 <= rank; a += 4) outer_tile<T, 4>(left + a, right + v, rows, width, C + a * width + v);
    for (; a < rank; ++a) outer_tile<T, 1>(left + a, right + v, rows, width, C + a * width + v);
  }
}

// `T` is the precision of Z and of the products with it; everything else is in double.
template <class T>
class InteriorPoint {
  typedef typename Simd<T>::V V;
  static constexpr std::size_t N = Simd<T>::N;

 public:
  InteriorPoint(const Factor& factor, Dual& dual)
      : dual_(dual), n_(dual.n), Q_(dual.Q), thresholds_(dual.h2 > 0 ? dual.Q : 1),
        r_(factor.rank), width_((r_ + N - 1) / N * N), stride_(dual.stride),
        order_(r_ + thresholds_), Z_(stride_ * width_) {
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t k = 0; k < r_; ++k) Z_[i * width_ + k] = static_cast<T>(factor.row(i)[k]);
    const std::size_t size = Q_ * stride_;
    for (Buffer<double>* v : {&y_, &cap_, &m_, &a_, &s_, &x_, &theta_, &da_, &ds_, &dx_})
      v->reset(size);
    for (std::size_t k = 0; k < size; ++k) {
      const bool on = dual.cap[k] > 0;
      y_[k] = on ? dual.y[k] : 0.0;  // so that y^2 masks variables without a box
      cap_[k] = on ? dual.cap[k] : 1.0;
      m_[k] = on ? dual.y[k] * dual.targets()[k] : 1.0;
      a_[k] = 0.1 * cap_[k];
      s_[k] = x_[k] = 1.0;
      count_ += on;
    }
    f_.reset(stride_);
    df_.reset(stride_);
    w_.reset(width_);
    b_.assign(thresholds_, 0.0);
    normal_.reset(width_ * width_);
    rhs_.assign(order_, 0.0);
  }

  // Iterates until the relative gap is below `tol`; false where progress stops before that.
  bool run(double tol, int max_iter, Watch& watch) {
    for (iterations = 0; iterations < max_iter; ++iterations) {
      watch.check();
      build(watch);
      const double scale = std::fabs(objective_) + 1e-300;
      gap = complementarity_ / scale;
      if (gap <= tol && residual_ <= 10 * tol) return true;
      if (!factorise()) return false;
      const double mu = complementarity_ / (2.0 * static_cast<double>(count_));
      std::vector<double> step = rhs_;
      substitute(step);
      const double reach = predictor(step);
      const double affine = (1 - reach) * complementarity_ + reach * reach * second_order_;
      double sigma = std::max(affine, 0.0) / complementarity_;
      sigma = sigma * sigma * sigma;
      for (std::size_t k = 0; k < order_; ++k)
        step[k] = rhs_[k] + sigma * mu * centre_[k] + bend_[k];
      substitute(step);
      const double length = corrector(step, sigma * mu);
      advance(step, length);
      if (!(length > 1e-6)) return false;
    }
    return false;
  }

  int iterations = 0;
  double gap = 0;

  // Writes u, snapped to the bounds that complementarity names.
  void write() const {
    for (std::size_t k = 0; k < Q_ * stride_; ++k) {
      double a = 0;
      if (y_[k] != 0) {
        const double below = a_[k] / cap_[k], above = 1 - below;
        a = below < s_[k] && s_[k] > x_[k] ? 0.0 : above < x_[k] && x_[k] > s_[k] ? cap_[k] : a_[k];
      }
      dual_.u[k] = dual_.y[k] * a;
    }
  }

 private:
  static constexpr std::size_t kRows = 32;  // rows of Z in a block: they stay in the first cache

  // theta, residuals, the normal matrix and the predictor's right-hand side
  void build(Watch& watch) {
    std::memset(normal_.data(), 0, sizeof(double) * normal_.size());
    border_.assign(thresholds_ * width_, 0.0);
    corner_.assign(thresholds_, 0.0);
    std::vector<double> rhs_b(thresholds_, 0.0);
    Buffer<double> rhs_w(width_);
    Buffer<T> scaled(kRows * width_), pulled(width_), border(thresholds_ * width_);
    alignas(64) double total[kRows], pull[kRows];
    vd comp{}, hinge{}, infeasible{};
    for (std::size_t base = 0; base < stride_; base += kRows) {
      watch.check(static_cast<double>(kRows * width_ * width_));
      std::memset(total, 0, sizeof total);
      std::memset(pull, 0, sizeof pull);
      for (std::size_t q = 0; q < Q_; ++q) {
        vd sum_theta{}, sum_pull{};
        for (std::size_t t = 0; t < kRows; t += kD) {
          const std::size_t k = q * stride_ + base + t;
          const vd y = load(&y_[k]), on = y * y, a = load(&a_[k]), up = load(&cap_[k]) - a;
          const vd s = load(&s_[k]), x = load(&x_[k]);
          const vd theta = on * a * up / (s * up + x * a);
          const vd e = load(&m_[k]) - y * (load(&f_[base + t]) + b_[at(q)]);
          const vd c = on * y * a + y * theta * e;
          store(&theta_[k], theta);
          store(&total[t], load(&total[t]) + theta);
          store(&pull[t], load(&pull[t]) + c);
          sum_theta += theta;
          sum_pull += c;
          comp += on * (a * s + up * x);
          hinge += on * load(&cap_[k]) * max(e, vd{});
          const vd miss = on * (x - s - e);
          infeasible = max(infeasible, max(miss, -miss));
        }
        corner_[at(q)] += sum(sum_theta);
        rhs_b[at(q)] += sum(sum_pull);
      }
      const std::size_t rows = std::min(kRows, n_ > base ? n_ - base : 0);
      std::memset(pulled.data(), 0, sizeof(T) * width_);
      std::memset(border.data(), 0, sizeof(T) * thresholds_ * width_);
      for (std::size_t t = 0; t < rows; ++t) {
        const T* z = row(base + t);
        T* out = &scaled[t * width_];
        const T weight = static_cast<T>(total[t]), c = static_cast<T>(pull[t]);
        for (std::size_t v = 0; v < width_; v += N) {
          const V zv = load(z + v);
          store(out + v, weight * zv);
          store(&pulled[v], load(&pulled[v]) + c * zv);
        }
        for (std::size_t q = 0; q < Q_; ++q) {
          const T theta = static_cast<T>(theta_[q * stride_ + base + t]);
          T* to = &border[at(q) * width_];
          for (std::size_t v = 0; v < width_; v += N) store(to + v, load(to + v) + theta * load(z + v));
        }
      }
      for (std::size_t v = 0; v < width_; ++v) rhs_w[v] += static_cast<double>(pulled[v]);
      for (std::size_t k = 0; k < thresholds_ * width_; ++k) border_[k] += static_cast<double>(border[k]);
      outer_products(row(base), scaled.data(), rows, r_, width_, normal_.data());
    }
    double norm = 0, spread = 0;
    for (std::size_t v = 0; v < r_; ++v) {
      norm += w_[v] * w_[v];
      rhs_[v] = rhs_w[v] - w_[v];
    }
    for (std::size_t q = 0; q < thresholds_; ++q) rhs_[r_ + q] = rhs_b[q];
    for (std::size_t q = 1; q < thresholds_; ++q) {
      const double d = (b_[q] - b_[0]) / dual_.h2;
      spread += d * (b_[q] - b_[0]);
      rhs_[r_ + q] -= d;
      rhs_[r_] += d;
    }
    complementarity_ = sum(comp);
    objective_ = 0.5 * (norm + spread) + sum(hinge);
    residual_ = 0;
    for (std::size_t t = 0; t < kD; ++t) residual_ = std::max(residual_, infeasible[t]);
  }

  // Cholesky of the normal matrix with its border; shifts the diagonal where rounding spoils it.
  bool factorise() {
    const std::size_t m = order_;
    const double inverse = thresholds_ > 1 ? 1 / dual_.h2 : 0.0;
    L_.assign(m * m, 0.0);
    for (double shift = sizeof(T) == 4 ? 1e-6 : 1e-14; shift < 1e-2; shift *= 100) {
      for (std::size_t i = 0; i < r_; ++i) {
        for (std::size_t j = 0; j <= i; ++j) L_[i * m + j] = normal_[i * width_ + j];
        L_[i * m + i] += 1.0;
      }
      for (std::size_t q = 0; q < thresholds_; ++q) {
        double* row = &L_[(r_ + q) * m];
        for (std::size_t j = 0; j < r_; ++j) row[j] = border_[q * width_ + j];
        for (std::size_t t = 0; t < q; ++t) row[r_ + t] = t == 0 ? -inverse : 0.0;
        row[r_ + q] = corner_[q] + (q ? inverse : static_cast<double>(thresholds_ - 1) * inverse);
      }
      bool good = true;
      for (std::size_t i = 0; i < m && good; ++i) {
        double* Li = &L_[i * m];
        const double diagonal = Li[i] * (1 + shift);
        for (std::size_t j = 0; j < i; ++j) Li[j] = (Li[j] - dot(Li, &L_[j * m], j)) / L_[j * m + j];
        const double pivot = diagonal - dot(Li, Li, i);
        good = pivot > 0.1 * shift * diagonal;
        Li[i] = std::sqrt(std::max(pivot, 1e-300));
      }
      if (good) return true;
    }
    return false;
  }

  void substitute(std::vector<double>& v) const {
    const std::size_t m = order_;
    for (std::size_t i = 0; i < m; ++i) v[i] = (v[i] - dot(&L_[i * m], v.data(), i)) / L_[i * m + i];
    for (std::size_t i = m; i-- > 0;) {
      v[i] /= L_[i * m + i];
      axpy(-v[i], &L_[i * m], v.data(), i);
    }
  }

  // The affine step; returns how far it may go, and prepares the corrector's right-hand side,
  // which is affine in the centring: rhs + sigma mu centre + bend.
  double predictor(const std::vector<double>& step) {
    Buffer<double> sum_centre(width_), sum_bend(width_);
    Buffer<T> dw = direction(step), part_centre(width_), part_bend(width_);
    centre_.assign(order_, 0.0);
    bend_.assign(order_, 0.0);
    alignas(64) double centre[kRows], bend[kRows];
    vd worst{}, second{};
    for (std::size_t base = 0; base < stride_; base += kRows) {
      const std::size_t rows = std::min(kRows, n_ > base ? n_ - base : 0);
      for (std::size_t t = 0; t < rows; ++t) df_[base + t] = product(base + t, dw);
      std::memset(centre, 0, sizeof centre);
      std::memset(bend, 0, sizeof bend);
      for (std::size_t q = 0; q < Q_; ++q) {
        vd sum_c{}, sum_b{};
        for (std::size_t t = 0; t < kRows; t += kD) {
          const std::size_t k = q * stride_ + base + t;
          const vd y = load(&y_[k]), on = y * y, a = load(&a_[k]), up = load(&cap_[k]) - a;
          const vd s = load(&s_[k]), x = load(&x_[k]);
          const vd theta = load(&theta_[k]);
          const vd next = load(&f_[base + t]) + load(&df_[base + t]) + (b_[at(q)] + step[r_ + at(q)]);
          const vd da = theta * (load(&m_[k]) - y * next);
          const vd inv_a = 1.0 / a, inv_up = 1.0 / up;
          const vd p = da * inv_a, m = da * inv_up;
          const vd ds = -s * (1.0 + p), dx = -x * (1.0 - m);
          worst = max(worst, on * max(max(-p, 1.0 + p), max(m, 1.0 - m)));
          second += on * (da * ds - da * dx);
          const vd c = y * theta * (inv_a - inv_up);
          const vd d = -y * theta * (ds * p + dx * m);
          store(&da_[k], da);
          store(&centre[t], load(&centre[t]) + c);
          store(&bend[t], load(&bend[t]) + d);
          sum_c += c;
          sum_b += d;
        }
        centre_[r_ + at(q)] += sum(sum_c);
        bend_[r_ + at(q)] += sum(sum_b);
      }
      std::memset(part_centre.data(), 0, sizeof(T) * width_);
      std::memset(part_bend.data(), 0, sizeof(T) * width_);
      for (std::size_t t = 0; t < rows; ++t) {
        const T* z = row(base + t);
        const T c = static_cast<T>(centre[t]), d = static_cast<T>(bend[t]);
        for (std::size_t v = 0; v < width_; v += N) {
          const V zv = load(z + v);
          store(&part_centre[v], load(&part_centre[v]) + c * zv);
          store(&part_bend[v], load(&part_bend[v]) + d * zv);
        }
      }
      for (std::size_t v = 0; v < width_; ++v) {
        sum_centre[v] += static_cast<double>(part_centre[v]);
        sum_bend[v] += static_cast<double>(part_bend[v]);
      }
    }
    std::copy(sum_centre.data(), sum_centre.data() + r_, centre_.begin());
    std::copy(sum_bend.data(), sum_bend.data() + r_, bend_.begin());
    second_order_ = sum(second);
    return std::min(1.0, 1.0 / largest(worst));
  }

  double corrector(const std::vector<double>& step, double target) {
    const Buffer<T> dw = direction(step);
    vd worst{};
    for (std::size_t i = 0; i < n_; ++i) df_[i] = product(i, dw);
    for (std::size_t q = 0; q < Q_; ++q)
      for (std::size_t i = 0; i < stride_; i += kD) {
        const std::size_t k = q * stride_ + i;
        const vd y = load(&y_[k]), on = y * y, a = load(&a_[k]), up = load(&cap_[k]) - a;
        const vd s = load(&s_[k]), x = load(&x_[k]);
        const vd inv_a = 1.0 / a, inv_up = 1.0 / up;
        const vd first = load(&da_[k]);
        const vd low = target + first * s * (1.0 + first * inv_a);  // - da ds of the predictor
        const vd high = target - first * x * (1.0 - first * inv_up);
        const vd next = load(&f_[i]) + load(&df_[i]) + (b_[at(q)] + step[r_ + at(q)]);
        const vd da = load(&theta_[k]) * (load(&m_[k]) - y * next + low * inv_a - high * inv_up);
        const vd ds = on * ((low - s * da) * inv_a - s);
        const vd dx = on * ((high + x * da) * inv_up - x);
        worst = max(worst, max(max(-da * inv_a, da * inv_up), max(-ds / s, -dx / x)));
        store(&da_[k], on * da);
        store(&ds_[k], ds);
        store(&dx_[k], dx);
      }
    return std::min(1.0, 0.995 / std::max(largest(worst), 1e-300));
  }

  void advance(const std::vector<double>& step, double length) {
    for (std::size_t v = 0; v < r_; ++v) w_[v] += length * step[v];
    for (std::size_t q = 0; q < thresholds_; ++q) b_[q] += length * step[r_ + q];
    for (std::size_t i = 0; i < stride_; i += kD) store(&f_[i], load(&f_[i]) + length * load(&df_[i]));
    for (std::size_t k = 0; k < Q_ * stride_; k += kD) {
      store(&a_[k], load(&a_[k]) + length * load(&da_[k]));
      store(&s_[k], load(&s_[k]) + length * load(&ds_[k]));
      store(&x_[k], load(&x_[k]) + length * load(&dx_[k]));
    }
  }

  std::size_t at(std::size_t q) const { return thresholds_ > 1 ? q : 0; }  // threshold of a replica
  const T* row(std::size_t i) const { return Z_.data() + i * width_; }
  Buffer<T> direction(const std::vector<double>& step) const {
    Buffer<T> dw(width_);
    for (std::size_t k = 0; k < r_; ++k) dw[k] = static_cast<T>(step[k]);
    return dw;
  }
  double product(std::size_t i, const Buffer<T>& dw) const {  // z_i . dw
    V s{};
    for (std::size_t v = 0; v < width_; v += N) s += load(row(i) + v) * load(&dw[v]);
    double total = 0;
    for (std::size_t t = 0; t < N; ++t) total += static_cast<double>(s[t]);
    return total;
  }
  static double largest(vd v) {
    double m = v[0];
    for (std::size_t t = 1; t < kD; ++t) m = std::max(m, v[t]);
    return m;
  }

  Dual& dual_;
  const std::size_t n_, Q_, thresholds_, r_, width_, stride_, order_;
  Buffer<T> Z_;  // (stride, width)
  std::size_t count_ = 0;
  Buffer<double> y_, cap_, m_, a_, s_, x_, theta_, da_, ds_, dx_;  // (Q, stride)
  Buffer<double> f_, df_, w_, normal_;
  std::vector<double> b_, rhs_, border_, corner_, L_, centre_, bend_;
  double complementarity_ = 0, objective_ = 0, residual_ = 0, second_order_ = 0;
};
