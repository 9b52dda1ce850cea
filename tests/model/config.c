/*
 * config.c: config.json in older and newer forms with transformers' defaults; errors name
 * unsupported keys, and members that a family cannot express.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

#define SIZES                                                                                      \
    "\"vocab_size\":100,\"hidden_size\":64,\"num_hidden_layers\":3,\"num_attention_heads\":8,"     \
    "\"intermediate_size\":96"
#define LLAMA   "{\"architectures\":[\"LlamaForCausalLM\"]," SIZES
#define MISTRAL "{\"architectures\":[\"MistralForCausalLM\"],\"num_key_value_heads\":2," SIZES
#define GEMMA2  "{\"model_type\":\"gemma2\"," SIZES
#define FULL    "\"full_attention\""
#define LOCAL   "\"sliding_attention\""
#define QWEN2   "{\"architectures\":[\"Qwen2ForCausalLM\"],\"num_key_value_heads\":2," SIZES

static int load(hpc_model_config *c, const char *text)
{
    hpc_json *root;
    test_ok(hpc_json_parse(&root, text, strlen(text), "test"));
    int rc = hpc_model_config_load(c, root);
    hpc_json_free(root);
    return rc;
}

static hpc_model_config loaded(const char *text)
{
    hpc_model_config c;
    test_ok(load(&c, text));
    return c;
}

static void what_is_not_said_is_as_transformers_has_it(void **state)
{
    (void)state;
    hpc_model_config c = loaded(LLAMA "}");
    assert_string_equal(c.family, "llama");
    assert_true(c.vocab == 100 && c.hidden == 64 && c.layers == 3 && c.heads == 8 && c.ffn == 96);
    assert_true(c.kv_heads == 8 && hpc_model_config_head_dim(&c) == 8 && c.positions == 2048);
    assert_true(c.norm == HPC_RMS && c.norm_eps == 1e-6 && c.act == HPC_SILU && c.gated);
    assert_true(c.rope.theta == 10000 && c.rope.share == 1 && c.rope.scaling == HPC_ROPE_PLAIN);
    assert_true(!c.tied && !c.qkv_bias && !c.out_bias && !c.mlp_bias && c.window == 0);
    assert_true(c.begin == 1 && c.end == 2 && c.pad == -1 && c.dtype == HPC_F32);
    assert_true(c.dropout == 0 && c.init_std == 0.02 && c.head == HPC_HEAD_TOKENS);
    c = loaded(MISTRAL "}");
    assert_true(c.window == 4096 && c.positions == 131072 && c.kv_heads == 2);
    c = loaded(QWEN2 "}");
    assert_true(c.qkv_bias && !c.out_bias && c.window == 0 && !c.tied);
    assert_true(c.begin == -1 && c.end == -1);
    c = loaded("{\"model_type\":\"starcoder2\",\"num_key_value_heads\":4," SIZES "}");
    assert_true(c.norm == HPC_LAYER && c.act == HPC_GELU_TANH && !c.gated && c.tied);
    assert_true(c.begin == -1 && c.end == -1); /* 50256 is beyond this vocabulary */
    assert_true(c.qkv_bias && c.out_bias && c.mlp_bias && c.init_std == 0.018042);
    c = loaded("{\"model_type\":\"gpt_neox\",\"rotary_pct\":0.5," SIZES "}");
    assert_true(c.parallel && c.rope.share == 0.5 && c.kv_heads == 8 && c.act == HPC_GELU_ERF);
    c = loaded("{\"model_type\":\"gpt2\",\"vocab_size\":50,\"n_embd\":64,\"n_layer\":1,"
               "\"n_head\":4,\"n_inner\":null,\"resid_pdrop\":0.1}");
    assert_true(c.position == HPC_LEARNED && c.ffn == 256 && c.positions == 1024 && c.tied);
    assert_true(c.dropout == 0);
}

static void keys_are_read_in_all_their_forms(void **state)
{
    (void)state;
    hpc_model_config c;
    c = loaded(LLAMA ",\"eos_token_id\":[7,8],\"bos_token_id\":1,\"pad_token_id\":null,"
                     "\"torch_dtype\":\"bfloat16\",\"head_dim\":null}");
    assert_true(c.end == 7 && c.begin == 1 && c.pad == -1 && c.dtype == HPC_BF16);
    c = loaded(LLAMA ",\"eos_token_id\":null}");
    assert_true(c.begin == 1 && c.end == -1);
    c = loaded("{\"model_type\":\"gpt2\",\"vocab_size\":50,\"n_embd\":64,\"n_layer\":1,"
               "\"n_head\":4,\"eos_token_id\":50256}");
    assert_true(c.end == -1); /* no token of this vocabulary */
    c = loaded(QWEN2 ",\"head_dim\":16}");
    assert_int_equal(c.head_dim, 16);
    c = loaded(LLAMA ",\"dtype\":\"float16\",\"torch_dtype\":\"float32\",\"head_dim\":16}");
    assert_true(c.dtype == HPC_F16 && c.head_dim == 16);
    c = loaded(LLAMA ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":4},\"rope_theta\":1e5}");
    assert_true(c.rope.scaling == HPC_ROPE_LINEAR && c.rope.factor == 4 && c.rope.theta == 1e5);
    c = loaded(LLAMA ",\"rope_parameters\":{\"rope_type\":\"llama3\",\"factor\":8.0,"
                     "\"low_freq_factor\":1,\"high_freq_factor\":4,\"rope_theta\":500000.0,"
                     "\"original_max_position_embeddings\":8192}}");
    assert_true(c.rope.scaling == HPC_ROPE_LLAMA3 && c.rope.theta == 500000);
    assert_true(c.rope.original == 8192 && c.rope.low == 1 && c.rope.high == 4);
    c = loaded(LLAMA ",\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":300.0},"
                     "\"rope_scaling\":{\"rope_type\":\"default\"}}");
    assert_true(c.rope.scaling == HPC_ROPE_PLAIN && c.rope.theta == 300);
    c = loaded("{\"model_type\":\"gpt_neox\",\"rope_parameters\":{\"rope_type\":\"default\","
               "\"rope_theta\":77,\"partial_rotary_factor\":0.5}," SIZES "}");
    assert_true(c.rope.theta == 77 && c.rope.share == 0.5);
    c = loaded(QWEN2 ",\"use_sliding_window\":true,\"sliding_window\":9,\"max_window_layers\":0}");
    assert_int_equal(c.window, 9);
    c = loaded(QWEN2 ",\"use_sliding_window\":true,\"sliding_window\":9,\"max_window_layers\":3}");
    assert_int_equal(c.window, 0);
    c = loaded(MISTRAL ",\"sliding_window\":null,\"layer_types\":[" FULL "," FULL "," FULL "]}");
    assert_int_equal(c.window, 0);
    c = loaded(GEMMA2 ",\"final_logit_softcapping\":null}");
    assert_true(c.window == 4096 && c.window_period == 2 && c.logit_cap == 0);
    assert_true(c.attention_cap == 50 && c.attention_scale == 0.0625 && c.embed_scale == 8);
    assert_true(c.norm_place == HPC_NORM_AROUND && c.tied && c.head_dim == 256);
    c = loaded(GEMMA2 ",\"layer_types\":[" LOCAL "," LOCAL "," FULL "]}");
    assert_true(c.window_period == 3 && hpc_model_config_window(&c, 2) == 0);
    assert_int_equal(hpc_model_config_window(&c, 1), 4096);
    c = loaded("{\"model_type\":\"gemma3_text\",\"rope_parameters\":{\"sliding_attention\":{"
               "\"rope_type\":\"default\",\"rope_theta\":500},\"full_attention\":{\"rope_type\":"
               "\"linear\",\"factor\":8,\"rope_theta\":7000}}," SIZES "}");
    assert_true(c.rope.theta == 7000 && c.rope.local_theta == 500 && c.rope.factor == 8);
    assert_true(c.rope.scaling == HPC_ROPE_LINEAR && c.window_period == 6);
    c = loaded("{\"model_type\":\"smollm3\"," SIZES ",\"no_rope_layers\":[1,0,1]}");
    assert_true(c.rope_period == 2 && !hpc_model_config_rotates(&c, 1));
    c = loaded("{\"architectures\":[\"Qwen2ForSequenceClassification\"],\"num_key_value_heads\":8,"
               "\"id2label\":{\"0\":\"a\",\"1\":\"b\",\"2\":\"c\"}," SIZES "}");
    assert_true(c.head == HPC_HEAD_CLASSES && c.classes == 3);
}

static void what_cannot_be_done_is_named(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int code;
        const char *says;
    } bad[] = {
        {"[]", HPC_E_FORMAT, "expected an object"},
        {"{}", HPC_E_FORMAT, "model_type: expected a text, found nothing"},
        {"{\"architectures\":[\"BloomForCausalLM\"]}", HPC_E_UNSUPPORTED,
         "architectures: unknown family BloomForCausalLM; expected one of llama, mistral"},
        {"{\"architectures\":[\"LlamaForQuestionAnswering\"]}", HPC_E_UNSUPPORTED, "LlamaForQ"},
        {"{\"architectures\":[\"LlamaForCausalLM\"]}", HPC_E_FORMAT, "vocab_size: the key is"},
        {LLAMA ",\"num_key_value_heads\":\"two\"}", HPC_E_FORMAT, "num_key_value_heads: expected"},
        {LLAMA ",\"num_key_value_heads\":3}", HPC_E_SHAPE,
         "heads=8 is not a multiple of kv-heads=3"},
        {LLAMA ",\"hidden_act\":\"quick_gelu\"}", HPC_E_UNSUPPORTED,
         "hidden_act: unknown activation quick"},
        {LLAMA ",\"quantization_config\":{\"bits\":4}}", HPC_E_UNSUPPORTED, "quantization_config:"},
        {LLAMA ",\"quantization_config\":{\"quant_method\":\"fp8\"}}", HPC_E_UNSUPPORTED,
         "quantization_config:"},
        {LLAMA ",\"num_local_experts\":8}", HPC_E_UNSUPPORTED, "num_local_experts:"},
        {LLAMA ",\"attn_logit_softcapping\":50.0}", HPC_E_UNSUPPORTED, "attn_logit_softcapping:"},
        {LLAMA ",\"torch_dtype\":\"float8\"}", HPC_E_UNSUPPORTED,
         "torch_dtype: unknown value float8"},
        {LLAMA ",\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}}", HPC_E_UNSUPPORTED,
         "rope_scaling: type dynamic"},
        {LLAMA ",\"rope_scaling\":{\"type\":\"linear\"}}", HPC_E_FORMAT, "factor is missing"},
        {LLAMA ",\"rope_scaling\":3}", HPC_E_FORMAT, "rope_scaling: expected an object"},
        {LLAMA ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2,\"mscale\":1}}",
         HPC_E_UNSUPPORTED, "mscale"},
        {LLAMA ",\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"default\"}}}",
         HPC_E_UNSUPPORTED, "separate values for each kind of layer (full_attention)"},
        {LLAMA ",\"rope_scaling\":{\"factor\":2}}", HPC_E_FORMAT, "rope_type: expected a text"},
        {LLAMA ",\"partial_rotary_factor\":0.5}", HPC_E_UNSUPPORTED, "partial_rotary_factor: 0.5"},
        {LLAMA ",\"rope_parameters\":{\"partial_rotary_factor\":0.5}}", HPC_E_UNSUPPORTED,
         "partial_rotary_factor: 0.5"},
        {LLAMA ",\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1e6},"
               "\"rope_scaling\":{\"type\":\"linear\",\"factor\":4}}",
         HPC_E_UNSUPPORTED, "rope_scaling and rope_parameters exclude each other"},
        {LLAMA ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":4,\"rope_theta\":1e6}}",
         HPC_E_UNSUPPORTED, "rope_scaling: only scaling keys"},
        {"{\"model_type\":\"llama\",\"vocab_size\":9,\"hidden_size\":64,\"num_hidden_layers\":1,"
         "\"num_attention_heads\":8,\"intermediate_size\":null}",
         HPC_E_ARG, "ffn=0"},
        {"{\"model_type\":\"gpt2\",\"vocab_size\":1,\"n_embd\":-9223372036854775808,"
         "\"n_layer\":1,\"n_head\":1}",
         HPC_E_ARG, "hidden=-9223372036854775808"},
        {"{\"architectures\":[\"MistralModel\"],\"num_key_value_heads\":8," SIZES "}",
         HPC_E_UNSUPPORTED, "architectures: a MistralModel has neither"},
        {MISTRAL ",\"layer_types\":[" LOCAL "," FULL "," LOCAL "]}", HPC_E_UNSUPPORTED,
         "layer_types: sliding_attention is not supported in some layers only"},
        {MISTRAL ",\"layer_types\":[" FULL "]}", HPC_E_FORMAT,
         "layer_types: 1 entries for 3 layers"},
        {GEMMA2 ",\"layer_types\":[" FULL "," LOCAL "," FULL "]}", HPC_E_UNSUPPORTED,
         "layer_types: layer 1: only lists in which every n-th layer differs"},
        {GEMMA2 ",\"layer_types\":[" LOCAL "," LOCAL ",\"chunked_attention\"]}", HPC_E_UNSUPPORTED,
         "layer_types: chunked_attention is not supported"},
        {GEMMA2 ",\"query_pre_attn_scalar\":0}", HPC_E_FORMAT,
         "query_pre_attn_scalar: 0 is not above 0"},
        {LLAMA ",\"attn_logit_softcapping\":30}", HPC_E_UNSUPPORTED, "attn_logit_softcapping:"},
        {"{\"model_type\":\"phi3\"," SIZES ",\"rope_scaling\":{\"type\":\"longrope\","
         "\"short_factor\":[1],\"long_factor\":[1]}}",
         HPC_E_UNSUPPORTED, "rope_scaling: type longrope is not supported"},
        {QWEN2 ",\"use_sliding_window\":true,\"max_window_layers\":1}", HPC_E_UNSUPPORTED,
         "max_window_layers: a window in some layers only (2 of 3)"},
        {"{\"model_type\":\"gpt2\",\"scale_attn_by_inverse_layer_idx\":true}", HPC_E_UNSUPPORTED,
         "scale_attn_by_inverse_layer_idx"},
        {"{\"model_type\":\"gpt2\",\"scale_attn_weights\":false}", HPC_E_UNSUPPORTED,
         "scale_attn_weights"},
        {LLAMA ",\"hpccoder\":{\"head\":\"trees\",\"classes\":2}}", HPC_E_UNSUPPORTED,
         "head trees"},
    };
    hpc_model_config c;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        test_fails(load(&c, bad[k].text), bad[k].code, bad[k].says);
}

/* ---- writing -------------------------------------------------------------------------------- */

static hpc_model_config small(const char *family)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    snprintf(c.family, sizeof c.family, "%s", family);
    c.vocab = 100;
    return c;
}

static hpc_model_config written(const hpc_model_config *c)
{
    hpc_buf text = {0};
    hpc_model_config out;
    test_ok(hpc_model_config_write(&text, c));
    test_ok(load(&out, text.data));
    hpc_buf_release(&text);
    return out;
}

/* llama.cpp's converter takes the number of positions of a GPT-2 from n_ctx alone. */
static void gpt2_is_written_with_n_ctx(void **state)
{
    (void)state;
    hpc_model_config c = small("gpt2");
    hpc_buf text = {0};
    c.position = HPC_LEARNED;
    c.norm = HPC_LAYER;
    c.positions = 96;
    c.kv_heads = c.heads;
    c.gated = false;
    c.act = HPC_GELU_TANH;
    c.tied = c.qkv_bias = c.out_bias = c.mlp_bias = true;
    test_ok(hpc_model_config_write(&text, &c));
    assert_non_null(strstr(text.data, "\"n_positions\": 96"));
    assert_non_null(strstr(text.data, "\"n_ctx\": 96"));
    hpc_buf_release(&text);
}

static void what_is_written_comes_back(void **state)
{
    (void)state;
    hpc_model_config c = small("llama"), back;
    c.rope = (hpc_rope_config){.theta = 1e6,
                               .share = 1,
                               .scaling = HPC_ROPE_YARN,
                               .factor = 4,
                               .low = 1,
                               .high = 32,
                               .original = 512,
                               .attention = 1.25};
    c.head = HPC_HEAD_PAIRS, c.classes = 3, c.dtype = HPC_BF16, c.pad = 5, c.qkv_bias = true;
    c.out_bias = true;
    back = written(&c);
    assert_true(back.head == HPC_HEAD_PAIRS && back.classes == 3 && back.dtype == HPC_BF16);
    assert_true(back.pad == 5 && back.end == -1 && back.qkv_bias && back.out_bias);
    assert_true(back.rope.original == 512 && back.rope.attention == 1.25 && back.rope.high == 32);
    c = small("mistral");
    c.head_dim = 64, c.window = 0;
    back = written(&c);
    assert_true(back.head_dim == 64 && back.window == 0);
    c = small("qwen2");
    c.qkv_bias = true, c.window = 17;
    assert_int_equal(written(&c).window, 17);
    c.head = HPC_HEAD_CLASSES, c.classes = 5;
    assert_true(written(&c).head == HPC_HEAD_CLASSES && written(&c).classes == 5);
}

static void what_a_family_cannot_say_is_named(void **state)
{
    (void)state;
    hpc_model_config c;
    hpc_buf out = {0};
#define REFUSED(family, change, text)                                                              \
    do {                                                                                           \
        c = small(family);                                                                         \
        change;                                                                                    \
        test_fails(hpc_model_config_write(&out, &c), HPC_E_UNSUPPORTED, text);                     \
    } while (0)
    REFUSED("llama", c.qkv_bias = true,
            "out-bias=0: a llama directory cannot express this value, readers would use 1");
    REFUSED("llama", c.window = 5, "window=5: a llama directory cannot express this value");
    REFUSED("llama", c.norm = HPC_LAYER, "norm=1");
    REFUSED("llama", c.gated = false, "gated=0");
    REFUSED("llama", c.rope.share = 0.5, "rope share=0.5");
    REFUSED("gpt_neox", c.kv_heads = 4; c.head_dim = 64, "head-dim=64");
    REFUSED("qwen2", c.qkv_bias = false, "qkv-bias=0");
    REFUSED("mistral", c.mlp_bias = true, "mlp-bias=1");
    REFUSED("gpt2", c.kv_heads = 4, "norm=0");
    REFUSED("gpt_neox", c.kv_heads = 2, "kv-heads=2");
#undef REFUSED
    c = small("bloom");
    test_fails(hpc_model_config_write(&out, &c), HPC_E_ARG, "unknown family=bloom");
    assert_int_equal(out.n, 0);
}

static void families_are_listed(void **state)
{
    (void)state;
    int n = 0;
    for (const char *const *name = hpc_model_families(); *name; name++, n++) {
        hpc_model_config c;
        char text[512];
        snprintf(text, sizeof text,
                 "{\"model_type\":\"%s\",\"num_key_value_heads\":8,\"n_embd\":64,\"n_layer\":1,"
                 "\"n_head\":4," SIZES ",\"rotary_pct\":1}",
                 *name);
        test_ok(load(&c, text));
        assert_string_equal(c.family, *name);
        assert_string_equal(written(&c).family, *name);
    }
    assert_int_equal(n, 18);
}

static void files_are_named(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c;
    const char *dir = ((const hpc_test_folder *)*state)->root;
    test_fails(hpc_model_config_read(&c, dir), HPC_E_IO, "/config.json: No such file");
    test_ok(hpc_file_save(hpc_test_path(path, *state, "config.json"), "{", 1));
    test_fails(hpc_model_config_read(&c, dir), HPC_E_FORMAT, "/config.json:1:");
    test_ok(hpc_file_save(path, LLAMA ",\"num_experts\":2}", strlen(LLAMA ",\"num_experts\":2}")));
    test_fails(hpc_model_config_read(&c, dir), HPC_E_UNSUPPORTED, "/config.json: num_experts:");
}

/* A file by its name; and a run's folder, with a config.json of the training options. */
static void what_else_is_named(void **state)
{
    char run[PATH_MAX], folder[PATH_MAX], path[PATH_MAX];
    hpc_model_config c;
    hpc_test_path(run, *state, "run");
    test_ok(hpc_file_mkdir(hpc_test_path(folder, *state, "run/model")));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "run/config.json"), "{\"lr\":1}", 8));
    test_fails(hpc_model_config_read(&c, run), HPC_E_FORMAT, "model_type");
    test_ok(hpc_file_save(hpc_test_path(path, *state, "run/model/config.json"), LLAMA "}",
                          strlen(LLAMA "}")));
    test_fails(hpc_model_config_read(&c, run), HPC_E_ARG, "folder of a run: use its model, ");
    test_ok(hpc_model_config_read(&c, folder));
    test_ok(hpc_model_config_read(&c, path));
    assert_int_equal(c.ffn, 96);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_said_is_as_transformers_has_it),
        cmocka_unit_test(keys_are_read_in_all_their_forms),
        cmocka_unit_test(what_cannot_be_done_is_named),
        cmocka_unit_test(gpt2_is_written_with_n_ctx),
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(what_a_family_cannot_say_is_named),
        cmocka_unit_test(families_are_listed),
        cmocka_unit_test_setup_teardown(what_else_is_named, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(files_are_named, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("model/config", tests, NULL, NULL);
}
