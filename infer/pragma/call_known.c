/*
 * call_known.c: names of library functions by effect. A function that is not listed, and that the
 * file does not define, may do anything.
 */
#include "infer/pragma/call_known.h"

#include <string.h>

typedef struct known {
    const char *names; /* apart by blanks, with one at each end */
    call_known is;
} known;

static const known c_names[] = {
    {" sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 "
     "log10 log1p sqrt cbrt pow hypot fabs fmod remainder fmin fmax fdim floor ceil trunc round "
     "lround llround rint lrint llrint nearbyint ldexp scalbn logb ilogb erf erfc tgamma copysign "
     "nextafter fma sinf cosf tanf asinf acosf atanf atan2f sinhf coshf tanhf expf exp2f expm1f "
     "logf log2f log10f log1pf sqrtf cbrtf powf hypotf fabsf fmodf fminf fmaxf fdimf floorf ceilf "
     "truncf roundf lroundf rintf lrintf erff erfcf copysignf fmaf sinl cosl tanl expl logl sqrtl "
     "powl fabsl fmodl fminl fmaxl floorl ceill isnan isinf isfinite signbit isnormal __isnan "
     "__isinf __finite abs labs llabs imaxabs div ldiv creal cimag cabs conj cexp crealf cimagf "
     "cabsf isalpha isdigit isalnum isspace isupper islower ispunct isxdigit toupper tolower "
     "__builtin_expect __builtin_complex "
     "__builtin_popcount __builtin_popcountl __builtin_popcountll __builtin_clz __builtin_clzl "
     "__builtin_isnan __builtin_isinf __builtin_isinf_sign __builtin_isfinite __builtin_isnormal "
     "__builtin_signbit __builtin_ctz __builtin_ctzl __builtin_fabs __builtin_sqrt "
     "__builtin_prefetch j0 j1 y0 y1 ",
     CALL_VALUE},
    {" strlen strcmp strncmp memcmp strchr strrchr strstr atoi atol atof strnlen memchr strspn "
     "strcspn atoll ",
     CALL_READS},
    {" sincos sincosf modf modff frexp frexpf remquo ", CALL_STORES},
    {" memcpy memmove memset strcpy strncpy strcat strncat sprintf snprintf qsort ", CALL_COPIES},
    {" malloc calloc aligned_alloc strdup ", CALL_ALLOCATES},
    {" free ", CALL_FREES},
    {" rand srand random srandom drand48 lrand48 mrand48 strtok lgamma lgammaf getenv setlocale "
     "localtime gmtime ctime asctime erand48 nrand48 rand_r signal time clock realloc setjmp "
     "longjmp ",
     CALL_STATE},
    {" printf fprintf puts putchar putc fputc fputs fwrite fread fgets fgetc getc getchar scanf "
     "fscanf vprintf vfprintf fopen fclose fflush perror write read open close fseek ftell remove "
     "gets system MPI_Send MPI_Recv MPI_Isend MPI_Irecv MPI_Bcast MPI_Reduce MPI_Allreduce "
     "MPI_Barrier MPI_Wait MPI_Sendrecv ",
     CALL_IO},
    {" exit abort _exit _Exit quick_exit ", CALL_LEAVES},
    {" __assert_fail __assert __assert_rtn _assert ", CALL_ASSERTS},
    {" pthread_mutex_lock pthread_mutex_unlock pthread_mutex_trylock omp_set_lock omp_unset_lock "
     "omp_test_lock sem_wait sem_post ",
     CALL_LOCK},
};
static const known method_names[] = {
    {" size length empty capacity max_size ", CALL_METHOD_READ},
    {" at front back data begin end cbegin cend rbegin rend operator[] c_str find count subspan "
     "first ",
     CALL_METHOD_PLACE},
    {" push_back emplace_back pop_back insert erase clear resize reserve assign append swap "
     "emplace push pop shrink_to_fit operator+= operator= ",
     CALL_METHOD_CHANGE},
};
/* Functions that call the method of their argument. */
static const char method_calls[] = " size begin end cbegin cend data ";
static const char std_values[] =
    " min max clamp abs sqrt sin cos tan exp log pow fabs floor ceil round fmin fmax hypot atan2 "
    "asin acos atan sinh cosh tanh fmod isnan isinf isfinite real imag norm move forward make_pair "
    "numeric_limits lowest epsilon infinity trunc log2 log10 cbrt exp2 expm1 log1p copysign fma "
    "conj arg polar proj ";
/* Operators and methods of std::complex: they return a value or change their object only. */
static const char complex_operators[] =
    " operator+ operator- operator* operator/ operator== operator!= operator\"\"i operator\"\"if "
    "operator\"\"il ";
static const char complex_methods[] =
    " real imag operator+= operator-= operator*= operator/= operator= ";

static bool listed(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = names; n > 0 && (p = strstr(p, name)) != NULL; p += n)
        if (p > names && p[-1] == ' ' && p[n] == ' ') return true;
    return false;
}

static call_known find(const known *list, size_t n, const char *name)
{
    for (size_t k = 0; k < n; k++)
        if (listed(list[k].names, name)) return list[k].is;
    return CALL_UNKNOWN;
}

call_known call_known_of(const hpc_tree *t, int32_t symbol)
{
    if (symbol < 0) return CALL_UNKNOWN;
    const hpc_symbol *v = &t->symbol[symbol];
    const char *name = t->name + v->name, *scope = t->name + v->scope;
    if (v->kind != HPC_SYMBOL_FUNCTION) return CALL_UNKNOWN;
    bool in_std = strncmp(scope, "std", 3) == 0 && (scope[3] == '\0' || scope[3] == ':');
    if (v->flags & HPC_SYMBOL_METHOD) {
        if (!in_std) return CALL_UNKNOWN;
        if (strncmp(scope, "std::complex", 12) == 0 && listed(complex_methods, name))
            return CALL_METHOD_OWN;
        return find(method_names, sizeof method_names / sizeof *method_names, name);
    }
    if (v->node >= 0 && t->node[v->node].kind == HPC_TREE_FUNCTION) return CALL_UNKNOWN;
    if (in_std && listed(std_values, name)) return CALL_VALUE;
    if (in_std && listed(method_calls, name))
        return find(method_names, sizeof method_names / sizeof *method_names, name);
    if (scope[0] != '\0' && !in_std) return CALL_UNKNOWN;
    call_known is = find(c_names, sizeof c_names / sizeof *c_names, name);
    if (is != CALL_UNKNOWN) return is;
    if (v->flags & HPC_SYMBOL_NORETURN) return CALL_LEAVES;
    return CALL_UNKNOWN;
}

static bool is_number(const hpc_tree *t, int32_t type)
{
    uint8_t k = kind_of(t, type);
    return k == HPC_TYPE_INTEGER || k == HPC_TYPE_FLOAT || k == HPC_TYPE_BOOL;
}

/* A number, or one of std::complex: all that it is lies in the object itself. */
static bool is_value(const hpc_tree *t, int32_t e)
{
    int32_t type = bare_type(t, t->node[e].type);
    if (is_number(t, type)) return true;
    return kind_of(t, type) == HPC_TYPE_RECORD &&
           strncmp(t->name + t->type[type].name, "std::complex<", 13) == 0;
}

call_known call_known_at(const hpc_tree *t, int32_t call)
{
    int32_t v = t->node[call].symbol;
    call_known is = call_known_of(t, v);
    if (is != CALL_UNKNOWN || v < 0) return is;
    const hpc_symbol *x = &t->symbol[v];
    const char *scope = t->name + x->scope;
    bool in_std = strncmp(scope, "std", 3) == 0 && (scope[3] == '\0' || scope[3] == ':');
    bool ours = in_std && x->kind == HPC_SYMBOL_FUNCTION && !(x->flags & HPC_SYMBOL_METHOD) &&
                listed(complex_operators, t->name + x->name);
    for (int32_t c = hpc_tree_child(t, call, 1); c && ours; c = hpc_tree_next(t, c))
        ours = is_value(t, c);
    return ours ? CALL_VALUE : CALL_UNKNOWN;
}

bool is_assertion(const hpc_tree *t, int32_t i)
{
    if (t->node[i].kind != HPC_TREE_OTHER || !(t->node[i].flags & HPC_TREE_MACRO)) return false;
    for (int32_t k = i; k < t->node[i].end; k++)
        if (t->node[k].kind == HPC_TREE_CALL && call_known_of(t, t->node[k].symbol) == CALL_ASSERTS)
            return true;
    return false;
}
