/*
 * grammar_form.c: table of the argument forms of OpenMP's directives and clauses.
 */
#include "infer/engine/grammar_openmp.h"

#define WORDS(list)                                                                                \
    {                                                                                              \
        (list), sizeof(list) / sizeof *(list)                                                      \
    }

/* ---- words, sorted --------------------------------------------------------------------------- */

enum {
    BEFORE = WORD_BEFORE,
    LAST = WORD_LAST,
    EITHER = WORD_BEFORE | WORD_LAST,
    CALL = WORD_ARGUMENT,
    TAIL = WORD_ARGUMENT
};

static const openmp_word affinity[] = {{"iterator", LAST | CALL}};
static const openmp_word allocate[] = {{"align", EITHER | CALL}, {"allocator", EITHER | CALL}};
static const openmp_word at[] = {{"compilation", 0}, {"execution", 0}};
static const openmp_word bind[] = {{"parallel", 0}, {"teams", 0}, {"thread", 0}};
static const openmp_word categories[] = {
    {"aggregate", 0}, {"all", 0}, {"pointer", 0}, {"scalar", 0}};
static const openmp_word concurrent[] = {{"concurrent", 0}};
static const openmp_word conditional[] = {{"conditional", LAST}};
static const openmp_word defaultmap[] = {{"alloc", TAIL}, {"default", TAIL}, {"firstprivate", TAIL},
                                         {"from", TAIL},  {"none", TAIL},    {"present", TAIL},
                                         {"to", TAIL},    {"tofrom", TAIL}};
static const openmp_word depend[] = {{"depobj", LAST},
                                     {"in", LAST},
                                     {"inout", LAST},
                                     {"inoutset", LAST},
                                     {"iterator", BEFORE | CALL},
                                     {"mutexinoutset", LAST},
                                     {"out", LAST},
                                     {"sink", LAST | WORD_VECTOR},
                                     {"source", WORD_ALONE}};
static const openmp_word device[] = {{"ancestor", LAST}, {"device_num", LAST}};
static const openmp_word device_type[] = {{"any", 0}, {"host", 0}, {"nohost", 0}};
static const openmp_word doacross[] = {{"sink", LAST | WORD_VECTOR},
                                       {"source", LAST | WORD_VECTOR | WORD_EMPTY}};
static const openmp_word linear[] = {{"ref", LAST | CALL | WORD_ALONE | WORD_VECTOR},
                                     {"uval", LAST | CALL | WORD_ALONE | WORD_VECTOR},
                                     {"val", LAST | CALL | WORD_ALONE | WORD_VECTOR}};
static const openmp_word map[] = {{"alloc", LAST},
                                  {"always", BEFORE},
                                  {"close", BEFORE},
                                  {"delete", LAST},
                                  {"from", LAST},
                                  {"iterator", BEFORE | CALL},
                                  {"mapper", BEFORE | CALL},
                                  {"present", BEFORE},
                                  {"release", LAST},
                                  {"to", LAST},
                                  {"tofrom", LAST}};
static const openmp_word memory_order[] = {
    {"acq_rel", 0}, {"acquire", 0}, {"relaxed", 0}, {"release", 0}, {"seq_cst", 0}};
static const openmp_word motion[] = {
    {"iterator", EITHER | CALL}, {"mapper", EITHER | CALL}, {"present", EITHER}};
static const openmp_word named[] = {
    {"cancel", LAST},           {"parallel", LAST},      {"simd", LAST},
    {"target", LAST},           {"target data", LAST},   {"target enter data", LAST},
    {"target exit data", LAST}, {"target update", LAST}, {"task", LAST},
    {"taskloop", LAST},         {"teams", LAST}};
static const openmp_word order[] = {{"reproducible", LAST}, {"unconstrained", LAST}};
static const openmp_word proc_bind[] = {{"close", 0}, {"master", 0}, {"primary", 0}, {"spread", 0}};
static const openmp_word operators[] = {{"&", LAST}, {"&&", LAST}, {"*", LAST},   {"+", LAST},
                                        {"-", LAST}, {"^", LAST},  {"max", LAST}, {"min", LAST},
                                        {"|", LAST}, {"||", LAST}};
static const openmp_word reduction[] = {
    {"&", LAST},      {"&&", LAST},        {"*", LAST},        {"+", LAST},   {"-", LAST},
    {"^", LAST},      {"default", BEFORE}, {"inscan", BEFORE}, {"max", LAST}, {"min", LAST},
    {"task", BEFORE}, {"|", LAST},         {"||", LAST}};
static const openmp_word schedule[] = {
    {"auto", 0}, {"dynamic", TAIL}, {"guided", TAIL}, {"runtime", 0}, {"static", TAIL}};
static const openmp_word schedule_head[] = {
    {"monotonic", EITHER}, {"nonmonotonic", EITHER}, {"simd", EITHER}};
static const openmp_word severity[] = {{"fatal", 0}, {"warning", 0}};
static const openmp_word sharing[] = {
    {"firstprivate", 0}, {"none", 0}, {"private", 0}, {"shared", 0}};
static const openmp_word statically[] = {{"static", TAIL}};
static const openmp_word strict[] = {{"strict", LAST}};
static const openmp_word updates[] = {
    {"in", 0}, {"inout", 0}, {"inoutset", 0}, {"mutexinoutset", 0}, {"out", 0}};

/* ---- forms ----------------------------------------------------------------------------------- */

const openmp_form openmp_forms[] = {
    [OPENMP_AFFINITY] = {.head = WORDS(affinity), .body = BODY_PLACES},
    [OPENMP_ALIGNED] = {.body = BODY_NAMES, .tail = BODY_EXPRESSION},
    [OPENMP_ALLOCATE] = {.head = WORDS(allocate), .head_any = true, .body = BODY_NAMES},
    [OPENMP_ANYTHING] = {.body = BODY_ANYTHING},
    [OPENMP_AT] = {.body = BODY_CHOICE, .words = WORDS(at)},
    [OPENMP_BIND] = {.body = BODY_CHOICE, .words = WORDS(bind)},
    [OPENMP_COMBINER] = {.head = WORDS(operators),
                         .head_must = true,
                         .head_any = true,
                         .body = BODY_ANYTHING},
    [OPENMP_DEFAULT] = {.body = BODY_CHOICE, .words = WORDS(sharing)},
    [OPENMP_DEFAULTMAP] = {.body = BODY_CHOICE,
                           .words = WORDS(defaultmap),
                           .tail = BODY_CHOICE,
                           .tail_words = WORDS(categories)},
    [OPENMP_DEPEND] = {.head = WORDS(depend), .head_must = true, .body = BODY_PLACES},
    [OPENMP_DEPOBJ_UPDATE] = {.body = BODY_CHOICE, .words = WORDS(updates)},
    [OPENMP_DEVICE] = {.head = WORDS(device), .body = BODY_EXPRESSION},
    [OPENMP_DEVICE_TYPE] = {.body = BODY_CHOICE, .words = WORDS(device_type)},
    [OPENMP_DIST_SCHEDULE] = {.body = BODY_CHOICE,
                              .words = WORDS(statically),
                              .tail = BODY_EXPRESSION,
                              .tail_comma = true},
    [OPENMP_DOACROSS] = {.head = WORDS(doacross), .head_must = true, .body = BODY_EXPRESSIONS},
    [OPENMP_EXPRESSION] = {.body = BODY_EXPRESSION},
    [OPENMP_EXPRESSIONS] = {.body = BODY_EXPRESSIONS},
    [OPENMP_EXPRESSION_MAY] = {.body = BODY_EXPRESSION, .optional = true},
    [OPENMP_IF] = {.head = WORDS(named), .head_named = true, .body = BODY_EXPRESSION},
    [OPENMP_LASTPRIVATE] = {.head = WORDS(conditional), .body = BODY_NAMES},
    [OPENMP_LINEAR] = {.head = WORDS(linear), .body = BODY_NAMES, .tail = BODY_EXPRESSIONS},
    [OPENMP_MAP] = {.head = WORDS(map), .body = BODY_PLACES},
    [OPENMP_MEMORY_ORDER] = {.body = BODY_CHOICE, .words = WORDS(memory_order)},
    [OPENMP_MOTION] = {.head = WORDS(motion), .body = BODY_PLACES},
    [OPENMP_NAME] = {.body = BODY_NAMES, .single = true},
    [OPENMP_NAMES] = {.body = BODY_NAMES},
    [OPENMP_NAMES_MAY] = {.body = BODY_NAMES, .optional = true},
    [OPENMP_NAME_MAY] = {.body = BODY_NAMES, .single = true, .made_up = true, .optional = true},
    [OPENMP_NUM_TEAMS] = {.body = BODY_EXPRESSION, .tail = BODY_EXPRESSION},
    [OPENMP_ORDER] = {.head = WORDS(order), .body = BODY_CHOICE, .words = WORDS(concurrent)},
    [OPENMP_PLACE] = {.body = BODY_PLACES, .single = true},
    [OPENMP_PLACES] = {.body = BODY_PLACES},
    [OPENMP_PROC_BIND] = {.body = BODY_CHOICE, .words = WORDS(proc_bind)},
    [OPENMP_REDUCED] = {.head = WORDS(operators),
                        .head_must = true,
                        .head_any = true,
                        .body = BODY_PLACES},
    [OPENMP_REDUCTION] = {.head = WORDS(reduction),
                          .head_must = true,
                          .head_any = true,
                          .body = BODY_PLACES},
    [OPENMP_SCHEDULE] = {.head = WORDS(schedule_head),
                         .body = BODY_CHOICE,
                         .words = WORDS(schedule),
                         .tail = BODY_EXPRESSION,
                         .tail_comma = true},
    [OPENMP_SEVERITY] = {.body = BODY_CHOICE, .words = WORDS(severity)},
    [OPENMP_STRICT] = {.head = WORDS(strict), .body = BODY_EXPRESSION},
};
