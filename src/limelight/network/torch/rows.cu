// Rows of a table of words in bf16, and sums of their gradients. A warp for each word, four numbers for each
// thread.

__device__ float4 read(const float4* four) { return __ldcs(four); }

__device__ float4 read(const uint2* four) {  // in bf16
  const uint2 v = __ldcs(four);
  const unsigned high = 0xffff0000u;
  return make_float4(__uint_as_float(v.x << 16), __uint_as_float(v.x & high),
                     __uint_as_float(v.y << 16), __uint_as_float(v.y & high));
}

__device__ unsigned in_bf16(float low, float high) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

template <typename Four>
__device__ void add(const Four* rows, const long long* ids, float4* sums, int words, int quarters,
                    int step) {
  const int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (int word = (blockIdx.x * blockDim.x + threadIdx.x) / 32; word < words; word += warps) {
    const long long id = ids[word];
    if (id == PAD) continue;  // no gradient, as on a CPU; it would keep many words waiting for one row
    for (int k = lane; k < quarters; k += 32) {
      const float4 v = read(rows + (long long)word * step + k);
      asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                   :: "l"(sums + id * quarters + k), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
    }
  }
}

extern "C" __global__ void add_float32(const float4* rows, const long long* ids, float4* sums, int words,
                                       int quarters, int step) {
  add(rows, ids, sums, words, quarters, step);
}

extern "C" __global__ void add_bfloat16(const uint2* rows, const long long* ids, float4* sums, int words,
                                        int quarters, int step) {
  add(rows, ids, sums, words, quarters, step);
}

extern "C" __global__ void pick_bfloat16(const float4* table, const long long* ids, uint2* rows, int words,
                                         int quarters) {
  const int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (int word = (blockIdx.x * blockDim.x + threadIdx.x) / 32; word < words; word += warps) {
    for (int k = lane; k < quarters; k += 32) {
      const float4 v = table[ids[word] * quarters + k];
      rows[(long long)word * quarters + k] = make_uint2(in_bf16(v.x, v.y), in_bf16(v.z, v.w));
    }
  }
}
