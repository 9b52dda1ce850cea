/*
 * private.c: scratch arrays that each iteration assigns, wholly or not, and variables of threads.
 * Labels: README.md.
 */

void diagonal_only(int n, int w[4][4], int *restrict out)
{
    // loop diagonal_only.i: carried +6 +5 only w[j][j] is assigned before w[1][2] is read
    for (int i = 0; i < n; i++) {
        // loop diagonal_only.j: safe
        for (int j = 0; j < 4; j++) {
            w[j][j] = i;
        }
        out[i] = w[1][2];
        w[1][2] = i;
    }
}

void rows_that_may_be_none(int n, const int *restrict rows, int *restrict out)
{
    int w[4] = {0};
    // loop rows_that_may_be_none.i: carried +6 +9 w is not assigned where rows[i] is 0
    for (int i = 0; i < n; i++) {
        // loop rows_that_may_be_none.k: carried +4 +4 w is left open where rows[i] is 0
        for (int k = 0; k < rows[i]; k++) {
            // loop rows_that_may_be_none.j: safe
            for (int j = 0; j < 4; j++) {
                w[j] = i + j;
            }
        }
        out[i] = w[3];
    }
}

void rows_that_are_some(int n, int *restrict out)
{
    int w[4];
    // loop rows_that_are_some.i: safe private(w)
    for (int i = 0; i < n; i++) {
        // loop rows_that_are_some.k: safe lastprivate(w)
        for (int k = 0; k < 3; k++) {
            // loop rows_that_are_some.j: safe
            for (int j = 0; j < 4; j++) {
                w[j] = i + j + k;
            }
        }
        out[i] = w[3];
    }
}

static _Thread_local int offset_of_thread;

static int offset(void)
{
    return offset_of_thread;
}

static int offset_and(int x)
{
    return offset() + x;
}

void calls_thread_local(int n, int *a)
{
    offset_of_thread = 7;
    // loop calls_thread_local: unknown other threads have offsets of their own
    for (int i = 0; i < n; i++) {
        a[i] = offset() + i;
    }
    // loop calls_thread_local.deep: unknown
    for (int i = 0; i < n; i++) {
        a[i] += offset_and(i);
    }
}

void calls_thread_local_before(int n, int *a)
{
    const int first = offset();
    // loop calls_thread_local_before: safe
    for (int i = 0; i < n; i++) {
        a[i] = first + i;
    }
}
