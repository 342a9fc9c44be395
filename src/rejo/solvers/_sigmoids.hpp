// The smoothed cost of the SVM with embedded reject, and its gradient, in one pass over the rows.
// Loops of fixed length over lanes, without a sum across them: every compiler can vectorise these.
// Included once for each instruction set, inside its own namespace: no include guard.

// exp(x) for |x| <= 700, to an ulp or two.
inline double bounded_exp(double x) {
  const double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const double k = x * 1.4426950408889634 + shift;
  const double n = k - shift;
  const double r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
  double p = 2.08767569878680989792e-09;  // 1/12!
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
  std::uint64_t bits, exponent;
  std::memcpy(&bits, &p, sizeof bits);
  std::memcpy(&exponent, &k, sizeof exponent);
  bits += exponent << 52;  // times 2^n: n sits in the low bits of k
  std::memcpy(&p, &bits, sizeof p);
  return p;
}

// J at v = (w, b, eps), and its gradient (r + 2,); `lanes` has room for (r + 3) * kLanes numbers.
//
// With E = exp(k (z - place)) a step s(k (place - z)) is 1 / (1 + E) and its slope k E / (1 + E)^2,
// and the three E of a row differ by factors that all rows share: one exponential is enough.
inline double smoothed_cost(const Tiles& rows, const Shape& shape, const double* v,
                            double* gradient, double* lanes) {
  const std::size_t r = rows.r;
  const double b = v[r], eps = v[r + 1], slope = shape.slope, square = shape.square;
  const double h0 = shape.margin, h1 = shape.reject - shape.margin, h2 = 1.0 - shape.reject;
  const double a0 = std::exp(-slope), a1 = std::exp(-slope * eps), a2 = std::exp(slope * eps);
  const double most = slope + 40.0;  // beyond +-this all steps are 0 or 1 to the last digit
  std::fill(lanes, lanes + (r + 3) * kLanes, 0.0);
  double* __restrict value = lanes + r * kLanes;
  double* __restrict by_b = value + kLanes;
  double* __restrict by_eps = by_b + kLanes;
  for (std::size_t t = 0; t < rows.tiles; ++t) {
    const double* __restrict Z = rows.Z.data() + t * r * kTile;  // (r, kTile)
    const double* __restrict y = rows.y.data() + t * kTile;
    const double* __restrict c = rows.c.data() + t * kTile;
    double f[kTile], force[kTile], cost[kTile], widen[kTile];
    for (std::size_t i = 0; i < kTile; ++i) f[i] = b;
    std::size_t j = 0;
    for (; j + 4 <= r; j += 4) {  // four columns at a time: f goes through memory less often
      const double* __restrict at = Z + j * kTile;
      const double w0 = v[j], w1 = v[j + 1], w2 = v[j + 2], w3 = v[j + 3];
      for (std::size_t i = 0; i < kTile; ++i)
        f[i] += (w0 * at[i] + w1 * at[kTile + i]) + (w2 * at[2 * kTile + i] + w3 * at[3 * kTile + i]);
    }
    for (; j < r; ++j)
      for (std::size_t i = 0; i < kTile; ++i) f[i] += v[j] * Z[j * kTile + i];
    for (std::size_t i = 0; i < kTile; ++i) {
      const double z = y[i] * f[i];
      double x = slope * z;
      x = x > -most ? x : -most;
      x = x < most ? x : most;
      const double e = bounded_exp(x);
      const double e0 = e * a0, e1 = e * a1, e2 = e * a2;
      const double d0 = 1.0 + e0, d1 = 1.0 + e1, d2 = 1.0 + e2;
      const double both = d0 * d1, inverse = 1.0 / (both * d2);  // one division for the three
      const double s0 = d1 * d2 * inverse, s1 = d0 * d2 * inverse, s2 = both * inverse;
      const double rise0 = h0 * (e0 * s0) * s0, rise1 = h1 * (e1 * s1) * s1;
      const double rise2 = h2 * (e2 * s2) * s2;
      const double slack = z >= 1.0 ? 0.0 : 1.0 - z;  // stays NaN if z is
      cost[i] = c[i] * (h0 * s0 + h1 * s1 + h2 * s2 + square * slack * slack);
      force[i] = -c[i] * y[i] * (slope * (rise0 + rise1 + rise2) + 2.0 * square * slack);
      widen[i] = c[i] * slope * (rise1 - rise2);
    }
    for (std::size_t i = 0; i < kTile; i += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l) {
        value[l] += cost[i + l];
        by_b[l] += force[i + l];
        by_eps[l] += widen[i + l];
      }
    static_assert(kTile == 4 * kLanes, "the sum below has four terms");
    for (j = 0; j < r; ++j) {
      const double* __restrict column = Z + j * kTile;
      double* __restrict sum = lanes + j * kLanes;
      for (std::size_t l = 0; l < kLanes; ++l) {
        const std::size_t m = l + kLanes, n = m + kLanes, o = n + kLanes;
        sum[l] += (force[l] * column[l] + force[m] * column[m]) +
                  (force[n] * column[n] + force[o] * column[o]);
      }
    }
  }
  double total[3] = {0, 0, 0}, J = 0;
  for (std::size_t m = 0; m < 3; ++m)
    for (std::size_t l = 0; l < kLanes; ++l) total[m] += value[m * kLanes + l];
  for (std::size_t j = 0; j < r; ++j) {
    double s = v[j];
    for (std::size_t l = 0; l < kLanes; ++l) s += lanes[j * kLanes + l];
    gradient[j] = s;
    J += v[j] * v[j];
  }
  gradient[r] = total[1];
  gradient[r + 1] = total[2];
  return 0.5 * J + total[0];
}
