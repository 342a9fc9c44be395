// Points, the kernel that compares them, and threads that share the work.
#pragma once
#include <future>

#include "_common.hpp"

namespace rejo {

// work(begin, end) for parts of a range on several threads; `unit` divides the parts' sizes.
template <class Work>
void share(std::size_t threads, std::size_t begin, std::size_t end, std::size_t unit, Work work) {
  const std::size_t each = ((end - begin + threads - 1) / threads + unit - 1) / unit * unit;
  std::vector<std::future<void>> others;
  for (std::size_t from = begin + each; from < end; from += each)
    others.push_back(std::async(std::launch::async, work, from, std::min(end, from + each)));
  work(begin, std::min(end, begin + each));
  for (auto& other : others) other.get();
}

// As many of the threads as have something to do: to start one takes as long as many operations.
inline std::size_t worth(std::size_t threads, double operations) {
  return std::min(threads, 1 + static_cast<std::size_t>(operations / 1e7));
}

enum class KernelName { linear, poly, rbf, sigmoid };

struct Kernel {
  KernelName name = KernelName::rbf;
  double gamma = 1, coef0 = 0;
  int degree = 3;
};

constexpr std::size_t kTile = 32;  // points, which `padded` counts in

// Rows of a sparse matrix.
struct Csr {
  std::vector<double> values;
  std::vector<std::int64_t> indices, indptr;
  std::vector<double> squared_norms;
};

// Points in tiles, each features x points: one feature of neighbours is contiguous, and a tile is.
// Points that are only compared with others keep their rows, sparse ones always do.
template <class T>
struct Points {
  std::size_t n = 0, p = 0;
  Buffer<T> tiles;               // (padded(n) / kTile, p, kTile)
  const double* rows = nullptr;  // (n, p)
  std::shared_ptr<const Csr> csr;

  Points() = default;
  Points(std::size_t points, std::size_t features) : n(points), p(features), tiles(padded(n) * p) {}
  T* at(std::size_t i) { return tiles.data() + i / kTile * kTile * p + i % kTile; }
  const T* at(std::size_t i) const { return tiles.data() + i / kTile * kTile * p + i % kTile; }

  // Operations for a kernel value with one of the points, about.
  double cost() const {
    return 8.0 + static_cast<double>(csr ? csr->values.size() / std::max<std::size_t>(n, 1) : p);
  }

  Points part(const std::vector<std::size_t>& chosen) const {
    if (csr) return part_of_rows(chosen);
    Points out(chosen.size(), p);
    for (std::size_t a = 0; a < chosen.size(); ++a)
      for (std::size_t k = 0; k < p; ++k) out.at(a)[k * kTile] = at(chosen[a])[k * kTile];
    return out;
  }

 private:
  Points part_of_rows(const std::vector<std::size_t>& chosen) const {
    auto made = std::make_shared<Csr>();
    made->indptr.push_back(0);
    for (const std::size_t i : chosen) {
      for (std::int64_t k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
        made->values.push_back(csr->values[k]);
        made->indices.push_back(csr->indices[k]);
      }
      made->indptr.push_back(static_cast<std::int64_t>(made->values.size()));
      made->squared_norms.push_back(csr->squared_norms[i]);
    }
    Points out;
    out.n = chosen.size();
    out.p = p;
    out.csr = made;
    return out;
  }
};

}  // namespace rejo
