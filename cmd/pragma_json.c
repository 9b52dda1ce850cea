/*
 * JSON output of `hpccoder pragma`; docs/json.md describes the keys.
 */
#include "cmd/pragma.h"

static void put_brief(hpc_json_out *w, const hpc_pragma_loop *l)
{
    hpc_brief b;
    hpc_pragma_brief(&b, l);
    hpc_json_open(w, "brief", '[');
    for (int k = 0; k < b.n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "kind", b.item[k].kind);
        hpc_json_put_int(w, "line", b.item[k].line ? b.item[k].line : l->line);
        hpc_json_put_text(w, "text", b.item[k].text);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_loop(hpc_json_out *w, const hpc_pragma_loop *l, const hpc_directive_choice *note)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "line", l->line);
    hpc_json_put_int(w, "column", l->column);
    hpc_json_put_int(w, "end_line", l->end_line);
    hpc_json_put_text(w, "function", l->function);
    hpc_json_put_text(w, "verdict", hpc_loop_verdict_name(l));
    hpc_json_put_text(w, "library", l->already);
    hpc_json_put_text(w, "pragma", note->directive);
    hpc_json_put_bool(w, "put", note->put);
    hpc_json_put_text(w, "because", note->because);
    hpc_json_put_text(w, "alone", l->pragma);
    hpc_json_put_text(w, "no_threads", l->idle);
    hpc_json_put_text(w, "enough_iterations", l->least);
    hpc_json_put_text(w, "existing", l->existing);
    hpc_json_put_text(w, "existing_is", hpc_existing_name(l->existing_is));
    hpc_json_put_real(w, "confidence", l->confidence);
    if (l->likely >= 0) hpc_json_put_real(w, "likely", l->likely);
    if (l->likely >= 0) hpc_json_put_text(w, "guess", l->guess);
    hpc_json_put_int(w, "rank", note->rank);
    if (l->share > 0) hpc_json_put_real(w, "share", l->share);
    if (l->entered > 0) hpc_json_put_int(w, "entered", l->entered);
    if (l->entered > 0) hpc_json_put_int(w, "iterations", l->iterations);
    hpc_json_open(w, "assumptions", '[');
    for (int64_t k = 0; k < l->assumptions_n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "text", l->assumption[k].text);
        hpc_json_put_text(w, "check", l->assumption[k].check);
        hpc_json_put_text(w, "code", l->assumption[k].code);
        hpc_json_put_bool(w, "trusted", l->assumption[k].trusted > 0);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_put_text(w, "edit", l->edit);
    put_brief(w, l);
    hpc_json_open(w, "evidence", '[');
    for (int64_t k = 0; k < l->evidence_n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "kind", l->evidence[k].kind);
        hpc_json_put_int(w, "line", l->evidence[k].line ? l->evidence[k].line : l->line);
        hpc_json_put_text(w, "text", l->evidence[k].text);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

void pragma_put_json(hpc_json_out *w, const pragma_file *f)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "file", f->d.path);
    hpc_json_put_text(w, "language", hpc_language_name(f->d.language));
    hpc_json_put_text(w, "failed", f->failed);
    hpc_json_put_int(w, "errors", f->d.errors);
    hpc_json_put_text(w, "error", f->d.error);
    hpc_json_put_text(w, "missing", f->d.missing[0] ? f->d.missing : NULL);
    hpc_json_open(w, "loops", '[');
    for (int64_t i = 0; i < f->d.loops.n; i++) put_loop(w, &f->d.loops.item[i], &f->d.choice[i]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}
