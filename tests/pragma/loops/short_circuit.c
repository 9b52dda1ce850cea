/*
 * Operands of && and || that are not always evaluated.
 */

int steps_while_true(int n, int *restrict a)
{
    int all = 1;
    // loop steps_while_true: carried +2 +2 no entry after the first zero is stepped
    for (int i = 0; i < n; i++) {
        all = all && a[i]++;
    }
    return all;
}

int assigns_until_true(int n, const int *restrict a)
{
    int any = 0, at = 0;
    // loop assigns_until_true: carried +2 +2 at keeps the first value that is not zero
    for (int i = 0; i < n; i++) {
        any = any || (at = a[i]);
    }
    return any + at;
}

static int clear_one(int *p)
{
    *p = 0;
    return 1;
}

static int is_even(int k)
{
    return k % 2 == 0;
}

int clears_until_true(int n, int *restrict a)
{
    int any = 0;
    // loop clears_until_true: carried +2 +2 only the first entry is cleared
    for (int i = 0; i < n; i++) {
        any = any || clear_one(&a[i]);
    }
    return any;
}

int all_are_even(int n, const int *restrict a)
{
    int all = 1;
    // loop all_are_even: safe reduction(&&:all)
    for (int i = 0; i < n; i++) {
        all = all && is_even(a[i]);
    }
    return all;
}
