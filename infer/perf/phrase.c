/*
 * Phrases for a feature and its value.
 */
#include <math.h>
#include <string.h>

#include "infer/perf/feature_priv.h"

static int put_work(hpc_buf *out, double value)
{
    double size = (exp2(fabs(value)) - 1) / 100, ratio = exp(value < 0 ? -size : size);
    const char *by = "by a rough count of operations";
    if (ratio > 100) return hpc_buf_printf(out, "more than 100 times the work, %s", by);
    if (ratio < 0.01) return hpc_buf_printf(out, "less than 1 %% of the work, %s", by);
    if (ratio >= 2) return hpc_buf_printf(out, "about %.0f times the work, %s", ratio, by);
    if (fabs(ratio - 1) < 0.01)
        return hpc_buf_printf(out, "slightly %s work, %s", ratio > 1 ? "more" : "less", by);
    return hpc_buf_printf(out, "about %.0f %% %s work, %s", 100 * fabs(ratio - 1),
                          ratio > 1 ? "more" : "less", by);
}

static int put_percent(hpc_buf *out, double share, const char *of)
{
    if (share < 0.01) return hpc_buf_printf(out, "less than 1 %% %s", of);
    if (share > 0.995) return hpc_buf_printf(out, "all %s", of);
    return hpc_buf_printf(out, "%.0f %% %s", 100 * share, of);
}

static int put_count(hpc_buf *out, double value, const char *one, const char *many)
{
    double n = fabs(round(value));
    return hpc_buf_printf(out, "%.0f %s", n, n == 1 ? one : many);
}

static int put_special(hpc_buf *out, perf_special which, const char *meaning, double value)
{
    double n = exp2(value) - 1;
    const char *as = strstr(meaning, ", as log2(1 + n)");
    switch (which) {
    case PERF_WORK_CHANGE: return put_work(out, value);
    case PERF_WORK_SHARE:
        return put_percent(out, n / 1000,
                           "of the work in the changed files is in functions that "
                           "changed, by a rough count of operations");
    case PERF_TOKENS_ADDED: return hpc_buf_printf(out, "%.0f tokens of code added", n);
    case PERF_TOKENS_REMOVED: return hpc_buf_printf(out, "%.0f tokens of code removed", n);
    case PERF_TOKENS_BEFORE:
        return hpc_buf_printf(out, "the changed functions and files have %.0f tokens of code", n);
    case PERF_HEADERS: return put_percent(out, value, "of the change is in headers");
    case PERF_CHANGED_INNER: return put_percent(out, value, "of the change is in loops");
    case PERF_HEAT_AROUND:
        return put_percent(out, n / 1000,
                           "of the measured cost is in files that changed outside of "
                           "functions");
    case PERF_HEAT_COST:
        return hpc_buf_printf(out, "costly operations %s where the program spends its time",
                              value > 0 ? "added" : "removed");
    case PERF_BUILD_FILES: return put_count(out, n, "build file changed", "build files changed");
    case PERF_OTHER_FILES:
        return put_count(out, n, "file that is not source code changed",
                         "files that are not source code changed");
    case PERF_SKIPPED:
        return put_count(out, n, "changed file could not be read",
                         "changed files could not be read");
    case PERF_MODULES: return put_count(out, value, "submodule changed", "submodules changed");
    case PERF_NESTING:
        return hpc_buf_printf(out, "the deepest loop nest is %.0f %s", fabs(value),
                              value > 0 ? "deeper" : "less deep");
    default:
        if (!as) return hpc_buf_printf(out, "%s: %+.3g", meaning, value);
        return hpc_buf_printf(out, "%.*s: %.0f", (int)(as - meaning), meaning, n);
    }
}

int perf_feature_put(hpc_buf *out, int feature, double value)
{
    const char *meaning = hpc_perf_feature_at(feature)->meaning;
    const char *end = strstr(meaning, ", change");
    int n = (int)(end ? (size_t)(end - meaning) : strlen(meaning));
    perf_special which;
    if (perf_feature_is_special(feature, &which)) return put_special(out, which, meaning, value);
    if (!strstr(meaning, "log2"))
        return hpc_buf_printf(out, "%s %.*s (%+.0f)", value > 0 ? "more" : "fewer", n, meaning,
                              value);
    return hpc_buf_printf(out, "%.*s: done %s, by a factor of about %.2g", n, meaning,
                          value > 0 ? "more often" : "less often", exp2(fabs(value)));
}
