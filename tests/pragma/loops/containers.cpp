/*
 * containers.cpp: the standard library's containers: elements, iterators, range-for, insertion,
 * algorithms inside a loop. Two vectors that are not one share no element. Labels: README.md.
 */
#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <complex>
#include <deque>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

void fill(std::vector<double> &a)
{
    // loop fill: safe
    for (std::size_t i = 0; i < a.size(); i++) {
        a[i] = static_cast<double>(i);
    }
}

void shift(std::vector<double> &a)
{
    // loop shift: carried +2 +2 ; noncanonical
    for (std::size_t i = 0; i + 1 < a.size(); i++) {
        a[i] = a[i + 1];
    }
}

void shift_counted(std::vector<double> &a, int n)
{
    // loop shift_counted: carried +2 +2
    for (int i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

void same_place(std::vector<double> &b, const std::vector<double> &a, int n)
{
    // loop same_place: safe
    for (int i = 0; i < n; i++) {
        b[i] = 2.0 * a[i];
    }
}

void next_place(std::vector<double> &b, const std::vector<double> &a, int n)
{
    // loop next_place: if distinct(b, a)
    for (int i = 0; i < n - 1; i++) {
        b[i] = 2.0 * a[i + 1];
    }
}

std::vector<double> new_vector(const std::vector<double> &a, int n)
{
    std::vector<double> b(n);
    // loop new_vector: safe
    for (int i = 0; i < n - 1; i++) {
        b[i] = a[i] + a[i + 1];
    }
    return b;
}

double sum(const std::vector<double> &a)
{
    double s = 0.0;
    // loop sum: safe reduction(+:s)
    for (double x : a) {
        s += x;
    }
    return s;
}

void doubled(std::vector<double> &a)
{
    // loop doubled: safe
    for (double &x : a) {
        x *= 2.0;
    }
}

double doubled_copies(std::vector<double> &a)
{
    double last = 0.0;
    // loop doubled_copies: safe lastprivate(last)
    for (double x : a) {
        x *= 2.0;
        last = x;
    }
    return last;
}

void running(std::vector<double> &a)
{
    double s = 0.0;
    // loop running: carried +2 +3
    for (double &x : a) {
        s += x;
        x = s;
    }
}

void numbered(std::vector<double> &a)
{
    int k = 0;
    // loop numbered: carried +2 +2 a range has no counter of which k would be a formula
    for (double &x : a) {
        x += k++;
    }
}

void by_iterator(std::vector<double> &a)
{
    // loop by_iterator: safe
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it *= 2.0;
    }
}

void by_iterator_less(std::vector<double> &a)
{
    // loop by_iterator_less: safe
    for (std::vector<double>::iterator it = a.begin(); it < a.end(); it += 2) {
        *it *= 2.0;
    }
}

void by_iterator_before(std::vector<double> &a)
{
    // loop by_iterator_before: carried +2 +2
    for (auto it = a.begin() + 1; it < a.end(); ++it) {
        *it += 0.5 * *(it - 1);
    }
}

void by_reverse_iterator(std::vector<double> &a)
{
    // loop by_reverse_iterator: safe
    for (auto it = a.rbegin(); it != a.rend(); ++it) {
        *it *= 2.0;
    }
}

void over_list(std::list<double> &a)
{
    // loop over_list: safe ; noncanonical
    for (double &x : a) {
        x *= 2.0;
    }
}

void over_list_by_iterator(std::list<double> &a)
{
    // loop over_list_by_iterator: safe ; noncanonical
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it *= 2.0;
    }
}

void over_map(std::map<int, double> &a)
{
    // loop over_map: safe ; noncanonical
    for (auto &entry : a) {
        entry.second *= 2.0;
    }
}

void over_deque(std::deque<double> &a)
{
    // loop over_deque: safe
    for (std::size_t i = 0; i < a.size(); i++) {
        a[i] *= 2.0;
    }
}

void flags(std::vector<bool> &f, const std::vector<double> &a, int n)
{
    // loop flags: carried +2 +2 elements of vector<bool> are bits: neighbours share a word
    for (int i = 0; i < n; i++) {
        f[i] = a[i] > 0.0;
    }
}

void flags_read(std::vector<double> &b, const std::vector<bool> &f, int n)
{
    // loop flags_read: safe
    for (int i = 0; i < n; i++) {
        b[i] = f[i] ? 1.0 : 0.0;
    }
}

void flags_as_bytes(std::vector<char> &f, const std::vector<double> &a, int n)
{
    // loop flags_as_bytes: safe
    for (int i = 0; i < n; i++) {
        f[i] = a[i] > 0.0;
    }
}

void flags_in_bitset(std::bitset<256> &f, const std::vector<double> &a)
{
    // loop flags_in_bitset: carried +2 +2 bits of one word
    for (int i = 0; i < 256; i++) {
        f[i] = a[i] > 0.0;
    }
}

void pushed(std::vector<double> &b, const std::vector<double> &a, int n)
{
    // loop pushed: carried order push_back moves the end
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) b.push_back(a[i]);
    }
}

void pushed_with_room(std::vector<double> &b, int n)
{
    b.reserve(b.size() + n);
    // loop pushed_with_room: carried order no allocation, but still one end
    for (int i = 0; i < n; i++) {
        b.emplace_back(i * 0.5);
    }
}

void resized_and_set(std::vector<double> &b, int n)
{
    b.resize(n);
    // loop resized_and_set: safe
    for (int i = 0; i < n; i++) {
        b[i] = i * 0.5;
    }
}

void resized_inside(std::vector<double> &b, int n)
{
    // loop resized_inside: carried order
    for (int i = 0; i < n; i++) {
        b.resize(i + 1);
        b[i] = i * 0.5;
    }
}

void pushed_to_own(std::vector<std::vector<double>> &rows, const std::vector<double> &a, int n)
{
    // loop pushed_to_own: if distinct(rows, a)
    for (int i = 0; i < n; i++) {
        rows[i].push_back(a[i]);
    }
}

void pushed_to_some(std::vector<std::vector<double>> &rows, const std::vector<int> &to, int n)
{
    // loop pushed_to_some: if injective(to)
    for (int i = 0; i < n; i++) {
        rows[to[i]].push_back(i);
    }
}

void emptied(std::vector<double> &a)
{
    // loop emptied: carried control ; noncanonical
    while (!a.empty()) {
        a.pop_back();
    }
}

void map_inserts(std::map<int, double> &m, const std::vector<double> &a, int n)
{
    // loop map_inserts: carried order operator[] inserts
    for (int i = 0; i < n; i++) {
        m[i] = a[i];
    }
}

void map_reads(const std::map<int, double> &m, std::vector<double> &b, int n)
{
    // loop map_reads: safe
    for (int i = 0; i < n; i++) {
        auto it = m.find(i);
        b[i] = it == m.end() ? 0.0 : it->second;
    }
}

void map_counts(std::unordered_map<int, int> &m, const std::vector<int> &a, int n)
{
    // loop map_counts: carried order
    for (int i = 0; i < n; i++) {
        ++m[a[i]];
    }
}

void set_inserts(std::set<int> &s, const std::vector<int> &a)
{
    // loop set_inserts: carried order
    for (int x : a) {
        s.insert(x);
    }
}

void rows_of_vectors(std::vector<std::vector<double>> &a, int n, int m)
{
    // loop rows_of_vectors.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop rows_of_vectors.j: safe
        for (int j = 0; j < m; j++) {
            a[i][j] = 0.5 * a[i][j] + i;
        }
    }
}

void rows_of_vectors_above(std::vector<std::vector<double>> &a, int n, int m)
{
    // loop rows_of_vectors_above.i: carried +4 +4
    for (int i = 1; i < n; i++) {
        // loop rows_of_vectors_above.j: safe
        for (int j = 0; j < m; j++) {
            a[i][j] += 0.5 * a[i - 1][j];
        }
    }
}

void row_reference(std::vector<std::vector<double>> &a, int n, int m)
{
    // loop row_reference.i: safe
    for (int i = 0; i < n; i++) {
        auto &row = a[i];
        // loop row_reference.j: carried +2 +2
        for (int j = 1; j < m; j++) {
            row[j] += row[j - 1];
        }
    }
}

void flat_matrix(std::vector<double> &a, int n, int m)
{
    // loop flat_matrix.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop flat_matrix.j: safe
        for (int j = 0; j < m; j++) {
            a[i * m + j] = i - j;
        }
    }
}

void accumulates(std::vector<double> &s, const std::vector<std::vector<double>> &a, int n)
{
    // loop accumulates: if distinct(s, a)
    for (int i = 0; i < n; i++) {
        s[i] = std::accumulate(a[i].begin(), a[i].end(), 0.0);
    }
}

double accumulates_on(const std::vector<std::vector<double>> &a, int n)
{
    double s = 0.0;
    // loop accumulates_on: carried +2 +2 the sum so far is halved and handed on
    for (int i = 0; i < n; i++) {
        s = std::accumulate(a[i].begin(), a[i].end(), 0.5 * s);
    }
    return s;
}

void sorts_rows(std::vector<std::vector<double>> &a, int n)
{
    // loop sorts_rows: safe
    for (int i = 0; i < n; i++) {
        std::sort(a[i].begin(), a[i].end());
    }
}

void sorts_prefixes(std::vector<double> &a, int n)
{
    // loop sorts_prefixes: carried +2 +2
    for (int i = 2; i < n; i++) {
        std::sort(a.begin(), a.begin() + i);
    }
}

void swaps(std::vector<double> &a, int n)
{
    // loop swaps: safe
    for (int i = 0; i < n / 2; i++) {
        std::swap(a[i], a[n - 1 - i]);
    }
}

void swaps_neighbours(std::vector<double> &a, int n)
{
    // loop swaps_neighbours: carried +2 +2
    for (int i = 0; i < n - 1; i++) {
        std::swap(a[i], a[i + 1]);
    }
}

double largest(const std::vector<double> &a)
{
    double m = a[0];
    // loop largest: safe reduction(max:m)
    for (double x : a) {
        m = std::max(m, x);
    }
    return m;
}

std::complex<double> complex_sum(const std::vector<std::complex<double>> &a)
{
    std::complex<double> s = 0.0;
    // loop complex_sum: carried +2 +2 a class: only with a reduction that is declared
    for (const auto &z : a) {
        s += z;
    }
    return s;
}

void complex_scale(std::vector<std::complex<double>> &a, std::complex<double> w)
{
    // loop complex_scale: safe
    for (auto &z : a) {
        z *= w;
    }
}

void complex_product(std::vector<std::complex<double>> &a, int n, std::complex<double> w)
{
    // loop complex_product: safe
    for (int i = 0; i < n; i++) {
        a[i] = w * a[i] + 2.0;
    }
}

void complex_chain(std::vector<std::complex<double>> &a, int n)
{
    // loop complex_chain: carried +2 +2
    for (int i = 1; i < n; i++) {
        a[i] = a[i - 1] * a[i];
    }
}

void complex_parts(std::complex<double> *__restrict a, const double *__restrict x, int n)
{
    // loop complex_parts: safe
    for (int i = 0; i < n; i++) {
        a[i].real(x[i]);
        a[i] *= 2.0;
        a[i] -= std::conj(a[i]);
    }
}

void complex_part_of_next(std::complex<double> *a, int n)
{
    // loop complex_part_of_next: carried +2 +2
    for (int i = 1; i < n; i++) {
        a[i].real(a[i - 1].imag());
    }
}

void complex_scaled_first(std::complex<double> *a, int n)
{
    // loop complex_scaled_first: carried +2 +2
    for (int i = 1; i < n; i++) {
        a[0] *= a[i];
    }
}

double complex_power(const std::complex<double> *a, int n)
{
    double s = 0;
    // loop complex_power: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += std::real(std::conj(a[i]) * a[i]) + (a[i] - 1.0).imag();
    }
    return s;
}

double complex_swapped(std::complex<double> *a, double *b, int n)
{
    std::complex<double> t;
    // loop complex_swapped: safe private(t)
    for (int i = 0; i < n / 2; i++) {
        t = a[2 * i];
        a[2 * i] = a[2 * i + 1] * t;
        a[2 * i + 1] = t;
    }
    return b[0];
}

std::string joined(const std::vector<std::string> &words)
{
    std::string text;
    // loop joined: carried +2 +2
    for (const auto &word : words) {
        text += word;
    }
    return text;
}

void lower_case(std::string &s)
{
    // loop lower_case: safe
    for (std::size_t i = 0; i < s.size(); i++) {
        if (s[i] >= 'A' && s[i] <= 'Z') s[i] = static_cast<char>(s[i] + 32);
    }
}

void written_out(std::vector<std::string> &out, const std::vector<int> &a, int n)
{
    // loop written_out: safe
    for (int i = 0; i < n; i++) {
        std::ostringstream line;
        line << i << ": " << a[i];
        out[i] = line.str();
    }
}

void printed(const std::vector<double> &a)
{
    // loop printed: carried io
    for (double x : a) {
        std::cout << x << '\n';
    }
}

void scratch_vector(std::vector<double> &b, const std::vector<double> &a, int n)
{
    // loop scratch_vector: safe
    for (int i = 0; i < n; i++) {
        std::vector<double> t(3, a[i]);
        t[1] *= a[i];
        b[i] = t[0] + t[1] + t[2];
    }
}

void scratch_vector_outside(std::vector<double> &b, const std::vector<double> &a, int n)
{
    std::vector<double> t(2);
    // loop scratch_vector_outside: safe firstprivate(t)
    for (int i = 0; i < n; i++) {
        t[0] = a[i];
        t[1] = a[i] * a[i];
        b[i] = t[0] + t[1];
    }
}

void scratch_vector_kept(std::vector<double> &b, const std::vector<double> &a, int n)
{
    std::vector<double> t(2);
    // loop scratch_vector_kept: carried +2 +3
    for (int i = 0; i < n; i++) {
        t[i % 2] = a[i];
        b[i] = t[0] - t[1];
    }
}

void fixed_array(std::vector<double> &b, const std::vector<double> &a, int n)
{
    std::array<double, 3> t;
    // loop fixed_array: safe private(t)
    for (int i = 0; i < n; i++) {
        t[0] = a[i];
        t[1] = t[0] + 1.0;
        t[2] = t[1] * t[0];
        b[i] = t[2];
    }
}

void pairs(std::vector<std::pair<double, double>> &p, int n)
{
    // loop pairs: safe
    for (int i = 0; i < n - 1; i++) {
        p[i].first = p[i + 1].second;
    }
}

void bindings(std::vector<double> &b, const std::vector<std::pair<double, double>> &p, int n)
{
    // loop bindings: safe
    for (int i = 0; i < n; i++) {
        auto [x, y] = p[i];
        b[i] = std::sqrt(x * x + y * y);
    }
}

void checked_access(std::vector<double> &b, int n)
{
    // loop checked_access: if range(n <= static_cast<int>(b.size()))
    for (int i = 0; i < n; i++) {
        b.at(i) *= 2.0;
    }
}

void owned(std::vector<std::unique_ptr<double>> &p, int n)
{
    // loop owned: safe
    for (int i = 0; i < n; i++) {
        *p[i] += i;
    }
}

void shared(std::vector<std::shared_ptr<double>> &p, int n)
{
    // loop shared: if injective(p[i].get())
    for (int i = 0; i < n; i++) {
        *p[i] += i;
    }
}

void moved(std::vector<std::string> &to, std::vector<std::string> &from, int n)
{
    // loop moved: safe
    for (int i = 0; i < n; i++) {
        std::string t = std::move(from[i]);
        to[i] = t + "!";
    }
}

void one_generator(std::vector<double> &a, std::mt19937 &generator)
{
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    // loop one_generator: carried order the generator's state goes on
    for (double &x : a) {
        x = unit(generator);
    }
}

void own_generators(std::vector<double> &a, int n, unsigned seed)
{
    // loop own_generators: safe
    for (int i = 0; i < n; i++) {
        std::mt19937 generator(seed + i);
        a[i] = static_cast<double>(generator());
    }
}

void gathers(std::vector<double> &b, const std::vector<double> &a, const std::vector<int> &index)
{
    // loop gathers: if distinct(b, a)
    for (std::size_t i = 0; i < index.size(); i++) {
        b[i] = a[index[i]];
    }
}

void prefix_by_algorithm(std::vector<std::vector<double>> &a, int n)
{
    // loop prefix_by_algorithm: safe
    for (int i = 0; i < n; i++) {
        std::partial_sum(a[i].begin(), a[i].end(), a[i].begin());
    }
}
