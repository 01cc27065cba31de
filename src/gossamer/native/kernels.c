/* The inner loops of the hot path, in C. The Python version named above each defines its result; the tests
 * in tests/native compare the two over texts of all kinds. Nothing here does IO, waits, or keeps state. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* --- gossamer.sketch.signature ------------------------------------------------------------------------- */

#define BINS 64
#define WINDOW 16
#define EMPTY UINT64_MAX

static uint64_t
eight_bytes(const unsigned char *at)
{
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--) /* compiled to one load on little-endian machines */
        n = n << 8 | at[i];
    return n;
}

#define AT_ONCE 64

/* Hashes the shingles of a text, whose beginnings are marked by ones and followed by AT_ONCE zeros. Returns their
 * number. The marks of many characters become the bits of one word: where words begin is unpredictable, so a
 * branch for each character would be mispredicted too often. */
static Py_ssize_t
take_in(const unsigned char *bytes, const unsigned char *begins, Py_ssize_t length, uint64_t *smallest)
{
    Py_ssize_t shingles = 0;
    for (Py_ssize_t at = 0; at < length; at += AT_ONCE) {
        uint64_t marks = 0;
        for (int i = 0; i < AT_ONCE; i += 8) /* the product has the lowest bits of eight bytes in its highest byte */
            marks |= eight_bytes(begins + at + i) * UINT64_C(0x0102040810204080) >> 56 << i;
        for (; marks; marks &= marks - 1) {
            const unsigned char *shingle = bytes + at + __builtin_ctzll(marks);
            uint64_t hash = (eight_bytes(shingle + 8) & 0xFFFFFFFFu) * UINT64_C(0xC2B2AE3D27D4EB4F);
            hash += eight_bytes(shingle) * UINT64_C(0x9E3779B97F4A7C15);
            hash ^= hash >> 32;
            hash *= UINT64_C(0xD6E8FEB86659FD93);
            uint64_t *bin = smallest + (hash >> 58);
            *bin = hash < *bin ? hash : *bin;
            shingles++;
        }
    }
    return shingles;
}

/* Scripts that are written without blanks: there every character begins a shingle. */
static int
begins_anywhere(uint16_t unit)
{
    return (unit >= 0x0E00 && unit < 0x10A0) || unit >= 0x2E80;
}

/* The width of a line end: no shingle that begins before it includes what comes next. */
#define LINE_END 11

/* Hashes the shingles of a Latin-1 text. Returns their number; -1 if out of memory. */
static Py_ssize_t
narrow_shingles(PyObject *text, Py_ssize_t length, uint64_t *smallest)
{
    const Py_UCS1 *data = PyUnicode_1BYTE_DATA(text);
    Py_ssize_t lines = 0;
    for (Py_ssize_t i = 0; i < length;) { /* few enough for a byte to count, so that the compiler vectorises it */
        unsigned char some = 0;
        for (Py_ssize_t end = length - i < 240 ? length : i + 240; i < end; i++)
            some += data[i] == '\n';
        lines += some;
    }
    size_t most = (size_t)(length + lines * (LINE_END - 1));
    unsigned char *bytes = PyMem_Malloc(most + WINDOW);
    unsigned char *begins = PyMem_Malloc(most + AT_ONCE);
    Py_ssize_t shingles = -1;
    if (bytes == NULL || begins == NULL)
        goto done;
    Py_ssize_t n = 0;
    for (const Py_UCS1 *from = data, *end = data + length; from < end;) {
        const Py_UCS1 *line = memchr(from, '\n', (size_t)(end - from));
        const Py_UCS1 *to = line == NULL ? end : line;
        memcpy(bytes + n, from, (size_t)(to - from));
        n += to - from;
        if (line != NULL) {
            memset(bytes + n, ' ', LINE_END);
            n += LINE_END;
        }
        from = to + 1;
    }
    memset(bytes + n, ' ', WINDOW);
    begins[0] = bytes[0] > ' '; /* of an empty text too, which was padded */
    for (Py_ssize_t i = 1; i < n; i++)
        begins[i] = (bytes[i] > ' ') & (bytes[i - 1] <= ' ');
    memset(begins + n, 0, AT_ONCE);
    shingles = take_in(bytes, begins, n, smallest);
done:
    PyMem_Free(bytes);
    PyMem_Free(begins);
    return shingles;
}

/* The same for any other text, in UTF-16 units. Eight bits of each are enough. */
static Py_ssize_t
wide_shingles(PyObject *text, Py_ssize_t length, uint64_t *smallest)
{
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    size_t most = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        most += c == '\n' ? LINE_END : 1 + (c > 0xFFFF);
    }
    unsigned char *bytes = PyMem_Malloc(most + WINDOW);
    unsigned char *begins = PyMem_Malloc(most + AT_ONCE);
    Py_ssize_t shingles = -1;
    if (bytes == NULL || begins == NULL)
        goto done;
    Py_ssize_t n = 0;
    int blank = 1;
    for (Py_ssize_t i = 0; i < length; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (c == '\n') {
            memset(bytes + n, ' ', LINE_END);
            memset(begins + n, 0, LINE_END);
            n += LINE_END;
            blank = 1;
            continue;
        }
        uint16_t units[2] = {(uint16_t)c, 0};
        int count = 1;
        if (c > 0xFFFF) {
            units[0] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
            units[1] = (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF));
            count = 2;
        }
        for (int k = 0; k < count; k++) {
            int is_blank = units[k] <= ' ';
            bytes[n] = (unsigned char)(units[k] ^ (units[k] >> 8));
            begins[n++] = (unsigned char)((blank & !is_blank) | begins_anywhere(units[k]));
            blank = is_blank;
        }
    }
    memset(bytes + n, ' ', WINDOW);
    memset(begins + n, 0, AT_ONCE);
    shingles = take_in(bytes, begins, n, smallest);
done:
    PyMem_Free(bytes);
    PyMem_Free(begins);
    return shingles;
}

static PyObject *
signature(PyObject *module, PyObject *args)
{
    PyObject *text;
    Py_ssize_t most;
    int least;
    if (!PyArg_ParseTuple(args, "Uni:signature", &text, &most, &least))
        return NULL;
    if (most < 0 || most > 1 << 27 || least < 1) {
        PyErr_SetString(PyExc_ValueError, "at most 2^27 characters are signed, and they fill a bin at least");
        return NULL;
    }
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (length > most)
        length = most;
    uint64_t smallest[BINS];
    for (int i = 0; i < BINS; i++)
        smallest[i] = EMPTY;
    Py_ssize_t shingles = PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND ? narrow_shingles(text, length, smallest)
                                                                      : wide_shingles(text, length, smallest);
    if (shingles < 0)
        return PyErr_NoMemory();
    int full = 0;
    for (int i = 0; i < BINS; i++)
        full += smallest[i] != EMPTY;
    if (shingles < least || full < least)
        Py_RETURN_NONE;
    unsigned char found[BINS];
    for (int i = 0; i < BINS; i++) {
        int step = 0; /* an empty bin takes the next non-empty one, changed by the distance */
        while (smallest[(i + step) % BINS] == EMPTY)
            step++;
        found[i] = (unsigned char)((smallest[(i + step) % BINS] >> 32) + (uint64_t)step * 0x9D);
    }
    return PyBytes_FromStringAndSize((const char *)found, BINS);
}

/* --- gossamer.backends.warc.record.base32 ------------------------------------------------------------------ */

#define DIGEST 20

static PyObject *
base32(PyObject *module, PyObject *digest)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    if (!PyBytes_Check(digest) || PyBytes_GET_SIZE(digest) != DIGEST) {
        PyErr_SetString(PyExc_ValueError, "not the 20 bytes of a SHA-1");
        return NULL;
    }
    PyObject *text = PyUnicode_New(DIGEST * 8 / 5, 127);
    if (text == NULL)
        return NULL;
    const unsigned char *in = (const unsigned char *)PyBytes_AS_STRING(digest);
    Py_UCS1 *out = PyUnicode_1BYTE_DATA(text);
    for (int group = 0; group < DIGEST / 5; group++) {
        uint64_t bits = 0;
        for (int i = 0; i < 5; i++)
            bits = bits << 8 | *in++;
        for (int shift = 35; shift >= 0; shift -= 5)
            *out++ = (Py_UCS1)letters[bits >> shift & 31];
    }
    return text;
}

/* --- gossamer.filter.links.without_fragments_in_python ------------------------------------------------------ */

static PyObject *
without_fragments(PyObject *module, PyObject *hrefs)
{
    if (!PyList_Check(hrefs)) {
        PyErr_SetString(PyExc_TypeError, "a page's references are a list");
        return NULL;
    }
    PyObject *refs = PyDict_New();
    if (refs == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hrefs); i++) {
        PyObject *href = PyList_GET_ITEM(hrefs, i);
        if (!PyUnicode_Check(href)) {
            PyErr_SetString(PyExc_TypeError, "a reference is a text");
            goto failed;
        }
        Py_ssize_t mark = PyUnicode_FindChar(href, '#', 0, PyUnicode_GET_LENGTH(href), 1);
        PyObject *ref;
        if (mark == -2)
            goto failed;
        if (mark < 0)
            ref = Py_NewRef(href);
        else /* after white space the # stays, or the space would be stripped as the end of the text */
            ref = PyUnicode_Substring(href, 0, mark && PyUnicode_READ_CHAR(href, mark - 1) <= ' ' ? mark + 1 : mark);
        if (ref == NULL)
            goto failed;
        int bad = PyDict_SetItem(refs, ref, Py_None);
        Py_DECREF(ref);
        if (bad)
            goto failed;
    }
    return refs;
failed:
    Py_DECREF(refs);
    return NULL;
}

/* --- gossamer.filter.links.resolve_plain_in_python ---------------------------------------------------------- */

/* By character: whether it may occur in a plain path (1), in one that begins with a slash (2), in a query (4). */
static unsigned char allowed[256];

static void
fill_allowed(void)
{
    const char *plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&()*+,;=@";
    for (const char *c = plain; *c; c++)
        allowed[(unsigned char)*c] = 1 | 2 | 4;
    allowed['/'] = 1 | 2 | 4;
    allowed[':'] = 2 | 4;
    allowed['?'] = 4;
}

/* Whether resolving a reference is concatenation, because of its characters, and no dot begins a segment
 * from `from` on. `noise`: refuse references with a parameter that may have to be dropped. */
static int
is_plain(const Py_UCS1 *ref, Py_ssize_t length, Py_ssize_t from, int noise)
{
    unsigned char part = 1;
    if (length && ref[0] == '/') {
        if (length > 1 && ref[1] == '/')
            return 0;
        part = 2;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        Py_UCS1 c = ref[i];
        if (c == '?' && part != 4) {
            if (noise || i + 1 == length)
                return 0;
            part = 4;
            continue;
        }
        if (!(allowed[c] & part))
            return 0;
        if (c == '.' && i >= from && (i == from ? ref[0] != '/' : ref[i - 1] == '/'))
            return 0;
        if (noise && (c == ';' || c == '('))
            return 0;
    }
    return 1;
}

/* Concatenates `most` characters of the first text and the second from `from` on. All are ASCII. */
static PyObject *
joined(PyObject *first, Py_ssize_t most, PyObject *second, Py_ssize_t from)
{
    Py_ssize_t rest = PyUnicode_GET_LENGTH(second) - from;
    PyObject *text = PyUnicode_New(most + rest, 127);
    if (text == NULL)
        return NULL;
    memcpy(PyUnicode_1BYTE_DATA(text), PyUnicode_1BYTE_DATA(first), (size_t)most);
    memcpy(PyUnicode_1BYTE_DATA(text) + most, PyUnicode_1BYTE_DATA(second) + from, (size_t)rest);
    return text;
}

/* The URL of a reference, a new object; NULL without an exception if it is not plain. */
static PyObject *
plainly(PyObject *ref, PyObject *base, PyObject *origin, PyObject *document, PyObject *directory, Py_ssize_t most,
        int noise)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(ref);
    if (!PyUnicode_IS_ASCII(ref) || length > most)
        return NULL;
    if (length == 0)
        return Py_NewRef(base);
    const Py_UCS1 *text = PyUnicode_1BYTE_DATA(ref);
    Py_ssize_t root = PyUnicode_GET_LENGTH(origin);
    if (text[0] == 'h' && length > root && text[root] == '/' &&
        memcmp(text, PyUnicode_1BYTE_DATA(origin), (size_t)root) == 0)
        return is_plain(text + root, length - root, 0, noise) ? Py_NewRef(ref) : NULL;
    Py_ssize_t start = 0, end = PyUnicode_GET_LENGTH(directory);
    if (text[0] == '.') {
        const Py_UCS1 *folder = PyUnicode_1BYTE_DATA(directory);
        for (; length - start >= 3 && memcmp(text + start, "../", 3) == 0; start += 3) {
            if (end > root + 1)
                end--; /* its slash */
            while (end > root + 1 && folder[end - 1] != '/')
                end--;
        }
        if (start == 0)
            return NULL;
    }
    if (!is_plain(text, length, start, noise))
        return NULL;
    if (text[0] == '/')
        return joined(origin, root, ref, 0);
    if (text[0] == '?')
        return joined(document, PyUnicode_GET_LENGTH(document), ref, 0);
    return joined(directory, end, ref, start);
}

/* The length of `scheme://host[:port]` at the beginning of a text, if a path, a query or nothing follows; else 0. */
static Py_ssize_t
site_length(const Py_UCS1 *text, Py_ssize_t length)
{
    Py_ssize_t i = 4;
    if (length < 8 || memcmp(text, "http", 4) != 0)
        return 0;
    i += text[i] == 's';
    if (memcmp(text + i, "://", 3) != 0)
        return 0;
    i += 3;
    Py_ssize_t start = i;
    while (i < length && ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') || text[i] == '.' ||
                          text[i] == '-'))
        i++;
    if (i == start)
        return 0;
    if (i < length && text[i] == ':') {
        start = ++i;
        while (i < length && text[i] >= '0' && text[i] <= '9')
            i++;
        if (i == start)
            return 0;
    }
    return i == length || text[i] == '/' || text[i] == '?' ? i : 0;
}

/* The same for a link to another known site: its URL, and its host, a borrowed reference. */
static PyObject *
elsewhere(PyObject *ref, PyObject *sites, Py_ssize_t most, PyObject **host)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(ref);
    if (!PyUnicode_IS_ASCII(ref) || length > most)
        return NULL;
    const Py_UCS1 *text = PyUnicode_1BYTE_DATA(ref);
    Py_ssize_t end = site_length(text, length);
    if (end == 0 || !is_plain(text + end, length - end, 0, 0))
        return NULL;
    PyObject *start = PyUnicode_Substring(ref, 0, end);
    if (start == NULL)
        return NULL;
    PyObject *site = PyDict_GetItemWithError(sites, start);
    Py_DECREF(start);
    if (site == NULL || !PyTuple_Check(site) || PyTuple_GET_SIZE(site) != 2)
        return NULL;
    PyObject *origin = PyTuple_GET_ITEM(site, 0);
    if (!PyUnicode_Check(origin) || !PyUnicode_IS_ASCII(origin))
        return NULL;
    *host = PyTuple_GET_ITEM(site, 1);
    Py_ssize_t root = PyUnicode_GET_LENGTH(origin), rest = length - end;
    int slash = rest == 0 || text[end] != '/';
    PyObject *url = PyUnicode_New(root + slash + rest, 127);
    if (url == NULL)
        return NULL;
    Py_UCS1 *to = PyUnicode_1BYTE_DATA(url);
    memcpy(to, PyUnicode_1BYTE_DATA(origin), (size_t)root);
    if (slash)
        to[root] = '/';
    memcpy(to + root + slash, text + end, (size_t)rest);
    return url;
}

static PyObject *
resolve_plain(PyObject *module, PyObject *args)
{
    PyObject *refs, *base, *origin, *document, *directory, *host, *sites, *links, *otherwise;
    Py_ssize_t most;
    int noise;
    if (!PyArg_ParseTuple(args, "OUUUUUO!O!npO:resolve_plain", &refs, &base, &origin, &document, &directory, &host,
                          &PyDict_Type, &sites, &PyDict_Type, &links, &most, &noise, &otherwise))
        return NULL;
    if (!PyUnicode_IS_ASCII(base) || !PyUnicode_IS_ASCII(origin) || !PyUnicode_IS_ASCII(document) ||
        !PyUnicode_IS_ASCII(directory)) {
        PyErr_SetString(PyExc_ValueError, "a canonical URL is ASCII");
        return NULL;
    }
    PyObject *each = PyObject_GetIter(refs);
    if (each == NULL)
        return NULL;
    PyObject *ref;
    while ((ref = PyIter_Next(each)) != NULL) {
        int bad = 0;
        PyObject *of = host;
        PyObject *url = PyUnicode_Check(ref) ? plainly(ref, base, origin, document, directory, most, noise) : NULL;
        if (url == NULL && !noise && PyUnicode_Check(ref) && !PyErr_Occurred())
            url = elsewhere(ref, sites, most, &of);
        if (url != NULL) {
            bad = PyDict_SetItem(links, url, of);
            Py_DECREF(url);
        }
        else if (PyErr_Occurred())
            bad = 1;
        else {
            PyObject *done = PyObject_CallOneArg(otherwise, ref);
            bad = done == NULL;
            Py_XDECREF(done);
        }
        Py_DECREF(ref);
        if (bad)
            break;
    }
    Py_DECREF(each);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* --- the module ------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"signature", signature, METH_VARARGS, "signature(text, most, least): gossamer.sketch.signature."},
    {"base32", base32, METH_O, "base32(digest): gossamer.backends.warc.record.base32."},
    {"without_fragments", without_fragments, METH_O, "without_fragments(hrefs): gossamer.filter.links."},
    {"resolve_plain", resolve_plain, METH_VARARGS,
     "resolve_plain(refs, base, origin, document, directory, host, sites, links, most, noise, otherwise): "
     "gossamer.filter.links."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "gossamer.native._kernels", "Inner loops in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__kernels(void)
{
    fill_allowed();
    return PyModule_Create(&definition);
}
