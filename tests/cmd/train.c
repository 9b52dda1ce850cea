/*
 * Tests of `hpccoder train`: from a configuration to a model, stopping, killing and resuming, and
 * errors.
 */
/* tsan: left out, other tests start the same threads. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/train/data.h"
#include "tokenizer/tokenizer.h"

#define OURS "tests/fixtures/tokenizer/ours.model"

extern char **environ;

static hpc_test_outcome o;

#define SMALL                                                                                      \
    "--hidden 32 --layers 2 --heads 4 --kv-heads 2 --ffn 48 --length 24 --rows 4 --block 16 "      \
    "--interval 3 --burst 2 --threads 2 "
#define TINY SMALL "--warmup 4 "

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static int setup(void **state)
{
    char path[PATH_MAX];
    hpc_test_folder_setup(state);
    data_set(path, *state, "data", 200, NULL);
    data_make(hpc_test_path(path, *state, "held"), 30, NULL, 8, data_tokenizer);
    return 0;
}

static uint64_t hash_of(void **state, const char *name)
{
    char path[PATH_MAX];
    hpc_buf text = {0};
    test_ok(hpc_file_read(&text, hpc_test_path(path, *state, name), 1 << 26));
    uint64_t h = hpc_hash(text.data, text.n, 0);
    hpc_buf_release(&text);
    return h;
}

static double number(const hpc_json *root, const char *key)
{
    double x;
    test_ok(hpc_json_real(&x, hpc_json_get(root, key), key));
    return x;
}

static void trains(void **state)
{
    hpc_json *root;
    bool finished;
    hpc_test_command_in(&o, root_of(state),
                        "train " TINY "--data @data --validation @held --out @run --steps 30 "
                        "--validate-every 10 --save-every 10 --lr 0.01 --json -q");
    assert_int_equal(o.code, 0);
    assert_string_equal(o.err, "");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
    test_ok(hpc_json_bool(&finished, hpc_json_get(root, "finished"), "finished"));
    assert_true(finished && number(root, "step") == 30 && number(root, "skipped") == 0);
    assert_true(number(root, "best") <= number(root, "validation"));
    assert_true(number(root, "loss") < log(VOCABULARY));
    hpc_json_free(root);
    hpc_test_command_in(&o, root_of(state), "report @run");
    assert_int_equal(o.code, 0);
    test_ok(hash_of(state, "run/model/config.json") ? 0 : -1);
    assert_true(hash_of(state, "run/best/config.json") == hash_of(state, "run/model/config.json"));
}

/* A run's config.json is a configuration that gives the same run; --set changes one of its keys. */
static void configurations(void **state)
{
    hpc_test_command_in(&o, root_of(state),
                        "train " TINY "--data @data --out @one --steps 5 --optimizer "
                        "jorge-newton --decay 0.05 -q");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state), "train @one/config.json --out @two -q");
    assert_int_equal(o.code, 0);
    assert_true(hash_of(state, "one/model/model.safetensors") ==
                hash_of(state, "two/model/model.safetensors"));
    hpc_test_command_in(&o, root_of(state),
                        "train --set decay=0.2 @one/config.json --out @three -q");
    assert_int_equal(o.code, 0);
    assert_true(hash_of(state, "one/model/model.safetensors") !=
                hash_of(state, "three/model/model.safetensors"));
}

static void run_well(void **state, const char *words)
{
    hpc_test_command_in(&o, root_of(state), words);
    if (o.code != 0) print_error("%s: %s", words, o.err);
    assert_int_equal(o.code, 0);
}

static int64_t recorded_warmup(void **state, const char *record)
{
    char path[PATH_MAX];
    hpc_json *root = NULL;
    int64_t n;
    test_ok(hpc_json_read(&root, hpc_test_path(path, *state, record)));
    test_ok(hpc_json_int(&n, hpc_json_get(root, "warmup"), "warmup"));
    hpc_json_free(root);
    return n;
}

/* A tenth of the steps, and a resumed run keeps it. */
static void default_warmup_fits_the_steps(void **state)
{
    static const char late[] = "the run ends during the warm-up";
    run_well(state, "train " SMALL "--data @data --out @run --steps 20");
    assert_null(strstr(o.err, late));
    assert_int_equal(recorded_warmup(state, "run/config.json"), 2);
    run_well(state, "train --out @run --resume --steps 40");
    assert_int_equal(recorded_warmup(state, "run/config.json"), 2);
    run_well(state, "train " TINY "--data @data --out @late --steps 4");
    hpc_test_says(o.err, late);
}

/* Options not given again keep their values; changes are reported, and invalid changes rejected. */
static void goes_on_as_it_was(void **state)
{
    run_well(state, "train " TINY "--data @data --out @run --steps 20 --lr 0.01 --from-sgd "
                    "--optimizer jorge -q");
    run_well(state, "train --out @run --resume --steps 30");
    hpc_test_says(o.err, "steps=30 from here on, 20 before");
    hpc_test_says(o.out, "step 30, ");
    run_well(state, "train --out @run --resume --steps 32 --lr 0.002 --threads 1");
    hpc_test_says(o.err, "lr=0.002 from here on, 0.01 before");
    assert_null(strstr(o.err, "decay"));
    assert_null(strstr(o.err, "threads"));
    hpc_test_refuses(&o, root_of(state), "train --out @run --resume --length 12",
                     "length=12, but the run in ");
    hpc_test_refuses(&o, root_of(state), "train --out @run --resume --data @held", "data=");
    hpc_test_refuses(&o, root_of(state), "train @run/config.json --resume --seed 9", "seed=9, but");
    hpc_test_refuses(&o, root_of(state), "train --out @run --resume --steps 31",
                     "is at step 32, but steps=31");
}

/* A pruned run resumes as the same run. */
static void prunes(void **state)
{
    run_well(state, "train " TINY "--data @data --out @pruned --steps 4 --prune 0.9 "
                    "--prune-after 2 --dtype bf16");
    hpc_test_says(o.err, " elements of the matrices remain");
    hpc_test_refuses(&o, root_of(state), "train --out @pruned --resume --steps 6 --prune 0.8",
                     "prune=0.8, but the run in ");
    hpc_test_refuses(&o, root_of(state), "train --out @pruned --resume --steps 6 --prune -1",
                     "prune=-1, but the run in ");
    run_well(state, "train --out @pruned --resume --steps 6");
    assert_null(strstr(o.err, "remain"));
}

/* Bytes of a tokenizer that a data set is made for, under another name. */
static void brings_its_tokenizer(void **state)
{
    char path[PATH_MAX];
    hpc_tokenizer *t = NULL;
    hpc_shard_writer *w = NULL;
    hpc_buf text = {0};
    hpc_json *root;
    int64_t done, end;
    test_ok(hpc_tokenizer_open(&t, OURS));
    hpc_shard_spec spec = {
        .vocabulary = hpc_tokenizer_n(t), .tokenizer = hpc_tokenizer_hash(t), .task = "code"};
    hpc_test_path(path, *state, "ours");
    test_ok(hpc_shard_create(&w, &done, path, &spec, 500, false));
    for (int64_t i = 0; i < 50; i++) {
        int32_t token[LONGEST_DOCUMENT];
        test_ok(hpc_shard_add(w, token, data_document(token, i, 7), NULL));
    }
    test_ok(hpc_shard_finish(w, NULL));
    hpc_shard_discard(w);
    test_ok(hpc_file_read(&text, OURS, 1 << 26));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "bpe.model"), text.data, text.n));
    hpc_buf_release(&text);
    run_well(state, "train " TINY "--data @ours --tokenizer @bpe.model --out @run --steps 2");
    assert_null(strstr(o.err, "no tokenizer"));
    assert_true(hash_of(state, "run/model/tokenizer.model") == hash_of(state, "bpe.model"));
    test_ok(hpc_json_read(&root, hpc_test_path(path, *state, "run/model/config.json")));
    test_ok(hpc_json_int(&end, hpc_json_get(root, "eos_token_id"), "eos_token_id"));
    assert_int_equal(end, hpc_tokenizer_specials(t).end); /* it has no mark for it */
    hpc_json_free(root);
    run_well(state, "train " TINY "--data @ours --out @bare --steps 2");
    hpc_test_says(o.err, "hpccoder train: the model will hold no tokenizer, which complete needs: "
                         "--tokenizer FILE copies one\n");
    hpc_tokenizer_close(t);
    /* A run that begins with that model has its tokenizer too, and wants the same of the data. */
    run_well(state, "export @run/model --to gguf --out @run.gguf -q");
    static const char *const init[] = {"@run/model", "@run.gguf"};
    for (int k = 0; k < 2; k++) {
        char words[HPC_TEST_WORDS], file[64];
        snprintf(words, sizeof words,
                 "train --init %s --length 24 --rows 4 --data @ours --steps 1 --out @again%d -q",
                 init[k], k);
        run_well(state, words);
        snprintf(file, sizeof file, "again%d/model/tokenizer.model", k);
        assert_true(hash_of(state, file) == hash_of(state, "bpe.model"));
    }
    hpc_test_refuses(&o, root_of(state), "train --init @run/model --data @data --out @x",
                     "tokenizer");
}

/* The learning rate of the first of four steps to its peak. */
static double first_rate(void **state, const char *name)
{
    char path[PATH_MAX];
    hpc_buf text = {0};
    double step, tokens, loss, lr;
    test_ok(hpc_file_read(&text, hpc_test_path(path, *state, name), 1 << 20));
    const char *row = strchr(text.data, '\n');
    assert_int_equal(sscanf(row, "%lf,%lf,%lf,%lf", &step, &tokens, &loss, &lr), 4);
    hpc_buf_release(&text);
    return lr;
}

/* Rates where none is given, and what is rounded. */
static void what_suits(void **state)
{
    static const struct {
        const char *words;
        double rate;
    } suit[] = {
        {"", 0.008},
        {"--optimizer muon", 0.004},
        {"--optimizer soap --graft sgd", 0.002},
        {"--optimizer sgd", 0.3},
        {"--optimizer jorge --from-sgd", 0.3},
        {"--graft sgd", 0.3},
        {"--lr 0", 0},
        {"--init @suit0/model", 0.0008},
        {"--init @suit0/model --lora-rank 2", 0.0002},
    };
    for (size_t k = 0; k < sizeof suit / sizeof *suit; k++) {
        char words[HPC_TEST_WORDS], file[64];
        snprintf(words, sizeof words,
                 "train " TINY "--data @data --steps 1 --schedule constant -q --out @suit%zu %s", k,
                 suit[k].words);
        hpc_test_command_in(&o, root_of(state), words);
        assert_int_equal(o.code, 0);
        snprintf(file, sizeof file, "suit%zu/metrics.csv", k);
        assert_true(fabs(first_rate(state, file) - suit[k].rate / 4) < 1e-6);
    }
    static const char *const halves[] = {"auto", "all", "none"};
    uint64_t hash[3];
    for (int k = 0; k < 3; k++) {
        char words[HPC_TEST_WORDS], file[64];
        snprintf(words, sizeof words,
                 "train " TINY "--data @data --steps 3 --dtype bf16 -q --halves %s --out @%s",
                 halves[k], halves[k]);
        hpc_test_command_in(&o, root_of(state), words);
        assert_int_equal(o.code, 0);
        snprintf(file, sizeof file, "%s/model/model.safetensors", halves[k]);
        hash[k] = hash_of(state, file);
    }
    assert_true(hash[0] == hash[1] && hash[0] != hash[2]);
}

static pid_t start(void **state, const char *words)
{
    char program[PATH_MAX], text[HPC_TEST_WORDS], *argv[HPC_TEST_ARGS];
    hpc_test_split(argv, hpc_test_in(text, root_of(state), words));
    hpc_test_built(program, "hpccoder");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(99);
    execve(program, argv, environ);
    _exit(98);
}

static int finish(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void sleep_ns(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

#define STORM                                                                                      \
    "train " TINY "--data @data --validation @held --steps 60 --save-every 2 --validate-every 7 "  \
    "--optimizer jorge-newton --lr 0.005 --resume -q --out @"

/* Killed at moments spread over a run and resumed: the same model and the same rows. */
static void killed_and_resumed(void **state)
{
    int kills = getenv("HPC_TEST_LONG") ? 20 : 3;
    int64_t begin = hpc_clock_ns();
    assert_int_equal(finish(start(state, STORM "whole")), 0);
    int64_t took = hpc_clock_ns() - begin;
    for (int k = 0; k < kills; k++) {
        int sign = k % 3 == 2 ? SIGTERM : SIGKILL;
        uint64_t r = hpc_random_bits(11, 0, 0, (uint64_t)k);
        pid_t child = start(state, STORM "part");
        sleep_ns(took / 20 + (int64_t)(r % (uint64_t)(took / (kills > 3 ? 8 : 2) + 1)));
        kill(child, sign);
        int code = finish(child);
        /* TERM before it is listened to ends a process as KILL does. */
        assert_true(code == -sign || code == 0);
    }
    assert_int_equal(finish(start(state, STORM "part")), 0);
    assert_true(hash_of(state, "whole/model/model.safetensors") ==
                hash_of(state, "part/model/model.safetensors"));
    assert_true(hash_of(state, "whole/best/model.safetensors") ==
                hash_of(state, "part/best/model.safetensors"));
}

/* As a terminal does that closes. */
static void hangs_up_twice(void **state)
{
    pid_t child = start(state, "train " TINY "--data @data --steps 1000000 -q --out @long");
    char path[PATH_MAX];
    hpc_test_path(path, *state, "long/metrics.csv");
    for (int k = 0; k < 1000 && !hpc_file_exists(path); k++) sleep_ns(20000000);
    kill(child, SIGHUP);
    sleep_ns(1000000);
    kill(child, SIGHUP);
    kill(child, SIGTERM);
    assert_int_equal(finish(child), 0);
    int64_t step;
    test_ok(hpc_checkpoint_newest(&step, hpc_test_path(path, *state, "long/checkpoints")));
    assert_true(step >= 0);
}

static void dry_run(void **state)
{
    hpc_json *root;
    hpc_test_command_in(&o, root_of(state),
                        "train " TINY "--vocab 100 --dry-run --json --optimizer jorge-newton");
    assert_int_equal(o.code, 0);
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
    assert_true(number(root, "parameters") ==
                100 * 32 + 32 + 2 * (2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48 + 2 * 32));
    double sum = number(root, "parameter_bytes") + number(root, "gradient_bytes") +
                 number(root, "optimizer_bytes") + number(root, "activation_bytes");
    assert_true(number(root, "peak_bytes") == sum && number(root, "step_s") > 0);
    hpc_json_free(root);
    hpc_test_command_in(&o, root_of(state),
                        "train " TINY "--vocab 100 --dry-run --json --optimizer adamw "
                        "--dtype bf16 --offload optimizer --offload-bucket 64");
    assert_int_equal(o.code, 0);
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
    assert_true(number(root, "offloaded_bytes") == 12 * number(root, "trained"));
    assert_true(number(root, "moved_bytes") == 24 * number(root, "trained"));
    hpc_json_free(root);
    /* 70 billion parameters, of which nothing is allocated. */
    hpc_test_command_in(
        &o, root_of(state),
        "train --vocab 32000 --hidden 8192 --layers 80 --heads 64 --kv-heads 8 "
        "--ffn 28672 --positions 4096 --length 4096 --rows 1 --no-tied --dtype bf16 "
        "--dry-run --json");
    assert_int_equal(o.code, 0);
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
    assert_true(number(root, "parameters") == 68976648192.0);
    hpc_json_free(root);
    /* Of many ranks others say it; a grid that does not fit is named first. */
    hpc_test_command_in(&o, root_of(state),
                        "train " TINY "--vocab 100 --dry-run --json --grid data=1");
    assert_int_equal(o.code, 0);
    hpc_test_refuses(&o, root_of(state), "train " TINY "--vocab 100 --dry-run --grid data=2",
                     "dry-run plans for one rank, but grid=data=2 has 2: `hpccoder plan check`");
    hpc_test_refuses(&o, root_of(state), "train " TINY "--vocab 100 --dry-run --grid row=3",
                     "heads=4: row must split them");
}

/* What a dry run says that a step needs is what it then takes. */
static void peak_as_planned(void **state)
{
    static const char *const words[] = {"", "--optimizer jorge-newton", "--recompute block"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        char all[HPC_TEST_WORDS], path[PATH_MAX];
        hpc_metrics_table t;
        hpc_json *root;
        snprintf(all, sizeof all, "train " TINY "--data @data %s --dry-run --json", words[k]);
        hpc_test_command_in(&o, root_of(state), all);
        test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
        double planned = number(root, "peak_bytes");
        hpc_json_free(root);
        snprintf(all, sizeof all, "train " TINY "--data @data %s --steps 2 -q --out @p%zu",
                 words[k], k);
        hpc_test_command_in(&o, root_of(state), all);
        assert_int_equal(o.code, 0);
        snprintf(all, sizeof all, "p%zu/metrics.csv", k);
        test_ok(hpc_metrics_read(&t, hpc_test_path(path, *state, all)));
        double measured = t.column[HPC_METRIC_PEAK_BYTES][t.n - 1];
        hpc_metrics_release(&t);
        assert_true(fabs(planned / measured - 1) < 0.05);
    }
}

static void mistakes(void **state)
{
    static const struct {
        const char *words, *says;
    } bad[] = {
        {"train --out @x", "--data DIR is missing"},
        {"train --data @data", "--out DIR is missing"},
        {"train --data @none --out @x", "none"},
        {"train --data @none --out @x --device cuda:900", "device cuda:900: "},
        {"train --data @data --out @x --hidden 33", "hidden"},
        {"train --data @data --out @x --heads 8 --kv-heads 3", "kv"},
        {"train --data @data --out @x --optimiser adamw", "did you mean --optimizer?"},
        {"train --data @data --out @x --optimizer adam", "one of sgd, adamw, muon"},
        {"train --data @data --out @x --set lr", "write KEY=VALUE"},
        {"train --data @data --out @x --set lrr=1", "unknown option --lrr, did you mean --lr?"},
        {"train --data @data --out @x --lora-rank 4 --lora-targets q,z", "'z' is not one of"},
        {"train --data @data --out @x --objective classes", "no column 'label'"},
        {"train --data @data --out @x --objective pairs --classes 3", "--tokenizer FILE"},
        {"train --data @data --out @x --objective pairs --tokenizer " OURS,
         "has no token for <perf_base>"},
        {"train --data @data --out @x --tokenizer @data", "tokenizer"},
        {"train --data @data --out @x --init @data", "config.json"},
        {"train @wrong.json --out @x", "unknown key 'learning-rate'"},
        {"train @broken.json --out @x", "broken.json"},
        {"train --data @data --out @x --memory 0.0001", "memory allows"},
        {"train --data @data --out @x --memory 4 --recompute block", "needs recompute=auto"},
        {"train --data @data --out @x --optimizer soap --from-sgd", "from-sgd: soap does not"},
        {"train --data @data --out @x --prune 1", "prune=1 must be in [0, 1"},
        {"train --data @data --out @x --prune 1.5", "prune=1.5 must be in [0, 1"},
        {"train --data @data --out @x --prune -0.5", "prune=-0.5 must be in [0, 1"},
        {"train --data @data --out @x --prune 0.5 --prune-after soon",
         "prune-after=soon: expected"},
        {"train --data @data --out @x --prune 0.5 --optimizer soap", "prune: the moments of soap"},
        {"train --data @data --out @x --prune 0.5 --lora-rank 2",
         "with adapters (lora-rank) the matrices are not trained"},
        {"train --data @data --out @x --prune 0.5 --zero 2", "zero=2: ranks can only"},
        {"train --data @data --out @x --model tests/fixtures/families/llama --hidden 512",
         "hidden=512, and the model in "},
    };
    char path[PATH_MAX];
    const char *wrong = "{\"data\": [\"d\"], \"learning-rate\": 1}", *broken = "{\"data\": [";
    test_ok(hpc_file_save(hpc_test_path(path, *state, "wrong.json"), wrong, strlen(wrong)));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "broken.json"), broken, strlen(broken)));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        hpc_test_refuses(&o, root_of(state), bad[k].words, bad[k].says);
    assert_false(hpc_file_exists(hpc_test_path(path, *state, "x/metrics.csv")));
}

/* `plan` is a file with offloading in buckets of 64 elements, without offloading, or of an older
 * version. */
static void make_plan(void **state, const char *plan, const char *bucket)
{
    static const char key[] = ",\"offload_bucket\":0";
    char words[HPC_TEST_WORDS], path[PATH_MAX];
    snprintf(words, sizeof words,
             "plan show --json --vocab 100 --hidden 32 --layers 2 --heads 4 --kv-heads 2 --ffn 48 "
             "--length 24 --sequences 4 --accumulate 1 --offload-bucket %s",
             bucket ? bucket : "0");
    hpc_test_command(&o, words);
    assert_int_equal(o.code, 0);
    char *at = bucket ? NULL : strstr(o.out, key);
    if (at) memmove(at, at + strlen(key), strlen(at + strlen(key)) + 1);
    test_ok(hpc_file_save(hpc_test_path(path, *state, plan), o.out, strlen(o.out)));
}

static void options_and_plans_agree_on_offloading(void **state)
{
    static const struct {
        const char *words, *says;
    } bad[] = {
        {"--plan @64.json --offload none", "offload=none, but the plan in "},
        {"--plan @64.json --offload none", "64.json has offload=optimizer: leave --offload out"},
        {"--plan @64.json --offload-bucket 100", "64.json has buckets of 64 elements"},
        {"--plan @none.json --offload optimizer", "none.json has offload=none"},
        {"--plan @none.json --offload-dir d", "offload-dir has no effect without offloading"},
        {"--offload none --offload-dir d", "offload-dir has no effect without offloading: use "},
        {"--offload none --offload-bucket 64", "offload-bucket has no effect without"},
        {"--no-tied --plan @none.json --memory 0.00001", "none.json needs "},
        {"--no-tied --plan @none.json --memory 0.00001", "GiB on a rank, memory allows 1e-05"},
        {"--offload-bucket 64", "use --offload optimizer, or --memory "},
        {"--offload optimizer --offload-bucket 1 --vocab 9000", "use buckets of at least "},
        {"--memory 0.0001 --offload-bucket 1 --vocab 9000", "use buckets of at least "},
    };
    static const char *const good[][2] = {{"--plan @64.json", "16"},
                                          {"--plan @64.json --offload optimizer", "16"},
                                          {"--plan @64.json --offload-bucket 64", "16"},
                                          {"--plan @none.json --offload none", "0"},
                                          {"--plan @none.json --memory 4", "0"},
                                          {"--plan @old.json", "0"},
                                          {"--plan @old.json --offload optimizer", "16"},
                                          {"--memory 4 --offload-bucket 64", "0"}};
    char words[HPC_TEST_WORDS];
    make_plan(state, "64.json", "64");
    make_plan(state, "none.json", "0");
    make_plan(state, "old.json", NULL);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(words, sizeof words, "train " TINY "--vocab 100 --dry-run --optimizer adamw %s",
                 bad[k].words);
        hpc_test_refuses(&o, root_of(state), words, bad[k].says);
    }
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        hpc_json *root;
        snprintf(words, sizeof words,
                 "train " TINY "--vocab 100 --no-tied --dry-run --json --optimizer adamw %s",
                 good[k][0]);
        hpc_test_command_in(&o, root_of(state), words);
        if (o.code != 0) fail_msg("%s: %s", good[k][0], o.err);
        test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
        assert_true(number(root, "moved_bytes") ==
                    strtod(good[k][1], NULL) * number(root, "trained"));
        hpc_json_free(root);
    }
}

/* A GGUF file is where to begin, as the directory that it was made from is. */
static void begins_with_a_file(void **state)
{
    static const char *const words[] = {
        "train " TINY "--data @data --out @run --steps 3 -q",
        "export @run/model --to gguf --out @a.gguf -q",
        "train --init @run/model --data @data --out @a --steps 2 --length 24 --rows 4 -q",
        "train --init @a.gguf --data @data --out @b --steps 2 --length 24 --rows 4 -q",
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        hpc_test_command_in(&o, root_of(state), words[k]);
        assert_int_equal(o.code, 0);
    }
    assert_true(hash_of(state, "a/model/model.safetensors") ==
                hash_of(state, "b/model/model.safetensors"));
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(trains),
        IN_FOLDER(configurations),
        IN_FOLDER(what_suits),
        IN_FOLDER(killed_and_resumed),
        IN_FOLDER(default_warmup_fits_the_steps),
        IN_FOLDER(goes_on_as_it_was),
        IN_FOLDER(prunes),
        IN_FOLDER(brings_its_tokenizer),
        IN_FOLDER(hangs_up_twice),
        IN_FOLDER(dry_run),
        IN_FOLDER(peak_as_planned),
        IN_FOLDER(mistakes),
        IN_FOLDER(options_and_plans_agree_on_offloading),
        IN_FOLDER(begins_with_a_file),
    };
    return cmocka_run_group_tests_name("cmd/train", tests, NULL, NULL);
}
