// L-BFGS where the last variable has bounds, for functions with many local minima: it goes down
// at every step, and where it ends no short step goes further down.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "_common.hpp"

namespace rejo {

struct Descended {
  std::vector<double> u;
  double before = 0, value = 0;
  Count steps = 0;
  bool converged = false;
};

// `value(u, gradient)` is what is minimised over u (dim,), with 0 <= u[dim - 1] <= top.
template <class Function>
class Descent {
 public:
  Descent(std::size_t dim, double top, Function value)
      : dim_(dim), top_(top), value_(std::move(value)), g_(dim), d_(dim), next_(dim), next_g_(dim),
        S_(kMemory * dim), Y_(kMemory * dim), alpha_(kMemory), sy_(kMemory),
        full_yy_(kMemory), full_sy_(kMemory) {}

  // Ends where a step gains at most `tol` of the value, or of 1 if that is more.
  Descended run(std::vector<double> u, double tol, Count max_steps) {
    Descended out;
    u_ = std::move(u);
    u_.back() = std::min(std::max(u_.back(), 0.0), top_);
    J_ = out.before = value_(u_.data(), g_.data());
    forget();
    while (std::isfinite(J_) && !(out.converged = at_rest()) && out.steps < max_steps) {
      const double before = J_;
      const bool fresh = stored_ == 0;
      const Step step = take_step();
      out.steps += step != Step::none;
      const double scale = std::max({std::fabs(before), std::fabs(J_), 1.0});
      if (step == Step::none ? fresh : step == Step::free && before - J_ <= tol * scale) {
        out.converged = true;
        break;
      }
      if (step == Step::none) forget();
    }
    out.u = u_;
    out.value = J_;
    return out;
  }

 private:
  enum class Step { none, free, to_bound };  // what ends at the bound says nothing of convergence

  static constexpr std::size_t kMemory = 10;
  static constexpr int kTrials = 25;
  static constexpr double kLeastGradient = 1e-10, kArmijo = 1e-4, kWolfe = 0.9;

  void forget() { stored_ = newest_ = 0; }

  bool pinned() const {
    const double x = u_.back(), g = g_.back();
    return (x <= 0.0 && g >= 0.0) || (x >= top_ && g <= 0.0);
  }

  bool at_rest() const {
    double largest = 0;
    for (std::size_t i = 0; i + !!pinned() < dim_; ++i) largest = std::max(largest, std::fabs(g_[i]));
    return largest <= kLeastGradient;
  }

  static double dot(const double* a, const double* b, std::size_t n) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;  // four sums: each waits for its own last term only
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      s0 += a[i] * b[i];
      s1 += a[i + 1] * b[i + 1];
      s2 += a[i + 2] * b[i + 2];
      s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; ++i) s0 += a[i] * b[i];
    return (s0 + s1) + (s2 + s3);
  }

  // d = -H g over the first `n` variables; the last one may stay where it is.
  void direction(std::size_t n) {
    for (std::size_t i = 0; i < dim_; ++i) d_[i] = i < n ? -g_[i] : 0.0;
    double scale = 0;  // of the first metric: s.y / y.y of the newest pair
    for (std::size_t m = 0; m < stored_; ++m) {
      const std::size_t at = (newest_ + kMemory - m) % kMemory;
      const double *s = &S_[at * dim_], *y = &Y_[at * dim_];
      const double yy = n == dim_ ? full_yy_[at] : dot(y, y, n);
      const double sy = n == dim_ ? full_sy_[at] : dot(s, y, n);
      sy_[at] = sy > 1e-12 * yy ? sy : 0.0;  // 0: left out
      if (!(sy_[at] > 0)) continue;
      if (!(scale > 0)) scale = sy / yy;
      alpha_[at] = dot(s, d_.data(), n) / sy;
      for (std::size_t i = 0; i < n; ++i) d_[i] -= alpha_[at] * y[i];
    }
    if (!(scale > 0)) scale = 1.0 / std::max(std::sqrt(dot(g_.data(), g_.data(), n)), 1e-300);
    for (std::size_t i = 0; i < n; ++i) d_[i] *= scale;
    for (std::size_t m = stored_; m-- > 0;) {
      const std::size_t at = (newest_ + kMemory - m) % kMemory;
      if (!(sy_[at] > 0)) continue;
      const double *s = &S_[at * dim_], *y = &Y_[at * dim_];
      const double beta = alpha_[at] - dot(y, d_.data(), n) / sy_[at];
      for (std::size_t i = 0; i < n; ++i) d_[i] += beta * s[i];
    }
  }

  // Longest step that keeps to the bounds.
  double room() const {
    const double x = u_.back(), d = d_.back();
    if (d < 0) return x / -d;
    return d > 0 ? (top_ - x) / d : std::numeric_limits<double>::infinity();
  }

  Step take_step() {
    direction(pinned() ? dim_ - 1 : dim_);
    if (!(room() > 0)) direction(dim_ - 1);  // at the bound, and the metric leads out
    const double fall = dot(d_.data(), g_.data(), dim_);
    if (!(fall < 0)) return Step::none;
    const double most = room();
    double t = std::min(1.0, most);
    if (!search(t, fall, most)) return Step::none;
    const std::size_t at = stored_ ? (newest_ + 1) % kMemory : 0;
    for (std::size_t i = 0; i < dim_; ++i) {
      S_[at * dim_ + i] = next_[i] - u_[i];
      Y_[at * dim_ + i] = next_g_[i] - g_[i];
    }
    full_yy_[at] = dot(&Y_[at * dim_], &Y_[at * dim_], dim_);
    full_sy_[at] = dot(&S_[at * dim_], &Y_[at * dim_], dim_);
    newest_ = at;
    stored_ = std::min(stored_ + 1, kMemory);
    u_.swap(next_);
    g_.swap(next_g_);
    J_ = next_J_;
    return t < most ? Step::free : Step::to_bound;
  }

  // next_ = u + t d, within the bounds; the slope along d.
  double look(double t, double most) {
    for (std::size_t i = 0; i < dim_; ++i) next_[i] = u_[i] + t * d_[i];
    double& last = next_.back();
    if (t >= most) last = d_.back() < 0 ? 0.0 : top_;
    last = std::min(std::max(last, 0.0), top_);
    next_J_ = value_(next_.data(), next_g_.data());
    return dot(next_g_.data(), d_.data(), dim_);
  }

  // A step t <= most with Wolfe's conditions, or at least that of Armijo; false: none was found.
  bool search(double& t, double fall, double most) {
    struct Place { double t, J, slope; };
    Place low{0.0, J_, fall}, high{0.0, 0.0, 0.0};
    bool bracketed = false;
    for (int trial = 0; trial < kTrials; ++trial) {
      const Place here{t, 0.0, look(t, most)};
      const double J = next_J_, slope = here.slope;
      if (!(J <= J_ + kArmijo * t * fall)) {
        high = {t, J, slope};
        bracketed = true;
      } else if (slope >= kWolfe * fall || t >= most) {
        return J < J_;
      } else {
        low = {t, J, slope};
      }
      if (!bracketed) {
        t = std::min(4.0 * t, most);
        continue;
      }
      const double width = high.t - low.t;
      t = low.t + std::min(std::max(least_of_cubic(low.J, low.slope, high.J, high.slope, width),
                                    0.1 * width), 0.9 * width);
      if (!(width > 1e-14 * high.t)) break;
    }
    if (!(low.t > 0)) return false;
    t = low.t;
    look(t, most);
    return next_J_ < J_;
  }

  // Where the cubic with these values and slopes at 0 and `width` is least; else the middle.
  static double least_of_cubic(double J0, double slope0, double J1, double slope1, double width) {
    const double theta = 3.0 * (J0 - J1) / width + slope0 + slope1;
    const double inside = theta * theta - slope0 * slope1;
    if (!(inside >= 0)) return 0.5 * width;
    const double root = std::sqrt(inside);
    const double t = width * (1.0 - (slope1 + root - theta) / (slope1 - slope0 + 2.0 * root));
    return std::isfinite(t) ? t : 0.5 * width;
  }

  std::size_t dim_;
  double top_;
  Function value_;
  std::vector<double> u_, g_, d_, next_, next_g_;
  std::vector<double> S_, Y_;  // pairs: (kMemory, dim), a ring
  std::vector<double> alpha_, sy_, full_yy_, full_sy_;  // (kMemory,)
  std::size_t stored_ = 0, newest_ = 0;
  double J_ = 0, next_J_ = 0;
};

}  // namespace rejo
