/*
 * The tables of a training report: allocation.
 */
#include "train/report/report.h"

int report_table_make(report_table *t, hpc_arena *a, int64_t rows, int64_t columns)
{
    t->head = hpc_arena_alloc(a, (size_t)columns, sizeof *t->head);
    t->number = hpc_arena_alloc(a, (size_t)columns, sizeof *t->number);
    t->cell = hpc_arena_alloc(a, (size_t)(rows * columns), sizeof *t->cell);
    t->best = hpc_arena_alloc(a, (size_t)(rows * columns), sizeof *t->best);
    t->rows = rows;
    t->columns = columns;
    return t->head && t->number && t->cell && t->best ? HPC_OK : HPC_E_NOMEM;
}
