/*
 * recompute_state.c: frozen state in a smaller type is converted again in backward.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/program/priv.h"
#include "tests/support/expect.h"
#include "train/train.h"

enum { SEQUENCES = 4, T = 40 };

static hpc_dtype as_q8(const hpc_model_tensor *t, void *user)
{
    (void)t, (void)user;
    return HPC_Q8_0;
}

static int64_t copies_of_state(const hpc_program *p, int segment)
{
    int64_t n = 0;
    for (int64_t k = 0; k < p->segment[segment].insn_n; k++) {
        const hpc_insn *i = &p->segment[segment].insn[k];
        n += i->op == &hpc_op_copy && p->value[i->operand[1]].kind == HPC_VALUE_STATE;
    }
    return n;
}

/* A frozen matrix in blocks is converted again in backward, with any policy and for all blocks;
 * nothing else is repeated without a policy. Only what a gradient passes through is read there. */
static void converted_state_is_not_kept(void **state)
{
    (void)state;
    for (int policy = HPC_RECOMPUTE_NONE; policy <= HPC_RECOMPUTE_BLOCK; policy++) {
        hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
        hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
        hpc_program *p = hpc_program_create();
        hpc_step io;
        c.hidden = 32, c.ffn = 64; /* whole blocks */
        c.adapter = (hpc_adapter_config){.rank = 2, .alpha = 2, .targets = 1u << HPC_PART_Q};
        hpc_step_options s = {.model = {.tokens = T, .sequences = SEQUENCES, .frozen = as_q8},
                              .recompute = policy,
                              .recompute_blocks = 1};
        test_ok(hpc_step_emit(&io, p, &c, &o, &s));
        assert_int_equal(copies_of_state(p, io.model.forward), 7 * c.layers);
        assert_in_range(copies_of_state(p, io.backward), 7 * c.layers - 3, 7 * c.layers);
        for (int64_t k = 0; k < p->segment[io.backward].insn_n; k++) {
            const hpc_insn *i = &p->segment[io.backward].insn[k];
            if (policy == HPC_RECOMPUTE_NONE && i->tags.again)
                assert_ptr_equal(i->op, &hpc_op_copy);
            for (int a = 0; a < i->op->sig.operand_n; a++) {
                hpc_value v = i->operand[a];
                if (v < 0 || p->value[v].kind != HPC_VALUE_TEMP) continue;
                const hpc_segment *made = &p->segment[p->value[v].segment];
                bool forward = p->value[v].segment == io.model.forward;
                assert_false(forward && made->insn[p->value[v].insn].op == &hpc_op_copy);
            }
        }
        hpc_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converted_state_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
