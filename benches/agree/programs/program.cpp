// The main file of the C++ program: lambdas, function objects, threads, deep inlining.
#include "shapes.hpp"

#include <atomic>
#include <cstdio>
#include <deque>
#include <future>
#include <iostream>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <tuple>

using namespace shapes;

namespace {

template <typename Container, typename Predicate>
auto count_matching(const Container &values, Predicate predicate) {
    return std::count_if(values.begin(), values.end(), [&](const auto &v) { return predicate(v) && !predicate(-v); });
}

class Queue {
  public:
    void push(std::function<long()> job) {
        std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }

    std::optional<std::function<long()>> pop() {
        std::lock_guard lock(mutex_);
        if (jobs_.empty()) {
            return std::nullopt;
        }
        auto job = std::move(jobs_.front());
        jobs_.pop_front();
        return job;
    }

    long drain(unsigned threads) {
        std::atomic<long> sum{0};
        std::vector<std::thread> workers;
        for (unsigned i = 0; i < threads; ++i) {
            workers.emplace_back([this, &sum] {
                while (auto job = pop()) {
                    try {
                        sum += (*job)();
                    } catch (const Failure &failure) {
                        sum -= failure.code();
                    } catch (const std::exception &) {
                        sum -= 1000;
                    }
                }
            });
        }
        for (auto &worker : workers) {
            worker.join();
        }
        return sum;
    }

  private:
    std::mutex mutex_;
    std::deque<std::function<long()>> jobs_;
};

template <typename... Args>
std::string join(const char *separator, const Args &...args) {
    std::string out;
    ((out += (out.empty() ? "" : separator), out += [](const auto &a) {
          if constexpr (std::is_arithmetic_v<std::decay_t<decltype(a)>>) {
              return std::to_string(a);
          } else {
              return std::string(a);
          }
      }(args)),
     ...);
    return out;
}

std::vector<Shape> random_shapes(unsigned seed, int count) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> size(0.5, 9.0);
    std::vector<Shape> out;
    for (int i = 0; i < count; ++i) {
        switch (random() % 3) {
        case 0:
            out.emplace_back(Circle{size(random)});
            break;
        case 1:
            out.emplace_back(Box{size(random), size(random)});
            break;
        default: {
            Poly poly;
            std::generate_n(std::back_inserter(poly.points), 3 + random() % 5, [&] { return Vec<double, 2>{{size(random), size(random)}}; });
            out.emplace_back(std::move(poly));
        }
        }
    }
    return out;
}

double deep(double x) {
    auto f = add(mul(Var{}, add(Var{}, Lit{2})), mul(Lit{0.25}, mul(Var{}, mul(Var{}, Var{}))));
    auto g = [f](double y) { return f(y) + integrate([y, f](double z) { return f(z) * y; }, 0, y, 8); };
    return integrate(g, 0, x, 64) + Tower<24>::climb(x);
}

[[noreturn, gnu::noinline]] void usage(const char *name) {
    std::fprintf(stderr, "usage: %s [SUM...]\n", name);
    std::exit(2);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::string_view(argv[1]) == "--help") {
        usage(argv[0]);
    }
    auto shapes = random_shapes(static_cast<unsigned>(argc), 200);
    std::sort(shapes.begin(), shapes.end(), [](const Shape &a, const Shape &b) { return std::make_tuple(a.index(), area(a)) < std::make_tuple(b.index(), area(b)); });
    Queue queue;
    for (int i = 0; i < 40; ++i) {
        queue.push([i] { return parse_sum(join(" + ", i, "(2 * 3)", i * 7)); });
        queue.push([i, text = std::string(i % 3 ? "1 / 0" : "(1")] { return parse_sum(text) + i; });
    }
    for (int i = 1; i < argc; ++i) {
        queue.push([text = std::string(argv[i])] { return parse_sum(text); });
    }
    auto later = std::async(std::launch::async, [&] { return total(shapes); });
    long sum = queue.drain(4);
    std::set<std::string> texts;
    std::transform(shapes.begin(), shapes.end(), std::inserter(texts, texts.end()), describe);
    auto counted = words("the quick brown fox jumps over the lazy dog the end well-known");
    std::vector<long> values(300);
    std::iota(values.begin(), values.end(), -150);
    Vec<int, 5> v{{1, 2, 3, 4, 5}};
    std::cout << join(", ", later.get(), sum, texts.size(), counted["the"], count_matching(values, [](long x) { return x % 3 == 0 && x > 0; }), (v + v).norm(), deep(1.5),
                      folded(static_cast<std::uint64_t>(argc)))
              << "\n";
    return 0;
}
