// What comes before and after the kernels of persistent.cu: the order of weights, gradients and sentences.

typedef unsigned int u32;
typedef unsigned short u16;  // a bf16

// The numbers of a, b and c in another order: index k is the k-th of all, counted from 1; -k is half of it, 0 none.
// Four at a time; their number is a multiple of four.
extern "C" __global__ void pick(const u16* a, const u16* b, const u16* c, const int4* index, ushort4* to, int a_size,
                                int b_size, int count) {
  const auto number = [&](int signed_k) -> u16 {
    const int k = abs(signed_k) - 1;
    const u16 found = k < 0 ? 0 : k < a_size ? a[k] : k < a_size + b_size ? b[k - a_size] : c[k - a_size - b_size];
    // halving is exact, but for the smallest numbers, which become 0
    return signed_k < 0 ? __float_as_uint(__uint_as_float((u32)found << 16) / 2) >> 16 : found;
  };
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count / 4; i += gridDim.x * blockDim.x) {
    const int4 k = index[i];
    to[i] = make_ushort4(number(k.x), number(k.y), number(k.z), number(k.w));
  }
}

// S (words, d) with a one beside each word and zeros up to `columns`, a multiple of 8: so the product with W_ih adds
// the bias, and its gradient comes along. Matrix products are several times slower at other widths.
extern "C" __global__ void with_ones(const u16* S, uint2* to, int words, int d, int columns) {
  const u32 parts = columns / 4;
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words * parts; i += gridDim.x * blockDim.x) {
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
extern "C" __global__ void sort(const long long* lengths, long long* order, int batch) {
  const int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < batch; i += warps) {
    int before = 0;
#pragma unroll 8
    for (int j = lane; j < batch; j += 32) before += lengths[j] > lengths[i] || (lengths[j] == lengths[i] && j < i);
    before = __reduce_add_sync(0xffffffffu, before);
    if (lane == 0) order[before] = i;
  }
}
