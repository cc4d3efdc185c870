// The recurrence of a bidirectional LSTM as one kernel that stays on the chip for all time steps.
//
// A cluster of thread blocks reads a tile of 64 or 32 sentences in one direction. Each block keeps the part of W_hh
// for its own units in shared memory and never loads it again. In a step, a block multiplies the tile's states
// h with its part (wgmma: 64 rows, the sums in registers), computes its units' gates, and copies their new
// states to every block of the cluster, whose barrier counts the bytes as they arrive. Nothing waits for the
// whole GPU: a tile's step takes as long as its own product, gates and one exchange within the cluster.
//
// Backwards, a block has the gradients dz of its own gates, so it multiplies those with its part of W_hh: the
// products are parts of dh for all units, and each block adds up the parts it gets for its own.
//
// Two groups of 128 threads work on a tile, each for its own units; forwards, a warp for each group sends what
// is ready while the group computes the rest. Units come in blocks of 8. A thread has two units of a block for
// two rows 8 apart, as wgmma gives them; what it computes for them is stored where wgmma reads it in the next
// step. Gates lie in memory as (word, 2, pair of units, gate, 2): 16 bytes for one thread.
//
// wgmma always has 64 rows. For a tile of 32 it is told that groups of 8 rows lie 64 bytes apart, not 128: then every
// second group is half of the two beside it, and its sums are ignored: a thread has one row, and what is stored and
// sent is half as large.
//
// Set when compiled: ROWS (of a tile), CLUSTER (thread blocks), OWN (blocks of units of each), BLOCKS (in all), PAIRS
// (of units in H; the last block may be part empty), BUFFERS (for states), TRAINING (keep what the gradient needs), TABLE
// (W_ih x + b is given for each word of a vocabulary, not of the sentences).

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr int THREADS = 128, HALVES = ROWS / 32;        // rows of a thread
constexpr int MORE = (OWN + 1) / 2, LESS = OWN / 2;  // blocks of units of the two groups
constexpr int UNITS = 8 * BLOCKS;                    // with empty ones at the end
constexpr int COLUMNS = 32 * OWN;                    // gates of this thread block: (block, gate, unit)
constexpr int INNER = (BLOCKS + 1) / 2;              // wgmma multiplies 16 units at a time
constexpr int FORWARD_W = 2 * INNER * COLUMNS;       // in 16 bytes: (inner / 8, column, 8)
constexpr int BACKWARD_W = 4 * OWN * UNITS;          // (column / 8, unit, 8)
constexpr int BLOCK = ROWS * 16;                     // bytes of a block's units, and of 8 gates, for all rows
constexpr int DOWN = 128 * ROWS / 64;                // from 8 rows to the next, as wgmma is told
constexpr int TARGETS = (CLUSTER + 1) / 2;           // thread blocks whose parts of dh one group computes
constexpr int FIRST_SENT = LESS > 2 ? 2 : LESS;      // blocks of units that are sent before the others

template <int COLUMNS> struct Product;  // wgmma, written out for each number of columns by Python:
PRODUCTS

// ---- instructions ------------------------------------------------------------------------------------------

__device__ __forceinline__ u32 address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u32 in_block(u32 at, u32 block) {  // the same place in another block's shared memory
  u32 r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(at), "r"(block));
  return r;
}
__device__ __forceinline__ void send(u32 to, u32 from, u32 bytes, u32 barrier) {  // the barrier counts the bytes
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(to), "r"(from), "r"(bytes), "r"(barrier) : "memory");
}
// A thread's two units of one or both of its rows.
__device__ __forceinline__ uint2 load_part(u32 at) {
  uint2 v = make_uint2(0, 0);
  if (HALVES == 2) asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(at) : "memory");
  else asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v.x) : "r"(at) : "memory");
  return v;
}
__device__ __forceinline__ void store_part(u32 at, u32 a, u32 b) {
  if (HALVES == 2) asm volatile("st.shared.v2.b32 [%0], {%1, %2};" :: "r"(at), "r"(a), "r"(b) : "memory");
  else asm volatile("st.shared.b32 [%0], %1;" :: "r"(at), "r"(a) : "memory");
}
__device__ __forceinline__ void store(u32 at, u32 v) {
  asm volatile("st.shared.b32 [%0], %1;" :: "r"(at), "r"(v) : "memory");
}
__device__ __forceinline__ void wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" :: "r"(barrier), "r"(parity) : "memory");
}
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ void sync(u32 barrier, u32 threads) {
  asm volatile("bar.sync %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive(u32 barrier, u32 threads) {
  asm volatile("bar.arrive %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void show_to_wgmma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void finish() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
__device__ __forceinline__ void wait_until_copied() {  // what this thread sent has been read
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
// Where wgmma finds an operand: matrices of 8 rows x 16 bytes, `down` bytes from one to the next 8 rows and `along`
// to the next 16 bytes of K.
__device__ __forceinline__ u64 operand(u32 at, u32 down, u32 along) {
  return (u64)((at & 0x3ffff) >> 4) | (u64)(along >> 4) << 16 | (u64)(down >> 4) << 32;
}

// ---- arithmetic --------------------------------------------------------------------------------------------

__device__ __forceinline__ float low(u32 x) { return __uint_as_float(x << 16); }
__device__ __forceinline__ float high(u32 x) { return __uint_as_float(x & 0xffff0000u); }
__device__ __forceinline__ u32 pack(float a, float b) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
__device__ __forceinline__ float tanh_(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Each of four neighbouring lanes has a value of each of four blocks; afterwards lane q has block q's of all four.
__device__ __forceinline__ void transpose(u32 (&v)[4]) {
  const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
  u32 a = __shfl_xor_sync(0xffffffffu, odd ? v[0] : v[1], 1), b = __shfl_xor_sync(0xffffffffu, odd ? v[2] : v[3], 1);
  if (odd) v[0] = a, v[2] = b;
  else v[1] = a, v[3] = b;
  a = __shfl_xor_sync(0xffffffffu, upper ? v[0] : v[2], 2), b = __shfl_xor_sync(0xffffffffu, upper ? v[1] : v[3], 2);
  if (upper) v[0] = a, v[1] = b;
  else v[2] = a, v[3] = b;
}
// Of z + x, where z, the product, was computed with halved weights.
__device__ __forceinline__ float sigmoid(float z, float x) { return fmaf(0.5f, tanh_(fmaf(0.5f, x, z)), 0.5f); }

// ---- where a thread works ----------------------------------------------------------------------------------

struct Place {
  u32 thread, lane, warp, group;  // thread and warp of the group
  int direction, rank;            // the thread block's, in the cluster
  int start, first, own;          // the group's first block of units, here and in all; their number
  int n, step;                    // words of a row; from one word read to the next, in (batch, n, 2)

  __device__ __forceinline__ Place(int n) : n(n) {
    lane = threadIdx.x % 32, thread = threadIdx.x % THREADS, group = threadIdx.x / THREADS;
    if (sends()) group = threadIdx.x / 32 % 2;
    warp = thread / 32;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    direction = (blockIdx.x / CLUSTER) & 1;
    start = group * MORE, first = rank * OWN + start;
    own = min(group ? LESS : MORE, max(0, BLOCKS - first));
    step = direction ? -2 : 2;
  }
  __device__ __forceinline__ bool sends() const { return threadIdx.x >= 2 * THREADS; }
  __device__ __forceinline__ bool has(int block) const { return block < own; }
  __device__ __forceinline__ long long first_word(int row, int length) const {
    return ((long long)row * n + (direction ? length - 1 : 0)) * 2 + direction;
  }
  __device__ __forceinline__ int count(int rank) const { return min(OWN, max(0, BLOCKS - rank * OWN)); }
  __device__ __forceinline__ int pair(int block) const { return (first + block) * 4 + lane % 4; }
  // Where wgmma reads this thread's two units or gates of a block.
  __device__ __forceinline__ u32 cell(int block, int half) const {
    return block * BLOCK + (HALVES * warp + half) * 128 + lane * 4;
  }
  __device__ __forceinline__ void sync_group() const { sync(1 + group, THREADS); }
  __device__ __forceinline__ void sync_all() const { sync(3, 2 * THREADS); }
};

struct Rows {
  int row[HALVES], length[HALVES], steps;
  long long word[HALVES];  // of (batch, n, 2): the word read at step 0; a step further is `at.step` away

  __device__ __forceinline__ Rows(const Place& at, int top, const long long* lengths, const long long* order,
                                  int batch) {
    int longest = 0;
    for (int i = at.lane; i < ROWS; i += 32)
      if (top + i < batch) longest = max(longest, (int)lengths[order ? order[top + i] : top + i]);
    steps = __reduce_max_sync(0xffffffffu, longest);
    for (int half = 0; half < HALVES; half++) {
      const int i = top + (HALVES * at.warp + half) * 8 + at.lane / 4;
      row[half] = i >= batch ? -1 : order ? (int)order[i] : i;
      length[half] = i < batch ? (int)lengths[row[half]] : 0;
      word[half] = at.first_word(row[half], length[half]);
    }
  }
};

// Eight units of a row in H, of which the last block may have fewer; 8 bytes at a time are aligned for even PAIRS.
__device__ __forceinline__ void store_block(u32* H, int block, const u32 (&v)[4]) {
#pragma unroll
  for (int k = 0; k < 4; k += 2)
    if (PAIRS % 2 == 0 && block * 4 + k + 1 < PAIRS) *(uint2*)(H + k) = make_uint2(v[k], v[k + 1]);
    else
      for (int i = k; i < k + 2; i++)
        if (block * 4 + i < PAIRS) H[i] = v[i];
}
__device__ __forceinline__ void load_block(const u32* dH, int block, u32 (&v)[4]) {
#pragma unroll
  for (int k = 0; k < 4; k += 2)
    if (PAIRS % 2 == 0 && block * 4 + k + 1 < PAIRS) {
      const uint2 two = __ldcs((const uint2*)(dH + k));
      v[k] = two.x, v[k + 1] = two.y;
    } else
      for (int i = k; i < k + 2; i++) v[i] = block * 4 + i < PAIRS ? __ldcs(dH + i) : 0;
}

// The cells of a thread's blocks of units, side by side in memory: nobody but these kernels reads them.
struct Cells {
  u32 of[4];

  static __device__ __forceinline__ long long at(const Place& at, long long word) {
    return word * (CLUSTER * 8) + (at.rank * 2 + at.group) * 4 + at.lane % 4;
  }
};

// What goes between the thread blocks of a cluster. `full` counts the bytes that came, and both groups here.
// With one buffer, `free` counts the readers in all blocks that have read theirs: it may be written again. With
// two that is certain: nobody sends for the step after next before getting all for the next, which each sends
// only after reading what came before.
template <int COUNT, int READERS> struct Mail {
  u32 place, size, full, free, sent, received;

  __device__ __forceinline__ Mail(u32 memory, u32 size) : size(size) {
    place = memory, full = memory + COUNT * size, free = full + 16, sent = received = 0;
    if (threadIdx.x == 0)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;\nmbarrier.init.shared::cta.b64 [%0 + 8], 2;\n"
                   "mbarrier.init.shared::cta.b64 [%1], %2;\nfence.mbarrier_init.release.cluster;"
                   :: "r"(full), "r"(free), "n"(READERS * CLUSTER) : "memory");
  }
  // Once for each exchange, before anything is stored.
  __device__ __forceinline__ u32 open() {
    if (COUNT == 1 && sent > 0) wait(free, (sent - 1) & 1);
    return place + sent++ % COUNT * size;
  }
  __device__ __forceinline__ void post(u32 rank, u32 to, u32 from, u32 bytes) const {
    send(in_block(to, rank), from, bytes, in_block(full + (sent - 1) % COUNT * 8, rank));
  }
  __device__ __forceinline__ void close(u32 group, u32 bytes) const {  // by one thread: its group has sent all
    const u32 barrier = full + (sent - 1) % COUNT * 8;
    if (group == 0)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
    else asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
  }
  __device__ __forceinline__ u32 receive() {
    wait(full + received % COUNT * 8, received / COUNT & 1);
    return place + received++ % COUNT * size;
  }
  // After the reader's threads have met, so that they have read: nothing else has to be seen before it.
  __device__ __forceinline__ void release(u32 thread) const {
    if (thread < CLUSTER)
      asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];"
                   :: "r"(in_block(free, thread)) : "memory");
  }
};

__device__ __forceinline__ void keep_weights(uint4* here, const uint4* W, int size) {
#pragma unroll 8
  for (int i = threadIdx.x; i < size; i += blockDim.x) here[i] = W[i];
  show_to_wgmma();
  __syncthreads();
  cluster_sync();  // every block's barriers are ready
}

// ---- forwards ----------------------------------------------------------------------------------------------

struct Forward {
  uint4* gates;
  u32 *H, *before;
  uint4* C;
  // with a TABLE: the gates of its `known` words, and of more; which of them are read; where each sentence begins
  const uint4* more;
  const int* ids;
  const long long* starts;
  int known;

  __device__ __forceinline__ uint4* of_word(const Place& at, int id) const {
    const uint4* from = id < known ? gates : more - known * (2LL * BLOCKS * 4);
    return (uint4*)from + (id * 2LL + at.direction) * (BLOCKS * 4) + at.pair(0);
  }
};
using States = Mail<BUFFERS, 2>;

// What a warp does for a group: its first blocks of units are on their way while the others are computed.
template <int HALF>
__device__ __forceinline__ void send_states(const Place& at, States& mail, int steps) {
  const u32 expected = (BLOCKS - at.count(at.rank)) * BLOCK;
  for (int s = 0; s + 1 < steps; s++) {
    const u32 out = mail.place + mail.sent++ % BUFFERS * mail.size;
#pragma unroll
    for (int j = 0; j < HALF; j += FIRST_SENT) {
      const int count = min(j + FIRST_SENT, at.own) - j;
      const u32 from = out + (at.first + j) * BLOCK;
      sync(5 + 2 * at.group + (j > 0), THREADS + 32);
      if (at.lane < CLUSTER && at.lane != at.rank && count > 0) mail.post(at.lane, from, from, count * BLOCK);
    }
    __syncwarp();
    if (at.lane == 0) mail.close(at.group, expected);
  }
}

__device__ __forceinline__ uint4 load_gates(const uint4* from) {  // a table's are read again, others are not
  return TABLE ? __ldg(from) : __ldcs(from);
}

template <int HALF>
__device__ __forceinline__ void read_forwards(const Place& at, States& mail, u32 W, const Rows& rows,
                                              const Forward& to) {
  const u64 right = operand(W + at.start * 32 * 16, 128, 16 * COLUMNS);
  float c[HALF][HALVES][2] = {};
  uint4 *gates[HALVES], *C[HALVES];  // of the word at hand; a block of units is 4 pairs
  const int* ids[HALVES];            // of the word after it
  int id[HALVES];
  const int written = at.first + at.lane % 4;  // a thread writes all states of one block of units, for each row
  const bool writes = at.has(at.lane % 4);
#pragma unroll
  for (int half = 0; half < HALVES; half++) {
    gates[half] = to.gates + rows.word[half] * (BLOCKS * 4) + at.pair(0);
    C[half] = to.C + Cells::at(at, rows.word[half]);
    if (TABLE && rows.row[half] >= 0) {
      ids[half] = to.ids + to.starts[rows.row[half]] + (at.direction ? rows.length[half] - 1 : 0);
      id[half] = *ids[half];
    }
  }
  for (int s = 0; s < rows.steps; s++) {
    uint4 x[HALF][HALVES];  // W_ih x + b, on its way while the product is computed
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
      if (TABLE) gates[half] = to.of_word(at, id[half]);
#pragma unroll
      for (int j = 0; j < HALF; j++)
        x[j][half] = s < rows.length[half] && at.has(j) ? load_gates(gates[half] + 4 * j) : make_uint4(0, 0, 0, 0);
      if (TABLE && s + 1 < rows.length[half]) id[half] = *(ids[half] += at.step / 2);
    }
    float z[HALF * 16];
    if (s > 0) {
      const u64 left = operand(mail.receive(), DOWN, BLOCK);
      fence();
#pragma unroll
      for (int k = 0; k < INNER; k++)
        Product<32 * HALF>::add(z, left + (u64)k * (2 * BLOCK / 16), right + (u64)k * 2 * COLUMNS, k > 0);
      commit();
      finish();
      if (BUFFERS == 1) at.sync_group(), mail.release(at.thread);
    } else {
#pragma unroll
      for (int k = 0; k < HALF * 16; k++) z[k] = 0;
    }
    u32 h_new[HALVES][4] = {};
    const bool goes_on = s + 1 < rows.steps;
    const u32 out = goes_on ? mail.open() : 0;
#pragma unroll
    for (int j = 0; j < HALF; j++) {
#pragma unroll
      for (int half = 0; half < HALVES; half++) {
        const float* zz = z + j * 16 + half * 2;  // gate by gate 4 apart
        const uint4 xx = x[j][half];
        const float i0 = sigmoid(zz[0], low(xx.x)), i1 = sigmoid(zz[1], high(xx.x));
        const float f0 = sigmoid(zz[4], low(xx.y)), f1 = sigmoid(zz[5], high(xx.y));
        const float g0 = tanh_(zz[8] + low(xx.z)), g1 = tanh_(zz[9] + high(xx.z));
        const float o0 = sigmoid(zz[12], low(xx.w)), o1 = sigmoid(zz[13], high(xx.w));
        const bool running = s < rows.length[half];
        float* cc = c[j][half];
        cc[0] = running ? fmaf(f0, cc[0], i0 * g0) : 0.0f;
        cc[1] = running ? fmaf(f1, cc[1], i1 * g1) : 0.0f;
        h_new[half][j] = pack(o0 * tanh_(cc[0]), o1 * tanh_(cc[1]));
        if (goes_on && at.has(j)) store(out + at.cell(at.first + j, half), h_new[half][j]);
        if (TRAINING && running && at.has(j))
          __stcs(gates[half] + 4 * j, make_uint4(pack(i0, i1), pack(f0, f1), pack(g0, g1), pack(o0, o1)));
      }
      if (goes_on && (j == FIRST_SENT - 1 || j == HALF - 1)) {
        show_to_wgmma();
        arrive(5 + 2 * at.group + (j >= FIRST_SENT), THREADS + 32);
      }
    }
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
      transpose(h_new[half]);
      const long long word = rows.word[half] + s * at.step;
      if (s < rows.length[half] && writes) {
        store_block(to.H + word * PAIRS + written * 4, written, h_new[half]);
        if (TRAINING) {
          uint4* before = (uint4*)to.before + word * BLOCKS + written;
          const u32* h = h_new[half];
          if (s == 0) *before = make_uint4(0, 0, 0, 0);
          if (s + 1 < rows.length[half]) before[at.step * BLOCKS] = make_uint4(h[0], h[1], h[2], h[3]);
        }
      }
      if (TRAINING && s < rows.length[half]) {
        u32 cells[4] = {};
#pragma unroll
        for (int j = 0; j < HALF; j++) cells[j] = pack(c[j][half][0], c[j][half][1]);
        __stcs(C[half], make_uint4(cells[0], cells[1], cells[2], cells[3]));
      }
      if (!TABLE) gates[half] += at.step * (BLOCKS * 4);
      C[half] += at.step * (CLUSTER * 8);
    }
  }
#pragma unroll
  for (int half = 0; half < HALVES; half++) {  // nothing on padding
    if (rows.row[half] < 0) continue;
    for (int t = rows.length[half]; t < at.n; t++)
      for (int j = 0; j < at.own; j++) {
        const long long word = ((long long)rows.row[half] * at.n + t) * 2 + at.direction;
        if (at.pair(j) < PAIRS) to.H[word * PAIRS + at.pair(j)] = 0;
        if (TRAINING) to.before[word * (BLOCKS * 4) + at.pair(j)] = 0;
      }
  }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(3 * THREADS, 1)
forward(uint4* gates, u32* H, u32* before, uint4* C, const uint4* W, const long long* lengths,
        const long long* order, const uint4* more, const int* ids, const long long* starts, int known, int batch,
        int n) {
  extern __shared__ __align__(128) unsigned char memory[];
  const Place at(n);
  constexpr u32 STATES = 2 * INNER * BLOCK;
  const u32 here = address(memory) + 16 * FORWARD_W;
  States mail(here, STATES);
  for (u32 i = threadIdx.x; i < BUFFERS * BLOCK / 4; i += blockDim.x)  // where BLOCKS is odd, nobody sends the last
    store(here + (i * 4 / BLOCK + 1) * STATES - BLOCK + i * 4 % BLOCK, 0u);
  keep_weights((uint4*)memory, W + (size_t)(at.direction * CLUSTER + at.rank) * FORWARD_W, FORWARD_W);
  const Forward to{gates, H, before, C, more, ids, starts, known};
  const int first = blockIdx.x / CLUSTER / 2, tiles = gridDim.x / CLUSTER / 2;
  if (at.sends()) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // for the others to have more
    for (int tile = first; at.warp < 2 && tile * ROWS < batch; tile += tiles) {
      const Rows rows(at, tile * ROWS, lengths, order, batch);
      if (at.group == 0) send_states<MORE>(at, mail, rows.steps);
      else send_states<LESS>(at, mail, rows.steps);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    for (int tile = first; tile * ROWS < batch; tile += tiles) {
      const Rows rows(at, tile * ROWS, lengths, order, batch);
      if (at.group == 0) read_forwards<MORE>(at, mail, address(memory), rows, to);
      else read_forwards<LESS>(at, mail, address(memory), rows, to);
    }
  }
  cluster_sync();  // the others may still read what this block sent
}

#if TRAINING
// ---- backwards ---------------------------------------------------------------------------------------------

struct Backward {
  const uint4* gates;
  uint4* d_gates;
  const u32* dH;
  const uint4* C;
  float clip;
};

using Parts = Mail<1, 2>;

// What a group needs of one step, loaded while the step before is computed.
template <int HALF> struct Saved {
  uint4 gate[HALF][HALVES];
  u32 above[HALVES][4];  // dH: as loaded one block of units, once transposed this thread's units of all
  Cells c_before[HALVES];
  const uint4 *gates[HALVES], *C[HALVES];  // of the step that is loaded next; C of the one after it
  const u32* dH[HALVES];
  long long d_gates;  // from gates to d_gates

  __device__ __forceinline__ Saved(const Place& at, const Rows& rows, const Backward& of) {
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
      const long long word = rows.word[half] + (long long)(rows.steps - 1) * at.step;
      gates[half] = of.gates + word * (BLOCKS * 4) + at.pair(0);
      dH[half] = of.dH + word * PAIRS + (at.first + at.lane % 4) * 4;
      C[half] = of.C + Cells::at(at, word);
    }
    d_gates = of.d_gates - of.gates;
  }
  __device__ __forceinline__ void load(const Place& at, const Rows& rows, int s, int part) {
    const int j = part / HALVES, half = part % HALVES;
    const bool live = s < rows.length[half] && at.has(j);
    gate[j][half] = live ? __ldcs(gates[half] + 4 * j) : make_uint4(0, 0, 0, 0);
    if (j > 0) return;
    c_before[half] = cells(at, rows, s - 1, half);
    above[half][0] = above[half][1] = above[half][2] = above[half][3] = 0;
    if (s < rows.length[half] && at.has(at.lane % 4)) load_block(dH[half], at.first + at.lane % 4, above[half]);
  }
  __device__ __forceinline__ Cells cells(const Place& at, const Rows& rows, int s, int half) {
    uint4 v = make_uint4(0, 0, 0, 0);
    if (s >= 0 && s < rows.length[half]) v = __ldcs(C[half]);
    C[half] -= at.step * (CLUSTER * 8);
    return {{v.x, v.y, v.z, v.w}};
  }
  __device__ __forceinline__ void store_gradient(int j, int half, const u32* dz) {
    __stcs((uint4*)(gates[half] + d_gates) + 4 * j, make_uint4(dz[0], dz[1], dz[2], dz[3]));
  }
  __device__ __forceinline__ void next(const Place& at, Cells* c) {
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
      c[half] = c_before[half];
      gates[half] -= at.step * (BLOCKS * 4), dH[half] -= at.step * PAIRS;
    }
  }
};

// Parts of dh for the units of thread block `rank`, to be copied there from `out`, or stored if it is this one.
__device__ __forceinline__ void stage(const Place& at, u32 parts, u32 out, int rank, const float* part) {
  const u32 to = (rank == at.rank ? parts + rank * OWN * BLOCK : out) + at.thread * (4 * HALVES);
#pragma unroll
  for (int j = 0; j < OWN; j++)
    store_part(to + j * BLOCK, pack(part[4 * j], part[4 * j + 1]), pack(part[4 * j + 2], part[4 * j + 3]));
}

__device__ __forceinline__ void send_parts(const Place& at, const Parts& mail, u32 parts, u32 out, int rank) {
  if (rank < CLUSTER && rank != at.rank && at.count(rank) > 0)
    mail.post(rank, parts + at.rank * OWN * BLOCK, out, at.count(rank) * BLOCK);
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int HALF>
__device__ __forceinline__ void read_backwards(const Place& at, Parts& mail, u32 W, u32 dz, const Rows& rows,
                                               const Backward& of) {
  const int to = at.group * TARGETS;
  const u64 left = operand(dz, DOWN, BLOCK), right = operand(W, 128, 16 * UNITS) + to * OWN * 8;
  const u32 expected = (CLUSTER - 1) * at.count(at.rank) * BLOCK;
  float dc[HALF][HALVES][2] = {};
  Saved<HALF> saved(at, rows, of);
  Cells c[HALVES];  // the cells after the step at hand
#pragma unroll
  for (int half = 0; half < HALVES; half++) c[half] = saved.cells(at, rows, rows.steps - 1, half);
#pragma unroll
  for (int part = 0; part < HALVES * HALF; part++) saved.load(at, rows, rows.steps - 1, part);

  for (int s = rows.steps - 1; s >= 0; s--) {
    float dh[HALF][2][2] = {};
    if (s < rows.steps - 1) {
      const u32 parts = mail.receive() + at.start * BLOCK + at.thread * (4 * HALVES);
#pragma unroll
      for (int j = 0; j < HALF; j++)
        if (at.has(j))
#pragma unroll
          for (int rank = 0; rank < CLUSTER; rank++) {
            const uint2 part = load_part(parts + (rank * OWN + j) * BLOCK);
            dh[j][0][0] += low(part.x), dh[j][0][1] += high(part.x);
            dh[j][1][0] += low(part.y), dh[j][1][1] += high(part.y);
          }
      at.sync_group();
      mail.release(at.thread);
      wait_until_copied();
      at.sync_all();  // dz may be written again
    }
#pragma unroll
    for (int half = 0; half < HALVES; half++) transpose(saved.above[half]);
#pragma unroll
    for (int j = 0; j < HALF; j++)
#pragma unroll
      for (int half = 0; half < HALVES; half++) {
        const bool running = s < rows.length[half];
        const uint4 v = saved.gate[j][half];
        const u32 cell = c[half].of[j], c_before = saved.c_before[half].of[j], above = saved.above[half][j];
        float d[4][2];
#pragma unroll
        for (int e = 0; e < 2; e++) {
          const float i = e ? high(v.x) : low(v.x), f = e ? high(v.y) : low(v.y);
          const float g = e ? high(v.z) : low(v.z), o = e ? high(v.w) : low(v.w);
          const float tanh_c = tanh_(e ? high(cell) : low(cell));
          const float dh_ = running ? dh[j][half][e] + (e ? high(above) : low(above)) : 0.0f;
          const float dc_ = dc[j][half][e] + dh_ * o * (1 - tanh_c * tanh_c);
          d[0][e] = dc_ * g * i * (1 - i);
          d[1][e] = dc_ * (e ? high(c_before) : low(c_before)) * f * (1 - f);
          d[2][e] = dc_ * i * (1 - g * g);
          d[3][e] = dh_ * tanh_c * o * (1 - o);
          dc[j][half][e] = dc_ * f;
        }
        if (of.clip > 0)
#pragma unroll
          for (int k = 0; k < 8; k++) d[k / 2][k % 2] = fminf(fmaxf(d[k / 2][k % 2], -of.clip), of.clip);
        u32 packed[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
          packed[k] = pack(d[k][0], d[k][1]);
          store(dz + at.cell(4 * (at.start + j) + k, half), packed[k]);
        }
        if (running && at.has(j)) saved.store_gradient(j, half, packed);
      }
    if (s == 0) break;
    show_to_wgmma();
    at.sync_all();
    float part[TARGETS * OWN * 4];  // of dh
    fence();
#pragma unroll
    for (int k = 0; k < 2 * OWN; k++) {
      Product<8 * OWN * TARGETS>::add(part, left + (u64)k * (2 * BLOCK / 16), right + (u64)k * 2 * UNITS, k > 0);
      if (k == 0) saved.next(at, c);
      if (k < HALVES * HALF) saved.load(at, rows, s - 1, k);
    }
    commit();
    const u32 parts = mail.open();
    finish();
    at.sync_all();  // nobody reads dz any more: what goes out lies there and behind it
#pragma unroll
    for (int i = 0; i < TARGETS; i++) {
      constexpr int AT_ONCE = 3;
      const u32 out = dz + at.group * AT_ONCE * OWN * BLOCK;
      if (i > 0 && i % AT_ONCE == 0) {
        wait_until_copied();
        at.sync_group();
      }
      if (to + i < CLUSTER) stage(at, parts, out + i % AT_ONCE * OWN * BLOCK, to + i, part + i * OWN * 4);
      if (i % AT_ONCE < AT_ONCE - 1 && i < TARGETS - 1) continue;
      show_to_wgmma();
      at.sync_group();
      if (at.lane == 0 && at.warp <= i % AT_ONCE)
        send_parts(at, mail, parts, out + at.warp * OWN * BLOCK, to + i / AT_ONCE * AT_ONCE + at.warp);
    }
    if (at.thread == 0) mail.close(at.group, expected);
  }
#pragma unroll
  for (int half = 0; half < HALVES; half++) {  // nothing on padding
    if (rows.row[half] < 0) continue;
    for (int t = rows.length[half]; t < at.n; t++)
      for (int j = 0; j < at.own; j++) {
        const long long word = ((long long)rows.row[half] * at.n + t) * 2 + at.direction;
        __stcs(of.d_gates + word * (BLOCKS * 4) + at.pair(j), make_uint4(0, 0, 0, 0));
      }
  }
  at.sync_all();
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(2 * THREADS, 1)
backward(const uint4* gates, uint4* d_gates, const u32* dH, const uint4* C, const uint4* W,
         const long long* lengths, const long long* order, int batch, int n, float clip) {
  extern __shared__ __align__(128) unsigned char memory[];
  const Place at(n);
  const u32 dz = address(memory) + 16 * BACKWARD_W;  // later what goes out
  Parts mail(dz + 6 * OWN * BLOCK, CLUSTER * OWN * BLOCK);
  keep_weights((uint4*)memory, W + (size_t)(at.direction * CLUSTER + at.rank) * BACKWARD_W, BACKWARD_W);
  const Backward of{gates, d_gates, dH, C, clip};
  for (int tile = blockIdx.x / CLUSTER / 2; tile * ROWS < batch; tile += gridDim.x / CLUSTER / 2) {
    const Rows rows(at, tile * ROWS, lengths, order, batch);
    if (at.group == 0) read_backwards<MORE>(at, mail, address(memory), dz, rows, of);
    else read_backwards<LESS>(at, mail, address(memory), dz, rows, of);
  }
  cluster_sync();
}

#endif
