/*
 * Facts of a session: the machine and the options, as JSON.
 */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "corpus/history/priv.h"

/* Copies the text after "KEY : " in a file of lines; "": no such key. */
static void line_of(char out[256], const char *path, const char *key)
{
    hpc_buf text = {0};
    out[0] = '\0';
    if (!hpc_file_exists(path) || hpc_file_read(&text, path, 1 << 22) < 0) {
        hpc_error_clear();
        return;
    }
    const char *at = key ? strstr(text.data ? text.data : "", key) : text.data;
    if (at && key) at += strlen(key);
    while (at && (*at == ' ' || *at == '\t' || *at == ':')) at++;
    if (at) snprintf(out, 256, "%.*s", (int)strcspn(at, "\n"), at);
    hpc_buf_release(&text);
}

perf_way history_way(const hpc_history_options *o, const char *machine)
{
    return (perf_way){
        .build = o->build ? o->build : "", .command = o->run ? o->run : "", .machine = machine};
}

int history_machine(hpc_buf *out)
{
    char model[256];
    struct utsname u;
    line_of(model, "/proc/cpuinfo", "model name");
    if (!model[0] && uname(&u) == 0) snprintf(model, sizeof model, "%s", u.machine);
    return hpc_buf_printf(out, "%s, %ld CPUs", model[0] ? model : "unknown processor",
                          sysconf(_SC_NPROCESSORS_ONLN));
}

static void put_file(hpc_json_out *w, const char *key, const char *path)
{
    char text[256];
    line_of(text, path, NULL);
    if (text[0]) hpc_json_put_text(w, key, text);
}

static void put_program(hpc_json_out *w, const char *key, const char *program)
{
    const char *argv[] = {program, "--version", NULL};
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    char line[256];
    o.argv = argv;
    o.seconds = 10;
    if (!hpc_proc_exists(program) || hpc_proc_run(&r, &o) < 0) {
        hpc_error_clear();
        return;
    }
    const char *said = r.out.data ? r.out.data : "";
    snprintf(line, sizeof line, "%.*s", (int)strcspn(said, "\n"), said);
    if (line[0]) hpc_json_put_text(w, key, line);
    hpc_proc_release(&r);
}

static void put_asked(hpc_json_out *w, const hpc_history_options *o)
{
    hpc_json_put_text(w, "build", o->build);
    hpc_json_put_text(w, "run", o->run);
    hpc_json_put_text(w, "cpus", o->cpus);
    hpc_json_put_real(w, "build_seconds", o->limits.build_seconds);
    hpc_json_put_real(w, "run_seconds", o->limits.run_seconds);
    hpc_json_put_int(w, "memory_bytes", o->limits.memory_bytes);
    hpc_json_put_int(w, "together", o->together);
    hpc_json_put_int(w, "seed", (int64_t)o->seed);
    hpc_json_open(w, "environment", '[');
    for (const char *const *e = o->environment; e && *e; e++) hpc_json_put_text(w, NULL, *e);
    hpc_json_close(w, ']');
    hpc_json_open(w, "metrics", '[');
    for (int k = 0; k < o->metrics; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "name", o->metric[k].name);
        if (o->metric[k].pattern) hpc_json_put_text(w, "pattern", o->metric[k].pattern);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

/* The current path; after a move, readers name the new path with an option. */
static void put_repository(hpc_json_out *w, const hpc_history_options *o, hpc_git *g)
{
    hpc_git_facts facts;
    char *path = realpath(o->repository, NULL);
    hpc_json_put_text(w, "repository", path ? path : o->repository);
    free(path);
    if (hpc_git_describe(&facts, g) < 0)
        hpc_error_clear(); /* HEAD is damaged, but the range may be valid */
    else if (facts.name[0])
        hpc_json_put_text(w, "repository_name", facts.name);
}

int history_facts(hpc_buf *out, const hpc_history_options *o, hpc_git *g, const char *machine)
{
    hpc_json_out w = {.buf = out};
    struct utsname u;
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "machine", machine);
    if (uname(&u) == 0) hpc_json_put_text(&w, "kernel", u.release);
    hpc_json_put_int(&w, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
    hpc_json_put_int(&w, "memory", (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    put_file(&w, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    put_file(&w, "boost", "/sys/devices/system/cpu/cpufreq/boost");
    put_file(&w, "aslr", "/proc/sys/kernel/randomize_va_space");
    put_file(&w, "load", "/proc/loadavg");
    put_program(&w, "cc", "cc");
    put_program(&w, "valgrind", "valgrind");
    put_repository(&w, o, g);
    put_asked(&w, o);
    hpc_json_close(&w, '}');
    return out->failed;
}

static int wrong(const char *cpus)
{
    return hpc_fail(HPC_E_ARG, "cpus '%.60s': expected a list of existing CPUs, such as 0-3,8",
                    cpus);
}

int history_bind(const char *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const char *at = cpus; *at; at += *at == ',') {
        char *end;
        if (!isdigit((unsigned char)*at)) return wrong(cpus);
        long first = strtol(at, &end, 10), last = first;
        if (*end == '-') {
            at = end + 1;
            if (!isdigit((unsigned char)*at)) return wrong(cpus);
            last = strtol(at, &end, 10);
        }
        if (first > last || last >= CPU_SETSIZE || (*end && *end != ',')) return wrong(cpus);
        for (long k = first; k <= last; k++) CPU_SET((size_t)k, &set);
        at = end;
    }
    if (sched_setaffinity(0, sizeof set, &set) < 0) return wrong(cpus);
    return HPC_OK;
}
