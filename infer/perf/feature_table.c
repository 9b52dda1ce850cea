/*
 * Table of all features, and their values as functions of the sums.
 *
 * Models store features in this order, so new ones are appended.
 */
#include <math.h>
#include <string.h>

#include "infer/perf/feature_priv.h"

typedef struct row {
    hpc_perf_feature feature;
    int how; /* perf_measure of its event or, without one, perf_special */
} row;

/* clang-format off */
static const row rows[] = {
    {{"lines_added", "lines added, as log2(1 + n)", -1}, PERF_LINES_ADDED},
    {{"lines_removed", "lines removed, as log2(1 + n)", -1}, PERF_LINES_REMOVED},
    {{"tokens_added", "code tokens added, as log2(1 + n)", -1}, PERF_TOKENS_ADDED},
    {{"tokens_removed", "code tokens removed, as log2(1 + n)", -1}, PERF_TOKENS_REMOVED},
    {{"tokens_before", "code tokens of the changed code before the change, as log2(1 + n)",
      -1}, PERF_TOKENS_BEFORE},
    {{"functions_modified", "functions that differ, as log2(1 + n)", -1}, PERF_FUNCTIONS_MODIFIED},
    {{"functions_added", "new functions, as log2(1 + n)", -1}, PERF_FUNCTIONS_ADDED},
    {{"functions_removed", "removed functions, as log2(1 + n)", -1}, PERF_FUNCTIONS_REMOVED},
    {{"functions_renamed", "renamed functions, as log2(1 + n)",
      -1}, PERF_FUNCTIONS_RENAMED},
    {{"outside", "files in which something outside of functions changed, as log2(1 + n)",
      -1}, PERF_OUTSIDE},
    {{"files", "source files that differ, as log2(1 + n)", -1}, PERF_FILES},
    {{"build_files", "build files that differ, as log2(1 + n)",
      -1}, PERF_BUILD_FILES},
    {{"other_files", "other files that differ, as log2(1 + n)", -1}, PERF_OTHER_FILES},
    {{"submodules", "submodules that differ", -1}, PERF_MODULES},
    {{"skipped_files", "files that could not be analysed, as log2(1 + n)", -1}, PERF_SKIPPED},
    {{"no_effect", "1: only comments and white space changed", -1}, PERF_NO_EFFECT},
    {{"only_names", "1: only local names changed", -1}, PERF_ONLY_NAMES},
    {{"only_strings", "1: only strings changed", -1}, PERF_ONLY_STRINGS},
    {{"only_order", "1: the same code in another order", -1}, PERF_ONLY_ORDER},
    {{"headers", "share of the changed tokens in headers", -1}, PERF_HEADERS},
    {{"changed_depth", "loops around the innermost change", -1}, PERF_CHANGED_DEPTH},
    {{"changed_work", "changed tokens, weighted by 8 for each enclosing loop, as log2(1 + n)",
      -1}, PERF_CHANGED_WORK},
    {{"changed_inner", "share of the changed tokens in loops", -1}, PERF_CHANGED_INNER},
    {{"nesting", "depth of the deepest loop, change", -1}, PERF_NESTING},
    {{"constants", "changed numbers, as log2(1 + n)", -1}, PERF_CONSTANTS},
    {{"constants_growth", "growth of numbers in the code, as a sum of log2, each within 16",
      -1}, PERF_CONSTANTS_GROWTH},
    {{"loops", "loops, change", HPC_PERF_LOOP}, PERF_COUNT},
    {{"loops_work", "loops, change of log2 of how often", HPC_PERF_LOOP}, PERF_WORK},
    {{"same_bounds", "loops over the same bound as one around them, change",
      HPC_PERF_SAME_BOUND}, PERF_COUNT},
    {{"same_bounds_work",
      "loops over the same bound as one around them, change of log2 of how often",
      HPC_PERF_SAME_BOUND}, PERF_WORK},
    {{"calls", "calls of other functions, change", HPC_PERF_CALL}, PERF_COUNT},
    {{"calls_in_loops", "calls of other functions in loops, change", HPC_PERF_CALL}, PERF_IN_LOOPS},
    {{"calls_work", "calls of other functions, change of log2 of how often",
      HPC_PERF_CALL}, PERF_WORK},
    {{"allocations", "allocations, change", HPC_PERF_ALLOCATE}, PERF_COUNT},
    {{"allocations_in_loops", "allocations in loops, change", HPC_PERF_ALLOCATE}, PERF_IN_LOOPS},
    {{"allocations_work", "allocations, change of log2 of how often",
      HPC_PERF_ALLOCATE}, PERF_WORK},
    {{"frees", "releases of memory, change", HPC_PERF_FREE}, PERF_COUNT},
    {{"frees_in_loops", "releases of memory in loops, change", HPC_PERF_FREE}, PERF_IN_LOOPS},
    {{"copies", "copies of memory, change", HPC_PERF_COPY}, PERF_COUNT},
    {{"copies_in_loops", "copies of memory in loops, change", HPC_PERF_COPY}, PERF_IN_LOOPS},
    {{"copies_work", "copies of memory, change of log2 of how often", HPC_PERF_COPY}, PERF_WORK},
    {{"by_value", "objects that are copied, change", HPC_PERF_BY_VALUE}, PERF_COUNT},
    {{"by_value_in_loops", "objects that are copied in loops, change",
      HPC_PERF_BY_VALUE}, PERF_IN_LOOPS},
    {{"by_value_work", "objects that are copied, change of log2 of how often",
      HPC_PERF_BY_VALUE}, PERF_WORK},
    {{"references", "parameters and elements by reference, change",
      HPC_PERF_REFERENCE}, PERF_COUNT},
    {{"io", "input and output, change", HPC_PERF_IO}, PERF_COUNT},
    {{"io_in_loops", "input and output in loops, change", HPC_PERF_IO}, PERF_IN_LOOPS},
    {{"io_work", "input and output, change of log2 of how often", HPC_PERF_IO}, PERF_WORK},
    {{"locks", "locks, change", HPC_PERF_LOCK}, PERF_COUNT},
    {{"locks_in_loops", "locks in loops, change", HPC_PERF_LOCK}, PERF_IN_LOOPS},
    {{"locks_work", "locks, change of log2 of how often", HPC_PERF_LOCK}, PERF_WORK},
    {{"atomics", "atomic operations, change", HPC_PERF_ATOMIC}, PERF_COUNT},
    {{"atomics_in_loops", "atomic operations in loops, change", HPC_PERF_ATOMIC}, PERF_IN_LOOPS},
    {{"atomics_work", "atomic operations, change of log2 of how often",
      HPC_PERF_ATOMIC}, PERF_WORK},
    {{"math", "functions like exp and pow, change", HPC_PERF_MATH}, PERF_COUNT},
    {{"math_innermost", "functions like exp and pow in innermost loops, change",
      HPC_PERF_MATH}, PERF_INNER},
    {{"math_work", "functions like exp and pow, change of log2 of how often",
      HPC_PERF_MATH}, PERF_WORK},
    {{"indirect", "indirect calls and casts by type, change", HPC_PERF_INDIRECT}, PERF_COUNT},
    {{"indirect_in_loops", "indirect calls and casts by type in loops, change",
      HPC_PERF_INDIRECT}, PERF_IN_LOOPS},
    {{"inserts", "insertions into containers, change", HPC_PERF_INSERT}, PERF_COUNT},
    {{"inserts_in_loops", "insertions into containers in loops, change",
      HPC_PERF_INSERT}, PERF_IN_LOOPS},
    {{"inserts_work", "insertions into containers, change of log2 of how often",
      HPC_PERF_INSERT}, PERF_WORK},
    {{"lookups", "look-ups in containers, change", HPC_PERF_LOOKUP}, PERF_COUNT},
    {{"lookups_in_loops", "look-ups in containers in loops, change",
      HPC_PERF_LOOKUP}, PERF_IN_LOOPS},
    {{"lookups_work", "look-ups in containers, change of log2 of how often",
      HPC_PERF_LOOKUP}, PERF_WORK},
    {{"scans", "passes through a string or container, change", HPC_PERF_SCAN}, PERF_COUNT},
    {{"scans_in_loops", "passes through a string or container in loops, change",
      HPC_PERF_SCAN}, PERF_IN_LOOPS},
    {{"scans_work", "passes through a string or container, change of log2 of how often",
      HPC_PERF_SCAN}, PERF_WORK},
    {{"sorts", "sorts, change", HPC_PERF_SORT}, PERF_COUNT},
    {{"sorts_in_loops", "sorts in loops, change", HPC_PERF_SORT}, PERF_IN_LOOPS},
    {{"sorts_work", "sorts, change of log2 of how often", HPC_PERF_SORT}, PERF_WORK},
    {{"messages", "messages of MPI, change", HPC_PERF_MESSAGE}, PERF_COUNT},
    {{"messages_in_loops", "messages of MPI in loops, change", HPC_PERF_MESSAGE}, PERF_IN_LOOPS},
    {{"messages_work", "messages of MPI, change of log2 of how often",
      HPC_PERF_MESSAGE}, PERF_WORK},
    {{"collectives", "collective operations of MPI, change", HPC_PERF_COLLECTIVE}, PERF_COUNT},
    {{"collectives_in_loops", "collective operations of MPI in loops, change",
      HPC_PERF_COLLECTIVE}, PERF_IN_LOOPS},
    {{"collectives_work", "collective operations of MPI, change of log2 of how often",
      HPC_PERF_COLLECTIVE}, PERF_WORK},
    {{"synchronisations", "barriers and waits for devices, change",
      HPC_PERF_SYNCHRONISE}, PERF_COUNT},
    {{"synchronisations_in_loops", "barriers and waits for devices in loops, change",
      HPC_PERF_SYNCHRONISE}, PERF_IN_LOOPS},
    {{"synchronisations_work", "barriers and waits for devices, change of log2 of how often",
      HPC_PERF_SYNCHRONISE}, PERF_WORK},
    {{"launches", "launches of kernels and threads, change", HPC_PERF_LAUNCH}, PERF_COUNT},
    {{"launches_in_loops", "launches of kernels and threads in loops, change",
      HPC_PERF_LAUNCH}, PERF_IN_LOOPS},
    {{"launches_work", "launches of kernels and threads, change of log2 of how often",
      HPC_PERF_LAUNCH}, PERF_WORK},
    {{"divisions", "divisions, change", HPC_PERF_DIVIDE}, PERF_COUNT},
    {{"divisions_innermost", "divisions in innermost loops, change", HPC_PERF_DIVIDE}, PERF_INNER},
    {{"divisions_work", "divisions, change of log2 of how often", HPC_PERF_DIVIDE}, PERF_WORK},
    {{"arithmetic", "sums and products, change", HPC_PERF_ARITHMETIC}, PERF_COUNT},
    {{"arithmetic_innermost", "sums and products in innermost loops, change",
      HPC_PERF_ARITHMETIC}, PERF_INNER},
    {{"arithmetic_work", "sums and products, change of log2 of how often",
      HPC_PERF_ARITHMETIC}, PERF_WORK},
    {{"loads", "reads of arrays, change", HPC_PERF_LOAD}, PERF_COUNT},
    {{"loads_innermost", "reads of arrays in innermost loops, change", HPC_PERF_LOAD}, PERF_INNER},
    {{"loads_work", "reads of arrays, change of log2 of how often", HPC_PERF_LOAD}, PERF_WORK},
    {{"stores", "writes of arrays, change", HPC_PERF_STORE}, PERF_COUNT},
    {{"stores_innermost", "writes of arrays in innermost loops, change",
      HPC_PERF_STORE}, PERF_INNER},
    {{"stores_work", "writes of arrays, change of log2 of how often", HPC_PERF_STORE}, PERF_WORK},
    {{"strided", "accesses that do not go through neighbours in memory, change",
      HPC_PERF_STRIDED}, PERF_COUNT},
    {{"strided_innermost",
      "accesses that do not go through neighbours in memory in innermost loops, change",
      HPC_PERF_STRIDED}, PERF_INNER},
    {{"strided_work",
      "accesses that do not go through neighbours in memory, change of log2 of how often",
      HPC_PERF_STRIDED}, PERF_WORK},
    {{"gathered", "accesses through an index from memory, change", HPC_PERF_GATHER}, PERF_COUNT},
    {{"gathered_innermost", "accesses through an index from memory in innermost loops, change",
      HPC_PERF_GATHER}, PERF_INNER},
    {{"gathered_work", "accesses through an index from memory, change of log2 of how often",
      HPC_PERF_GATHER}, PERF_WORK},
    {{"branches", "branches, change", HPC_PERF_BRANCH}, PERF_COUNT},
    {{"branches_innermost", "branches in innermost loops, change", HPC_PERF_BRANCH}, PERF_INNER},
    {{"branches_work", "branches, change of log2 of how often", HPC_PERF_BRANCH}, PERF_WORK},
    {{"exits", "early ends of a function or loop, change", HPC_PERF_EXIT}, PERF_COUNT},
    {{"exits_in_loops", "early ends of a function or loop in loops, change",
      HPC_PERF_EXIT}, PERF_IN_LOOPS},
    {{"exits_work", "early ends of a function or loop, change of log2 of how often",
      HPC_PERF_EXIT}, PERF_WORK},
    {{"recursion", "recursive calls, change", HPC_PERF_RECURSE}, PERF_COUNT},
    {{"exceptions", "exceptions thrown, change", HPC_PERF_THROW}, PERF_COUNT},
    {{"exceptions_in_loops", "exceptions thrown in loops, change", HPC_PERF_THROW}, PERF_IN_LOOPS},
    {{"waits", "sleeps and polls, change", HPC_PERF_WAIT}, PERF_COUNT},
    {{"waits_work", "sleeps and polls, change of log2 of how often", HPC_PERF_WAIT}, PERF_WORK},
    {{"thread_indexed", "writes to an array by the number of a thread, change",
      HPC_PERF_THREAD_INDEX}, PERF_COUNT},
    {{"thread_indexed_work",
      "writes to an array by the number of a thread, change of log2 of how often",
      HPC_PERF_THREAD_INDEX}, PERF_WORK},
    {{"padding", "alignments, change", HPC_PERF_PADDING}, PERF_COUNT},
    {{"parallel", "parallel regions, change", HPC_PERF_PARALLEL}, PERF_COUNT},
    {{"parallel_in_loops", "parallel regions in loops, change", HPC_PERF_PARALLEL}, PERF_IN_LOOPS},
    {{"workshares", "loops shared among threads, change", HPC_PERF_WORKSHARE}, PERF_COUNT},
    {{"workshares_in_loops", "loops shared among threads in loops, change",
      HPC_PERF_WORKSHARE}, PERF_IN_LOOPS},
    {{"simd", "vector directives, change", HPC_PERF_SIMD}, PERF_COUNT},
    {{"collapse", "loops collapsed, change", HPC_PERF_COLLAPSE}, PERF_COUNT},
    {{"dynamic", "dynamic schedules, change", HPC_PERF_DYNAMIC}, PERF_COUNT},
    {{"static", "static schedules, change", HPC_PERF_STATIC}, PERF_COUNT},
    {{"reductions", "reductions, change", HPC_PERF_REDUCTION}, PERF_COUNT},
    {{"serial", "regions for one thread at a time, change", HPC_PERF_SERIAL}, PERF_COUNT},
    {{"serial_in_loops", "regions for one thread at a time in loops, change",
      HPC_PERF_SERIAL}, PERF_IN_LOOPS},
    {{"serial_work", "regions for one thread at a time, change of log2 of how often",
      HPC_PERF_SERIAL}, PERF_WORK},
    {{"target", "regions for a device, change", HPC_PERF_TARGET}, PERF_COUNT},
    {{"target_in_loops", "regions for a device in loops, change", HPC_PERF_TARGET}, PERF_IN_LOOPS},
    {{"unroll", "unroll directives, change", HPC_PERF_UNROLL}, PERF_COUNT},
    {{"nowait", "nowait clauses, change", HPC_PERF_NOWAIT}, PERF_COUNT},
    {{"doubles", "declarations and casts to double, change", HPC_PERF_DOUBLE}, PERF_COUNT},
    {{"singles", "the same to single precision, change", HPC_PERF_SINGLE}, PERF_COUNT},
    {{"halves", "the same to half precision, change", HPC_PERF_HALF}, PERF_COUNT},
    {{"wide", "the same to integers of 64 bits, change", HPC_PERF_WIDE}, PERF_COUNT},
    {{"narrow", "the same to integers of 8 and 16 bits, change", HPC_PERF_NARROW}, PERF_COUNT},
    {{"integers", "the same to integers of 32 bits, change", HPC_PERF_INTEGER}, PERF_COUNT},
    {{"const", "const, change", HPC_PERF_CONST}, PERF_COUNT},
    {{"restrict", "restrict, change", HPC_PERF_RESTRICT}, PERF_COUNT},
    {{"inline", "inline, change", HPC_PERF_INLINE}, PERF_COUNT},
    {{"noinline", "noinline, change", HPC_PERF_NOINLINE}, PERF_COUNT},
    {{"volatile", "volatile, change", HPC_PERF_VOLATILE}, PERF_COUNT},
    {{"flag_o0", "-O0, change", HPC_PERF_FLAG_O0}, PERF_COUNT},
    {{"flag_o1", "-O1, -Os, change", HPC_PERF_FLAG_O1}, PERF_COUNT},
    {{"flag_o2", "-O2, change", HPC_PERF_FLAG_O2}, PERF_COUNT},
    {{"flag_o3", "-O3, -Ofast, change", HPC_PERF_FLAG_O3}, PERF_COUNT},
    {{"flag_debug", "build types and macros for debugging, change",
      HPC_PERF_FLAG_DEBUG}, PERF_COUNT},
    {{"flag_release", "build types for release, change", HPC_PERF_FLAG_RELEASE}, PERF_COUNT},
    {{"flag_symbols", "-g, change", HPC_PERF_FLAG_SYMBOLS}, PERF_COUNT},
    {{"flag_sanitize", "sanitizers and checks of bounds, change",
      HPC_PERF_FLAG_SANITIZE}, PERF_COUNT},
    {{"flag_profile", "profiling, change", HPC_PERF_FLAG_PROFILE}, PERF_COUNT},
    {{"flag_ndebug", "-DNDEBUG, change", HPC_PERF_FLAG_NDEBUG}, PERF_COUNT},
    {{"flag_machine", "-march and similar flags, change", HPC_PERF_FLAG_MACHINE}, PERF_COUNT},
    {{"flag_fast_math", "-ffast-math, change", HPC_PERF_FLAG_FAST_MATH}, PERF_COUNT},
    {{"flag_openmp", "OpenMP, change", HPC_PERF_FLAG_OPENMP}, PERF_COUNT},
    {{"flag_lto", "optimization when linking, change", HPC_PERF_FLAG_LTO}, PERF_COUNT},
    {{"flag_slow", "flags that turn an optimization off, change", HPC_PERF_FLAG_SLOW}, PERF_COUNT},
    {{"language_changed",
      "score of the language model for any change, as -log2 of the probability of none",
      -1}, PERF_LANGUAGE_CHANGED},
    {{"language_slower",
      "score of the language model for slower against faster, as log2 of the odds",
      -1}, PERF_LANGUAGE_SLOWER},
    {{"estimate_change",
      "estimated change of the cost of the changed files, in percent, as signed log2(1 + n)",
      -1}, PERF_WORK_CHANGE},
    {{"estimate_share",
      "estimated share of the changed functions in that cost, in thousandths, as log2(1 + n)",
      -1}, PERF_WORK_SHARE},
    {{"heat_known", "1: there is a line profile", -1}, PERF_HEAT_KNOWN},
    {{"cold", "1: no line near a changed line of a function ran in the line profile",
      -1}, PERF_COLD},
    {{"heat", "thousandths of the cost in changed lines, as log2(1 + n)", -1}, PERF_HEAT},
    {{"heat_near",
      "ten-thousandths of the cost in the hottest line near a changed line, as log2(1 + n)",
      -1}, PERF_HEAT_NEAR},
    {{"heat_around", "thousandths of the cost in files with changes outside functions, all for "
      "headers and builds, as log2(1 + n)", -1}, PERF_HEAT_AROUND},
    {{"heat_cost",
      "typical cost of events, weighted by the share of each function in the cost, change",
      -1}, PERF_HEAT_COST},
};
/* clang-format on */
_Static_assert(sizeof rows / sizeof *rows == HPC_PERF_FEATURES, "feature.h defines the number");

const hpc_perf_feature *hpc_perf_feature_at(int i)
{
    hpc_assert(i >= 0 && i < HPC_PERF_FEATURES);
    return &rows[i].feature;
}

int hpc_perf_feature_named(const char *name)
{
    for (int i = 0; i < HPC_PERF_FEATURES; i++)
        if (strcmp(rows[i].feature.name, name) == 0) return i;
    return -1;
}

bool perf_feature_is_special(int feature, perf_special *which)
{
    if (rows[feature].feature.event >= 0) return false;
    *which = (perf_special)rows[feature].how;
    return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

void perf_sums_add(perf_sums *to, const perf_sums *s)
{
    for (int side = 0; side < 2; side++) {
        for (int m = 0; m < PERF_MEASURES; m++)
            for (int e = 0; e < HPC_PERF_EVENTS; e++) to->event[side][m][e] += s->event[side][m][e];
        to->nesting[side] = larger(to->nesting[side], s->nesting[side]);
    }
    double depth = larger(to->special[PERF_CHANGED_DEPTH], s->special[PERF_CHANGED_DEPTH]);
    for (int k = 0; k < PERF_SPECIALS; k++) to->special[k] += s->special[k];
    to->special[PERF_CHANGED_DEPTH] = depth;
    to->tokens += s->tokens;
    to->headers += s->headers;
    if (s->effect > to->effect) to->effect = s->effect;
}

static double share(double part, double all)
{
    return all > 0 ? part / all : 0;
}

static double special(const perf_sums *s, perf_special which)
{
    switch (which) {
    case PERF_NO_EFFECT: return s->effect == PERF_EFFECT_NONE;
    case PERF_ONLY_NAMES: return s->effect == PERF_EFFECT_NAMES;
    case PERF_ONLY_STRINGS: return s->effect == PERF_EFFECT_STRINGS;
    case PERF_ONLY_ORDER: return s->effect == PERF_EFFECT_ORDER;
    case PERF_HEADERS: return share(s->headers, s->tokens);
    case PERF_CHANGED_INNER: return share(s->special[which], s->tokens);
    case PERF_NESTING: return s->nesting[1] - s->nesting[0];
    case PERF_CHANGED_DEPTH:
    case PERF_MODULES:
    case PERF_CONSTANTS_GROWTH:
    case PERF_WORK_CHANGE:
    case PERF_WORK_SHARE:
    case PERF_HEAT_KNOWN: /* heat.c's */
    case PERF_COLD:
    case PERF_HEAT_COST: return s->special[which];
    case PERF_LANGUAGE_CHANGED:
    case PERF_LANGUAGE_SLOWER: return 0;
    default: return log2(1 + s->special[which]);
    }
}

void perf_sums_vector(hpc_perf_vector *out, const perf_sums *s)
{
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        int event = rows[i].feature.event, how = rows[i].how;
        if (event < 0) {
            out->value[i] = special(s, (perf_special)how);
            continue;
        }
        double base = s->event[0][how][event], head = s->event[1][how][event];
        out->value[i] = how == PERF_WORK ? log2(1 + head) - log2(1 + base) : head - base;
    }
}
