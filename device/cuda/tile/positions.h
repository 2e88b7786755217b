// The positions of a request that attention goes over, and where the cache has them.
#pragma once

#include "device/common/attention.h"
#include "device/common/scalar.h"
#include "device/cuda/memory.h"

namespace evt::tile {

/// Positions `from` … `to` - 1 of a request, and the slots that have them. There are none of a layer or head that does
/// not exist.
template <std::int64_t Page> struct CachePositions {
  const std::int32_t *page_row;
  int slots, columns_there, begin, end;

  template <class T>
  __device__ __forceinline__ CachePositions(const Memory<T, 4> &keys, const Memory<std::int32_t, 2> &pages,
                                            const CacheRow &at, std::int64_t from, std::int64_t to)
      : page_row(pages.data + at.request * pages.dims[1]), slots((int)keys.dims[2]),
        columns_there(at.request >= 0 && at.request < pages.dims[0] ? (int)pages.dims[1] : 0),
        begin(from < 0 ? 0 : (int)from),
        end(at.layer >= 0 && at.layer < keys.dims[0] && at.head >= 0 && at.head < keys.dims[1] ? (int)to : 0) {}

  /// The page of a position below `limit`; -1 if there is none.
  __device__ __forceinline__ int page_of(int position, int limit) const {
    const int column = position / (int)Page;
    return position < limit && column < columns_there ? page_row[column] : -1;
  }
  __device__ __forceinline__ int page_of(int position) const { return page_of(position, end); }
  /// The slot of a position on a page; -1 if there is none.
  __device__ __forceinline__ int slot_of(int page, int position) const {
    const std::int64_t at = (std::int64_t)page * Page + position % (int)Page;
    return page < 0 || at >= slots ? -1 : (int)at;
  }
};

/// Positions in parts of `size`, the first `count` of them.
template <std::int64_t Page> struct PartPositions : CachePositions<Page> {
  int size, count;

  template <class T>
  __device__ __forceinline__ PartPositions(const Memory<T, 4> &keys, const Memory<std::int32_t, 2> &pages,
                                           const CacheRow &at, std::int64_t from, std::int64_t to, std::int64_t part,
                                           int count)
      : CachePositions<Page>(keys, pages, at, from, from < 0 || part <= 0 ? 0 : to), size((int)part), count(count) {}

  __device__ __forceinline__ bool has(int part) const { return part < count && first_of(part) < this->end; }
  __device__ __forceinline__ int first_of(int part) const { return this->begin + part * size; }
  /// Where a part ends.
  __device__ __forceinline__ int limit_of(int part) const {
    const int own = first_of(part + 1);
    return own < this->end ? own : this->end;
  }
};

} // namespace evt::tile
