// The binding: NumPy arrays in, tuples out; the GIL is released while the engines run.
// The engines trust shapes and indices, and the arrays may come from a model file: every function
// that Python can call checks all of them first, and raises ValueError.  Where a wrong number would
// lead out of memory, it is copied before it is checked: an array may change at any time.
#include <pybind11/stl.h>

#include <limits>
#include <mutex>
#include <string>

#include "_binding.hpp"
#include "_instructions.hpp"
#include "_points.hpp"

namespace rejo {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;
  virtual void gram(const Kernel&, const Points<float>&, float* K, std::size_t threads, Watch&) const = 0;
  virtual void gram(const Kernel&, const Points<double>&, double* K, std::size_t threads, Watch&) const = 0;
  virtual void evaluate(const Kernel&, const Points<double>& basis, const double* coef,
                        const Points<double>& at, double* g, std::size_t threads, Watch&) const = 0;
  virtual bool factorise(const Kernel&, const Points<double>&, double eps, std::size_t max_rank, Factor&,
                         Watch&) const = 0;
  virtual Progress solve_gram(Dual&, const float* K, double tol, Count max_iter, Watch&) const = 0;
  virtual Progress solve_gram(Dual&, const double* K, double tol, Count max_iter, Watch&) const = 0;
  virtual Progress solve_factor(Dual&, const Factor&, bool warm, double tol, Count max_iter,
                                Watch&) const = 0;
  virtual Progress solve_blocks(Dual&, const Kernel&, const Points<float>&, std::size_t threads,
                                double tol, Count max_iter, Watch&) const = 0;
  virtual Progress solve_blocks(Dual&, const Kernel&, const Points<double>&, std::size_t threads,
                                double tol, Count max_iter, Watch&) const = 0;
};

// The same source for each instruction set; the best that the processor has is taken at run time.
#define REJO_ARCH baseline
#define REJO_NAME "baseline"
#define REJO_WIDTH 16
namespace REJO_ARCH {
#include "_engine.hpp"
}
#undef REJO_ARCH
#undef REJO_NAME
#undef REJO_WIDTH

#ifdef REJO_DISPATCH
REJO_TARGET(REJO_AVX2)
#define REJO_ARCH avx2
#define REJO_NAME "avx2"
#define REJO_WIDTH 32
namespace REJO_ARCH {
#include "_engine.hpp"
}
#undef REJO_ARCH
#undef REJO_NAME
#undef REJO_WIDTH
REJO_END_TARGET

REJO_TARGET(REJO_AVX512)
#define REJO_ARCH avx512
#define REJO_NAME "avx512"
#define REJO_WIDTH 64
namespace REJO_ARCH {
#include "_engine.hpp"
}
#undef REJO_ARCH
#undef REJO_NAME
#undef REJO_WIDTH
REJO_END_TARGET
#endif

// All that this processor can run, the best first.
static const std::vector<const Engine*>& engines() {
  static const std::vector<const Engine*> list = [] {
    static const baseline::Implementation base;
    std::vector<const Engine*> found;
#ifdef REJO_DISPATCH
    static const avx2::Implementation v3;
    static const avx512::Implementation v4;
    const Processor processor;
    if (processor.avx512) found.push_back(&v4);
    if (processor.avx2) found.push_back(&v3);
#endif
    found.push_back(&base);
    return found;
  }();
  return list;
}

}  // namespace rejo

namespace py = pybind11;
using namespace rejo;
using Doubles = Array<double>;
using Longs = Array<std::int64_t>;

static const Engine* chosen = nullptr;

static Kernel make_kernel(const std::string& name, double gamma, int degree, double coef0) {
  Kernel kernel;
  kernel.gamma = gamma;
  kernel.degree = degree;
  kernel.coef0 = coef0;
  if (name == "linear")
    kernel.name = KernelName::linear;
  else if (name == "poly")
    kernel.name = KernelName::poly;
  else if (name == "rbf")
    kernel.name = KernelName::rbf;
  else if (name == "sigmoid")
    kernel.name = KernelName::sigmoid;
  else
    throw std::invalid_argument("unknown kernel: " + name);
  return kernel;
}

// Number of rows of a matrix with at least one column.
static std::size_t matrix_rows(const Doubles& X) {
  require(X.ndim() == 2 && X.shape(1) > 0, "points must be a matrix with one column or more");
  return static_cast<std::size_t>(X.shape(0));
}

// Rows x (n, p), less m (p,) or nothing.
template <class T>
static Points<T> dense_points(const double* x, std::size_t n, std::size_t p,
                              const std::vector<double>& m) {
  Points<T> points(n, p);
  for (std::size_t i = 0; i < n; ++i, x += p)
    for (std::size_t k = 0; k < p; ++k)
      points.at(i)[k * kTile] = static_cast<T>(x[k] - (m.empty() ? 0.0 : m[k]));
  return points;
}

// Rows of a CSR matrix with p columns.
static std::shared_ptr<const Csr> sparse_rows(const Doubles& values, const Longs& indices,
                                              const Longs& indptr, std::size_t p) {
  require(values.ndim() == 1 && indices.ndim() == 1 && indptr.ndim() == 1 && indptr.size() > 0 && p > 0,
          "a CSR matrix has three vectors, and one column or more");
  auto rows = std::make_shared<Csr>(Csr{copied(values), copied(indices), copied(indptr), {}});
  const std::vector<std::int64_t>& start = rows->indptr;
  const std::size_t n = start.size() - 1;
  bool rises = start[0] == 0;
  for (std::size_t i = 0; i < n; ++i) rises &= start[i] <= start[i + 1];
  const std::size_t entries = std::min(rows->values.size(), rows->indices.size());
  require(rises && static_cast<std::size_t>(start.back()) <= entries,
          "indptr must rise from 0 to the number of entries at most");
  bool inside = true;  // negative ones become very large
  for (std::int64_t k = 0; k < start.back(); ++k)
    inside &= static_cast<std::uint64_t>(rows->indices[k]) < p;
  require(inside, "indices must be columns of the matrix");
  rows->squared_norms.assign(n, 0.0);
  std::vector<double> x(p, 0.0);  // one row: an index that comes twice stands for the sum
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t first = start[i], last = start[i + 1];
    for (std::int64_t k = first; k < last; ++k) x[rows->indices[k]] += rows->values[k];
    for (std::int64_t k = first; k < last; ++k)
      rows->squared_norms[i] += rows->values[k] * x[rows->indices[k]];
    for (std::int64_t k = first; k < last; ++k) x[rows->indices[k]] = 0;
  }
  return rows;
}

template <class T>
static Points<T> sparse_points(std::shared_ptr<const Csr> rows, std::size_t p) {
  Points<T> points;
  points.n = rows->indptr.size() - 1;
  points.p = p;
  points.csr = std::move(rows);
  return points;
}

static std::size_t some_threads(std::size_t asked) {
  require(asked > 0, "there must be a thread");
  return std::min<std::size_t>(asked, 256);
}

// Calls from several threads come one after the other: what is prepared once belongs to all.
class Problem {
 public:
  // Dense: `X` (n, p), less `centre` (p,) where it is given.
  Problem(const Doubles& X, const Doubles& centre, const std::string& name, double gamma,
          int degree, double coef0)
      : n_(matrix_rows(X)), p_(static_cast<std::size_t>(X.shape(1))), source_(Source::dense),
        kernel_(make_kernel(name, gamma, degree, coef0)), owner_(X), x_(X.data()),
        centre_(copied(centre)) {
    require(n_ > 0, "there are no points");
    require(centre_.empty() || centre_.size() == p_, "centre must have one entry a column");
  }
  Problem(const Doubles& values, const Longs& indices, const Longs& indptr, std::size_t p,
          const std::string& name, double gamma, int degree, double coef0)
      : p_(p), source_(Source::sparse), kernel_(make_kernel(name, gamma, degree, coef0)),
        csr_(sparse_rows(values, indices, indptr, p)) {
    n_ = csr_->indptr.size() - 1;
    require(n_ > 0, "there are no points");
  }
  // The Gram matrix itself, (n, n).
  explicit Problem(const Doubles& K) : n_(matrix_rows(K)), source_(Source::gram) {
    require(n_ > 0 && K.shape(0) == K.shape(1), "a Gram matrix must be square");
    double_.reset(n_ * padded(n_));
    for (std::size_t i = 0; i < n_; ++i)
      std::copy(K.data() + i * n_, K.data() + (i + 1) * n_, &double_[i * padded(n_)]);
  }

  void use_threads(std::size_t threads) {
    in_turn([&](Watch&) { threads_ = some_threads(threads); });
  }

  py::tuple solve_gram(bool single, const Doubles& labels, const Doubles& caps, py::object u,
                       double h, double tol, Count max_iter, py::object margins) {
    Dual dual = make_dual(labels, caps, margins, u, h);
    Progress progress;
    Outcome outcome;
    in_turn([&](Watch& watch) {
      if (single && near()) {
        ready(single_, single_points_, watch);
        progress = chosen->solve_gram(dual, single_.data(), tol, max_iter, watch);
      } else {
        ready(double_, double_points_, watch);
        progress = chosen->solve_gram(dual, double_.data(), tol, max_iter, watch);
      }
      outcome = conclude(dual, 0);
    });
    return answer(dual, progress, outcome);
  }

  // Prepares K ~ Z Z' with residuals below eps; False where that needs a rank above max_rank.
  bool factorise(double eps, std::size_t max_rank) {
    require(source_ == Source::dense, "only dense points can be factorised");
    bool good = false;
    in_turn([&](Watch& watch) {
      factor_ = Factor{};
      Factor found;  // an interrupt leaves a part of it
      if (kernel_.name == KernelName::linear) {
        good = p_ <= max_rank;
        if (good) found = linear_factor();
      } else {
        good = chosen->factorise(kernel_, points(double_points_), eps, std::min(max_rank, n_), found, watch);
      }
      if (good) factor_ = std::move(found);
    });
    return good;
  }
  std::size_t rank() {
    std::size_t found = 0;
    in_turn([&](Watch&) { found = factor_.rank; });
    return found;
  }

  // For the pivots' kernel functions: g = sum_j coef_j k(pivot_j, .), coef = L^-T w, w = Z'B.
  py::tuple solve_factor(const Doubles& labels, const Doubles& caps, py::object u, double h,
                         double tol, Count max_iter, py::object margins) {
    Dual dual = make_dual(labels, caps, margins, u, h);
    Progress progress;
    Outcome outcome;
    std::vector<double> w;
    std::vector<std::size_t> places;
    const bool warm = !u.is_none();
    in_turn([&](Watch& watch) {
      require(factor_.n == n_, "factorise first");
      w.assign(factor_.width, 0.0);
      places = factor_.pivots;
      progress = chosen->solve_factor(dual, factor_, warm, tol, max_iter, watch);
      double hidden = 0;  // sqrt(B'(K - ZZ')B) <= sum |B_i| sqrt(residual_i)
      for (std::size_t i = 0; i < dual.n; ++i) {
        const double B = dual.weight(i);
        if (B == 0) continue;
        hidden += std::fabs(B) * std::sqrt(factor_.residual[i]);
        for (std::size_t k = 0; k < factor_.rank; ++k) w[k] += B * factor_.row(i)[k];
      }
      outcome = conclude(dual, 0.5 * hidden * hidden);
      for (std::size_t a = factor_.pivots.size(); a-- > 0;) {
        const double* L = factor_.row(factor_.pivots[a]);
        w[a] /= L[a];
        for (std::size_t b = 0; b < a; ++b) w[b] -= w[a] * L[b];
      }
      w.resize(factor_.rank);
    });
    py::array_t<double> coef(static_cast<py::ssize_t>(w.size()));
    std::copy(w.begin(), w.end(), coef.mutable_data());
    py::array_t<std::int64_t> pivots(static_cast<py::ssize_t>(places.size()));
    std::copy(places.begin(), places.end(), pivots.mutable_data());
    return answer(dual, progress, outcome) + py::make_tuple(pivots, coef);
  }

  py::tuple solve_blocks(bool single, const Doubles& labels, const Doubles& caps, py::object u,
                         double h, double tol, Count max_iter, py::object margins) {
    require(source_ != Source::gram, "a Gram matrix is not made of blocks");
    Dual dual = make_dual(labels, caps, margins, u, h);
    Progress progress;
    Outcome outcome;
    in_turn([&](Watch& watch) {
      const auto solve = [&](const auto& all) {
        progress = chosen->solve_blocks(dual, kernel_, all, threads_, tol, max_iter, watch);
      };
      if (single && near())
        solve(points(single_points_));
      else
        solve(points(double_points_));
      outcome = conclude(dual, 0);
    });
    return answer(dual, progress, outcome);
  }

 private:
  enum class Source { dense, sparse, gram };
  static constexpr double kFarthest = 1e3;  // gamma |x|^2: values of the kernel err by 1e-5 at most

  // Who waits has released the GIL, and whoever works may take it to look for Ctrl-C.
  template <class Work>
  void in_turn(Work work) {
    unlocked([&](Watch& watch) {
      const std::lock_guard<std::mutex> hold(turn_);
      work(watch);
    });
  }

  template <class T>
  const Points<T>& points(Points<T>& made) const {
    if (made.n == 0)
      made = csr_ ? sparse_points<T>(csr_, p_) : dense_points<T>(x_, n_, p_, middle<T>());
    return made;
  }

  // Whether points in single precision tell distances well: they are not far from their mean.
  bool near() {
    if (source_ != Source::dense || kernel_.name != KernelName::rbf) return true;
    if (far_ < 0) {
      const Points<float>& all = points(single_points_);
      std::vector<double> norms(n_, 0.0);
      for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t k = 0; k < p_; ++k) {
          const double x = all.at(i)[k * kTile];
          norms[i] += x * x;
        }
      far_ = *std::max_element(norms.begin(), norms.end());
    }
    return kernel_.gamma * far_ <= kFarthest;
  }

  // What to subtract from dense points: of distances in single precision, the mean.
  template <class T>
  std::vector<double> middle() const {
    if (sizeof(T) == sizeof(double) || kernel_.name != KernelName::rbf) return centre_;
    std::vector<double> mean(p_, 0.0);
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t k = 0; k < p_; ++k) mean[k] += x_[i * p_ + k] / static_cast<double>(n_);
    return mean;
  }

  // The linear kernel is its own factor: Z = X.
  Factor linear_factor() const {
    Factor factor;
    factor.n = n_;
    factor.rank = p_;
    factor.width = (factor.rank + 7) / 8 * 8;
    factor.Z.reset(padded(n_) * factor.width);
    factor.residual.assign(n_, 0.0);
    std::vector<double> centre = centre_;
    centre.resize(p_, 0.0);
    const double* x = x_;
    double* z = factor.Z.data();
    for (std::size_t i = 0; i < n_; ++i, x += factor.rank, z += factor.width)
      for (std::size_t k = 0; k < factor.rank; ++k) z[k] = x[k] - centre[k];
    return factor;
  }

  template <class T>
  void ready(Buffer<T>& K, Points<T>& made, Watch& watch) {
    if (!K.empty()) return;
    Buffer<T> whole(n_ * padded(n_), source_ == Source::gram);  // an interrupt leaves a part of it
    if (source_ != Source::gram) {
      chosen->gram(kernel_, points(made), whole.data(), threads_, watch);
    } else {  // given: only the precision changes
      for (std::size_t k = 0; k < whole.size(); ++k) whole[k] = static_cast<T>(double_[k]);
    }
    K = std::move(whole);
  }

  // `margins` and `start`: None, or (n, Q) as the labels.
  Dual make_dual(const Doubles& labels, const Doubles& caps, const py::object& margins,
                 const py::object& start, double h) const {
    const std::size_t n = n_;
    require(labels.ndim() == 2 && static_cast<std::size_t>(labels.shape(0)) == n && labels.shape(1) > 0,
            "labels must be (n, Q)");
    const std::size_t Q = static_cast<std::size_t>(labels.shape(1));
    // The engines count variables in 32 bits.
    require(Q <= std::numeric_limits<std::int32_t>::max() / padded(n),
            "there are too many points and replicas");
    require(std::isfinite(h), "h must be finite");
    Dual dual;
    dual.resize(n, Q);
    dual.h2 = h * h;
    transpose(labels, dual, dual.y, "labels must be +1 or -1",
              [](double y) { return std::fabs(y) == 1.0; });
    transpose(caps, dual, dual.cap, "caps must be (n, Q), finite and not negative",
              [](double cap) { return std::isfinite(cap) && cap >= 0.0; });
    const auto finite = [](double x) { return std::isfinite(x); };
    if (!margins.is_none()) {
      dual.target.reset(Q * dual.stride);
      transpose(Doubles(margins), dual, dual.target, "margins must be (n, Q) and finite", finite);
      for (std::size_t k = 0; k < Q * dual.stride; ++k) dual.target[k] *= dual.y[k];
    }
    if (!start.is_none())
      transpose(Doubles(start), dual, dual.u, "u must be (n, Q) and finite", finite);
    return dual;
  }
  // Copies a table (n, Q), and then looks whether all that was copied is `good`.
  template <class Good>
  static void transpose(const Doubles& from, const Dual& dual, Buffer<double>& to,
                        const char* problem, Good good) {
    require(from.ndim() == 2 && static_cast<std::size_t>(from.shape(0)) == dual.n &&
                static_cast<std::size_t>(from.shape(1)) == dual.Q,
            problem);
    bool all = true;
    for (std::size_t i = 0; i < dual.n; ++i)
      for (std::size_t q = 0; q < dual.Q; ++q) {
        double& x = to[q * dual.stride + i];
        x = from.data()[i * dual.Q + q];
        all &= good(x);
      }
    require(all, problem);
  }
  static py::tuple answer(const Dual& dual, const Progress& progress, const Outcome& outcome) {
    py::array_t<double> u({dual.n, dual.Q}), b(static_cast<py::ssize_t>(dual.Q));
    double* out = u.mutable_data();
    for (std::size_t i = 0; i < dual.n; ++i)
      for (std::size_t q = 0; q < dual.Q; ++q) *out++ = dual.u[q * dual.stride + i];
    std::copy(outcome.b.begin(), outcome.b.end(), b.mutable_data());
    return py::make_tuple(u, b, outcome.primal, outcome.gap, progress.iterations,
                          progress.converged);
  }

  std::mutex turn_;
  std::size_t n_ = 0, p_ = 0;
  Source source_;
  Kernel kernel_;
  Doubles owner_{0};           // of dense rows,
  const double* x_ = nullptr;  // (n, p): its shape is Python's to change
  std::vector<double> centre_;
  std::shared_ptr<const Csr> csr_;
  double far_ = -1;  // largest |x|^2 of the points in single precision; negative: not known
  Points<float> single_points_;
  Points<double> double_points_;
  std::size_t threads_ = 1;
  Factor factor_;
  Buffer<float> single_;
  Buffer<double> double_;
};

static py::array_t<double> evaluate(const Points<double>& basis, const Doubles& coef,
                                    const Points<double>& at, const Kernel& kernel, std::size_t threads) {
  require(static_cast<std::size_t>(coef.size()) == basis.n && basis.p == at.p,
          "basis, coef and X disagree in shape");
  threads = some_threads(threads);
  py::array_t<double> g(static_cast<py::ssize_t>(at.n));
  double* out = g.mutable_data();
  unlocked([&](Watch& watch) { chosen->evaluate(kernel, basis, coef.data(), at, out, threads, watch); });
  return g;
}

PYBIND11_MODULE(_svm, m) {
  chosen = engines().front();
  m.doc() = "The rejoSVM engines.";
  m.def("architectures", [] {
    std::vector<std::string> names;
    for (const Engine* e : engines()) names.emplace_back(e->name());
    return names;
  });
  m.def("in_use", [] { return std::string(chosen->name()); });
  m.def("use", [](const std::string& name) {
    for (const Engine* e : engines())
      if (name == e->name()) {
        chosen = e;
        return;
      }
    throw std::invalid_argument("this processor cannot run: " + name);
  });
  m.attr("sources") = REJO_TEXT(REJO_SOURCES);
  auto problem = complete_class<Problem>(m, "Problem");
  problem
      .def_static("_make", &make<Problem, const Doubles&, const Doubles&, const std::string&,
                                 double, int, double>)
      .def_static("_make", &make<Problem, const Doubles&, const Longs&, const Longs&, std::size_t,
                                 const std::string&, double, int, double>)
      .def_static("_make", &make<Problem, const Doubles&>)
      .def("use_threads", &Problem::use_threads)
      .def("solve_gram", &Problem::solve_gram)
      .def("factorise", &Problem::factorise)
      .def("rank", &Problem::rank)
      .def("solve_factor", &Problem::solve_factor)
      .def("solve_blocks", &Problem::solve_blocks);
  seal(problem);
  m.def("evaluate_dense", [](const Doubles& X, const Doubles& basis, const Doubles& coef,
                             const std::string& name, double gamma, int degree, double coef0,
                             std::size_t threads) {
    Points<double> at;
    at.n = matrix_rows(X);
    at.p = static_cast<std::size_t>(X.shape(1));
    at.rows = X.data();
    const std::size_t n = matrix_rows(basis), p = static_cast<std::size_t>(basis.shape(1));
    return evaluate(dense_points<double>(basis.data(), n, p, {}), coef, at,
                    make_kernel(name, gamma, degree, coef0), threads);
  });
  m.def("evaluate_sparse",
        [](const Doubles& values, const Longs& indices, const Longs& indptr, const Doubles& bvalues,
           const Longs& bindices, const Longs& bindptr, std::size_t p, const Doubles& coef,
           const std::string& name, double gamma, int degree, double coef0, std::size_t threads) {
          return evaluate(sparse_points<double>(sparse_rows(bvalues, bindices, bindptr, p), p), coef,
                          sparse_points<double>(sparse_rows(values, indices, indptr, p), p),
                          make_kernel(name, gamma, degree, coef0), threads);
        });
}
