// What every instruction set shares: aligned memory, the watch that lets Ctrl-C through, and the
// shape of a solution.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace rejo {

using Count = std::int64_t;         // of iterations: on Windows, long has 32 bits
constexpr std::size_t kAlign = 64;  // bytes: the widest vector register
constexpr double kBig = 1e30;       // stands for infinity in selections: survives subtraction

// Zero-filled memory on a 64-byte boundary; large blocks on huge pages, where first use would
// otherwise cost more than the arithmetic.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size, bool zero = true) { reset(size, zero); }
  void reset(std::size_t size, bool zero = true) {
    size_ = size;
    const std::size_t bytes = std::max<std::size_t>(size, 1) * sizeof(T);
    const std::size_t align = bytes >= 2 * kHuge ? kHuge : kAlign;
    data_ = std::unique_ptr<T, Free>(static_cast<T*>(::operator new(bytes, std::align_val_t(align))),
                                     Free{align});
#ifdef __linux__
    if (align == kHuge) madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
    if (zero) std::memset(static_cast<void*>(data_.get()), 0, bytes);
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr std::size_t kHuge = 1 << 21;
  struct Free {
    std::size_t align = kAlign;
    void operator()(T* p) const { ::operator delete(p, std::align_val_t(align)); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

// n rounded up to two vectors of the widest register in the narrowest type (float).
inline std::size_t padded(std::size_t n) { return (n + 31) / 32 * 32; }

struct Interrupted {};

// Asks `poll` about every 100 ms whether the user wants to stop.
class Watch {
 public:
  explicit Watch(std::function<bool()> poll) : poll_(std::move(poll)) {}
  // `work` in operations: even a look at the clock is too much for each of many small steps.
  void check(double work = kLook) {
    if ((work_ += work) < kLook) return;
    work_ = 0;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    if (poll_ && !poll_()) throw Interrupted{};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kLook = 1e6;
  std::function<bool()> poll_;
  double work_ = 0;
  Clock::time_point last_ = Clock::now();
};

// The dual of n points in Q replicas.  Arrays are (Q, stride), replica-major.
struct Dual {
  std::size_t n = 0, Q = 0, stride = 0;
  double h2 = 1;
  Buffer<double> y, cap;  // label +-1; upper bound of |u|
  Buffer<double> target;  // y m, with the margin m of the hinge max(0, m - y (f + b)); empty: m = 1
  Buffer<double> u;       // signed duals
  Buffer<double> f;       // (stride,) g at the points, without threshold
  std::vector<double> G;  // (Q,) sum of u over the points
  const double* targets() const { return target.empty() ? y.data() : target.data(); }
  double offset(std::size_t q) const { return q ? h2 * G[q] : 0.0; }
  double lo(std::size_t k) const { return y[k] > 0 ? 0.0 : -cap[k]; }
  double hi(std::size_t k) const { return y[k] > 0 ? cap[k] : 0.0; }
  void resize(std::size_t points, std::size_t replicas) {
    n = points;
    Q = replicas;
    stride = padded(n);
    y.reset(Q * stride);
    cap.reset(Q * stride);
    u.reset(Q * stride);
    f.reset(stride);
    G.assign(Q, 0.0);
  }
  void sum_duals() {
    for (std::size_t q = 0; q < Q; ++q) {
      double s = 0;
      for (std::size_t i = 0; i < n; ++i) s += u[q * stride + i];
      G[q] = s;
    }
  }
  double weight(std::size_t i) const {  // B_i
    double s = 0;
    for (std::size_t q = 0; q < Q; ++q) s += u[q * stride + i];
    return s;
  }
};

// K ~ Z Z': the rows of Z are (r,) images of the points, padded with zeros to `width`.
struct Factor {
  std::size_t n = 0, rank = 0, width = 0;
  Buffer<double> Z;                  // (n, width)
  std::vector<double> residual;      // (n,) K_ii - |z_i|^2
  std::vector<std::size_t> pivots;   // points whose kernel functions span the space; linear: none
  const double* row(std::size_t i) const { return Z.data() + i * width; }
};

struct Progress {
  Count iterations = 0;
  bool converged = false;
  double violation = 0;
};

// What the duals say of the primal: thresholds, value and gap.
struct Outcome {
  std::vector<double> b;  // (Q,)
  double primal = 0, gap = 0;
};

// Needs f = K B.  `slack` bounds what an approximate K hides from the dual value.
inline Outcome conclude(const Dual& dual, double slack) {
  double up = -kBig, low = kBig, free_sum = 0, quadratic = 0, linear = 0;
  std::size_t free_count = 0;
  const double* target = dual.targets();
  for (std::size_t q = 0; q < dual.Q; ++q) {
    const double offset = dual.offset(q);
    quadratic += offset * dual.G[q];
    for (std::size_t i = 0, k = q * dual.stride; i < dual.n; ++i, ++k) {
      const double v = target[k] - dual.f[i] - offset;
      const bool rises = dual.u[k] < dual.hi(k), falls = dual.u[k] > dual.lo(k);
      if (rises) up = std::max(up, v);
      if (falls) low = std::min(low, v);
      if (rises && falls) free_sum += v, ++free_count;
      quadratic += dual.u[k] * dual.f[i];
      linear += target[k] * dual.u[k];
    }
  }
  double b0 = 0;
  if (free_count)
    b0 = free_sum / static_cast<double>(free_count);
  else if (up > -kBig && low < kBig)
    b0 = 0.5 * (up + low);
  Outcome out;
  out.primal = 0.5 * quadratic;
  for (std::size_t q = 0; q < dual.Q; ++q) {
    out.b.push_back(b0 + dual.offset(q));
    for (std::size_t i = 0, k = q * dual.stride; i < dual.n; ++i, ++k)
      out.primal += dual.cap[k] * std::max(0.0, dual.y[k] * (target[k] - (dual.f[i] + out.b[q])));
  }
  out.gap = out.primal - (linear - 0.5 * quadratic) + slack;
  return out;
}

}  // namespace rejo
