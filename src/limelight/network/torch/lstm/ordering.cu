// What comes before and after the kernels of persistent.cu: the order of weights, gradients and sentences.

typedef unsigned int u32;
typedef unsigned short u16;  // a bf16

// The numbers of a, b and c in another order: index k is the k-th of all, counted from 1; -k is half of it, 0 none.
// Four at a time; their number is a multiple of four.
__device__ void pick_part(const u16* a, const u16* b, const u16* c, const int4* index, ushort4* to, int a_size, int b_size,
                      int count, int thread, int threads) {
  const auto number = [&](int signed_k) -> u16 {
    const int k = abs(signed_k) - 1;
    const u16 found = k < 0 ? 0 : k < a_size ? a[k] : k < a_size + b_size ? b[k - a_size] : c[k - a_size - b_size];
    // halving is exact, but for the smallest numbers, which become 0
    return signed_k < 0 ? __float_as_uint(__uint_as_float((u32)found << 16) / 2) >> 16 : found;
  };
  for (int i = thread; i < count / 4; i += threads) {
    const int4 k = index[i];
    to[i] = make_ushort4(number(k.x), number(k.y), number(k.z), number(k.w));
  }
}

// S (words, d) with a one beside each word and zeros up to `columns`, a multiple of 8: so the product with W_ih adds
// the bias, and its gradient comes along. Matrix products are several times slower at other widths.
__device__ void with_ones_part(const u16* S, uint2* to, int words, int d, int columns, u32 thread, u32 threads) {
  const u32 parts = columns / 4;
  for (u32 i = thread; i < words * parts; i += threads) {
    const u32 word = i / parts;
    const int column = i % parts * 4;
    const u16* from = S + (long long)word * d + column;
    const auto number = [&](int k) -> u32 {
      return column + k < d ? from[k] : column + k == d ? 0x3f80 : 0;  // 1 in bf16
    };
    to[i] = d % 4 == 0 && column < d ? __ldcs((const uint2*)from)
                                     : make_uint2(number(0) | number(1) << 16, number(2) | number(3) << 16);
  }
}

// The sentences from the longest to the shortest: a warp for each counts those before it.
__device__ void sort_part(const long long* lengths, long long* order, int batch, int thread, int threads) {
  const int lane = thread % 32;
  for (int i = thread / 32; i < batch; i += threads / 32) {
    int before = 0;
#pragma unroll 8
    for (int j = lane; j < batch; j += 32) before += lengths[j] > lengths[i] || (lengths[j] == lengths[i] && j < i);
    before = __reduce_add_sync(0xffffffffu, before);
    if (lane == 0) order[before] = i;
  }
}

extern "C" __global__ void pick(const u16* a, const u16* b, const u16* c, const int4* index, ushort4* to, int a_size,
                                int b_size, int count) {
  pick_part(a, b, c, index, to, a_size, b_size, count, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
}

extern "C" __global__ void with_ones(const u16* S, uint2* to, int words, int d, int columns) {
  with_ones_part(S, to, words, d, columns, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
}

// All three at once, each by a third of the thread blocks; no sentences are sorted if there is no `order`.
extern "C" __global__ void prepare(const u16* S, uint2* S_1, int words, int d, int columns, const u16* a, const u16* b,
                                   const u16* c, const int4* index, ushort4* to, int a_size, int b_size, int count,
                                   const long long* lengths, long long* order, int batch) {
  const int third = gridDim.x / 3, part = blockIdx.x / third;
  const int thread = blockIdx.x % third * blockDim.x + threadIdx.x, threads = third * blockDim.x;
  if (part == 0) sort_part(lengths, order, order == nullptr ? 0 : batch, thread, threads);
  if (part == 1) pick_part(a, b, c, index, to, a_size, b_size, count, thread, threads);
  if (part == 2) with_ones_part(S, S_1, words, d, columns, thread, threads);
}
