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

#include "cmd/cmd.h"
#include "infer/serve/api.h"

typedef struct serve_options {
    const char *unix_path, *http, *token_file, *cache_dir, *model, *passages, *device, *weights,
        *cache;
    int64_t requests, cache_tokens, threads, guess;
    double idle_exit;
    bool log_prompts, quiet;
} serve_options;

enum { UNLOAD_MS = 15 * 60 * 1000 };

static const hpc_option option_table[] = {
    {.name = "unix",
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, unix_path),
     .argument = "PATH|none",
     .help = "Unix socket to listen on, with mode 0600. Default: hpccoder.sock in "
             "$XDG_RUNTIME_DIR, or in a new folder in $TMPDIR or /tmp; none with --http."},
    {.name = "http",
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, http),
     .argument = "ADDR:PORT",
     .help = "TCP address to listen on, such as 127.0.0.1:8012. On loopback, only processes of "
             "this user are served. Other addresses need --token-file."},
    {.name = "token-file",
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, token_file),
     .argument = "FILE",
     .help = "Requests must send the token in FILE as `Authorization: Bearer TOKEN`. Only its "
             "owner may be able to read FILE."},
    {.name = "requests",
     .kind = HPC_INT,
     .offset = offsetof(serve_options, requests),
     .fallback = "4",
     .argument = "N",
     .least = 1,
     .most = 64,
     .help = "Answers that are computed at the same time. Others wait."},
    {.name = "cache-tokens",
     .kind = HPC_INT,
     .offset = offsetof(serve_options, cache_tokens),
     .fallback = "16384",
     .argument = "N",
     .least = 256,
     .most = 1 << 24,
     .help = "Tokens that the key-value cache holds, for all requests together."},
    {.name = "cache-dir",
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, cache_dir),
     .argument = "DIR",
     .help = "Keep the key-value cache in DIR, up to 2 GiB and for a week, so that a new server "
             "starts with it. Its files depend on the text of prompts."},
    {.name = "idle-exit",
     .kind = HPC_REAL,
     .offset = offsetof(serve_options, idle_exit),
     .fallback = "0",
     .argument = "S",
     .most = 1e7,
     .help = "Exit after so many seconds without a request; 0: never. The model is unloaded after "
             "15 minutes in any case."},
    {.name = "log-prompts",
     .kind = HPC_FLAG,
     .offset = offsetof(serve_options, log_prompts),
     .help = "Log the text of prompts, too. Default: sizes and times only."},
    {.name = "model",
     .letter = 'm',
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, model),
     .argument = "DIR|FILE.gguf|FILE.packed",
     .help = "Model to serve. Default: $HPCCODER_MODEL, then the model that is installed."},
    {.name = "passages",
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, passages),
     .argument = "FILE|none",
     .help = "Passage index that attributes copied code. Default: FILE.passages next to "
             "FILE.gguf."},
    {.name = "weights",
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, weights),
     .fallback = "stored",
     .argument = "TYPE",
     .help = "Type of the model's matrices in memory, as for `hpccoder complete`."},
    {.name = "cache",
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, cache),
     .fallback = "f32",
     .argument = "TYPE",
     .help = "Type of the key-value cache: f32 or bf16."},
    {.name = "draft-tokens",
     .kind = HPC_INT,
     .offset = offsetof(serve_options, guess),
     .fallback = "11",
     .argument = "N",
     .most = 64,
     .help = "Tokens to speculate ahead where the text repeats itself."},
    {.name = "device",
     .kind = HPC_TEXT,
     .offset = offsetof(serve_options, device),
     .fallback = "cpu",
     .argument = "NAME",
     .help = "Device to run on; `hpccoder info` lists them."},
    HPC_CMD_THREADS(serve_options),
    HPC_CMD_QUIET(serve_options),
    {.name = NULL}};

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
    char path[PATH_MAX], address[64];
    hpc_buf token;
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

static int choose_model(serving *x)
{
    const serve_options *o = x->o;
    hpc_scheduler_options *s = &x->api.scheduler;
    int rc;
    TRY(hpc_cmd_find_model(x->model, o->model ? o->model : getenv("HPCCODER_MODEL"), "pilot.gguf"));
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
    const char *slash = strrchr(x->model, '/');
    x->api.model_name = slash && slash[1] ? slash + 1 : x->model;
out:
    return rc;
}

static int prepare(serving *x)
{
    int rc;
    x->http = (hpc_http_options)HPC_HTTP_DEFAULTS;
    x->api = (hpc_api_options)HPC_API_DEFAULTS;
    TRY(choose_socket(x));
    TRY(choose_address(x));
    TRY(hpc_cmd_find(x->library, "hpccoder-microhttpd.so"));
    TRY(choose_model(x));
    ssize_t n = readlink("/proc/self/exe", x->program, sizeof x->program - 1);
    if (n > 0) x->program[n] = '\0';
    x->api.tool =
        (hpc_tool_options){.program = n > 0 ? x->program : NULL, .scratch = hpc_cmd_scratch()};
    x->api.version = HPC_VERSION;
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
    TRY(hpc_cmd_signals_start(&signals, "serve", "requests that run are finished"));
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
    if (x.folder[0]) (void)rmdir(x.folder);
    return rc;
}

const hpc_command hpc_cmd_serve = {
    .name = "serve",
    .summary = "Serve completions over HTTP to editors of this user.",
    .description =
        "Loads a model and answers the requests of llama.vim, llama.vscode, minuet-ai, Continue, "
        "Tabby's agent and clients of OpenAI's completions and chats and of Ollama's completions. "
        "Chats need a model with a chat template. Prints the addresses on standard output, and one "
        "line per request on standard error: sizes, times and a hash, never text.\n\n"
        "Only this user is served. A Unix socket has mode 0600. On loopback the kernel names the "
        "user at the other end of a connection, and others get 403. Requests with a foreign Host "
        "or Origin get 403, so web pages cannot use the server. Prefer `hpccoder lsp` where the "
        "editor supports it: it needs no port.\n\n"
        "Requests with text after the cursor (/infill, `suffix`, or literal fill-in-the-middle "
        "marks) follow the completion rules of `hpccoder complete`. Other prompts are continued as "
        "text. A request whose client disconnects is cancelled. TERM and Ctrl-C stop the server "
        "after the requests that run, at most 10 seconds.\n\n"
        "Exit status: 0: stopped. 2: bad usage, or another server has the address. 3: the model "
        "cannot be loaded, or another failure.",
    .examples = "hpccoder serve\n"
                "hpccoder serve --http 127.0.0.1:8012  # as llama.vim expects",
    .options = option_table,
    .options_bytes = sizeof(serve_options),
    .run = run,
};
