/*
 * check_fragment.c: standard headers that a fragment's names suggest. A file that uses
 * std::vector or sqrt without declaring it is checked as if it included them.
 *
 * Only if the compiler reports such names as undeclared: a complete file is checked
 * unchanged.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/source/check_priv.h"
#include "runtime/source/priv.h"

/* ---- the table ------------------------------------------------------------------------------ */

typedef struct header {
    const char *c, *cpp;   /* NULL: the language has none */
    const char *plain;     /* names that C and C++ use unqualified, between blanks */
    const char *qualified; /* names of C++ after std:: */
} header;

#define UNQUALIFIED_MATH                                                                           \
    " sqrt sqrtf cbrt sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 log log2 log10 "    \
    "pow "                                                                                         \
    "fabs fabsf floor ceil round trunc fmin fmax fmod hypot isnan isinf isfinite INFINITY NAN "    \
    "HUGE_VAL M_PI lround llround sinf cosf expf logf powf fma "

static const header table[] = {
    {"stdio.h", "cstdio",
     " printf fprintf snprintf sprintf puts putchar fputs scanf sscanf fscanf FILE fopen fclose "
     "fread fwrite fgets fflush perror stdout stderr stdin EOF getchar ",
     " printf fprintf snprintf puts FILE "},
    {"stdlib.h", "cstdlib",
     " malloc calloc realloc free abort exit atoi atof strtol strtod qsort bsearch rand srand abs "
     "labs getenv RAND_MAX EXIT_SUCCESS EXIT_FAILURE aligned_alloc ",
     " malloc free exit abs rand srand atoi "},
    {"string.h", "cstring",
     " memcpy memmove memset memcmp memchr strlen strcmp strncmp strcpy strncpy strcat strchr "
     "strrchr strstr strtok strdup ",
     " memcpy memmove memset memcmp strlen strcmp "},
    {"math.h", "cmath", UNQUALIFIED_MATH, UNQUALIFIED_MATH " abs "},
    {"stddef.h", "cstddef", " size_t ptrdiff_t NULL offsetof ",
     " size_t ptrdiff_t nullptr_t byte "},
    {"stdint.h", "cstdint",
     " int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t "
     "INT32_MAX INT64_MAX UINT32_MAX UINT64_MAX SIZE_MAX INT32_MIN INT64_MIN ",
     " int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t "},
    {"stdbool.h", NULL, " bool true false ", ""},
    {"limits.h", "climits",
     " INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX CHAR_BIT ", ""},
    {"float.h", "cfloat", " DBL_MAX DBL_MIN DBL_EPSILON FLT_MAX FLT_MIN FLT_EPSILON ", ""},
    {"assert.h", "cassert", " assert static_assert ", ""},
    {"ctype.h", "cctype", " isalpha isdigit isalnum isspace isupper islower toupper tolower ",
     " isalpha isdigit isspace toupper tolower "},
    {"time.h", "ctime", " clock CLOCKS_PER_SEC time_t time clock_gettime ", " time clock "},
    {"omp.h", "omp.h",
     " omp_get_thread_num omp_get_num_threads omp_get_max_threads omp_set_num_threads "
     "omp_get_wtime "
     "omp_lock_t omp_init_lock omp_set_lock omp_unset_lock omp_get_num_procs ",
     ""},
    {NULL, "vector", "", " vector "},
    {NULL, "string", "", " string to_string stoi stod stof getline "},
    {NULL, "algorithm", "",
     " sort stable_sort partial_sort nth_element min max minmax clamp min_element max_element "
     "minmax_element fill fill_n copy copy_if copy_n transform reverse rotate find find_if count "
     "count_if lower_bound upper_bound binary_search equal_range for_each any_of all_of none_of "
     "unique remove remove_if replace replace_if generate generate_n partition merge "
     "inplace_merge shuffle swap_ranges is_sorted equal mismatch search set_union "
     "set_intersection next_permutation push_heap pop_heap make_heap sort_heap "},
    {NULL, "numeric", "",
     " accumulate iota inner_product partial_sum adjacent_difference reduce transform_reduce "
     "inclusive_scan exclusive_scan gcd lcm midpoint "},
    {NULL, "limits", "", " numeric_limits "},
    {NULL, "iostream", "", " cout cerr cin endl clog ostream istream flush "},
    {NULL, "complex", "", " complex polar conj norm arg real imag "},
    {NULL, "utility", "", " pair make_pair swap move forward exchange "},
    {NULL, "map", "", " map multimap "},
    {NULL, "unordered_map", "", " unordered_map unordered_multimap "},
    {NULL, "set", "", " set multiset "},
    {NULL, "unordered_set", "", " unordered_set unordered_multiset "},
    {NULL, "queue", "", " queue priority_queue "},
    {NULL, "stack", "", " stack "},
    {NULL, "deque", "", " deque "},
    {NULL, "list", "", " list "},
    {NULL, "array", "", " array "},
    {NULL, "tuple", "", " tuple make_tuple tie get apply "},
    {NULL, "functional", "",
     " function plus multiplies minus greater less equal_to bind ref hash "},
    {NULL, "memory", "", " unique_ptr shared_ptr weak_ptr make_unique make_shared "},
    {NULL, "iterator", "", " back_inserter distance advance next prev begin end ostream_iterator "},
    {NULL, "random", "",
     " mt19937 mt19937_64 random_device uniform_int_distribution uniform_real_distribution "
     "normal_distribution default_random_engine "},
    {NULL, "thread", "", " thread this_thread jthread "},
    {NULL, "mutex", "", " mutex lock_guard unique_lock scoped_lock once_flag call_once "},
    {NULL, "atomic", "", " atomic atomic_flag atomic_thread_fence memory_order_relaxed "},
    {NULL, "future", "", " future promise async launch packaged_task "},
    {NULL, "chrono", "", " chrono "},
    {NULL, "sstream", "", " stringstream ostringstream istringstream "},
    {NULL, "fstream", "", " ifstream ofstream fstream "},
    {NULL, "stdexcept", "", " runtime_error invalid_argument logic_error out_of_range "},
    {NULL, "optional", "", " optional nullopt make_optional "},
    {NULL, "bitset", "", " bitset "},
    {NULL, "string_view", "", " string_view "},
};
enum { HEADERS = sizeof table / sizeof *table };
_Static_assert(HEADERS <= 64, "one bit per header");

static bool has_word(const char *list, const char *word, size_t n)
{
    for (const char *p = list; (p = memmem(p, strlen(p), word, n)) != NULL; p += n)
        if (p > list && p[-1] == ' ' && p[n] == ' ') return true;
    return false;
}

/* Bits of the headers that declare a name. */
static uint64_t headers_of(const char *name, size_t n, bool cpp, bool qualified)
{
    uint64_t found = 0;
    for (int k = 0; k < HEADERS; k++) {
        if (!(cpp ? table[k].cpp : table[k].c)) continue;
        bool has = has_word(table[k].plain, name, n) ||
                   (cpp && qualified && has_word(table[k].qualified, name, n));
        found |= (uint64_t)has << k;
    }
    return found;
}

/* ---- names of a text ------------------------------------------------------------------------ */

static bool is_after_std(const hpc_tokens *t, const char *text, int64_t i)
{
    return i >= 2 && hpc_token_is(&t->item[i - 1], text, "::", 2) &&
           hpc_token_is(&t->item[i - 2], text, "std", 3);
}

static bool uses_std(const hpc_tokens *t, const char *text)
{
    for (int64_t i = 2; i < t->n; i++)
        if (hpc_token_is(&t->item[i], text, "std", 3) &&
            hpc_token_is(&t->item[i - 1], text, "namespace", 9) &&
            hpc_token_is(&t->item[i - 2], text, "using", 5))
            return true;
    return false;
}

static uint64_t suggested(const hpc_tokens *t, const char *text, bool cpp)
{
    const bool all = cpp && uses_std(t, text);
    uint64_t found = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const hpc_token *k = &t->item[i];
        if (!hpc_token_is_code(k) || (k->flags & HPC_TOKEN_IN_DIRECTIVE)) continue;
        if (k->kind != HPC_TOKEN_NAME) continue;
        found |= headers_of(text + k->at, k->n, cpp, all || is_after_std(t, text, i));
    }
    return found;
}

/* True if an issue is a standard name that nothing declares. */
static bool is_of_fragment(const check_issues *s, const check_issue *i, bool cpp)
{
    static const char std[] = "namespace 'std'", library[] = "undeclared library function '";
    const char *text = s->text.data + i->text_at, *name;
    size_t n;
    bool call;
    if (memmem(text, i->text_n, std, sizeof std - 1)) return true;
    if (memmem(text, i->text_n, library, sizeof library - 1)) return true;
    name = check_unknown_name(&n, &call, s, i);
    if (!name || n == 0) return false;
    return (n == 3 && memcmp(name, "std", 3) == 0) || headers_of(name, n, cpp, false) != 0;
}

bool check_is_fragment(const check_issues *s, bool cpp)
{
    for (int64_t k = 0; k < s->n; k++)
        if (is_of_fragment(s, &s->item[k], cpp)) return true;
    return false;
}

int check_fragment_headers(uint64_t *set, hpc_buf *includes, const hpc_tokens *t, const char *text,
                           bool cpp)
{
    uint64_t more = suggested(t, text, cpp) & ~*set;
    *set |= more;
    for (int k = 0; k < HEADERS; k++)
        if (more >> k & 1)
            hpc_buf_printf(includes, "#include <%s>\n", cpp ? table[k].cpp : table[k].c);
    return includes->failed ? includes->failed : more != 0;
}

void check_fragment_list(char *out, size_t n, uint64_t set, bool cpp)
{
    size_t at = 0;
    out[0] = '\0';
    for (int k = 0; k < HEADERS && at + 40 < n; k++)
        if (set >> k & 1)
            at += (size_t)snprintf(out + at, n - at, "%s<%s>", at > 0 ? ", " : "",
                                   cpp ? table[k].cpp : table[k].c);
}
