/*
 * extent.h: extents of arrays, and the elements of a dummy array that a procedure assigns.
 */
#ifndef HPC_SOURCE_FLANG_EXTENT_H
#define HPC_SOURCE_FLANG_EXTENT_H

#include <flang/Semantics/symbol.h>

#include <cstdint>
#include <vector>

namespace semantics = Fortran::semantics;

namespace hpc_flang {

struct Dimension {
    int64_t lower, n; /* n: OPEN, if it is not a constant */
    enum { OPEN = -1 };
};
/* By subscript; empty: the shape is not explicit. A last extent of 1 or * is open. */
std::vector<Dimension> dimensions_of(const semantics::Symbol &s);

struct Range {
    int64_t lo, hi;
};

/* The elements of a dummy array that each call assigns before it reads them. */
class Fill {
  public:
    enum : int64_t { EVERYTHING = INT64_MAX };
    explicit Fill(const semantics::Symbol *dummy);
    size_t rank() const { return rank_; }
    /* Bounds of a subscript; an empty one is unknown. */
    Range whole(size_t subscript) const;
    void add(const std::vector<Range> &ranges) { visit(ranges, true); }
    bool has(const std::vector<Range> &ranges) { return visit(ranges, false); }
    int64_t first_n() const; /* elements from the first one on, in the order of storage */

  private:
    size_t rank_;
    std::vector<Dimension> dimension;
    std::vector<bool> done; /* by element, in the order of storage */
    bool all = false;
    bool visit(const std::vector<Range> &ranges, bool add);
};

} // namespace hpc_flang
#endif
