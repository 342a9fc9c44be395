// The engines behind one interface, one implementation for each instruction set.
// Included once for each instruction set, inside its own namespace: no include guard.
#include "_simd.hpp"
#include "_kernels.hpp"
#include "_smo.hpp"
#include "_factor.hpp"
#include "_interior.hpp"
#include "_blocks.hpp"

class Implementation final : public Engine {
 public:
  const char* name() const override { return REJO_NAME; }

  void gram(const Kernel& kernel, const Points<float>& points, float* K, std::size_t threads,
            Watch& watch) const override {
    REJO_ARCH::gram(kernel, points, K, padded(points.n), threads, watch);
  }
  void gram(const Kernel& kernel, const Points<double>& points, double* K, std::size_t threads,
            Watch& watch) const override {
    REJO_ARCH::gram(kernel, points, K, padded(points.n), threads, watch);
  }
  void evaluate(const Kernel& kernel, const Points<double>& basis, const double* coef,
                const Points<double>& at, double* g, std::size_t threads,
                Watch& watch) const override {
    REJO_ARCH::evaluate(kernel, basis, coef, at, g, threads, watch);
  }

  bool factorise(const Kernel& kernel, const Points<double>& points, double eps, std::size_t max_rank,
                 Factor& factor, Watch& watch) const override {
    return Cholesky(kernel, points, max_rank, factor).run(eps, watch);
  }

  Progress solve_gram(Dual& dual, const float* K, double tol, Count max_iter,
                      Watch& watch) const override {
    return on_gram(dual, K, tol, max_iter, watch);
  }
  Progress solve_gram(Dual& dual, const double* K, double tol, Count max_iter,
                      Watch& watch) const override {
    return on_gram(dual, K, tol, max_iter, watch);
  }

  Progress solve_factor(Dual& dual, const Factor& factor, bool warm, double tol, Count max_iter,
                        Watch& watch) const override {
    Count interior = 0;
    if (!warm) {
      // A loose interior solution names the active set; the crossover makes it exact.
      if (!interior_start<float>(dual, factor, interior, watch))
        interior_start<double>(dual, factor, interior, watch);
    }
    const std::size_t most = factor.rank + dual.Q + kExtra + dual.n / 256;
    Progress progress = blocks(dual, FactorSource{factor}, most, tol, max_iter, watch);
    progress.iterations += interior;
    return progress;
  }

  Progress solve_blocks(Dual& dual, const Kernel& kernel, const Points<float>& points,
                        std::size_t threads, double tol, Count max_iter,
                        Watch& watch) const override {
    return blocks(dual, KernelSource<float>{kernel, points, threads}, kBlock, tol, max_iter, watch);
  }
  Progress solve_blocks(Dual& dual, const Kernel& kernel, const Points<double>& points,
                        std::size_t threads, double tol, Count max_iter,
                        Watch& watch) const override {
    return blocks(dual, KernelSource<double>{kernel, points, threads}, kBlock, tol, max_iter, watch);
  }

 private:
  static constexpr int kInterior = 100;
  static constexpr std::size_t kExtra = 64;
  static constexpr std::size_t kBlock = 1024;  // points: their Gram matrix stays in the caches

  template <class T>
  static bool interior_start(Dual& dual, const Factor& factor, Count& iterations, Watch& watch) {
    InteriorPoint<T> method(factor, dual);
    const bool good = method.run(1e-3, kInterior, watch);
    method.write();
    iterations += method.iterations;
    return good;
  }

  template <class T>
  static Progress on_gram(Dual& dual, const T* K, double tol, Count max_iter, Watch& watch) {
    GramRows<T> rows{K, padded(dual.n)};
    clip(dual);
    gradient(dual, rows, dual.f.data(), watch);
    if (balance(dual)) gradient(dual, rows, dual.f.data(), watch);
    return Smo<T, GramRows<T>>(dual, rows).run(tol, max_iter, nullptr, watch);
  }
};
