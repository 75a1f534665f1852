// Exceptions with clean-up, virtual calls, a small parser, regular expressions: what ends up in .cold parts.
#include "shapes.hpp"

#include <regex>
#include <sstream>
#include <unordered_map>

namespace shapes {
namespace {

class Node {
  public:
    virtual ~Node() = default;
    virtual long eval() const = 0;
    virtual std::string text() const = 0;
};

class Number final : public Node {
  public:
    explicit Number(long value) : value_(value) {}
    long eval() const override { return value_; }
    std::string text() const override { return std::to_string(value_); }

  private:
    long value_;
};

template <char Op>
class Binary final : public Node {
  public:
    Binary(std::unique_ptr<Node> l, std::unique_ptr<Node> r) : left_(std::move(l)), right_(std::move(r)) {}

    long eval() const override {
        long a = left_->eval(), b = right_->eval();
        if constexpr (Op == '+') {
            return a + b;
        } else if constexpr (Op == '-') {
            return a - b;
        } else if constexpr (Op == '*') {
            return a * b;
        } else {
            if (b == 0) {
                throw Failure(3, "division of " + left_->text() + " by zero");
            }
            return a / b;
        }
    }

    std::string text() const override { return "(" + left_->text() + Op + right_->text() + ")"; }

  private:
    std::unique_ptr<Node> left_, right_;
};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    std::unique_ptr<Node> all() {
        auto node = sum();
        skip();
        if (at_ != text_.size()) {
            throw Failure(1, "left over: " + std::string(text_.substr(at_)));
        }
        return node;
    }

  private:
    void skip() {
        while (at_ < text_.size() && text_[at_] == ' ') {
            ++at_;
        }
    }

    bool take(char c) {
        skip();
        if (at_ < text_.size() && text_[at_] == c) {
            ++at_;
            return true;
        }
        return false;
    }

    std::unique_ptr<Node> sum() {
        auto left = product();
        for (;;) {
            if (take('+')) {
                left = std::make_unique<Binary<'+'>>(std::move(left), product());
            } else if (take('-')) {
                left = std::make_unique<Binary<'-'>>(std::move(left), product());
            } else {
                return left;
            }
        }
    }

    std::unique_ptr<Node> product() {
        auto left = atom();
        for (;;) {
            if (take('*')) {
                left = std::make_unique<Binary<'*'>>(std::move(left), atom());
            } else if (take('/')) {
                left = std::make_unique<Binary<'/'>>(std::move(left), atom());
            } else {
                return left;
            }
        }
    }

    std::unique_ptr<Node> atom() {
        if (take('(')) {
            auto inner = sum();
            if (!take(')')) {
                throw Failure(2, "no closing bracket at " + std::to_string(at_));
            }
            return inner;
        }
        skip();
        std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
            ++at_;
        }
        if (begin == at_) {
            throw Failure(4, "no number at " + std::to_string(at_));
        }
        return std::make_unique<Number>(std::stol(std::string(text_.substr(begin, at_ - begin))));
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

[[gnu::cold, gnu::noinline]] long complain(const Failure &failure, std::string_view text) {
    std::ostringstream out;
    out << text << ": " << failure.what() << " (" << failure.code() << ")";
    return static_cast<long>(out.str().size());
}

}  // namespace

long parse_sum(std::string_view text) {
    int left = 0;
    Guard guard([&] { left = 1; });
    try {
        return Parser(text).all()->eval() + left;
    } catch (const Failure &failure) {
        if (failure.code() > 3) {
            throw;
        }
        return -complain(failure, text);
    }
}

double total(const std::vector<Shape> &shapes) {
    return std::accumulate(shapes.begin(), shapes.end(), 0.0, [](double sum, const Shape &s) { return sum + area(s); });
}

std::map<std::string, int> words(std::string_view text) {
    static const std::regex word("[A-Za-z]+(-[a-z]+)?");
    std::unordered_map<std::string, int> counts;
    const std::string copy(text);
    for (std::sregex_iterator it(copy.begin(), copy.end(), word), end; it != end; ++it) {
        ++counts[it->str()];
    }
    std::map<std::string, int> out(counts.begin(), counts.end());
    std::vector<std::pair<std::string, int>> sorted(out.begin(), out.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
    if (!sorted.empty()) {
        out["*most*"] = sorted.front().second;
    }
    return out;
}

std::string describe(const Shape &shape) {
    std::ostringstream out;
    out.precision(4);
    std::visit([&out](const auto &s) {
        using T = std::decay_t<decltype(s)>;
        if constexpr (std::is_same_v<T, Circle>) {
            out << "circle of " << s.r;
        } else if constexpr (std::is_same_v<T, Box>) {
            out << "box of " << s.w << " by " << s.h;
        } else {
            out << "polygon of " << s.points.size();
        }
    }, shape);
    out << ", area " << area(shape);
    return out.str();
}

std::uint64_t folded(std::uint64_t seed) {
    Tagged<std::uint64_t> a{seed};
    Tagged<unsigned long long> b{seed + 1};
    Tagged<std::int64_t> c{static_cast<std::int64_t>(seed)};
    Tagged<long long> d{static_cast<long long>(seed) + 1};
    return a.mix(1, 2) + b.mix(3, 4) + a.twice_or(5) + b.twice_or(6) + static_cast<std::uint64_t>(c.mix(7, 8) + d.mix(9, 10) + c.twice_or(11) + d.twice_or(12));
}

// Nobody calls these: --gc-sections leaves their DWARF behind, at an address that is not theirs.
std::string unused_report(const std::vector<Shape> &shapes) {
    std::string out;
    for (const auto &shape : shapes) {
        out += describe(shape) + "\n";
    }
    return out;
}

template <typename T>
[[gnu::noinline]] T unused_sort(std::vector<T> values) {
    std::sort(values.begin(), values.end(), std::greater<>());
    return values.empty() ? T{} : values.front();
}
template double unused_sort<double>(std::vector<double>);
template std::string unused_sort<std::string>(std::vector<std::string>);

}  // namespace shapes
