// A few values in place, without the heap: the seccomp table is made for every jail. Internal to libloom/plan.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>

namespace loom {

// At most N values; what is more is a fault of the table, which its tests see as a missing row.
template <class T, std::size_t N>
class SmallList {
 public:
  SmallList() = default;
  SmallList(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }
  void push_back(const T& value) {
    if (count_ < N) values_[count_++] = value;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const T* begin() const { return values_.data(); }
  [[nodiscard]] const T* end() const { return values_.data() + count_; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return values_[i]; }
  [[nodiscard]] const T& front() const { return values_[0]; }
  [[nodiscard]] const T& back() const { return values_[count_ - 1]; }

 private:
  std::array<T, N> values_{};
  std::size_t count_ = 0;
};

}  // namespace loom
