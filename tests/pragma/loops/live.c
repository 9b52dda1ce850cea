/*
 * live.c: values that are read after a loop, by way of jumps and later rows. Labels: README.md.
 */

void read_after_goto_back(int n, int rounds, double *restrict out)
{
    double s = 0.0;
again:
    out[n] = s;
    // loop read_after_goto_back: safe lastprivate(s)
    for (int i = 0; i < n; i++) {
        s = i;
        out[i] = s * 2.0;
    }
    if (rounds-- > 0) goto again;
}

void set_after_goto_back(int n, int rounds, double *restrict out)
{
    double s = 0.0;
again:
    s = rounds;
    out[n] = s;
    // loop set_after_goto_back: safe private(s)
    for (int i = 0; i < n; i++) {
        s = i;
        out[i] = s * 2.0;
    }
    if (rounds-- > 0) goto again;
}

void array_read_after_goto_back(int n, int rounds, double *restrict out)
{
    double w[8] = {0.0};
again:
    out[n] = w[3];
    // loop array_read_after_goto_back.i: safe lastprivate(w)
    for (int i = 0; i < n; i++) {
        // loop array_read_after_goto_back.j: safe ; small
        for (int j = 0; j < 8; j++) {
            w[j] = i + j;
        }
        out[i] = w[2];
    }
    if (rounds-- > 0) goto again;
}

double goto_passes_assignment(int n, double *restrict out)
{
    double s = 0.0;
    // loop goto_passes_assignment: safe lastprivate(s)
    for (int i = 0; i < n; i++) {
        s = i;
        out[i] = s * 2.0;
    }
    if (out[0] > 1.0) goto done;
    s = 0.0;
done:
    return s;
}

double break_passes_assignment(int n, int m, double *restrict out)
{
    double s = 0.0;
    // loop break_passes_assignment.k: carried control
    for (int k = 0; k < m; k++) {
        // loop break_passes_assignment.i: safe lastprivate(s)
        for (int i = 0; i < n; i++) {
            s = k + i;
            out[i] = s * 2.0;
        }
        if (out[0] > 4.0) break;
        s = 0.0;
        out[n] = s;
    }
    return s;
}

double break_in_switch_passes_assignment(int n, int kind, double *restrict out)
{
    double s = 0.0;
    switch (kind) {
    case 1:
        // loop break_in_switch_passes_assignment: safe lastprivate(s)
        for (int i = 0; i < n; i++) {
            s = i;
            out[i] = s * 2.0;
        }
        break;
    case 2: out[0] = 2.0; s = 1.0;
    }
    return s;
}

void read_in_next_row(int n, int m, int rounds, double *restrict out)
{
    double s = 0.0;
    // loop read_in_next_row.t: carried +9 +9
    for (int t = 0; t < rounds; t++) {
        s = t;
        // loop read_in_next_row.k: carried +5 +2 s is of the row before
        for (int k = 0; k < m; k++) {
            out[n + k] = s;
            // loop read_in_next_row.i: safe lastprivate(s)
            for (int i = 0; i < n; i++) {
                s = i;
                out[i] = s * 2.0;
            }
        }
    }
}

void set_in_next_row(int n, int m, double *restrict out)
{
    double s = 0.0;
    // loop set_in_next_row.k: carried +9 +9
    for (int k = 0; k < m; k++) {
        if (out[k] < 0.0) continue;
        s = k;
        out[n + k] = s;
        // loop set_in_next_row.i: safe private(s)
        for (int i = 0; i < n; i++) {
            s = i;
            out[i] = s * 2.0;
        }
    }
}
