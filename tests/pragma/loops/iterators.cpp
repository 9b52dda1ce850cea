/*
 * iterators.cpp: iterators of contiguous containers, which act as pointers, and string_view.
 * Labels: README.md.
 */
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// ---- one iterator ----

void by_begin(std::vector<double> &a)
{
    // loop by_begin: safe
    for (auto it = std::begin(a); it != std::end(a); it++) {
        *it = 1.0;
    }
}

void by_array(std::array<double, 4096> &a)
{
    // loop by_array: safe
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it *= 0.5;
    }
}

void by_text(std::string &s)
{
    // loop by_text: safe
    for (std::string::iterator it = s.begin(); it != s.end(); ++it) {
        if (*it == ' ') *it = '_';
    }
}

void by_pointer(std::vector<double> &a)
{
    // loop by_pointer: safe
    for (double *p = a.data(); p != a.data() + a.size(); ++p) {
        *p += 1.0;
    }
}

void backwards(std::vector<double> &a)
{
    // loop backwards: safe
    for (auto it = a.end() - 1; it >= a.begin(); --it) {
        it[0] = 2.0 * *it;
    }
}

double sum(const std::vector<double> &a)
{
    double s = 0.0;
    // loop sum: safe reduction(+:s)
    for (std::vector<double>::const_iterator it = a.begin(); it != a.cend(); ++it) {
        s += *it;
    }
    return s;
}

void next_one(std::vector<double> &a)
{
    // loop next_one: carried +2 +2
    for (auto it = a.begin(); it != a.end() - 1; ++it) {
        *it = it[1];
    }
}

void overlapping_pairs(std::vector<double> &a)
{
    // loop overlapping_pairs: carried +3 +2
    for (auto it = a.begin(); it < a.end() - 2; it += 2) {
        it[0] = 1.0;
        it[2] = 2.0;
    }
}

void separate_pairs(std::vector<double> &a)
{
    // loop separate_pairs: safe
    for (auto it = a.begin(); it < a.end() - 1; it += 2) {
        it[1] = it[0];
    }
}

void first_element(std::vector<double> &a)
{
    // loop first_element: carried +2 +2
    for (auto it = a.begin(); it != a.end(); ++it) {
        a.front() += *it;
    }
}

void last_element(std::vector<double> &a)
{
    // loop last_element: carried +2 +2
    for (auto it = a.begin(); it != a.end() - 1; ++it) {
        *it = a.back();
        a.back() = 0.5 * *it;
    }
}

void sum_before(std::vector<double> &a)
{
    double s = 0.0;
    // loop sum_before: carried +2 +3
    for (auto it = a.begin(); it != a.end(); ++it) {
        s += *it;
        *it = s;
    }
}

void shifted_by_index(std::vector<double> &a)
{
    // loop shifted_by_index: carried +2 +2
    for (auto it = a.begin() + 1; it != a.end(); ++it) {
        *it = a[it - a.begin() - 1];
    }
}

void position(std::vector<double> &a)
{
    // loop position: safe
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it = 0.5 * (it - a.begin());
    }
}

void stepped_within(std::vector<double> &a)
{
    // loop stepped_within: carried control ; noncanonical
    for (auto it = a.begin(); it != a.end(); ++it) {
        if (*it > 1.0) ++it;
    }
}

void grows(std::vector<double> &a, const std::vector<double> &b)
{
    // loop grows: carried order
    for (auto it = b.begin(); it != b.end(); ++it) {
        a.push_back(*it);
    }
}

void erased(std::vector<double> &a)
{
    // loop erased: carried order ; noncanonical
    for (auto it = a.begin(); it != a.end();) {
        it = *it > 0.0 ? a.erase(it) : it + 1;
    }
}

struct point {
    double x, y;
};

void members(std::vector<point> &a)
{
    // loop members: safe
    for (auto it = a.begin(); it != a.end(); ++it) {
        it->x = it->y;
    }
}

void member_of_next(std::vector<point> &a)
{
    // loop member_of_next: carried +2 +2
    for (auto it = a.begin(); it + 1 != a.end(); ++it) {
        it->x = (it + 1)->x + it->y;
    }
}

void bits(std::vector<bool> &a)
{
    // loop bits: carried +2 +2 elements of vector<bool> share a word
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it = true;
    }
}

// ---- several ----

void two_containers(std::vector<double> &a, const std::vector<double> &b)
{
    auto from = b.begin();
    // loop two_containers: carried +3 +3 unless from is a formula of the position
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it = *from++;
    }
}

void counted_beside(std::vector<double> &a, const std::vector<double> &b)
{
    std::size_t k = 0;
    // loop counted_beside: if distinct(a, b) ; induction(k = it - a.begin())
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it = b[k++ + 1];
    }
}

void from_middle(std::vector<double> &a, int n)
{
    auto half = a.begin() + n;
    // loop from_middle: carried +2 +2 the same elements where n is less than the trip count
    for (int i = 0; i < n; i++) {
        half[i] = a[i + 1];
    }
}

void from_itself(std::vector<double> &a, int n)
{
    auto next = a.begin() + 1;
    // loop from_itself: carried +2 +2
    for (int i = 0; i < n; i++) {
        next[i] = a[i];
    }
}

void swapped_before(std::vector<double> &a, std::vector<double> &b, int n)
{
    auto it = a.begin();
    a.swap(b);
    // loop swapped_before: carried +3 +3 the iterator leads into b ; violates(it, b)
    for (int i = 1; i < n; i++) {
        it[i] = b[i - 1];
    }
}

void parameters(std::vector<double>::iterator to, std::vector<double>::const_iterator from, int n)
{
    // loop parameters: if distinct(to, from)
    for (int i = 0; i < n; i++) {
        to[i] = from[i + 1];
    }
}

void parameters_as_range(std::vector<double>::iterator first, std::vector<double>::iterator last)
{
    // loop parameters_as_range: safe
    for (auto it = first; it != last; ++it) {
        *it = 1.0;
    }
}

void parameters_shifted(std::vector<double>::iterator first, std::vector<double>::iterator last)
{
    // loop parameters_shifted: carried +2 +2
    for (auto it = first; it != last - 1; ++it) {
        *it = 0.5 * *(it + 1);
    }
}

// ---- rows ----

void rows(std::vector<std::vector<double>> &a)
{
    // loop rows.row: safe
    for (auto row = a.begin(); row != a.end(); ++row) {
        // loop rows.it: safe
        for (auto it = row->begin(); it != row->end(); ++it) {
            *it *= 2.0;
        }
    }
}

void rows_from_last(std::vector<std::vector<double>> &a)
{
    // loop rows_from_last.row: carried +5 +5
    for (auto row = a.begin() + 1; row != a.end(); ++row) {
        auto above = (row - 1)->begin();
        // loop rows_from_last.it: safe
        for (auto it = row->begin(); it != row->end(); ++it) {
            *it += above[it - row->begin()];
        }
    }
}

void running_rows(std::vector<std::vector<double>> &a)
{
    // loop running_rows.row: safe
    for (auto &row : a) {
        // loop running_rows.it: carried +2 +2
        for (auto it = row.begin() + 1; it < row.end(); ++it) {
            *it += it[-1];
        }
    }
}

void column_sums(std::vector<double> &sums, const std::vector<std::vector<double>> &a)
{
    // loop column_sums.row: carried +5 +5
    for (auto row = a.begin(); row != a.end(); ++row) {
        auto to = sums.begin();
        // loop column_sums.it: carried +2 +2 ; induction(to = sums.begin() + (it - row->begin()))
        for (auto it = row->begin(); it != row->end(); ++it) {
            *to++ += *it;
        }
    }
}

// ---- views of text ----

int blanks(std::string_view text)
{
    int n = 0;
    // loop blanks: safe reduction(+:n)
    for (char c : text) {
        n += c == ' ';
    }
    return n;
}

void copied(std::string &to, std::string_view text)
{
    // loop copied: if distinct(to, text)
    for (std::size_t i = 0; i < text.size(); i++) {
        to[i] = text[i + 1];
    }
}

void copied_of_itself(std::string &to)
{
    std::string_view text = to;
    // loop copied_of_itself: carried +2 +2
    for (std::size_t i = 1; i < text.size(); i++) {
        to[i] = text[i - 1];
    }
}

// ---- calls ----

static double total(const std::vector<double> &v)
{
    double s = 0.0;
    // loop total: safe reduction(+:s)
    for (auto it = v.begin(); it != v.end(); ++it) s += *it;
    return s;
}

void totals(std::vector<double> &v, int n)
{
    // loop totals: carried +2 +2 the function reads all elements
    for (int i = 0; i < n; i++) {
        v[i] = total(v);
    }
}

void totals_by_iterator(std::vector<double> &v, int n)
{
    auto it = v.begin();
    // loop totals_by_iterator: carried +2 +2 the function reads all elements
    for (int i = 0; i < n; i++) {
        it[i] = total(v);
    }
}

void totals_of_rows(std::vector<double> &s, const std::vector<std::vector<double>> &a, int n)
{
    // loop totals_of_rows: if distinct(s, a)
    for (int i = 0; i < n; i++) {
        s[i] = total(a[i]);
    }
}

static void set_first(std::vector<double>::iterator it, double x)
{
    double t = 2.0 * x;
    *it = t;
}

void sets(std::vector<double> &v, int n)
{
    // loop sets: safe
    for (int i = 0; i < n; i++) {
        set_first(v.begin() + i, 1.0);
    }
}

void sets_halves(std::vector<double> &v, int n)
{
    // loop sets_halves: carried +2 +2
    for (int i = 0; i < n; i++) {
        set_first(v.begin() + i / 2, i);
    }
}

void swaps_containers(std::vector<double> &a, std::vector<double> &b)
{
    // loop swaps_containers: carried order
    for (auto it = a.begin(); it != a.end(); ++it) {
        a.swap(b);
    }
}
