/*
 * bench_op.c: the command `bench op`.
 */
#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "eval/bench/bench.h"

static int run(void *options, int argc, char **argv)
{
    const hpc_bench_op_options *o = options;
    hpc_progress progress;
    hpc_buf out = {0};
    int rc;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    hpc_cmd_progress(&progress, false);
    rc = hpc_bench_op(&out, o, hpc_cmd_table_columns(), &progress);
    if (rc >= 0) return hpc_cmd_print(&out);
    hpc_buf_release(&out);
    return rc;
}

static const hpc_option options[] = {
    {.name = "op",
     .kind = HPC_TEXTS,
     .offset = offsetof(hpc_bench_op_options, op),
     .argument = "NAME",
     .help = "Op to measure. Default: all."},
    {.name = "shape",
     .kind = HPC_TEXT,
     .offset = offsetof(hpc_bench_op_options, shape),
     .argument = "N,N,...",
     .help = "Sizes to use instead of the default, in the op's order: M,K,N for matmul."},
    {.name = "attr",
     .kind = HPC_TEXTS,
     .offset = offsetof(hpc_bench_op_options, attr),
     .argument = "NAME[=VALUE]",
     .help = "Attribute of the op, as printed by `plan show`."},
    {.name = "dtype",
     .kind = HPC_CHOICE,
     .offset = offsetof(hpc_bench_op_options, dtype),
     .argument = "TYPE",
     .choices = hpc_bench_dtypes,
     .help = "Type of activations; f32 by default. i8 is available for plain products only, with "
             "i32 sums."},
    {.name = "weights",
     .kind = HPC_CHOICE,
     .offset = offsetof(hpc_bench_op_options, weights),
     .argument = "TYPE",
     .choices = hpc_bench_weight_dtypes,
     .help = "Type of weights, packed in advance as in inference. Default: that of activations, "
             "not packed."},
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(hpc_bench_op_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
    HPC_CMD_DEVICE(hpc_bench_op_options, "backend"),
    HPC_CMD_THREADS(hpc_bench_op_options),
    {.name = "seconds",
     .kind = HPC_REAL,
     .offset = offsetof(hpc_bench_op_options, seconds),
     .fallback = "0.3",
     .argument = "X",
     .most = 3600,
     .help = "Measuring time for each program and case, after a warm-up."},
    {.name = "cold",
     .kind = HPC_FLAG,
     .offset = offsetof(hpc_bench_op_options, cold),
     .help = "Give each repetition its own inputs, larger in total than the caches."},
    {.name = "peer",
     .kind = HPC_FLAG,
     .offset = offsetof(hpc_bench_op_options, peer),
     .fallback = "true",
     .help = "Also measure oneDNN and OpenBLAS, in alternation with our products. \"wrong\" marks "
             "peers whose results exceed the rounding bound."},
    HPC_CMD_JSON(hpc_bench_op_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_op = {
    .name = "bench op",
    .summary = "Benchmark single ops against hardware limits and other libraries.",
    .arguments = "",
    .description =
        "Emits small programs that repeat one instruction, with the sizes of a training step or a "
        "decoded token of a model with 124 million parameters, and runs them on the device with "
        "warm caches. Without --op, all ops are measured, forward and backward.\n\n"
        "Reports the median and the best time of a call, operations and bytes from the op table, "
        "and the fraction of the limit. The lower bound of the time is the larger of two values: "
        "operations over the measured rate of multiply-adds in registers (or the best kernel's "
        "rate, if higher), and bytes over the measured memory read bandwidth. Both are measured in "
        "the same run with the same instruction set and threads. The fraction is the lower bound "
        "over the time. A fraction above 100 % means that caches supplied data that the bound "
        "takes from memory; --cold prevents that.\n\n"
        "The error is the largest |a - b| / (1 + |b|) and the normalised mean square error of all "
        "outputs, compared with the same program in double precision. Long cases are reduced for "
        "this comparison. For plain f32, bf16 and i8 products, oneDNN and OpenBLAS run the same "
        "product on the same operands with as many threads, in alternation, without packing in "
        "advance. A number above 1 in brackets means that ours is faster.\n\n"
        "With --weights, weights are packed in advance, as in inference. With a block format, rows "
        "of activations are rounded to 8 bits, which causes most of the error.\n\n"
        "The op nop measures the overhead of an instruction that does nothing, and a barrier of "
        "all workers. Their lower bounds are an empty call and the transfer of a cache line.",
    .examples = "hpccoder bench op  # all ops with default sizes\n"
                "hpccoder bench op --op matmul --shape 512,768,3072 --dtype bf16  # one product\n"
                "hpccoder bench op --op matmul --shape 1,4096,4096 --weights q4_K --cold  # as for "
                "one token\n"
                "hpccoder bench op --op norm --attr kind=layer --isa avx2 --threads 1 --json  # "
                "for scripts",
    .options = options,
    .options_bytes = sizeof(hpc_bench_op_options),
    .run = run,
};
