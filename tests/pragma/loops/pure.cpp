/*
 * pure.cpp: calls of functions with __attribute__((pure)), which may read any variable of the
 * program, and of functions that call each other. Labels: README.md.
 */
double weights[1000], shared_table[1000];
int state;
static int depth;

__attribute__((pure)) double looked_up(int i);
__attribute__((pure)) double of_rows(double *const *row, int i);
__attribute__((const)) double weight(int i);

__attribute__((pure)) double own_table(int i)
{
    return weights[i];
}

static double around(int i)
{
    return looked_up(i - 1) + looked_up(i + 1);
}

struct field {
    double *cell;
    double part[100];
    __attribute__((pure)) double mean(int i) const;
};

void pure_writes_global(int n)
{
    // loop pure_writes_global: if distinct(looked_up, shared_table)
    for (int i = 1; i < n; i++) shared_table[i] = looked_up(i - 1);
}

void pure_indirectly(int n)
{
    // loop pure_indirectly: if distinct(looked_up, shared_table)
    for (int i = 1; i < n; i++) shared_table[i] = around(i);
}

void pure_writes_argument(int n, double *b)
{
    // loop pure_writes_argument: if distinct(looked_up, b)
    for (int i = 1; i < n; i++) b[i] = looked_up(i - 1);
}

void pure_writes_restrict(int n, double *__restrict b)
{
    // loop pure_writes_restrict: safe
    for (int i = 1; i < n; i++) b[i] = looked_up(i - 1);
}

double pure_sums(int n)
{
    double s = 0;
    // loop pure_sums: safe reduction(+:s)
    for (int i = 0; i < n; i++) s += looked_up(i);
    return s;
}

void pure_reads_state(int n, double *__restrict b)
{
    // loop pure_reads_state: unknown looked_up may read state
    for (int i = 0; i < n; i++) {
        state = i;
        b[i] = looked_up(i);
    }
}

void pure_reads_counter(int n, double *__restrict b)
{
    // loop pure_reads_counter: unknown looked_up may read state
    for (state = 0; state < n; state++) b[state] = looked_up(state);
}

void pure_with_body(int n)
{
    // loop pure_with_body: carried 1 1 the body reads the previous entry
    for (int i = 1; i < n; i++) weights[i] = own_table(i - 1);
}

void pure_with_body_elsewhere(int n)
{
    // loop pure_with_body_elsewhere: safe
    for (int i = 1; i < n; i++) shared_table[i] = own_table(i - 1);
}

void const_writes_global(int n)
{
    // loop const_writes_global: safe
    for (int i = 1; i < n; i++) shared_table[i] = weight(i - 1);
}

void pure_method(field &f, int n)
{
    // loop pure_method: unknown mean may read other cells
    for (int i = 1; i < n; i++) f.part[i] = f.mean(i - 1);
}

void pure_method_behind(field &f, int n)
{
    // loop pure_method_behind: if distinct(mean, cell)
    for (int i = 1; i < n; i++) f.cell[i] = f.mean(i - 1);
}

void pure_rows(int n, double *const *row, double *b)
{
    // loop pure_rows: if distinct(of_rows, b)
    for (int i = 1; i < n; i++) b[i] = of_rows(row, i - 1);
}

static int even(int n);
static int odd(int n)
{
    depth++;
    return n > 0 && even(n - 1);
}

static int even(int n)
{
    return n == 0 || odd(n - 1);
}

void calls_each_other(int n, int *__restrict a)
{
    // loop calls_each_other: carried order both change depth
    for (int i = 0; i < n; i++) a[i] = odd(i);
}

void calls_the_other(int n, int *__restrict a)
{
    // loop calls_the_other: carried order both change depth
    for (int i = 0; i < n; i++) a[i] = even(i);
}
