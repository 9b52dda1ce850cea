/*
 * Number of processors that this process may use: its affinity mask, and the CPU quota of its
 * control group and of the groups above it (cgroup v2, or v1's cpu controller).
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/serve/cores.h"

static const char *const ROOT_V2 = "/sys/fs/cgroup";
static const char *const ROOTS_V1[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};

enum { FILE_MOST = 65536, PATH_BYTES = 1024 };

static bool read_text(hpc_buf *out, const char *path)
{
    out->n = 0;
    if (hpc_file_exists(path) && hpc_file_read(out, path, FILE_MOST) >= 0 && out->n > 0)
        return true;
    hpc_error_clear();
    return false;
}

/* "QUOTA PERIOD" in microseconds, or "max PERIOD". 0: no limit. */
double serve_quota_of(const char *text)
{
    char *end;
    double quota = strtod(text, &end), period = strtod(end, NULL);
    return quota > 0 && period > 0 ? quota / period : 0;
}

static double quota_v2(hpc_buf *text, const char *folder)
{
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    return read_text(text, path) ? serve_quota_of(text->data) : 0;
}

static double quota_v1(hpc_buf *text, const char *folder)
{
    char path[PATH_BYTES + 32], both[80];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_text(text, path)) return 0;
    long quota = strtol(text->data, NULL, 10);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_text(text, path)) return 0;
    snprintf(both, sizeof both, "%ld %ld", quota, strtol(text->data, NULL, 10));
    return serve_quota_of(both);
}

/* The least quota of a group and of all above it. */
static double least_quota(hpc_buf *text, const char *root, const char *group, bool v2)
{
    char folder[PATH_BYTES];
    double least = 0;
    int n = snprintf(folder, sizeof folder, "%s%s", root, group);
    if (n < 0 || n >= (int)sizeof folder) return 0;
    for (;;) {
        double quota = v2 ? quota_v2(text, folder) : quota_v1(text, folder);
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
        char *slash = strrchr(folder + strlen(root), '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

/* A line of /proc/self/cgroup: "ID:CONTROLLERS:GROUP"; group of this controller, or NULL. */
static const char *group_of(char *line, bool *v2)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : 0;
    if (!group) return NULL;
    *group++ = '\0';
    *v2 = controllers[1] == '\0';
    for (char *next = NULL, *c = strtok_r(controllers + 1, ",", &next); c && !*v2;
         c = strtok_r(NULL, ",", &next))
        if (strcmp(c, "cpu") == 0) return group;
    return *v2 ? group : NULL;
}

static double quota_of_group(void)
{
    hpc_buf groups = {0}, text = {0};
    double least = 0;
    char *next = NULL;
    bool v2;
    if (!read_text(&groups, "/proc/self/cgroup")) goto out;
    for (char *line = strtok_r(groups.data, "\n", &next); line; line = strtok_r(NULL, "\n", &next))
    {
        const char *group = group_of(line, &v2);
        for (size_t k = 0; group && k < (v2 ? 1 : sizeof ROOTS_V1 / sizeof *ROOTS_V1); k++) {
            double quota = least_quota(&text, v2 ? ROOT_V2 : ROOTS_V1[k], group, v2);
            if (quota > 0 && (least == 0 || quota < least)) least = quota;
        }
    }
out:
    hpc_buf_release(&groups);
    hpc_buf_release(&text);
    return least;
}

int serve_cores(void)
{
    cpu_set_t set[64]; /* the kernel rejects a mask that is shorter than its own */
    double quota = quota_of_group();
    CPU_ZERO_S(sizeof set, set);
    int n = sched_getaffinity(0, sizeof set, set) == 0 ? CPU_COUNT_S(sizeof set, set) : 1;
    int whole = (int)(quota + 0.5) > 1 ? (int)(quota + 0.5) : 1;
    return quota > 0 && whole < n ? whole : n;
}
