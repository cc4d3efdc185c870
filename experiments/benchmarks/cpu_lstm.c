/* One direction of an LSTM whose input products are known, as an upper bound for cpu_lstm.py: what a compiled
   extension could do. A block computes all four gates of VL units for up to ROWS sentences in registers. */
#include <string.h>

#if defined(__AVX512F__)
#define VL 16 /* floats of a vector */
#elif defined(__AVX2__)
#define VL 8
#else
#define VL 4
#endif
#if defined(__AVX2__) && !defined(__AVX512F__)
#define ROWS 3 /* 12 of 16 registers are sums; elsewhere 20 of 32 */
#else
#define ROWS 5
#endif

typedef float vector __attribute__((vector_size(4 * VL), aligned(4)));
#define EACH(k, n) _Pragma("GCC unroll 8") for (int k = 0; k < (n); k++)

int vector_length(void) { return VL; }

static inline vector tanh_of(vector x) { /* a quotient of polynomials, within 3e-7 */
  for (int i = 0; i < VL; i++) x[i] = x[i] > 9 ? 9 : x[i] < -9 ? -9 : x[i];
  vector s = x * x, p = s * -2.76076847742355e-16f + 2.00018790482477e-13f;
  p = p * s - 8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  vector q = s * 1.19825839466702e-06f + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  return x * p / q;
}

static inline vector sigmoid_of(vector x) { return tanh_of(x * 0.5f) * 0.5f + 0.5f; }

/* W (u, 4, VL): the weights of VL units; P, h, c and out have a pointer for each of R sentences. */
static inline __attribute__((always_inline)) void block(
    const int R, const float *W, int u, const float **P, const float **h, float **c, float **out) {
  vector z[5][4];
  EACH(r, R) __builtin_prefetch(P[r] + 4 * VL); /* of the next units: the rows of P are far apart */
  EACH(r, R) EACH(g, 4) z[r][g] = *(const vector *)(P[r] + g * VL);
  for (int k = 0; k < u; k++, W += 4 * VL) {
    vector w[4];
    EACH(g, 4) w[g] = *(const vector *)(W + g * VL);
    EACH(r, R) EACH(g, 4) z[r][g] += w[g] * h[r][k];
  }
  EACH(r, R) {
    vector *cell = (vector *)c[r];
    *cell = sigmoid_of(z[r][1]) * *cell + sigmoid_of(z[r][0]) * tanh_of(z[r][2]);
    *(vector *)out[r] = sigmoid_of(z[r][3]) * tanh_of(*cell);
  }
}

/* A function for each R, known and not inlined: only so do all sums stay in registers. */
#define BLOCK(R)                                                                                              \
  static __attribute__((noinline)) void block_##R(                                                            \
      const float *W, int u, const float **P, const float **h, float **c, float **out) {                      \
    block(R, W, u, P, h, c, out);                                                                             \
  }
BLOCK(1) BLOCK(2) BLOCK(3) BLOCK(4) BLOCK(5)
static void (*const blocks[])(const float *, int, const float **, const float **, float **, float **) = {
    0, block_1, block_2, block_3, block_4, block_5};

/* W (units / VL, u, 4, VL); P (words, units / VL, 4, VL); places (n, batch): rows of P; active (n,): how many
   sentences, the longest first, have a word t; Y (n, 2, batch, units) and c (batch, units), zeros. */
void lstm(const float *W, const float *P, const int *places, const int *active, int n, int batch, int u,
          int units, int side, float *Y, float *c) {
  for (int step = 0; step < n; step++) {
    int t = side ? n - 1 - step : step, before = side ? t + 1 : t - 1;
    for (int j = 0; j < units; j += VL)
      for (int first = 0; first < active[t]; first += ROWS) {
        int R = active[t] - first < ROWS ? active[t] - first : ROWS;
        const float *p[ROWS], *h[ROWS], *w = W + (long)j * 4 * u;
        float *cell[ROWS], *out[ROWS];
        for (int r = 0; r < R; r++) {
          long row = first + r;
          p[r] = P + ((long)places[t * batch + row] * units + j) * 4;
          h[r] = Y + (((long)before * 2 + side) * batch + row) * units; /* not read in the first step */
          cell[r] = c + row * units + j;
          out[r] = Y + (((long)t * 2 + side) * batch + row) * units + j;
        }
        blocks[R](w, step ? u : 0, p, h, cell, out);
      }
  }
}

#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#include <stdint.h>

/* The same in int8: h is between -1 and 1, so that 127 is its scale in every batch. W (K / 4, 4 gates, 4 units, 4),
   S (4, 4) the scales of its lines / 127, K the units rounded up to 16; q: where h goes, rounded. */
static inline __attribute__((always_inline)) void block8(const int R, const int8_t *W, const float *S, int K,
    const float **P, const int8_t **h, float **c, float **out, int8_t **q) {
  int32x4_t z[5][4];
  EACH(r, R) __builtin_prefetch(P[r] + 16);
  EACH(r, R) EACH(g, 4) z[r][g] = vdupq_n_s32(0);
  for (int k = 0; k < K; k += 16, W += 256) {
    int8x16_t x[5], w[4];
    EACH(r, R) x[r] = vld1q_s8(h[r] + k);
#define LANE(l)                                                                                               \
  EACH(g, 4) w[g] = vld1q_s8(W + 64 * l + 16 * g);                                                            \
  EACH(r, R) EACH(g, 4) z[r][g] = vdotq_laneq_s32(z[r][g], w[g], x[r], l);
    LANE(0) LANE(1) LANE(2) LANE(3)
  }
  EACH(r, R) {
    vector a[4], *cell = (vector *)c[r];
    EACH(g, 4) a[g] = *(const vector *)(P[r] + 4 * g) + (vector)vcvtq_f32_s32(z[r][g]) * *(const vector *)(S + 4 * g);
    *cell = sigmoid_of(a[1]) * *cell + sigmoid_of(a[0]) * tanh_of(a[2]);
    vector y = sigmoid_of(a[3]) * tanh_of(*cell);
    *(vector *)out[r] = y;
    int16x4_t rounded = vqmovn_s32(vcvtnq_s32_f32((float32x4_t)(y * 127)));
    vst1_lane_s32((int32_t *)q[r], vreinterpret_s32_s8(vqmovn_s16(vcombine_s16(rounded, rounded))), 0);
  }
}

#define BLOCK8(R)                                                                                             \
  static __attribute__((noinline)) void block8_##R(const int8_t *W, const float *S, int K, const float **P,   \
      const int8_t **h, float **c, float **out, int8_t **q) { block8(R, W, S, K, P, h, c, out, q); }
BLOCK8(1) BLOCK8(2) BLOCK8(3) BLOCK8(4) BLOCK8(5)
static void (*const blocks8[])(const int8_t *, const float *, int, const float **, const int8_t **, float **,
    float **, int8_t **) = {0, block8_1, block8_2, block8_3, block8_4, block8_5};

/* As above; states (2, batch, K) int8, zeros: those of the step before, and of this one. */
void lstm8(const int8_t *W, const float *S, const float *P, const int *places, const int *active, int n,
           int batch, int K, int units, int side, float *Y, float *c, int8_t *states) {
  for (int step = 0; step < n; step++) {
    int t = side ? n - 1 - step : step;
    int8_t *from = states + (long)(step & 1) * batch * K, *to = states + (long)(~step & 1) * batch * K;
    for (int j = 0; j < units; j += 4)
      for (int first = 0; first < active[t]; first += 5) {
        int R = active[t] - first < 5 ? active[t] - first : 5;
        const float *p[5];
        const int8_t *h[5];
        float *cell[5], *out[5];
        int8_t *q[5];
        for (int r = 0; r < R; r++) {
          long row = first + r;
          p[r] = P + ((long)places[t * batch + row] * units + j) * 4;
          h[r] = from + row * K;
          q[r] = to + row * K + j;
          cell[r] = c + row * units + j;
          out[r] = Y + (((long)t * 2 + side) * batch + row) * units + j;
        }
        blocks8[R](W + (long)j * 4 * K, S + j * 4, step ? K : 0, p, h, cell, out, q);
      }
  }
}
#endif
