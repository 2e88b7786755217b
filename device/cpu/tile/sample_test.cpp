#include "device/cpu/tile/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace evt::tile {
namespace {

constexpr std::int64_t chunk = 1024, parts = 2, page = 4;

struct Request {
  float temperature = 0, topP = 1, minP = 0, repetition = 1, presence = 0, frequency = 0;
  std::int32_t topK = 0;
  std::uint64_t seed = 0;
  std::int32_t position = 0, prompt = 0;
  bool logprob = false;
};

struct Result {
  std::int32_t token;
  float logprob;
};

/// One request's logits, through both operations.
class Sampler {
public:
  explicit Sampler(std::vector<float> logits) : logits(std::move(logits)), scaled(this->logits.size()) {
    std::iota(pages.begin(), pages.end(), 0);
  }

  Result choose(const Request &r) {
    const float rates[8] = {r.temperature, r.topP, r.minP, r.repetition, r.presence, r.frequency};
    const std::int32_t choices[8] = {
        r.topK, (std::int32_t)r.seed, (std::int32_t)(r.seed >> 32), r.position, r.prompt, 0, r.logprob};
    static evt_status status[1];
    launch.status = status;
    Worker w(&launch, 0, &control);
    const auto vocabulary = (std::int64_t)logits.size();
    const Memory<float, 2> x{logits.data(), {1, vocabulary}, 0}, z{scaled.data(), {1, vocabulary}, 1},
        f{const_cast<float *>(rates), {1, 8}, 2};
    const Memory<std::int32_t, 2> i{const_cast<std::int32_t *>(choices), {1, 8}, 3},
        p{pages.data(), {1, (std::int64_t)pages.size()}, 4};
    const Memory<std::int32_t, 1> h{history.data(), {(std::int64_t)history.size()}, 5};
    float candidates[parts * 4];
    for (std::int64_t c = 0; c < parts; ++c)
      draw<chunk, page>(w, candidates + 4 * c, x, f, i, h, p, z, 0, c * chunk);
    const Memory<float, 3> from{candidates, {1, parts, 4}, 6};
    Result result{-1, NAN};
    sample<parts, chunk>(w, &result.token, &result.logprob, from, z, x, f, i, 0);
    return result;
  }

  /// How often each token comes.
  std::vector<double> counts(Request r, int draws) {
    std::vector<double> found(logits.size());
    for (int i = 0; i < draws; ++i) {
      r.seed = (std::uint64_t)i * 0x9e3779b97f4a7c15u;
      r.position = i % 7;
      ++found.at((size_t)choose(r).token);
    }
    return found;
  }

  std::vector<float> logits, scaled;
  std::vector<std::int32_t> history = std::vector<std::int32_t>(64, -1), pages = std::vector<std::int32_t>(16);

private:
  evt_launch launch{};
  Control control{};
};

/// Probabilities of the tokens that are kept, by sorting, in double; `margin` is how near a border comes to a token.
std::vector<double> expected(const std::vector<float> &logits, const Request &r, double *margin = nullptr) {
  std::vector<double> z;
  for (float x : logits)
    z.push_back(std::isnan(x) ? -INFINITY : (double)(x / r.temperature));
  std::vector<size_t> order(z.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return z[a] > z[b]; });
  const double highest = z[order[0]];
  size_t size = order.size();
  auto weight = [&](size_t i) { return std::exp(z[order[i]] - highest); };
  if (r.topK > 0 && (size_t)r.topK < size)
    for (size = (size_t)r.topK; size < order.size() && z[order[size]] == z[order[size - 1]];)
      ++size;
  double closest = 1;
  if (r.topP < 1) {
    double total = 0, above = 0;
    for (size_t i = 0; i < size; ++i)
      total += weight(i);
    size_t last = 0;
    while (last < size) {
      size_t next = last;
      double level = 0;
      for (; next < size && z[order[next]] == z[order[last]]; ++next)
        level += weight(next);
      above += level;
      last = next;
      closest = std::min(closest, std::abs(above / total - (double)r.topP));
      if (above / total >= (double)r.topP)
        break;
    }
    size = last;
  }
  std::vector<double> p(z.size());
  double sum = 0;
  for (size_t i = 0; i < size; ++i) {
    if (r.minP > 0 && weight(i) < 1)
      closest = std::min(closest, std::abs(weight(i) / (double)r.minP - 1));
    p[order[i]] = weight(i) >= (double)r.minP ? weight(i) : 0;
    sum += p[order[i]];
  }
  for (double &x : p)
    x /= sum;
  if (margin)
    *margin = closest;
  return p;
}

std::vector<float> normal(size_t n, float deviation, unsigned seed) {
  std::mt19937 random{seed};
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> x(n);
  for (float &v : x)
    v = distribution(random);
  return x;
}

/// 5 standard deviations above what chance gives, over the tokens that should come 10 times or more.
void expectAsLikely(const std::vector<double> &found, const std::vector<double> &p, int draws) {
  double chi = 0, rest = 0, expectedRest = 0;
  int degrees = -1;
  for (size_t i = 0; i < p.size(); ++i) {
    const double want = p[i] * draws;
    if (p[i] == 0) {
      EXPECT_EQ(found[i], 0) << "token " << i << " is not in the set";
    } else if (want >= 10) {
      chi += (found[i] - want) * (found[i] - want) / want;
      ++degrees;
    } else {
      rest += found[i];
      expectedRest += want;
    }
  }
  if (expectedRest >= 10) {
    chi += (rest - expectedRest) * (rest - expectedRest) / expectedRest;
    ++degrees;
  }
  EXPECT_LT(chi, degrees + 5 * std::sqrt(2.0 * degrees)) << degrees;
  EXPECT_GT(chi, degrees - 5 * std::sqrt(2.0 * degrees)) << "too good for chance";
}

TEST(Sampling, PhiloxIsThePublishedOne) {
  std::uint32_t zeros[4] = {}, ones[4] = {~0u, ~0u, ~0u, ~0u};
  sampling::philox(zeros, 0, 0);
  EXPECT_EQ(std::vector<std::uint32_t>(zeros, zeros + 4),
            (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  sampling::philox(ones, ~0u, ~0u);
  EXPECT_EQ(std::vector<std::uint32_t>(ones, ones + 4),
            (std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Sampling, NoiseIsExactAtBothEnds) {
  for (std::uint32_t bits : {0u, 1u, 5u, 1000u, 77777777u, 0x7fffffffu, 0x80000000u, 0x80000001u, ~0u - 9, ~0u}) {
    const double v = ((double)bits + 0.5) / 0x1p32, exact = -std::log(-std::log1p(-v));
    EXPECT_NEAR(sampling::gumbel(bits), exact, 4e-7 * std::max(1.0, std::abs(exact))) << bits;
  }
}

TEST(Sampling, DrawsAreAsLikelyAsTheyShouldBe) {
  constexpr int draws = 100000;
  Sampler few(normal(40, 2, 1));
  const Request plain{.temperature = 0.8f};
  expectAsLikely(few.counts(plain, draws), expected(few.logits, plain), draws);
  const Request filtered{.temperature = 1.3f, .topP = 0.93f, .minP = 0.01f, .topK = 25};
  expectAsLikely(few.counts(filtered, draws), expected(few.logits, filtered), draws);
}

TEST(Sampling, FlatDrawsFromSeveralChunks) {
  constexpr int draws = 20000;
  Sampler many(normal(1500, 0.01f, 2));
  const Request r{.temperature = 1};
  expectAsLikely(many.counts(r, draws), expected(many.logits, r), draws);
}

// Logits that are close together, so that every token of the set comes; many of them equal.
TEST(Sampling, SetsAreExact) {
  std::mt19937 random{3};
  int checked = 0;
  for (int round = 0; round < 60; ++round) {
    const size_t vocabulary = 3 + random() % 40;
    std::vector<float> logits = normal(vocabulary, 1, (unsigned)round);
    if (round % 2)
      for (float &x : logits)
        x = std::round(2 * x) / 2;
    if (round % 5 == 0)
      logits[random() % vocabulary] = -INFINITY, logits[random() % vocabulary] = NAN;
    Request r{.temperature = round % 3 ? 1.0f : 2.0f};
    if (round % 3 != 1)
      r.topK = (std::int32_t)(1 + random() % (vocabulary + 3));
    if (round % 4)
      r.topP = (float)(random() % 1001) / 1000;
    if (round % 7 > 3)
      r.minP = (float)(random() % 100) / 200;
    double margin;
    const std::vector<double> p = expected(logits, r, &margin);
    if (margin < 1e-6)
      continue;
    ++checked;
    Sampler sampler(logits);
    const std::vector<double> found = sampler.counts(r, 3000);
    for (size_t i = 0; i < vocabulary; ++i)
      EXPECT_EQ(found[i] > 0, p[i] > 0) << "token " << i << " of " << vocabulary << ", round " << round << ", top_k "
                                        << r.topK << ", top_p " << r.topP << ", min_p " << r.minP;
  }
  EXPECT_GT(checked, 50);
}

TEST(Sampling, FarBelowTheLargestSetsAreExact) {
  std::vector<float> logits(1800);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = -0.03f * (float)((i * 7) % 1800) + (i % 2 ? 0.0f : 1e-6f);
  Sampler sampler(logits);
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  for (std::int32_t k : {1, 2, 3, 100, 900, 1799, 1800, 5000}) {
    // With a high temperature all that is kept may come: nothing below the k-th, and something near it.
    const std::vector<double> found = sampler.counts({.temperature = 500, .topK = k}, 2500);
    const float lowest = sorted[std::min<size_t>((size_t)k, 1800) - 1];
    float seen = 0;
    for (size_t i = 0; i < logits.size(); ++i)
      if (found[i] > 0) {
        EXPECT_GE(logits[i], lowest) << k;
        seen = std::min(seen, logits[i]);
      }
    EXPECT_LE(seen, lowest + 0.5f) << k;
  }
}

TEST(Sampling, Borders) {
  Sampler equal(std::vector<float>(1500, 2.5f));
  EXPECT_EQ(equal.choose({}).token, 0);
  for (const Request &r : {Request{.temperature = 1},
                           {.temperature = 1, .topP = 0},
                           {.temperature = 1, .topK = 1},
                           {.temperature = 1, .minP = 1},
                           {.temperature = 1, .topP = 0.25f, .topK = 3}}) {
    // All are equal, so all are kept, and the token is that of no filter.
    Request none{.temperature = 1};
    std::set<std::int32_t> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Request with = r;
      with.seed = none.seed = seed;
      EXPECT_EQ(equal.choose(with).token, equal.choose(none).token);
      seen.insert(equal.choose(with).token);
    }
    EXPECT_GT(seen.size(), 150u);
  }
  Sampler nothing({-INFINITY, NAN, -INFINITY, -INFINITY});
  for (float p : {0.0f, 0.5f, 1.0f})
    for (std::int32_t k : {0, 2})
      EXPECT_EQ(nothing.choose({.temperature = 1, .topP = p, .topK = k, .seed = 5}).token, 0);
  EXPECT_EQ(nothing.choose({}).token, 0);
  EXPECT_FLOAT_EQ(nothing.choose({.logprob = true}).logprob, -std::log(4.0f));
  Sampler one({3});
  EXPECT_EQ(one.choose({.temperature = 1, .topP = 0.5f, .topK = 1, .seed = 9}).token, 0);
  EXPECT_EQ(one.choose({.logprob = true}).logprob, 0);
  // Not a number is never chosen, and changes nothing else.
  std::vector<float> with = normal(100, 1, 8), without = with;
  with[7] = with[50] = NAN;
  without[7] = without[50] = -INFINITY;
  Sampler a(with), b(without);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Request r{.temperature = 2, .topP = 0.99f, .seed = seed, .logprob = true};
    const Result x = a.choose(r), y = b.choose(r);
    EXPECT_TRUE(x.token == y.token && x.logprob == y.logprob && x.token != 7 && x.token != 50);
  }
  Sampler infinite({1, INFINITY, 2, INFINITY});
  EXPECT_EQ(infinite.choose({}).token, 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(infinite.choose({.temperature = 1, .topP = 0.9f, .seed = seed}).token % 2, 1);
}

// The last token of the prompt, the first of the output, and the first that does not count.
TEST(Sampling, BordersOfThePast) {
  std::vector<float> logits(20, 0.0f);
  logits[9] = 1.9f;
  Sampler sampler(logits);
  for (std::int32_t at = 0; at < 6; ++at) {
    std::fill(sampler.history.begin(), sampler.history.end(), 3);
    sampler.history[(size_t)at] = 5;
    sampler.logits[5] = 2;
    auto chosen = [&](const Request &r) { return sampler.choose(r).token; };
    EXPECT_EQ(chosen({.presence = 0.5f, .position = at + 1, .prompt = at}), 9);
    EXPECT_EQ(chosen({.frequency = 0.5f, .position = at + 1, .prompt = at}), 9);
    EXPECT_EQ(chosen({.repetition = 2, .position = at + 1, .prompt = at}), 9);
    EXPECT_EQ(chosen({.presence = 0.5f, .position = at + 1, .prompt = at + 1}), 5);
    EXPECT_EQ(chosen({.repetition = 2, .position = at + 1, .prompt = at + 1}), 9);
    EXPECT_EQ(chosen({.repetition = 2, .presence = 5, .frequency = 5, .position = at, .prompt = 0}), 5);
  }
}

// transformers' and vLLM's definitions, and log-probabilities of the logits as they are.
TEST(Sampling, PenaltiesAndLogprobs) {
  std::mt19937 random{5};
  for (int round = 0; round < 50; ++round) {
    std::vector<float> logits = normal(1100, 2, (unsigned)round);
    for (size_t i = 0; i < 20; ++i) // the largest are in the history
      logits[i] += round % 2 ? 6.0f : -6.0f;
    if (round % 2 == 0)
      for (float &x : logits)
        x -= 8;
    Sampler sampler(logits);
    Request r{.repetition = 0.6f + (float)(random() % 10) / 5,
              .presence = (float)(random() % 5) / 4 - 0.5f,
              .frequency = (float)(random() % 5) / 4 - 0.5f,
              .logprob = true};
    r.position = (std::int32_t)(random() % 64);
    r.prompt = (std::int32_t)(random() % 64);
    for (size_t i = 0; i < 64; ++i) // some are not there, and what lies behind the position does not count
      sampler.history[i] = (std::int32_t)(random() % 3 ? random() % 1200 : random() % 20);
    std::shuffle(sampler.pages.begin(), sampler.pages.end(), random);
    sampler.pages[random() % 16] = -1;
    sampler.pages[random() % 16] = 99;
    std::vector<float> x = sampler.logits;
    std::vector<int> prompt(x.size()), output(x.size());
    for (int p = 0; p < r.position; ++p)
      if (const int number = sampler.pages[(size_t)p / 4]; number >= 0 && number < 16)
        if (const int token = sampler.history[(size_t)(4 * number + p % 4)]; token < 1100)
          ++(p < r.prompt ? prompt : output)[(size_t)token];
    double largest = -INFINITY, sum = 0;
    for (float v : x)
      largest = std::max(largest, (double)v);
    for (float v : x)
      sum += std::exp((double)v - largest);
    for (size_t t = 0; t < x.size(); ++t) {
      if (prompt[t] || output[t])
        x[t] = x[t] > 0 ? x[t] / r.repetition : x[t] * r.repetition;
      if (output[t])
        x[t] = x[t] - r.frequency * (float)output[t] - r.presence;
    }
    const Result found = sampler.choose(r);
    EXPECT_EQ(found.token, std::max_element(x.begin(), x.end()) - x.begin()) << round;
    EXPECT_NEAR(found.logprob, sampler.logits[(size_t)found.token] - largest - std::log(sum), 2e-6) << round;
  }
}

} // namespace
} // namespace evt::tile
