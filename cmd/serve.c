/*
 * serve.c: `hpccoder serve`: completions over HTTP for editors of one user.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cmd/serve.h"
#include "infer/serve/api.h"
#include "infer/template/template.h"

enum { UNLOAD_MS = 15 * 60 * 1000, CHAT_TEMPLATE_MOST = 1 << 20 };

static void write_log(void *user, const char *line)
{
    char now[32];
    const time_t t = time(NULL);
    struct tm at;
    (void)user;
    localtime_r(&t, &at);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S", &at);
    fprintf(stderr, "%s %s\n", now, line);
}

static void report_failure(void *user, const hpc_error *e)
{
    (void)user;
    hpc_cmd_warn(e->text, "serve");
}

/* ---- where it listens ----------------------------------------------------------------------- */

typedef struct serving {
    const serve_options *o;
    char model[PATH_MAX], passages[PATH_MAX], library[PATH_MAX], program[PATH_MAX];
    char folder[PATH_MAX - 32]; /* made for the socket, and removed */
    char path[PATH_MAX], address[64], name[128];
    hpc_buf token, chat_template;
    hpc_http_options http;
    hpc_api_options api;
} serving;

static int choose_socket(serving *x)
{
    const serve_options *o = x->o;
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (o->unix_path ? strcmp(o->unix_path, "none") == 0 : o->http != NULL) return HPC_OK;
    if (o->unix_path) {
        snprintf(x->path, sizeof x->path, "%s", o->unix_path);
    } else if (runtime && runtime[0] == '/') {
        snprintf(x->path, sizeof x->path, "%s/hpccoder.sock", runtime);
    } else {
        snprintf(x->folder, sizeof x->folder, "%s/hpccoder-XXXXXX", hpc_cmd_scratch());
        if (!mkdtemp(x->folder)) {
            x->folder[0] = '\0';
            return hpc_fail_os(HPC_E_IO, "cannot create a folder in %s; name a socket with --unix",
                               hpc_cmd_scratch());
        }
        snprintf(x->path, sizeof x->path, "%s/hpccoder.sock", x->folder);
    }
    x->http.unix_path = x->path;
    return HPC_OK;
}

static int choose_address(serving *x)
{
    int rc = HPC_OK;
    if (x->o->http) {
        TRY(hpc_address_parse(x->address, &x->http.port, x->o->http));
        x->http.address = x->address;
    }
    if (!x->http.address && !x->http.unix_path)
        TRY(hpc_fail(HPC_E_ARG, "--unix none needs --http ADDR:PORT"));
    if (x->o->token_file) {
        TRY(hpc_http_read_token(&x->token, x->o->token_file));
        x->http.token = x->token.data;
    }
out:
    return rc;
}

/* The first alias in alphabetical order. */
static void choose_name(serving *x)
{
    const char *slash = strrchr(x->model, '/');
    x->api.model_name = slash && slash[1] ? slash + 1 : x->model;
    for (const char *at = x->o->alias ? x->o->alias : ""; *at;) {
        const size_t n = strcspn(at, ",");
        char name[sizeof x->name];
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (n > 0 && (x->name[0] == '\0' || strcmp(name, x->name) < 0)) strcpy(x->name, name);
        at += n + (at[n] == ',');
    }
    if (x->name[0]) x->api.model_name = x->name;
    x->api.aliases = x->o->alias;
    x->api.tags = x->o->tags;
}

static int choose_paths(serving *x)
{
    for (const char *at = x->o->disable ? x->o->disable : ""; *at;) {
        const size_t n = strcspn(at, ",");
        bool *off = n == 5 && strncmp(at, "slots", n) == 0     ? &x->api.no_slots
                    : n == 7 && strncmp(at, "metrics", n) == 0 ? &x->api.no_metrics
                                                               : NULL;
        if (!off)
            return hpc_fail(HPC_E_ARG, "--disable %s: expected slots, metrics or slots,metrics",
                            x->o->disable);
        *off = true;
        at += n + (at[n] == ',');
    }
    return HPC_OK;
}

static int choose_model(serving *x)
{
    const serve_options *o = x->o;
    hpc_scheduler_options *s = &x->api.scheduler;
    int rc;
    TRY(hpc_device_choose(&(hpc_device_options){0}, o->device));
    TRY(hpc_cmd_find_model(x->model, o->model ? o->model : getenv("HPCCODER_MODEL"),
                           HPC_CMD_PILOT));
    TRY(hpc_cmd_find_passages(x->passages, o->passages, x->model));
    if (x->passages[0]) x->api.passages = x->passages;
    s->engine = (hpc_engine_options){.model = x->model,
                                     .backend = o->device,
                                     .threads = (int)o->threads,
                                     .weights = HPC_DTYPE_N,
                                     .cache_tokens = o->cache_tokens,
                                     .requests = o->requests,
                                     .guess = o->guess};
    if (strcmp(o->weights, "stored") != 0) TRY(hpc_dtype_find(&s->engine.weights, o->weights));
    TRY(hpc_dtype_find(&s->engine.cache, o->cache));
    s->low_priority = true;
    s->unload_ms = UNLOAD_MS;
    s->kv_folder = o->cache_dir;
    s->failed = report_failure;
    choose_name(x);
out:
    return rc;
}

static int choose_chat_template(serving *x)
{
    hpc_template *t = NULL;
    const char *path = x->o->chat_template;
    int rc = HPC_OK;
    if (!path) return HPC_OK;
    TRY(hpc_file_read(&x->chat_template, path, CHAT_TEMPLATE_MOST));
    TRY(hpc_template_parse(&t, x->chat_template.data, x->chat_template.n));
    x->api.chat_template = x->chat_template.data;
out:
    hpc_template_free(t);
    if (rc >= 0 || rc == HPC_E_NOMEM) return rc;
    const hpc_error e = *hpc_error_get();
    hpc_error_clear();
    return hpc_fail(HPC_E_ARG, "--chat-template %s: %s", path, e.text);
}

static int prepare(serving *x)
{
    int rc;
    x->http = (hpc_http_options)HPC_HTTP_DEFAULTS;
    x->api = (hpc_api_options)HPC_API_DEFAULTS;
    TRY(choose_socket(x));
    TRY(choose_address(x));
    TRY(hpc_cmd_find(x->library, "hpccoder-microhttpd.so"));
    TRY(choose_paths(x));
    TRY(choose_chat_template(x));
    TRY(choose_model(x));
    ssize_t n = readlink("/proc/self/exe", x->program, sizeof x->program - 1);
    if (n > 0) x->program[n] = '\0';
    x->api.tool =
        (hpc_tool_options){.program = n > 0 ? x->program : NULL, .scratch = hpc_cmd_scratch()};
    x->api.version = HPC_VERSION;
    x->api.context = x->o->context;
    x->api.predict = x->o->predict;
    x->api.log_prompts = x->o->log_prompts;
    x->api.log = write_log;
    x->http.library = x->library;
    x->http.idle_seconds = x->o->idle_exit;
    x->http.handle = hpc_api_handle;
    x->http.gone = hpc_api_gone;
    x->http.log = x->o->quiet ? NULL : write_log;
out:
    return rc;
}

static int announce(const serving *x, const hpc_http *h)
{
    hpc_buf out = {0};
    if (x->http.unix_path) hpc_buf_printf(&out, "listening on %s\n", x->http.unix_path);
    if (x->http.address)
        hpc_buf_printf(&out,
                       strchr(x->http.address, ':') ? "listening on http://[%s]:%d\n"
                                                    : "listening on http://%s:%d\n",
                       x->http.address, hpc_http_port(h));
    return hpc_cmd_print(&out);
}

static int run(void *options, int argc, char **argv)
{
    serving x = {.o = options};
    hpc_cmd_signals *signals = NULL;
    hpc_http *h = NULL;
    hpc_api *a = NULL;
    int rc;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "%s: serve takes no arguments", argv[0]);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* other processes of the user cannot read prompts */
    signal(SIGPIPE, SIG_IGN);
    TRY(prepare(&x));
    TRY(hpc_cmd_signals_start(&signals, "serve", "finishing the running requests"));
    TRY(hpc_api_open(&a, &x.api));
    x.http.user = a;
    TRY(hpc_http_open(&h, &x.http));
    TRY(announce(&x, h));
    rc = hpc_http_serve(h, hpc_cmd_signals_stop(signals));
out:
    hpc_http_close(h);
    hpc_api_close(a);
    hpc_cmd_signals_end(signals);
    hpc_buf_release(&x.token);
    hpc_buf_release(&x.chat_template);
    if (x.folder[0]) (void)rmdir(x.folder);
    return rc;
}

const hpc_command hpc_cmd_serve = {
    .name = "serve",
    .summary = "Serve completions over HTTP to editors of this user.",
    .description =
        "Loads a model and answers the requests of llama.vim, llama.vscode, minuet-ai, Continue, "
        "Tabby's agent, and clients of OpenAI and Ollama. Chats need a model with a chat template. "
        "Prints the addresses on standard output, and one line per request on standard error: "
        "sizes, times and a hash. docs/serving.md lists the paths and the keys of requests.\n\n"
        "Only this user is served. A Unix socket has mode 0600. On loopback, the kernel names the "
        "user at the other end of a connection, and other users get 403. Requests with a foreign "
        "Host or Origin get 403, so web pages cannot use the server. If the editor supports it, "
        "prefer `hpccoder lsp`, which needs no port.\n\n"
        "Requests with text after the cursor (/infill, `suffix`, or literal fill-in-the-middle "
        "marks) follow the completion rules of `hpccoder complete`. Other prompts are continued as "
        "text. If a client disconnects, its request is cancelled. TERM and Ctrl-C stop the server. "
        "It "
        "first finishes the running requests, for at most 10 seconds.\n\n"
        "Exit status: 0: stopped. 2: bad usage, an unusable model, or an address in use. 3: not "
        "enough memory, or another failure.",
    .examples = "hpccoder serve --unix ./hpccoder.sock\n"
                "hpccoder serve --http 127.0.0.1:8012  # as llama.vim expects",
    .options = serve_option_table,
    .options_bytes = sizeof(serve_options),
    .run = run,
};
