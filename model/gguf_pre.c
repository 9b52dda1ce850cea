/*
 * gguf_pre.c: the table of llama.cpp's pre-tokenizer names and their steps in a tokenizer.json,
 * for reading and writing.
 *
 * Patterns are those in the tokenizer.json of the first family. llama.cpp spells some differently,
 * with the same effect on ASCII.
 */
#include <string.h>

#include "model/priv.h"

#define CASES "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define LINES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define REST  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" LINES
#define GPT2  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define EAST  "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"
/* Letters that have a case, of an older Unicode. */
#define CASED                                                                                      \
    "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF"   \
    "\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1"           \
    "\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD"  \
    "\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D"  \
    "\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4"          \
    "\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC"         \
    "\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128"     \
    "\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B"    \
    "\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787"   \
    "\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A"               \
    "\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2"         \
    "\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943"

/* clang-format off */
#define SPLIT(pattern) {HPC_STEP_SPLIT, pattern}
#define DIGITS {HPC_STEP_DIGITS, NULL}
#define LLM_STEPS \
    SPLIT("[\r\n]"), SPLIT("\\s?[" CASED "]+"), \
    SPLIT("\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+"), \
    SPLIT("\\s+$"), SPLIT(EAST)
#define ALL_WORDS {HPC_STEP_WORDS, NULL}
#define BYTES {HPC_STEP_BYTES, NULL}
/* clang-format on */

/* The first name of a row is written. If a name occurs in two rows, the first row is read. */
static const model_pre known[] = {
    {.names = {"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4",
               "mellum", "gigachat", "a.x-4.0"},
     .step = {ALL_WORDS}},
    {.names = {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b",
               "mellum2"},
     .step = {DIGITS, ALL_WORDS}},
    {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
               "lfm2"},
     .step = {SPLIT(CASES "|" WORDS "|\\p{N}{1,3}|" REST), BYTES},
     .whole_words = true,
     .begins = true},
    {.names = {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"},
     .step = {SPLIT(CASES "|" WORDS "|\\p{N}{1,3}|" REST), BYTES}},
    {.names = {"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "solar-open", "kormo",
               "grok-2"},
     .step = {SPLIT(CASES "|" WORDS "|\\p{N}|" REST), BYTES}},
    {.names = {"qwen35"},
     .step = {SPLIT(CASES "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
                          " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" LINES),
              BYTES}},
    {.names = {"deepseek-coder"},
     .step = {SPLIT("[\r\n]"), SPLIT("\\s?\\p{L}+"), SPLIT("\\s?\\p{P}+"), SPLIT(EAST), DIGITS,
              BYTES}},
    {.names = {"deepseek-llm"}, /* as llama.cpp has it, */
     .step = {LLM_STEPS, SPLIT("\\p{N}+"), BYTES}},
    {.names = {"deepseek-llm"}, /* and as DeepSeek's file: no piece of theirs has two digits */
     .step = {LLM_STEPS, DIGITS, BYTES}},
    {.names = {"deepseek-v3", "hunyuan-dense", "joyai-llm"},
     .step = {SPLIT("\\p{N}{1,3}"), SPLIT("[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+"),
              SPLIT("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
                    "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
                    "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"),
              BYTES}},
    {.names = {"gpt-4o", "llama4", "kanana2", "minimax-m2"},
     .step = {SPLIT("[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CASES "?|"
                    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" CASES "?|"
                    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" LINES),
              BYTES}},
    {.names = {"tekken"},
     .step = {SPLIT("[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+|"
                    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*|"
                    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" LINES),
              BYTES},
     .whole_words = true,
     .begins = true},
    {.names = {"seed-coder"},
     .step = {SPLIT(CASES "|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|"
                          "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"),
              BYTES}},
    {.names = {"falcon"},
     .step = {SPLIT("[\\p{P}\\$\\+<=>\\^~\\|`]+"), SPLIT(GPT2), SPLIT("[0-9][0-9][0-9]"), BYTES}},
    {.names = {"default"}, /* llama.cpp's own, also where there is no name */
     .step = {SPLIT("[\\p{P}\\$\\+<=>\\^~\\|]+"), SPLIT(GPT2), SPLIT("\\p{N}+"),
              SPLIT("[0-9][0-9][0-9]"), BYTES}},
};
enum { KNOWN = sizeof known / sizeof *known };

const model_pre *model_pre_find(const char *name)
{
    for (int k = 0; k < KNOWN; k++)
        for (const char *const *is = known[k].names; *is; is++)
            if (strcmp(*is, name) == 0) return &known[k];
    return NULL;
}

/* ---- out of a tokenizer.json ---------------------------------------------------------------- */

bool model_json_flag(const hpc_json *object, const char *key, bool absent)
{
    const hpc_json *v = hpc_json_get(object, key);
    bool is = absent;
    return hpc_json_kind_of(v) == HPC_JSON_BOOL && hpc_json_bool(&is, v, key) >= 0 ? is : absent;
}

const char *model_json_word(const hpc_json *object, const char *key)
{
    const hpc_json *v = hpc_json_get(object, key);
    const char *text = "";
    return hpc_json_kind_of(v) == HPC_JSON_TEXT && hpc_json_text(&text, v, key) >= 0 ? text : "";
}

static bool is_step(const hpc_json *v, const hpc_tokenizer_step *s)
{
    const char *type = model_json_word(v, "type");
    if (model_json_flag(v, "add_prefix_space", false) || model_json_flag(v, "invert", false))
        return false;
    switch (s->kind) {
    case HPC_STEP_SPLIT:
        return strcmp(type, "Split") == 0 &&
               strcmp(model_json_word(v, "behavior"), "Isolated") == 0 &&
               strcmp(model_json_word(hpc_json_get(v, "pattern"), "Regex"), s->regex) == 0;
    case HPC_STEP_DIGITS:
        return strcmp(type, "Digits") == 0 && model_json_flag(v, "individual_digits", false);
    default:
        return strcmp(type, "ByteLevel") == 0 &&
               model_json_flag(v, "use_regex", true) == (s->kind == HPC_STEP_WORDS);
    }
}

static bool does(const model_pre *p, const hpc_json *pre, bool whole_words)
{
    const hpc_json *list = hpc_json_get(pre, "pretokenizers");
    int64_t n = list ? hpc_json_n(list) : 1, k = 0;
    for (; k < n && p->step[k].kind != HPC_STEP_END; k++)
        if (!is_step(list ? hpc_json_at(list, k) : pre, &p->step[k])) return false;
    return k == n && p->step[k].kind == HPC_STEP_END && p->whole_words == whole_words;
}

const char *model_pre_name(const hpc_json *tokenizer)
{
    const hpc_json *pre = hpc_json_get(tokenizer, "pre_tokenizer");
    bool whole = model_json_flag(hpc_json_get(tokenizer, "model"), "ignore_merges", false);
    for (int k = 0; pre && k < KNOWN; k++)
        if (does(&known[k], pre, whole)) return known[k].names[0];
    return NULL;
}
