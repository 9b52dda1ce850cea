/*
 * priv.h: what the files of this folder share: a unit, and the walk that makes a tree of its parse
 * tree.
 *
 * Every variable that is neither a pointer nor a target is an object of its own, because Fortran
 * forbids its aliases. Locals have HPC_SYMBOL_LOCAL; dummy arguments, variables of modules and of
 * common blocks, and saved variables outlive the loop and are INTERNAL. Targets are neither, and
 * dummies that are targets are pointers or references. An array is nested arrays of unknown
 * extents, the last subscript first, so subscripts keep their values.
 */
#ifndef HPC_SOURCE_FLANG_PRIV_H
#define HPC_SOURCE_FLANG_PRIV_H

#include "runtime/source/flang/extent.h"
#include "runtime/source/flang/library.h"

namespace hpc_flang {

/* Byte of the file for a character of flang's text. False: it is not in the file itself, and *at
 * is where the file includes it. */
bool offset_of(uint32_t *at, const Parse &p, const char *character);

/* ---- units with errors (units.cc) ---- */
/* Blanks the program units with the issues of a parse of `text`. False: an issue lies elsewhere, or
 * the parse has none. */
bool blank_units(std::string &text, const Parse &p);

/* ---- stubs (stubs.cc) ---- */
/* "": there is no stub of this name. */
std::string stub_module(const std::string &name);
std::string stub_include(const std::string &name); /* in a form that is free and fixed */
int stub_file(const std::string &text);            /* a descriptor, to be read once; -1 */

/* ---- tables of the tree (table.cc) ---- */
/* Why a call of a procedure is not analysed; in this file at a line, or 0. */
struct Reason {
    std::string text; /* "": its body is not known */
    uint32_t line = 0;
};

/* Functions of the tree that stand for a subscript: some elements, and all of a dimension. */
constexpr char some_elements[]{"section"}, all_elements[]{HPC_TREE_ALL_ELEMENTS};

struct Table {
    std::vector<hpc_clang_node> node;
    std::vector<int64_t> value;
    std::vector<hpc_tree_type> type;
    std::vector<hpc_symbol> symbol;
    std::string name = std::string(1, '\0');
    std::map<std::string, uint32_t> names;
    std::map<const semantics::Symbol *, int32_t> symbols;
    std::vector<bool> outside; /* by symbol: a variable that a pure procedure may read by itself */
    std::map<std::string, int32_t> functions; /* intrinsic and synthetic ones */
    std::map<int32_t, int32_t> impures;       /* copies of pure procedures */
    std::map<std::tuple<int32_t, std::string, uint32_t>, int32_t> refusals; /* and with reasons */
    std::map<int32_t, const semantics::Symbol *> source;                    /* of variables */
    std::map<int32_t, std::set<int32_t>> reads; /* of `called`: scalars from outside */

    uint32_t intern(const std::string &text);
    int32_t intern(const hpc_tree_type &t);
    int32_t scalar(const evaluate::DynamicType &t);
    int32_t bare(const semantics::Symbol &s); /* the type of an element */
    int32_t array(int32_t element, int rank);
    int32_t pointer(int32_t to);
    int32_t object(const semantics::Symbol &s); /* the type of the variable */
    int32_t variable(const semantics::Symbol &s, const semantics::Scope &unit);
    int32_t field(const semantics::Symbol &s);
    int32_t procedure(const semantics::Symbol &s);
    int32_t impure(int32_t procedure); /* a copy of its symbol that is not pure */
    /* A copy of its symbol with the reason why a call is not analysed; itself: without a reason. */
    int32_t refused(int32_t procedure, const Reason &why);
    int32_t function(const std::string &name, uint32_t flags);
    /* A procedure whose effects stand next to its call: a function of its arguments. */
    int32_t called(const semantics::Symbol &s, const std::set<int32_t> &scalars);
    void share(const semantics::Symbol &s); /* it may be used out of sight */
};

/* A variable whose accesses the tree cannot express. */
bool is_opaque(const semantics::Symbol &s);
/* Its value is the address of an object: a pointer, or an array dummy that is a target. */
bool is_address(const semantics::Symbol &s);

/* ---- parts of arrays (extent.cc) ---- */
/* The variable or component that a name or a component reference stands for; nullptr: other. */
const semantics::Symbol *component_of(const parser::DataRef &d);
/* True if a triplet stands for all elements of a dimension. */
bool is_whole(const parser::SubscriptTriplet &x, const Dimension &d);

/* Subscripts of an argument that stand for all elements of their dimension: the first `dims` ones,
 * or all and those of its base. */
struct Spread {
    enum { ALL = INT32_MAX };
    int dims = 0;
    bool whole = false; /* each of these elements is written */
};

/* ---- effects of procedures (effect.cc) ---- */
struct Body {
    const parser::Block *block;
    const semantics::Scope *scope;
    parser::CharBlock first;
    std::vector<const semantics::Symbol *> dummies; /* nullptr: an alternate return */
};

/* A part of a variable from outside: its name, then members, subscripts and dereferences. */
struct Access {
    enum { ANY = -1 };
    struct Step {
        uint8_t kind, op;
        int32_t type, symbol;
        int subscript; /* the dummy whose value it is, or ANY */
        bool operator==(const Step &x) const
        {
            return kind == x.kind && type == x.type && symbol == x.symbol &&
                   subscript == x.subscript;
        }
    };
    int32_t root = -1, type = -1;
    std::vector<Step> step;
    bool operator==(const Access &x) const { return root == x.root && step == x.step; }
};

struct Effect {
    struct Argument {
        bool read = false, write = false;
        bool kill = false;  /* each call assigns it before it reads it */
        int64_t filled = 0; /* of an array: elements that each call assigns so, the first ones */
    };
    enum State { BUSY, KNOWN, UNKNOWN } state = BUSY;
    std::vector<Argument> argument;    /* by dummy */
    std::vector<Access> reads, writes; /* of variables from outside */
    std::set<int32_t> scalars;         /* from outside, that are read */
    Reason why;                        /* UNKNOWN */
};

using Arguments = std::list<parser::ActualArgSpec>;
using Actuals = std::vector<const parser::ActualArgSpec *>; /* by dummy; nullptr: absent */
inline const parser::Expr &value_of(const parser::ActualArgSpec &a)
{
    return std::get<common::Indirection<parser::Expr>>(std::get<parser::ActualArg>(a.t).u).value();
}

inline const parser::Name &name_of(const parser::SubroutineStmt &s)
{
    return std::get<parser::Name>(s.t);
}
inline const parser::Name &name_of(const parser::FunctionStmt &s)
{
    return std::get<parser::Name>(s.t);
}
inline const parser::Name &name_of(const parser::MpSubprogramStmt &s)
{
    return s.v;
}

/* ---- the walk ---- */
struct Loop {
    const parser::Name *name;          /* of the construct, or nullptr */
    const semantics::Symbol *variable; /* or nullptr */
    std::uint64_t last;                /* the label of the CONTINUE that ends its body; 0: none */
};

class Walk {
  public:
    Walk(Table &table, Parse &parse) : t{table}, p{parse} {}
    void program();
    bool has_errors = false;

  private:
    Table &t;
    Parse &p;
    const semantics::Scope *unit = nullptr;
    std::vector<Loop> loops;
    int depth = 0;
    std::set<const semantics::Symbol *> commons; /* members of common blocks that the unit names */
    bool jumps = false;                          /* the unit has an ENTRY or an alternate return */
    bool lost = false; /* the unit has a construct that is not in the tree */
    struct Kept {      /* of a unit, while the body of a procedure that it calls is walked */
        const semantics::Scope *unit;
        std::vector<Loop> loops;
        std::set<const semantics::Symbol *> commons;
        int depth;
        bool jumps, lost;
    };
    std::map<const semantics::Symbol *, Body> bodies;
    std::map<std::string, const semantics::Symbol *> externals; /* those with a body */
    std::map<const semantics::Symbol *, Effect> effects;
    int nested = 0;

    /* nodes (walk.cc) */
    int32_t begin(hpc_tree_kind kind, parser::CharBlock where, int op = 0, int32_t type = -1,
                  int32_t symbol = -1);
    void end(int32_t node)
    {
        t.node[node].end = (int32_t)t.node.size();
        depth--;
    }
    void leaf(hpc_tree_kind kind, parser::CharBlock where, int op = 0)
    {
        end(begin(kind, where, op));
    }
    void nothing(parser::CharBlock where) { leaf(HPC_TREE_NOTHING, where); }
    void number(parser::CharBlock where, int64_t value, int32_t type);
    void cover(int32_t node, parser::CharBlock last);
    /* Code that is not understood, with the variables that it names; `shared`: it may keep their
     * addresses. */
    void other(parser::CharBlock where, bool shared = false);
    void names_in(parser::CharBlock where, bool shared);
    int32_t integer() { return t.intern(hpc_tree_type{HPC_TYPE_INTEGER, 0, -1, 0, 4, 0}); }

    /* units and statements (statement.cc) */
    void distrust_pure(int32_t from);
    void mark_threadprivate();
    void main_program(const parser::MainProgram &m);
    template <typename Subprogram> void subprogram(const Subprogram &s);
    void function(const semantics::Symbol *symbol, const semantics::Scope *scope,
                  parser::CharBlock first, parser::CharBlock last, const parser::Block &body);
    void internal(const std::optional<parser::InternalSubprogramPart> &part);
    void module_part(const std::optional<parser::ModuleSubprogramPart> &part);
    void block(const parser::Block &b, parser::CharBlock where);
    void construct(const parser::ExecutionPartConstruct &c);
    void action(const parser::ActionStmt &a, parser::CharBlock where);
    void do_construct(const parser::DoConstruct &d);
    void head(const parser::Name &name, const parser::Expr &lower, const parser::Expr &upper,
              const parser::Expr *step);
    void concurrent(const parser::LoopControl::Concurrent &c, const parser::DoConstruct &d);
    void if_construct(const parser::IfConstruct &c);
    void case_construct(const parser::CaseConstruct &c);
    void where_construct(const parser::WhereConstruct &c);
    void where_body(const parser::WhereBodyConstruct &c);
    void where_bodies(const std::list<parser::WhereBodyConstruct> &l, parser::CharBlock where);
    void assignment(const parser::AssignmentStmt &a, parser::CharBlock where);
    void pointer_assignment(const parser::PointerAssignmentStmt &a, parser::CharBlock where);
    bool ends_iteration(const parser::ActionStmt &a) const;
    void jump(const std::optional<parser::Name> &name, hpc_tree_kind kind, parser::CharBlock where);
    void call(const parser::CallStmt &c, parser::CharBlock where);

    /* calls by their effects (effect.cc) */
    void find_bodies();
    template <typename Subprogram> void add_body(const Subprogram &s);
    template <typename Part> void add_body_of(const Part &part);
    Effect effect_of(const semantics::Symbol &s);
    const semantics::Symbol &called(const semantics::Symbol &s) const;
    void access(const Access &a, const Actuals &actuals, parser::CharBlock where);
    template <typename Write> void written(parser::CharBlock where, bool sure, const Write &write);
    int32_t reads(const semantics::Symbol &s, const Effect &e, const Actuals &actuals,
                  const std::vector<const semantics::Symbol *> &dummies, parser::CharBlock where,
                  int32_t type);
    /* The subscripts of an argument that the elements of the dummy run through. */
    Spread spread_of(const Actuals &actuals, const std::vector<const semantics::Symbol *> &dummies,
                     size_t k, int64_t filled);
    bool fills(const parser::ActualArgSpec &a, const semantics::Symbol &dummy, int64_t filled);
    /* False: its effects are not known, and nothing was added. */
    bool lower(Reason &why, const semantics::Symbol &symbol, const Arguments &arguments,
               parser::CharBlock where, int32_t type, bool is_function);
    uint32_t line_of(const hpc_clang_node &n) const; /* 0: in another file */
    bool take_names(Effect &e);                      /* of the unit, for storage of common blocks */
    void distrust_called(int32_t from);

    /* common blocks (common.cc) */
    /* False: the unit names this storage by another variable, and the tree would hold the two for
     * disjoint. Else the name counts from here on. */
    bool names_storage(const semantics::Symbol &s);
    /* The variable by which the unit names what a called procedure names; -1: absent. */
    int32_t own_name(int32_t variable);

    /* expressions (expression.cc) */
    void expr(const parser::Expr &e);
    void constructor(const parser::StructureConstructor &c, const parser::Expr &whole);
    void value(const parser::Expr &e); /* an integer constant as NUMBER */
    void unary(const parser::Expr &whole, int op, const parser::Expr &e);
    void binary(const parser::Expr &whole, int op, const parser::Expr &a, const parser::Expr &b);
    void designator(const parser::Designator &d, Spread spread = {});
    int32_t data_ref(const parser::DataRef &d, parser::CharBlock where, bool whole, Spread spread);
    int32_t name_ref(const parser::Name &n, bool whole);
    int32_t subscripts(const parser::ArrayElement &a, parser::CharBlock where, Spread spread);
    void subscript(const parser::SectionSubscript &s, const Dimension &d, parser::CharBlock where);
    int32_t sections(size_t at, int32_t type, const semantics::Symbol &s, parser::CharBlock where);
    int32_t dereference(size_t at, int32_t type, parser::CharBlock where);
    int32_t wrap(size_t at, hpc_tree_kind kind, parser::CharBlock where, int op, int32_t type,
                 int32_t symbol = -1);
    void opaque(const char *name, parser::CharBlock where);
    void function_reference(const parser::FunctionReference &f, const parser::Expr &whole);
    bool intrinsic(const parser::Call &c, const std::string &name, const parser::Expr &whole);
    void argument(const parser::ActualArgSpec &a, bool by_reference, Spread spread);
    int32_t type_of(const parser::Expr &e);
    bool is_loop_variable(const parser::Designator &d) const;
};

} // namespace hpc_flang
#endif
