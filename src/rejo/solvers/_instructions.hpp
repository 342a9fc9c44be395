// One source for each instruction set: the marks around it, and what this processor can run.
#pragma once

// Vectors are those of GCC and Clang, which Clang also has where it stands in for MSVC (clang-cl).
#if !defined(__GNUC__) && !defined(__clang__)
#error "rejo needs the vector extensions of GCC or Clang; on Windows compile it with clang-cl"
#endif

#ifdef __x86_64__
#define REJO_DISPATCH 1

#define REJO_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define REJO_TARGET(features) \
  REJO_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define REJO_END_TARGET REJO_PRAGMA(clang attribute pop)
#define REJO_AVX512 "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw"
#else
#define REJO_TARGET(features) REJO_PRAGMA(GCC push_options) REJO_PRAGMA(GCC target(features))
#define REJO_END_TARGET REJO_PRAGMA(GCC pop_options)
#define REJO_AVX512 "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512"
#endif
#define REJO_AVX2 "avx2,fma"

namespace rejo {

// What the processor has and the system saves, asked by hand: `__builtin_cpu_supports` needs a
// library that MSVC's linker does not know, and <cpuid.h> quarrels with MSVC's <intrin.h>.
class Processor {
 public:
  Processor() {
    constexpr unsigned kFirst = 1u << 12 | 1u << 27 | 1u << 28;            // FMA, XGETBV, AVX
    constexpr unsigned kAvx2 = 1u << 5;
    constexpr unsigned kWide = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // AVX512 F, DQ, BW, VL
    constexpr unsigned kYmm = 0x06, kZmm = 0xE6;                           // states of registers
    if (ask(0).a < 7 || (ask(1).c & kFirst) != kFirst) return;
    const unsigned has = ask(7).b, saved = saved_states();
    avx2 = (has & kAvx2) && (saved & kYmm) == kYmm;
    avx512 = avx2 && (has & kWide) == kWide && (saved & kZmm) == kZmm;
  }
  bool avx2 = false, avx512 = false;

 private:
  struct Answer {
    unsigned a, b, c, d;
  };
  static Answer ask(unsigned leaf) {
    Answer r;
    __asm__("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(0));
    return r;
  }
  static unsigned saved_states() {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
  }
};

}  // namespace rejo
#endif
