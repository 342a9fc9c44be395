// Vectors of REJO_WIDTH bytes by the compilers' vector extension: the same source for every
// instruction set, and no reliance on an optimiser to find the loops.
// Included once for each instruction set, inside its own namespace: no include guard.

typedef double vd __attribute__((vector_size(REJO_WIDTH)));
typedef float vf __attribute__((vector_size(REJO_WIDTH)));
typedef std::int64_t vl __attribute__((vector_size(REJO_WIDTH)));
typedef std::int32_t vi __attribute__((vector_size(REJO_WIDTH)));

template <class T>
struct Simd;
template <>
struct Simd<double> {
  typedef vd V;
  typedef vl I;
  typedef std::int64_t Int;
  static constexpr std::size_t N = REJO_WIDTH / 8;
  static constexpr Int kReciprocal = 0x7FDE623822FC16E6;
};
template <>
struct Simd<float> {
  typedef vf V;
  typedef vi I;
  typedef std::int32_t Int;
  static constexpr std::size_t N = REJO_WIDTH / 4;
  static constexpr Int kReciprocal = 0x7EF311C7;
};
constexpr std::size_t kD = Simd<double>::N;

template <class T>
inline typename Simd<T>::V load(const T* p) {
  return *reinterpret_cast<const typename Simd<T>::V*>(p);
}
template <class T>
inline typename Simd<T>::V load_unaligned(const T* p) {
  typename Simd<T>::V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store(T* p, typename Simd<T>::V v) {
  *reinterpret_cast<typename Simd<T>::V*>(p) = v;
}
template <class T>
inline typename Simd<T>::V splat(T x) {
  return x - (typename Simd<T>::V){};
}
template <class T>
inline typename Simd<T>::I iota() {
  typename Simd<T>::I v;
  for (std::size_t k = 0; k < Simd<T>::N; ++k) v[k] = static_cast<typename Simd<T>::Int>(k);
  return v;
}
inline double sum(vd v) {  // in halves: few additions wait for each other
  for (std::size_t step = kD / 2; step > 0; step /= 2)
    for (std::size_t k = 0; k < step; ++k) v[k] += v[k + step];
  return v[0];
}
template <class V>
inline V max(V a, V b) {
  return a > b ? a : b;
}
template <class V>
inline V min(V a, V b) {
  return a < b ? a : b;
}

// 1 / a to about half a percent, by the exponent's bits and one Newton step: enough to rank.
template <class T>
inline typename Simd<T>::V rough_reciprocal(typename Simd<T>::V a) {
  typedef typename Simd<T>::V V;
  typedef typename Simd<T>::I I;
  const V r = (V)(Simd<T>::kReciprocal - (I)a);
  return r * (T(2) - a * r);
}

// exp(x) for x <= 709, to an ulp or two; below -708 it stays at 3e-308.
inline vd exp(vd x) {
  x = max(x, splat(-708.0));
  const double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const vd k = x * 1.4426950408889634 + shift;
  const vd n = k - shift;
  const vd r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
  vd p = splat(2.08767569878680989792e-09);  // 1/12!
  p = p * r + 2.50521083854417187751e-08;
  p = p * r + 2.75573192239858906526e-07;
  p = p * r + 2.75573192239858906526e-06;
  p = p * r + 2.48015873015873015873e-05;
  p = p * r + 1.98412698412698412698e-04;
  p = p * r + 1.38888888888888888889e-03;
  p = p * r + 8.33333333333333333333e-03;
  p = p * r + 4.16666666666666666667e-02;
  p = p * r + 1.66666666666666666667e-01;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return (vd)((vl)p + ((vl)k << 52));  // times 2^n: n sits in the low bits of k
}

// The same in single precision; below -87 it stays at 2e-38.
inline vf exp(vf x) {
  x = max(x, splat(-87.0f));
  const float shift = 12582912.0f;  // 1.5 * 2^23
  const vf k = x * 1.44269504f + shift;
  const vf n = k - shift;
  const vf r = x - n * 0.693359375f + n * 2.12194440e-4f;
  vf p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return (vf)((vi)p + ((vi)k << 23));
}

inline double dot(const double* a, const double* b, std::size_t n) {  // any alignment
  vd s0{}, s1{};
  std::size_t i = 0;
  for (; i + 2 * kD <= n; i += 2 * kD) {
    s0 += load_unaligned(a + i) * load_unaligned(b + i);
    s1 += load_unaligned(a + i + kD) * load_unaligned(b + i + kD);
  }
  double s = sum(s0 + s1);
  for (; i < n; ++i) s += a[i] * b[i];
  return s;
}

// out[r] = row r of a (Tall, ld) . b: what is read of b serves all rows
template <std::size_t Tall>
inline void dots(const double* a, std::size_t ld, const double* b, std::size_t n, double* out) {
  vd sums[Tall] = {};
  std::size_t i = 0;
  for (; i + kD <= n; i += kD)
    for (std::size_t r = 0; r < Tall; ++r) sums[r] += load_unaligned(a + r * ld + i) * load_unaligned(b + i);
  for (std::size_t r = 0; r < Tall; ++r) {
    out[r] = sum(sums[r]);
    for (std::size_t k = i; k < n; ++k) out[r] += a[r * ld + k] * b[k];
  }
}

// y += t x, any alignment
template <class T>
inline void axpy(double t, const T* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += t * static_cast<double>(x[i]);
}
