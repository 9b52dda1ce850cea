/*
 * Tests of `hpccoder train --experts`: eight processes of mpirun take the steps of one rank, and
 * each mistake gives one line.
 */
/* tsan: left out, train/expert_ranks starts the same threads. */
#include "tests/cmd/mpirun.h"

static hpc_test_outcome o;

#define MIXED                                                                                      \
    "train --hidden 32 --layers 2 --heads 4 --kv-heads 2 --ffn 48 --length 24 --rows 8 -q "        \
    "--optimizer sgd --lr 0.1 --warmup 0 --threads 1 --data @data --experts 4 --expert-every 2 "   \
    "--expert-ffn 24 --steps 2 "

/* Two ranks along row, two along expert and two along data; columns 15 and 16: experts of a token,
 * dropped slots. */
static void eight_processes_train_as_one(void **state)
{
    static const char *const gate[] = {"--gate topk --top-k 2", "--gate switch --capacity 0.75"};
    char words[HPC_TEST_WORDS];
    if (!can_mpirun()) return;
    for (int k = 0; k < 2; k++) {
        snprintf(words, sizeof words, MIXED "%s --out @one%d", gate[k], k);
        hpc_test_command_in(&o, root_of(state), words);
        assert_int_equal(o.code, 0);
        snprintf(words, sizeof words,
                 MIXED "%s --out @all%d --grid data=2,expert=2,row=2 --sequence", gate[k], k);
        assert_int_equal(ended(mpirun(state, 8, words, "log")), 0);
        same_as(state, k ? "all1" : "all0", k ? "one1" : "one0");
        for (int column = 15; column <= 17; column++) {
            double x = last(state, k ? "all1" : "all0", column);
            double y = last(state, k ? "one1" : "one0", column);
            assert_true(fabs(x - y) <= 1e-6 * fabs(y));
        }
        assert_true((last(state, k ? "one1" : "one0", 16) > 0) == (k == 1));
    }
}

static void mistakes_give_one_line(void **state)
{
    static const struct {
        const char *words, *says;
    } bad[] = {
        {"--grid expert=3 --rows 6 --out @x", "experts=4: expert must split them in 3"},
        {"--expert-ffn 25 --grid row=2 --out @x", "expert-ffn=25: row must split"},
        {"--top-k 5 --out @x", "top-k=5 is not between 1 and the 4 experts"},
        {"--gate soft --out @x", "one of topk, switch, dense-to-sparse"},
        {"--expert-every 3 --out @x", "expert-every=3: no layer of 2 has experts"},
        {"--gate switch --capacity 0 --out @x", "capacity=0 must be above 0"},
        {"--gate dense-to-sparse --top-k 2 --out @x", "it needs top-k=1"},
        {"--gate dense-to-sparse --temperature-least 3 --out @x", "temperature-least=3"},
        {"--experts 2000 --out @x", "experts"},
        {"--experts 0 --gate switch --out @x", "gate=switch needs experts"},
        {"--experts 0 --grid expert=2 --out @x", "the model has no experts to divide"},
        {"--prune 0.5 --out @x", "models with experts are not pruned"},
        {"--experts 8 --out @run --resume", "experts"},
        {"--init @run/model --experts 8 --out @x", "experts=8, and the model in "},
        {"--init @run/model --top-k 3 --out @x", "top-k=3, and the model in "},
        {"--init @dense/model --diversify 1 --out @x", "diversify=1 must be in [0, 1)"},
        {"--diversify 0.2 --out @x", "diversify=0.2 has no effect: it needs --init"},
        {"--init @run/model --diversify 0.2 --out @x", "diversify=0.2 has no effect"},
        {"--init @dense/model --lora-rank 2 --out @x", "experts that start as copies"},
        {"--init @dense/model --gate dense-to-sparse --out @x", "does not normalise"},
    };
    char words[HPC_TEST_WORDS], path[PATH_MAX];
    hpc_test_command_in(&o, root_of(state), MIXED "--out @run");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state), MIXED "--experts 0 --expert-ffn 0 --out @dense");
    assert_int_equal(o.code, 0);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const char *width =
            strstr(bad[k].words, "@dense") ? "--expert-ffn 0 --expert-every 1 " : "";
        snprintf(words, sizeof words, MIXED "%s%s", width, bad[k].words);
        hpc_test_refuses(&o, root_of(state), words, bad[k].says);
    }
    assert_false(hpc_file_exists(hpc_test_path(path, *state, "x/metrics.csv")));
}

/* A Llama becomes a Mixtral, and the run continues from its checkpoint. */
static void a_dense_model_becomes_a_mixture(void **state)
{
#define GROWN                                                                                      \
    MIXED "--init @llama/model --expert-ffn 0 --expert-every 1 --schedule constant --out @grown "
    hpc_test_command_in(&o, root_of(state), MIXED "--experts 0 --expert-ffn 0 --out @llama");
    hpc_test_command_in(&o, root_of(state), GROWN);
    if (o.code != 0) print_error("%s", o.err);
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state), "train --steps 3 --out @grown --resume -q");
    if (o.code != 0) print_error("%s", o.err);
    assert_int_equal(o.code, 0);
    char path[PATH_MAX];
    hpc_model_config c;
    test_ok(hpc_model_config_read(&c, hpc_test_path(path, *state, "grown/model")));
    assert_string_equal(c.family, "mixtral");
    assert_true(c.experts == 4 && c.top_k == 2 && c.ffn == 48);
#undef GROWN
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_processes_train_as_one),
        cmocka_unit_test(mistakes_give_one_line),
        cmocka_unit_test(a_dense_model_becomes_a_mixture),
    };
    return cmocka_run_group_tests(tests, setup_data, hpc_test_folder_teardown);
}
