// The SVM with embedded reject: descents on its smoothed cost, from several starts, while the
// slope of the sigmoids grows.  `embedded.py` has the formulas, and the same in NumPy.
// Every function that Python can call checks shapes and numbers first, and raises ValueError.
#include <pybind11/stl.h>

#include <string>
#include <tuple>

#include "_binding.hpp"
#include "_descent.hpp"
#include "_instructions.hpp"

namespace rejo {

constexpr std::size_t kTile = 32, kLanes = 8;  // rows that go together; sums side by side
constexpr double kSteepest = 100.0;            // slope whose exponentials stay finite
constexpr double kHopTol = 1e-5;                // at most: where hops end must be comparable

// Rows Z (n, r) in tiles of kTile, feature by feature; rows of cost c = 0 fill the last one.
struct Tiles {
  std::size_t n = 0, r = 0, tiles = 0;
  Buffer<double> Z;     // (tiles, r, kTile)
  Buffer<double> y, c;  // (tiles, kTile)
};

struct Shape {
  double slope, margin, reject, square;
};

using Cost = double (*)(const Tiles&, const Shape&, const double*, double*, double*);

// The same source for each instruction set; the best that the processor has is taken at run time.
namespace baseline {
#include "_sigmoids.hpp"
}
#ifdef REJO_DISPATCH
REJO_TARGET(REJO_AVX2)
namespace avx2 {
#include "_sigmoids.hpp"
}
REJO_END_TARGET
REJO_TARGET(REJO_AVX512)
namespace avx512 {
#include "_sigmoids.hpp"
}
REJO_END_TARGET
#endif

// All that this processor can run, the best first.
static const std::vector<std::pair<std::string, Cost>>& engines() {
  static const std::vector<std::pair<std::string, Cost>> list = [] {
    std::vector<std::pair<std::string, Cost>> found;
#ifdef REJO_DISPATCH
    const Processor processor;
    if (processor.avx512) found.emplace_back("avx512", avx512::smoothed_cost);
    if (processor.avx2) found.emplace_back("avx2", avx2::smoothed_cost);
#endif
    found.emplace_back("baseline", baseline::smoothed_cost);
    return found;
  }();
  return list;
}

}  // namespace rejo

namespace py = pybind11;
using namespace rejo;

namespace {

using Doubles = Array<double>;
using Vector = std::vector<double>;
using Trace = std::vector<std::tuple<double, double, double>>;  // slope, J before, J after

bool finite(const double* a, std::size_t n) {
  return std::all_of(a, a + n, [](double x) { return std::isfinite(x); });
}
bool finite(const Vector& a) { return finite(a.data(), a.size()); }

// A copy, so that what was checked stays as it was checked.
Vector vector_of(const Doubles& a, const char* problem) {
  require(a.ndim() == 1, problem);
  return copied(a);
}

Shape make_shape(double slope, double margin, double reject, double square) {
  require(slope > 0 && slope <= kSteepest, "a slope must be above 0 and at most 100");
  require(margin >= 0 && margin <= reject && reject <= 1 && square >= 0 && std::isfinite(square),
          "the costs must be 0 <= margin <= reject <= 1, and the square's weight 0 or more");
  return {slope, margin, reject, square};
}

double or_infinity(double J) { return std::isnan(J) ? std::numeric_limits<double>::infinity() : J; }

// Leaves out the points that have met an earlier one: closer than `same` of their size.
std::vector<Descended> apart(std::vector<Descended> ends, double same) {
  std::stable_sort(ends.begin(), ends.end(), [](const Descended& a, const Descended& b) {
    return or_infinity(a.value) < or_infinity(b.value);
  });
  std::vector<Descended> kept;
  for (Descended& end : ends) {
    const auto met = [&](const Descended& other) {
      double distance = 0, size = 0;
      for (std::size_t i = 0; i < end.u.size(); ++i) {
        distance += (end.u[i] - other.u[i]) * (end.u[i] - other.u[i]);
        size += end.u[i] * end.u[i];
      }
      return !(distance > same * same * size);
    };
    if (std::none_of(kept.begin(), kept.end(), met)) kept.push_back(std::move(end));
  }
  return kept;
}

// SplitMix64: the same numbers on every machine.
class Random {
 public:
  double uniform() {  // in [-1, 1)
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-52 - 1.0;
  }

 private:
  std::uint64_t state_ = 0;
};

class Rows {
 public:
  Rows(const Doubles& Z, const Doubles& y, const Doubles& c, const std::string& engine) {
    require(Z.ndim() == 2 && Z.shape(0) > 0 && Z.shape(1) > 0, "Z must have rows and columns");
    require(y.ndim() == 1 && c.ndim() == 1 && y.size() == Z.shape(0) && c.size() == Z.shape(0),
            "there must be a label and a cost for each row");
    pack(Z.data(), y.data(), c.data(), static_cast<std::size_t>(Z.shape(0)),
         static_cast<std::size_t>(Z.shape(1)));
    require(finite(rows_.Z.data(), rows_.Z.size()) && finite(rows_.c.data(), rows_.c.size()),
            "Z and c must be finite");
    for (std::size_t i = 0; i < rows_.n; ++i)
      require(std::fabs(rows_.y[i]) == 1.0 && rows_.c[i] >= 0,
              "labels must be 1 or -1, and costs 0 or more");
    for (const auto& each : engines())
      if (!cost_ && (engine.empty() || each.first == engine)) cost_ = each.second;
    require(cost_ != nullptr, "this processor has no such engine");
  }

  py::tuple objective(const Doubles& v, double slope, double margin, double reject,
                      double square) const {
    const Shape shape = make_shape(slope, margin, reject, square);
    require(v.ndim() == 1 && static_cast<std::size_t>(v.size()) == rows_.r + 2,
            "v must have a number for each column, and two more");
    require(v.data()[rows_.r + 1] >= 0 && v.data()[rows_.r + 1] <= 1, "eps must be in [0, 1]");
    py::array_t<double> gradient(v.size());
    Buffer<double> lanes((rows_.r + 3) * kLanes);
    const double J = cost_(rows_, shape, v.data(), gradient.mutable_data(), lanes.data());
    return py::make_tuple(J, gradient);
  }

  // Descends from all starts (m, r + 2); see `embedded.solve`.
  py::tuple minimise(const Doubles& starts, const Doubles& scale, const Doubles& slopes,
                     const Doubles& entries, double margin, double reject, double square,
                     double same, double finish, double tol, Count max_iter, Count n_hops,
                     const Doubles& hop_sizes, Count n_draws) const {
    const std::size_t dim = rows_.r + 2;
    require(starts.ndim() == 2 && starts.shape(0) > 0 &&
                static_cast<std::size_t>(starts.shape(1)) == dim,
            "starts must have rows, with a number for each column, and two more");
    const Starts from{copied(starts), vector_of(scale, "scale must be a vector"),
                      vector_of(entries, "entries must be a vector")};
    const Vector stages = vector_of(slopes, "slopes must be a vector");
    const Hops hops{n_hops, vector_of(hop_sizes, "hop_sizes must be a vector"), n_draws};
    require(finite(from.points), "starts must be finite");
    require(from.scale.size() == dim && finite(from.scale) &&
                std::all_of(from.scale.begin(), from.scale.end(), [](double x) { return x > 0; }),
            "there must be a finite scale above 0 for each variable");
    require(!stages.empty() && from.enter(stages[0]), "the starts must enter at the first slope");
    require(std::isfinite(same) && finish > 0 && tol > 0 && max_iter > 0,
            "tolerances and max_iter must be above 0");
    require(n_hops >= 0 && n_draws > 0 && !hops.sizes.empty() && finite(hops.sizes),
            "hops need a number, finite sizes and draws");
    std::vector<Shape> shapes;
    for (double slope : stages) shapes.push_back(make_shape(slope, margin, reject, square));
    Trace trace;
    Descended best;
    unlocked([&](Watch& watch) {
      best = descend(from, shapes, same, finish, tol, max_iter, hops, trace, watch);
    });
    py::array_t<double> v(static_cast<py::ssize_t>(dim));
    for (std::size_t i = 0; i < dim; ++i) v.mutable_data()[i] = best.u[i] / from.scale[i];
    return py::make_tuple(v, best.value, best.steps, best.converged, trace);
  }

 private:
  struct Starts {
    Vector points;   // (m, dim)
    Vector scale;    // (dim,)
    Vector entries;  // slopes
    bool enter(double slope) const {
      return std::find(entries.begin(), entries.end(), slope) != entries.end();
    }
  };

  struct Hops {
    Count count;
    Vector sizes;  // relative to the scale of b
    Count draws;
  };

  // A point near u, which the draws take in u = scale * v; flipped labels flip it.
  void disturb(const std::vector<double>& u, double size, double top, Random& random,
               std::vector<double>& out) const {
    const std::size_t last = u.size() - 1;
    const double step = size * std::sqrt(3.0 / static_cast<double>(u.size()));
    for (std::size_t i = 0; i < last; ++i) out[i] = u[i] + rows_.y[0] * step * random.uniform();
    const double eps = std::fabs(u[last] + size * random.uniform());
    out[last] = eps <= top ? eps : std::max(0.0, 2.0 * top - eps);
  }

  void pack(const double* Z, const double* y, const double* c, std::size_t n, std::size_t r) {
    rows_.n = n;
    rows_.r = r;
    rows_.tiles = (n + kTile - 1) / kTile;
    rows_.Z.reset(rows_.tiles * kTile * r);
    rows_.y.reset(rows_.tiles * kTile);
    rows_.c.reset(rows_.tiles * kTile);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t tile = i / kTile, place = i % kTile;
      for (std::size_t j = 0; j < r; ++j) rows_.Z[(tile * r + j) * kTile + place] = Z[i * r + j];
      rows_.y[i] = y[i];
      rows_.c[i] = c[i];
    }
  }

  // From all starts down through the slopes, then hops: from near the lowest end, again down.
  // Returns the lowest end; its `steps` are those of all descents.
  Descended descend(const Starts& from, const std::vector<Shape>& shapes, double same,
                    double finish, double tol, Count max_iter, const Hops& hops, Trace& trace,
                    Watch& watch) const {
    const std::size_t dim = rows_.r + 2;
    Shape shape = shapes[0];
    Buffer<double> lanes((rows_.r + 3) * kLanes);
    std::vector<double> v(dim);
    const auto value = [&](const double* u, double* gradient) {  // in u = scale * v
      watch.check(static_cast<double>(rows_.tiles * kTile) * static_cast<double>(dim));
      for (std::size_t i = 0; i < dim; ++i) v[i] = u[i] / from.scale[i];
      v[dim - 1] = std::min(v[dim - 1], 1.0);  // rounding
      const double J = cost_(rows_, shape, v.data(), gradient, lanes.data());
      for (std::size_t i = 0; i < dim; ++i) gradient[i] /= from.scale[i];
      return J;
    };
    Descent<decltype(value)> descent(dim, from.scale[dim - 1], value);
    Count steps = 0;
    const auto run = [&](std::vector<double> u, double tol) {
      Descended end = descent.run(std::move(u), tol, max_iter);
      trace.emplace_back(shape.slope, end.before, end.value);
      steps += end.steps;
      return end;
    };
    std::vector<Descended> paths;
    for (const Shape& each : shapes) {
      shape = each;
      std::vector<Descended> ends;
      for (Descended& path : paths) ends.push_back(run(std::move(path.u), tol));
      if (from.enter(shape.slope))
        for (auto at = from.points.begin(); at != from.points.end(); at += dim) {
          std::vector<double> u(at, at + dim);
          for (std::size_t i = 0; i < dim; ++i) u[i] *= from.scale[i];
          ends.push_back(run(std::move(u), tol));
        }
      paths = apart(std::move(ends), same);
    }
    Descended best = std::move(paths[0]);
    const double fine = std::min(tol, kHopTol);
    Random random;
    std::vector<double> near(dim), least(dim), ignored(dim);
    for (Count h = 0; h < hops.count; ++h) {
      const double size = hops.sizes[static_cast<std::size_t>(h) % hops.sizes.size()];
      // Every other one begins where the sigmoids are flatter.
      shape = shapes[shapes.size() - (h % 2 && shapes.size() > 1 ? 2 : 1)];
      double lowest = std::numeric_limits<double>::infinity();
      least = best.u;
      for (Count d = 0; d < hops.draws; ++d) {
        disturb(best.u, size * from.scale[dim - 2], from.scale[dim - 1], random, near);
        const double J = value(near.data(), ignored.data());
        if (J < lowest) {
          lowest = J;
          least = near;
        }
      }
      Descended end = run(least, fine);
      if (shape.slope != shapes.back().slope) {
        shape = shapes.back();
        end = run(std::move(end.u), fine);
      }
      if (end.value < best.value) best = std::move(end);
    }
    shape = shapes.back();
    best = run(std::move(best.u), finish * tol);
    best.steps = steps;
    return best;
  }

  Tiles rows_;
  Cost cost_ = nullptr;
};

}  // namespace

PYBIND11_MODULE(_embedded, module) {
  module.attr("sources") = REJO_TEXT(REJO_SOURCES);
  auto rows = complete_class<Rows>(module, "Rows");
  rows.def_static("_make", &make<Rows, const Doubles&, const Doubles&, const Doubles&, const std::string&>,
                  py::arg("Z"), py::arg("y"), py::arg("c"), py::arg("engine") = "")
      .def("objective", &Rows::objective)
      .def("minimise", &Rows::minimise, py::arg("starts"), py::arg("scale"), py::arg("slopes"),
           py::arg("entries"), py::arg("margin"), py::arg("reject"), py::arg("square"),
           py::arg("same"), py::arg("finish"), py::arg("tol"), py::arg("max_iter"),
           py::arg("n_hops"), py::arg("hop_sizes"), py::arg("n_draws"));
  seal(rows);
  module.def("architectures", [] {
    std::vector<std::string> names;
    for (const auto& each : engines()) names.push_back(each.first);
    return names;
  });
}
