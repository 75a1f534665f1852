// Shared by the C++ programs: small inline functions in a header, so that line tables name several files,
// and templates whose instances come out with the same code, for linkers that fold.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace shapes {

template <typename T>
constexpr T square(T x) {
    return x * x;
}

template <typename T, std::size_t N>
struct Vec {
    std::array<T, N> at{};

    friend Vec operator+(const Vec &a, const Vec &b) {
        Vec out;
        for (std::size_t i = 0; i < N; ++i) {
            out.at[i] = a.at[i] + b.at[i];
        }
        return out;
    }

    T dot(const Vec &other) const {
        return std::inner_product(at.begin(), at.end(), other.at.begin(), T{});
    }

    double norm() const { return std::sqrt(static_cast<double>(dot(*this))); }
};

// Instances for integers of one size have the same code.
template <typename T>
struct Tagged {
    T value;
    [[gnu::noinline]] T twice_or(T other) const { return value > 0 ? value * 2 + other : other - 7; }
    [[gnu::noinline]] T mix(T a, T b) const {
        T x = value ^ (a << 3);
        x += b * 31;
        return x ^ (x >> 5);
    }
};

struct Circle {
    double r;
};
struct Box {
    double w, h;
};
struct Poly {
    std::vector<Vec<double, 2>> points;
};

using Shape = std::variant<Circle, Box, Poly>;

template <class... Ts>
struct overloaded : Ts... {
    using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

inline double area(const Shape &shape) {
    return std::visit(overloaded{
                          [](const Circle &c) { return 3.14159 * square(c.r); },
                          [](const Box &b) { return b.w * b.h; },
                          [](const Poly &p) {
                              double sum = 0;
                              for (std::size_t i = 0; i < p.points.size(); ++i) {
                                  const auto &a = p.points[i].at;
                                  const auto &b = p.points[(i + 1) % p.points.size()].at;
                                  sum += a[0] * b[1] - a[1] * b[0];
                              }
                              return std::abs(sum) / 2;
                          },
                      },
                      shape);
}

// Expression templates: deep chains of one-line inline functions.
template <typename L, typename R, typename Op>
struct Expr {
    L left;
    R right;
    auto operator()(double x) const { return Op{}(left(x), right(x)); }
};
struct Var {
    double operator()(double x) const { return x; }
};
struct Lit {
    double value;
    double operator()(double) const { return value; }
};
template <typename L, typename R>
auto add(L l, R r) {
    return Expr<L, R, std::plus<>>{l, r};
}
template <typename L, typename R>
auto mul(L l, R r) {
    return Expr<L, R, std::multiplies<>>{l, r};
}

template <int N>
struct Tower {
    static double climb(double x) { return square(x) * 0.5 + Tower<N - 1>::climb(x * 0.99 + N); }
};
template <>
struct Tower<0> {
    static double climb(double x) { return x; }
};

template <typename F>
double integrate(F f, double from, double to, int steps) {
    double sum = 0, width = (to - from) / steps;
    for (int i = 0; i < steps; ++i) {
        sum += f(from + (i + 0.5) * width) * width;
    }
    return sum;
}

class Failure : public std::runtime_error {
  public:
    Failure(int code, const std::string &what) : std::runtime_error(what), code_(code) {}
    int code() const { return code_; }

  private:
    int code_;
};

class Guard {
  public:
    explicit Guard(std::function<void()> f) : f_(std::move(f)) {}
    Guard(const Guard &) = delete;
    ~Guard() {
        if (f_) {
            f_();
        }
    }

  private:
    std::function<void()> f_;
};

// In other files.
double total(const std::vector<Shape> &shapes);
std::map<std::string, int> words(std::string_view text);
long parse_sum(std::string_view text);
std::string describe(const Shape &shape);
std::uint64_t folded(std::uint64_t seed);

}  // namespace shapes
