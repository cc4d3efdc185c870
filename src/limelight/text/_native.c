/* The words of texts as numbers, by pieces of text whose words are remembered.

   The rules are in Python (rules.py); this file only knows when a piece of text can be looked up by itself:

   - what is between spaces, unless its entry says that it depends on what follows;
   - a run of letters before a space, one of ,;)" or a colon and a space, which no rule joins with anything;
   - a run of two letters or more before some of .!? and a space, if its entry says that they are apart;
   - one of )" before an ASCII character (no mark is written onto it), and a ( before a letter: always words.

   After a piece, what follows is split as if a text began there: no rule looks back. Texts are UTF-8. Letters,
   spaces and digits are those of ASCII: a piece may have others, which only the rules know.

   A call looks up all texts without Python's lock, asks Python for the pieces that are new, and looks up again
   the texts that had them. Whatever cannot be looked up, Python splits as a whole. A Splitter serves one call
   at a time. */

#define Py_LIMITED_API 0x030B0000 /* one wheel for all versions of Python from 3.11 on */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1 /* numbering.py expects this one */
#define SLOTS (1u << 18)
#define MAX_ENTRIES (SLOTS / 2)
#define MAX_ARENA (1u << 24) /* numbers and letters of all pieces, by four bytes */
#define LONGEST 64           /* bytes of a piece that is remembered */
#define MAX_NUMBER (1 << 28)
#define MAX_TEXT (1 << 30)
#define MAX_BLOCK 65536 /* texts */
#define ROUNDS 4 /* of learning: a run of letters, then the piece that it begins; more if there is no room */

enum { STOP_APART = 1, BEFORE_NUMBER = 2, BEFORE_ANY = 4 }; /* flags of an entry, as in splitting.py */
enum { LETTER = 1, SPACE = 2, AFTER_RUN = 4, STOP = 8, DIGIT = 16, ALONE = 32 };
enum { DONE = 0, MISSED = 1, WHOLE = 2 };

static unsigned char kinds[256];

static void set_kinds(void) {
    for (int c = 'a'; c <= 'z'; c++) kinds[c] = kinds[c - 32] = LETTER;
    for (int c = '0'; c <= '9'; c++) kinds[c] = DIGIT;
    for (int c = 0xd9; c <= 0xff; c++) kinds[c] = DIGIT; /* perhaps: the first beyond ASCII is U+0660, d9 a0 */
    for (const char *c = " \t\n\r\f\v"; *c; c++) kinds[(unsigned char)*c] = SPACE;
    for (const char *c = ",;)\""; *c; c++) kinds[(unsigned char)*c] = AFTER_RUN;
    kinds[')'] |= ALONE, kinds['"'] |= ALONE;
    for (const char *c = ".!?"; *c; c++) kinds[(unsigned char)*c] = STOP;
}

/* ---------------------------------------------------------------- vectors that grow */

typedef struct {
    int32_t *items;
    size_t size, room;
} Numbers;

static int reserve(Numbers *numbers, size_t more) {
    if (numbers->room - numbers->size >= more) return 1;
    size_t room = numbers->size + more + numbers->room / 2;
    int32_t *items = room > SIZE_MAX / 8 ? NULL : realloc(numbers->items, room * sizeof *items);
    if (!items) return 0;
    numbers->items = items;
    numbers->room = room;
    return 1;
}

/* ---------------------------------------------------------------- remembered pieces */

typedef struct {
    uint32_t hash, at; /* where its entry is, or 0 */
} Slot;

/* An entry: size of the piece | flags << 8 | count << 16, the numbers of its words, its letters. */
typedef struct {
    PyObject_HEAD
    uint64_t key[2];
    Slot *slots;
    Numbers arena;
    uint32_t entries;
    struct {
        uint32_t call;
        int32_t place;
    } * seen; /* of numbers from `first` on: in which call, and its new number */
    size_t seen_room;
    uint32_t call;
    int32_t first, none; /* numbers from here on are given anew in each call; that of a text without words */
    int lowercase, busy;
} Splitter;

#define ROTATE(x, b) (((x) << (b)) | ((x) >> (64 - (b))))
#define SIP_ROUND                                                                                             \
    (a += b, c += d, b = ROTATE(b, 13), d = ROTATE(d, 16), b ^= a, d ^= c, a = ROTATE(a, 32), c += b, a += d, \
     b = ROTATE(b, 17), d = ROTATE(d, 21), b ^= c, d ^= a, c = ROTATE(c, 32))

/* SipHash-1-3, as Python has it: nobody can make texts whose pieces all have the same hash. */
static uint64_t hash_of(const uint64_t key[2], const unsigned char *text, size_t size) {
    uint64_t a = key[0] ^ 0x736f6d6570736575, b = key[1] ^ 0x646f72616e646f6d, c = key[0] ^ 0x6c7967656e657261,
             d = key[1] ^ 0x7465646279746573, last = (uint64_t)size << 56, block;
    for (; size >= 8; size -= 8, text += 8) {
        memcpy(&block, text, 8);
        d ^= block, SIP_ROUND, a ^= block;
    }
    for (size_t k = 0; k < size; k++) last |= (uint64_t)text[k] << 8 * k;
    d ^= last, SIP_ROUND, a ^= last, c ^= 0xff;
    SIP_ROUND, SIP_ROUND, SIP_ROUND;
    return a ^ b ^ c ^ d;
}

static int size_of(int32_t head) { return head & 0xff; }
static int flags_of(int32_t head) { return head >> 8 & 0xff; }
static int count_of(int32_t head) { return head >> 16; }

/* The slot of a piece, or the empty one where it belongs; there is always one. */
static Slot *find_slot(const Splitter *self, const unsigned char *piece, size_t size, uint32_t *hash) {
    uint64_t wide = hash_of(self->key, piece, size);
    *hash = (uint32_t)(wide >> 32);
    for (uint32_t k = (uint32_t)wide;; k++) {
        Slot *slot = &self->slots[k & (SLOTS - 1)];
        if (!slot->at) return slot;
        if (slot->hash != *hash) continue;
        const int32_t *entry = self->arena.items + slot->at;
        if (size_of(*entry) == (int)size && !memcmp(entry + 1 + count_of(*entry), piece, size)) return slot;
    }
}

static const int32_t *find(const Splitter *self, const unsigned char *piece, size_t size) {
    uint32_t hash;
    if (size > LONGEST) return NULL;
    Slot *slot = find_slot(self, piece, size, &hash);
    return slot->at ? self->arena.items + slot->at : NULL;
}

/* Remember what Python says of a piece, if there is room: flags and numbers. */
static int store(Splitter *self, const unsigned char *piece, size_t size, const int32_t *told, size_t count) {
    uint32_t hash;
    size_t cells = 1 + count + (size + 3) / 4;
    if (self->entries >= MAX_ENTRIES || self->arena.size + cells > MAX_ARENA) return 1;
    if (!reserve(&self->arena, cells)) return 0;
    Slot *slot = find_slot(self, piece, size, &hash);
    int32_t *entry = self->arena.items + self->arena.size;
    entry[0] = (int32_t)(size | (size_t)(told[0] & 0xff) << 8 | count << 16);
    memcpy(entry + 1, told + 1, count * sizeof *told);
    memcpy(entry + 1 + count, piece, size);
    self->entries += !slot->at;
    slot->hash = hash;
    slot->at = (uint32_t)self->arena.size;
    self->arena.size += cells;
    return 1;
}

/* ---------------------------------------------------------------- texts, without Python's lock */

typedef struct {
    const char *bytes; /* NULL if it is to be split as a whole */
    PyObject *copy;    /* that holds them, of a text that is not ASCII */
    size_t size, start; /* where its numbers are in `found` */
    int32_t length, state;
} Text;

typedef struct {
    Text *texts;
    unsigned char *scratch; /* room for the longest text, and a space */
    Numbers found, misses;  /* numbers of words; text, place and size of each piece that is new */
} Work;

static void copy_text(const Splitter *self, const char *from, size_t size, unsigned char *to) {
    if (!self->lowercase) memcpy(to, from, size);
    else
        for (size_t k = 0; k < size; k++)
            to[k] = (unsigned char)(from[k] + 32 * ((unsigned char)(from[k] - 'A') < 26));
}

static int add_miss(Work *work, size_t text, size_t at, size_t size) {
    if (!reserve(&work->misses, 3)) return 0;
    int32_t *miss = work->misses.items + work->misses.size;
    miss[0] = (int32_t)text, miss[1] = (int32_t)at, miss[2] = (int32_t)size;
    work->misses.size += 3;
    return 1;
}

/* Whether the piece at p ends before the next space without asking what is in it: where, or p. */
static size_t end_apart(const unsigned char *s, size_t p, int *stop) {
    size_t end = p, next;
    *stop = 0;
    if ((kinds[s[p]] & ALONE && s[p + 1] < 128) || (s[p] == '(' && kinds[s[p + 1]] & LETTER)) return p + 1;
    while (kinds[s[end]] & LETTER) end++;
    if (kinds[s[end]] & (SPACE | AFTER_RUN) || (s[end] == ':' && kinds[s[end + 1]] & SPACE)) return end;
    if (end < p + 2 || !(kinds[s[end]] & STOP)) return p;
    for (next = end + 1; kinds[s[next]] & STOP; next++) {}
    *stop = kinds[s[next]] & SPACE; /* if its entry says so */
    return *stop ? end : p;
}

/* The entry of the piece at p of a text of n bytes, NULL if it is new, and where it ends. */
static const int32_t *find_piece(const Splitter *self, const unsigned char *s, size_t n, size_t p, size_t *end,
                                 int *open) {
    int stop;
    const int32_t *entry = NULL;
    *end = end_apart(s, p, &stop);
    *open = 0;
    if (*end > p) {
        entry = find(self, s + p, *end - p);
        if (!stop || !entry || flags_of(*entry) & STOP_APART) return entry;
    }
    while (!(kinds[s[*end]] & SPACE)) ++*end;
    entry = find(self, s + p, *end - p);
    if (entry && flags_of(*entry) & (BEFORE_NUMBER | BEFORE_ANY)) {
        size_t next = *end;
        while (next < n && kinds[s[next]] & SPACE) next++;
        *open = next < n && (flags_of(*entry) & BEFORE_ANY || kinds[s[next]] & DIGIT);
    }
    return entry;
}

/* Look up the words of a text; 0 if memory ran out. */
static int read_text(const Splitter *self, Work *work, size_t number) {
    Text *text = &work->texts[number];
    const unsigned char *s = work->scratch;
    size_t n = text->size, p = 0, end;
    copy_text(self, text->bytes, n, work->scratch);
    work->scratch[n] = ' ';
    if (!reserve(&work->found, n + 1)) return 0; /* a word has a character at least */
    int32_t *out = work->found.items + work->found.size;
    text->start = work->found.size;
    text->state = DONE;
    for (;; p = end) {
        int open;
        while (p < n && kinds[s[p]] & SPACE) p++;
        if (p == n) break;
        const int32_t *entry = find_piece(self, s, n, p, &end, &open);
        if (open || (!entry && end - p > LONGEST)) {
            text->state = WHOLE;
            return 1;
        }
        if (entry) {
            int count = count_of(*entry);
            for (int k = 0; k < count; k++) *out++ = entry[1 + k];
        } else {
            text->state = MISSED;
            if (!add_miss(work, number, p, end - p)) return 0;
        }
    }
    text->length = (int32_t)(out - (work->found.items + text->start));
    if (!text->length) *out++ = self->none, text->length = 1;
    if (text->state == DONE) work->found.size += (size_t)text->length;
    return 1;
}

static int read_texts(const Splitter *self, Work *work, size_t start, size_t end, int state) {
    for (size_t k = start; k < end; k++)
        if (work->texts[k].state == state && !read_text(self, work, k)) return 0;
    return 1;
}

/* ---------------------------------------------------------------- what Python is asked */

/* Call a function with a string; bytes of at least one number, or NULL. */
static PyObject *ask(PyObject *function, PyObject *string, const int32_t **numbers, size_t *count) {
    char *bytes;
    Py_ssize_t size;
    PyObject *answer = string ? PyObject_CallFunctionObjArgs(function, string, NULL) : NULL;
    if (!answer || PyBytes_AsStringAndSize(answer, &bytes, &size) < 0) {
        Py_XDECREF(answer);
        return NULL;
    }
    *numbers = (const int32_t *)bytes; /* aligned: after the header of the object */
    *count = (size_t)size / sizeof **numbers;
    for (size_t k = 0; k < *count; k++)
        if ((*numbers)[k] < 0 || (*numbers)[k] >= MAX_NUMBER) *count = 0;
    if (!*count) {
        Py_DECREF(answer);
        PyErr_SetString(PyExc_ValueError, "expected numbers of words");
        return NULL;
    }
    return answer;
}

static int learn_misses(Splitter *self, Work *work, PyObject *learn) {
    unsigned char piece[LONGEST];
    for (size_t k = 0; k < work->misses.size; k += 3) {
        const int32_t *miss = work->misses.items + k, *told;
        size_t size = (size_t)miss[2], count;
        copy_text(self, work->texts[miss[0]].bytes + miss[1], size, piece);
        if (find(self, piece, size)) continue;
        PyObject *string = PyUnicode_FromStringAndSize((const char *)piece, (Py_ssize_t)size);
        PyObject *answer = ask(learn, string, &told, &count);
        Py_XDECREF(string);
        if (!answer) return 0;
        int stored = count - 1 > size || store(self, piece, size, told, count - 1); /* a word has a character */
        Py_DECREF(answer);
        if (!stored) {
            PyErr_NoMemory();
            return 0;
        }
    }
    work->misses.size = 0;
    return 1;
}

static int split_whole(Work *work, size_t number, PyObject *texts, PyObject *whole) {
    const int32_t *told;
    size_t count;
    Text *text = &work->texts[number];
    PyObject *string = PySequence_GetItem(texts, (Py_ssize_t)number);
    PyObject *answer = ask(whole, string, &told, &count);
    Py_XDECREF(string);
    if (!answer) return 0;
    int fits = count <= INT32_MAX && reserve(&work->found, count);
    if (fits) {
        memcpy(work->found.items + work->found.size, told, count * sizeof *told);
        text->start = work->found.size;
        text->length = (int32_t)count;
        text->state = DONE;
        work->found.size += count;
    } else PyErr_NoMemory();
    Py_DECREF(answer);
    return fits;
}

/* ---------------------------------------------------------------- a call */

/* Number the words from `first` on anew, in the order in which they come; `order` has their own numbers. */
static int renumber(Splitter *self, int32_t *numbers, size_t count, Numbers *order) {
    if (!++self->call) { /* all numbers of calls have been used */
        if (self->seen) memset(self->seen, 0, self->seen_room * sizeof *self->seen);
        self->call = 1;
    }
    for (size_t k = 0; k < count; k++) {
        if (numbers[k] < self->first) continue;
        size_t word = (size_t)(numbers[k] - self->first);
        if (word >= self->seen_room) {
            size_t room = 2 * word + 1024;
            void *grown = realloc(self->seen, room * sizeof *self->seen);
            if (!grown) return 0;
            self->seen = grown;
            memset(self->seen + self->seen_room, 0, (room - self->seen_room) * sizeof *self->seen);
            self->seen_room = room;
        }
        if (self->seen[word].call != self->call) {
            if (!reserve(order, 1)) return 0;
            self->seen[word].call = self->call;
            self->seen[word].place = self->first + (int32_t)order->size;
            order->items[order->size++] = numbers[k];
        }
        numbers[k] = self->seen[word].place;
    }
    return 1;
}

/* All texts looked up, learnt and split; 0 with an error set. */
static int number_all(Splitter *self, Work *work, size_t count, PyObject *texts, PyObject *learn,
                      PyObject *whole) {
    /* Blocks that grow: at first nearly all pieces are new, and each is to be learnt once. */
    for (size_t start = 0, size = 64; start < count; start += size, size *= size < MAX_BLOCK ? 2 : 1) {
        if (PyErr_CheckSignals() < 0) return 0; /* Ctrl-C */
        size_t end = size < count - start ? start + size : count;
        for (int round = 0, state = -1, missed = 1; missed && round < ROUNDS; round++, state = MISSED) {
            int fine;
            Py_BEGIN_ALLOW_THREADS
            fine = read_texts(self, work, start, end, state);
            Py_END_ALLOW_THREADS
            if (!fine) {
                PyErr_NoMemory();
                return 0;
            }
            missed = work->misses.size > 0;
            if (self->entries >= MAX_ENTRIES) { /* nothing more is remembered: such texts are split whole */
                work->misses.size = 0;
                break;
            }
            if (!learn_misses(self, work, learn)) return 0;
        }
        for (size_t k = start; k < end; k++)
            if (work->texts[k].state != DONE && !split_whole(work, k, texts, whole)) return 0;
    }
    return 1;
}

static PyObject *assemble(Splitter *self, Work *work, size_t count) {
    size_t total = work->found.size, done = 0;
    Numbers order = {0};
    PyObject *result = NULL, *numbers = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(total * sizeof(int32_t)));
    PyObject *lengths = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(int32_t)));
    if (numbers && lengths) {
        int32_t *to = (int32_t *)PyBytes_AsString(numbers), *each = (int32_t *)PyBytes_AsString(lengths);
        for (size_t k = 0; k < count; k++) {
            const Text *text = &work->texts[k];
            memcpy(to + done, work->found.items + text->start, (size_t)text->length * sizeof *to);
            done += (size_t)(each[k] = text->length);
        }
        if (!renumber(self, to, total, &order)) PyErr_NoMemory();
        else
            result = Py_BuildValue("OOy#", numbers, lengths, order.size ? (char *)order.items : "",
                                   (Py_ssize_t)(order.size * sizeof *order.items));
    }
    free(order.items);
    Py_XDECREF(numbers);
    Py_XDECREF(lengths);
    return result;
}

/* The bytes of the texts, which are read without Python's lock: the tuple must hold them, or a copy.
   A byte says of each text whether it is ASCII, whose bytes Python has (1), or not (2), or is for `whole` (0). */
static int gather(Work *work, PyObject *texts, const char *ways, size_t count) {
    size_t longest = 0;
    for (size_t k = 0; k < count; k++) {
        Text *text = &work->texts[k];
        Py_ssize_t size = 0;
        PyObject *string = PyTuple_GetItem(texts, (Py_ssize_t)k);
        text->state = WHOLE;
        if (!ways[k]) continue;
        if (ways[k] == 1) text->bytes = PyUnicode_AsUTF8AndSize(string, &size);
        else {
            text->copy = PyUnicode_AsUTF8String(string);
            if (text->copy) PyBytes_AsStringAndSize(text->copy, (char **)&text->bytes, &size);
        }
        if (!text->bytes) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return 0;
            PyErr_Clear(); /* half a character */
            continue;
        }
        text->size = (size_t)size;
        if (size < MAX_TEXT) text->state = -1;
        if (size < MAX_TEXT && text->size > longest) longest = text->size;
    }
    work->scratch = malloc(longest + 2); /* a stop may be the last character: what follows it is read */
    if (!work->scratch) PyErr_NoMemory();
    return work->scratch != NULL;
}

static PyObject *number_texts(PyObject *object, PyObject *args) {
    Splitter *self = (Splitter *)object;
    PyObject *texts, *learn, *whole, *result = NULL;
    const char *ways;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "O!y#OO", &PyTuple_Type, &texts, &ways, &count, &learn, &whole)) return NULL;
    if (count != PyTuple_Size(texts) || count > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "expected a byte for each text");
        return NULL;
    }
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "a Splitter serves one call at a time");
        return NULL;
    }
    Work work = {0};
    self->busy = 1;
    work.texts = calloc((size_t)count + 1, sizeof *work.texts);
    if (!work.texts) PyErr_NoMemory();
    else if (gather(&work, texts, ways, (size_t)count) &&
             number_all(self, &work, (size_t)count, texts, learn, whole))
        result = assemble(self, &work, (size_t)count);
    for (Py_ssize_t k = 0; work.texts && k < count; k++) Py_XDECREF(work.texts[k].copy);
    free(work.texts);
    free(work.scratch);
    free(work.found.items);
    free(work.misses.items);
    self->busy = 0;
    return result;
}

static Py_ssize_t count_entries(PyObject *self) { return (Py_ssize_t)((Splitter *)self)->entries; }

static PyObject *new_splitter(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(names)) {
    const char *key;
    Py_ssize_t size;
    int lowercase, first, none;
    if (!PyArg_ParseTuple(args, "y#pii", &key, &size, &lowercase, &first, &none)) return NULL;
    if (size != 16 || first < 0 || none < 0) {
        PyErr_SetString(PyExc_ValueError, "expected a key of 16 bytes and numbers of words");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Splitter *self = (Splitter *)allocate(type, 0);
    if (!self) return NULL;
    memcpy(self->key, key, sizeof self->key);
    self->lowercase = lowercase, self->first = first, self->none = none;
    self->slots = calloc(SLOTS, sizeof *self->slots);
    if (!self->slots || !reserve(&self->arena, 1024)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->arena.size = 1; /* 0 is none */
    return (PyObject *)self;
}

static void delete_splitter(PyObject *object) {
    Splitter *self = (Splitter *)object;
    PyTypeObject *type = Py_TYPE(object);
    free(self->slots);
    free(self->arena.items);
    free(self->seen);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {{"number", number_texts, METH_VARARGS, NULL}, {0}};
static PyType_Slot slots[] = {{Py_tp_new, new_splitter},
                              {Py_tp_dealloc, delete_splitter},
                              {Py_tp_methods, methods},
                              {Py_sq_length, count_entries},
                              {0}};
static PyType_Spec spec = {"limelight.text._native.Splitter", sizeof(Splitter), 0, Py_TPFLAGS_DEFAULT, slots};

static int execute(PyObject *module) {
    set_kinds();
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    int failed = !type || PyModule_AddObjectRef(module, "Splitter", type) < 0;
    Py_XDECREF(type);
    return failed || PyModule_AddIntConstant(module, "VERSION", VERSION) < 0 ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, execute}, {0}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, NULL, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
