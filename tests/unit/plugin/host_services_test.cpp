// The host's services as a policy uses them inside score().
#include "framework/plugin/host_services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/unit/select/selection_fixture.h"

namespace pd {
namespace {

using test::decode_pod;
using test::prefill_pod;
using test::text;
using test::view;
using ::testing::HasSubstr;

class HostServicesTest : public test::SelectionTest {
 protected:
  using Body = std::function<void(const pd_host*, const pd_request*, const pd_candidates*)>;

  HostServicesTest() {
    set_fleet({prefill_pod("p1"), prefill_pod("p2"), decode_pod("d1"), decode_pod("d2")});
  }

  // Runs `body` inside score() of a decode policy.
  void inside_score(Body body, std::uint64_t uses = 0) {
    auto& policy = use_decode(
        [this, body](const pd_request* request, const pd_decode_batch* batch, pd_scores* scores) {
          body(decode_->host, request, batch->candidates);
          for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 1;
          return PD_OK;
        },
        uses);
    decode_ = &policy;
  }

  template <class Service>
  static const Service* find(const pd_host* host, const char* id) {
    const auto* service = static_cast<const Service*>(host->service(host, id));
    EXPECT_NE(service, nullptr) << id;
    if (service != nullptr) {
      EXPECT_GE(service->struct_size, sizeof(Service)) << id;
    }
    return service;
  }

  test::HandMadeDecode<0>* decode_ = nullptr;
};

TEST_F(HostServicesTest, TheHostTellsWhoItIs) {
  environment_->version = "9.8.7";
  inside_score([](const pd_host* host, const pd_request*, const pd_candidates*) {
    EXPECT_EQ(host->struct_size, sizeof(pd_host));
    EXPECT_EQ(host->abi_major, PD_ABI_MAJOR);
    EXPECT_EQ(host->abi_minor, PD_ABI_MINOR);
    EXPECT_EQ(view(host->name), "pd-host");
    EXPECT_EQ(view(host->version), "9.8.7");
    EXPECT_EQ(host->service(host, "pd.nothing/1"), nullptr);
    EXPECT_EQ(host->service(host, "pd.clock/2"), nullptr);
    EXPECT_EQ(host->service(host, ""), nullptr);
  });
  ASSERT_TRUE(select());
  EXPECT_EQ(decode_->calls, 1);
}

TEST_F(HostServicesTest, TheClockStandsStillDuringADecision) {
  std::uint64_t outside = 0;
  inside_score([&](const pd_host* host, const pd_request* request, const pd_candidates*) {
    const auto* clock = find<pd_clock_v1>(host, PD_SERVICE_CLOCK);
    EXPECT_EQ(clock->now_ns(host, request), kNow);
    outside = clock->now_ns(host, nullptr);
    EXPECT_GE(clock->now_ns(host, nullptr), outside);
  });
  ASSERT_TRUE(select());
  EXPECT_GT(outside, 0u);
}

TEST_F(HostServicesTest, RandomNumbersRepeatWithTheSeed) {
  std::vector<std::uint64_t> drawn;
  inside_score([&](const pd_host* host, const pd_request* request, const pd_candidates*) {
    const auto* random = find<pd_random_v1>(host, PD_SERVICE_RANDOM);
    for (int i = 0; i < 4; ++i) drawn.push_back(random->next(host, request));
  });
  ASSERT_TRUE(select(5));
  const auto first = drawn;
  drawn.clear();
  ASSERT_TRUE(select(5));
  EXPECT_EQ(drawn, first);
  drawn.clear();
  ASSERT_TRUE(select(6));
  EXPECT_NE(drawn, first);
  EXPECT_NE(first[0], first[1]);
}

TEST_F(HostServicesTest, WhatOnePolicyDrawsDoesNotDependOnAnother) {
  std::vector<std::uint64_t> drawn;
  inside_score([&](const pd_host* host, const pd_request* request, const pd_candidates*) {
    drawn.push_back(find<pd_random_v1>(host, PD_SERVICE_RANDOM)->next(host, request));
  });
  ASSERT_TRUE(select(5));
  auto& prefill = use_prefill(
      [](const pd_request*, const pd_prefill_batch*, pd_scores*) { return PD_ERR_FAILED; });
  std::uint64_t of_prefill = 0;
  prefill.score = [&](const pd_request* request, const pd_prefill_batch*, pd_scores* scores) {
    const auto* random = find<pd_random_v1>(prefill.host, PD_SERVICE_RANDOM);
    for (int i = 0; i < 9; ++i) of_prefill = random->next(prefill.host, request);
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 1;
    return PD_OK;
  };
  router_.reset();
  ASSERT_TRUE(select(5));
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_NE(of_prefill, drawn[0]);
}

TEST_F(HostServicesTest, HeadersAreFoundByLowerCaseName) {
  headers_.headers = {{"x-tenant", "blue"}, {"x-empty", ""}};
  int calls = 0;
  inside_score([&](const pd_host* host, const pd_request* request, const pd_candidates*) {
    ++calls;
    const auto* headers = find<pd_headers_v1>(host, PD_SERVICE_HEADERS);
    EXPECT_EQ(view(headers->get(host, request, text("x-tenant"))), "blue");
    const pd_str empty = headers->get(host, request, text("x-empty"));
    EXPECT_NE(empty.data, nullptr);
    EXPECT_EQ(empty.size, 0u);
    EXPECT_EQ(headers->get(host, request, text("x-none")).data, nullptr);
    EXPECT_EQ(headers->get(host, request, pd_str{nullptr, 0}).data, nullptr);
  });
  ASSERT_TRUE(select());
  EXPECT_EQ(calls, 1);
}

TEST_F(HostServicesTest, ThePrefixIndexMatchesHashesOfThePolicysOwn) {
  record_prefix("p1", "hello world");
  auto& prefill = use_prefill({});
  bool seen = false;
  prefill.score = [&](const pd_request* request, const pd_prefill_batch* batch, pd_scores* scores) {
    seen = true;
    const auto* index = find<pd_prefix_index_v1>(prefill.host, PD_SERVICE_PREFIX_INDEX);
    std::vector<std::uint64_t> hashes;
    hash_prefix(std::as_bytes(std::span("hello world!!!", 12)), 4, 0, hashes);
    std::vector<std::uint64_t> matched(batch->candidates->count, 99);
    EXPECT_EQ(index->match(prefill.host, request, batch->candidates, hashes.data(), hashes.size(),
                           matched.data()),
              PD_OK);
    for (std::uint32_t i = 0; i < scores->count; ++i) {
      EXPECT_EQ(matched[i], view(batch->candidates->pods[i]->name) == "p1" ? 2u : 0u);
      scores->values[i] = 1;
    }
    EXPECT_EQ(index->match(prefill.host, request, batch->candidates, nullptr, 0, matched.data()),
              PD_OK);
    for (std::uint32_t i = 0; i < scores->count; ++i) EXPECT_EQ(matched[i], 0u);
    return PD_OK;
  };
  ASSERT_TRUE(select());
  EXPECT_TRUE(seen);
}

TEST_F(HostServicesTest, ScratchIsAlignedWritableAndBounded) {
  int calls = 0;
  inside_score([&](const pd_host* host, const pd_request* request, const pd_candidates*) {
    ++calls;
    const auto* scratch = find<pd_scratch_v1>(host, PD_SERVICE_SCRATCH);
    char* last = nullptr;
    for (const std::uint64_t alignment : {1u, 2u, 8u, 16u, 64u}) {
      auto* memory = static_cast<char*>(scratch->get(host, request, 1000, alignment));
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u);
      EXPECT_NE(memory, last);
      std::memset(memory, 0xAB, 1000);
      last = memory;
    }
    EXPECT_NE(scratch->get(host, request, 900 * 1024, 64), nullptr);
    EXPECT_EQ(scratch->get(host, request, std::uint64_t{1} << 40U, 8), nullptr);
    EXPECT_EQ(scratch->get(host, request, UINT64_MAX, 8), nullptr);
    EXPECT_EQ(scratch->get(host, request, UINT64_MAX - 4, 64), nullptr);
  });
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(select());
  EXPECT_EQ(calls, 50);
}

TEST_F(HostServicesTest, ScratchRefusesOddAlignments) {
  inside_score([&](const pd_host* host, const pd_request* request, const pd_candidates*) {
    const auto* scratch = find<pd_scratch_v1>(host, PD_SERVICE_SCRATCH);
    for (const std::uint64_t alignment :
         {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{128}, std::uint64_t{1} << 63U}) {
      EXPECT_EQ(scratch->get(host, request, 8, alignment), nullptr) << alignment;
    }
  });
  ASSERT_TRUE(select());
}

TEST_F(HostServicesTest, ScratchOfOneChoiceIsBoundedInAll) {
  std::size_t granted = 0;
  inside_score([&](const pd_host* host, const pd_request* request, const pd_candidates*) {
    const auto* scratch = find<pd_scratch_v1>(host, PD_SERVICE_SCRATCH);
    while (granted < 256 && scratch->get(host, request, 1024 * 1024, 8) != nullptr) ++granted;
  });
  ASSERT_TRUE(select());
  EXPECT_LT(granted, 256u) << "one choice got 256 MiB";
}

// The grant is per choice: many choices in a row do not use it up.
TEST_F(HostServicesTest, ScratchIsGrantedAnewForEachChoice) {
  int refused = 0;
  inside_score([&](const pd_host* host, const pd_request* request, const pd_candidates*) {
    const auto* scratch = find<pd_scratch_v1>(host, PD_SERVICE_SCRATCH);
    if (scratch->get(host, request, 1000 * 1024, 8) == nullptr) ++refused;
  });
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(select());
  EXPECT_EQ(refused, 0);
}

TEST_F(HostServicesTest, WantedSeriesAreReadByTheirId) {
  std::uint32_t id = 99;
  int calls = 0;
  inside_score(
      [&](const pd_host* host, const pd_request* request, const pd_candidates* candidates) {
        ++calls;
        const auto* metrics = find<pd_metrics_v1>(host, PD_SERVICE_METRICS);
        std::vector<double> values(candidates->count), ages(candidates->count);
        ASSERT_EQ(metrics->read(host, request, candidates, id, values.data(), ages.data()), PD_OK);
        for (std::uint32_t i = 0; i < candidates->count; ++i) {
          if (view(candidates->pods[i]->name) == "d1") {
            EXPECT_EQ(values[i], 42);
          } else {
            EXPECT_TRUE(std::isnan(values[i]));
          }
          EXPECT_EQ(ages[i], 1.0);
        }
        EXPECT_EQ(metrics->read(host, request, candidates, id, values.data(), nullptr), PD_OK);
        EXPECT_NE(metrics->read(host, request, candidates, 1000, values.data(), nullptr), PD_OK);
      });
  decode_->on_create = [&](const pd_policy_config* config) {
    const auto* metrics = find<pd_metrics_v1>(config->host, PD_SERVICE_METRICS);
    const pd_str keys[] = {text("kind")};
    const pd_str label_values[] = {text("a")};
    const pd_metric_query query{
        sizeof(pd_metric_query), PD_METRIC_MAX, text("q:depth"), keys, label_values, 1, 0};
    char message[256] = "";
    pd_error error{sizeof(pd_error), sizeof message, message};
    std::uint32_t other = 0;
    pd_metric_query plain = query;
    plain.label_count = 0;
    EXPECT_EQ(metrics->want(config->host, &plain, &other, &error), PD_OK);
    const pd_status status = metrics->want(config->host, &query, &id, &error);
    EXPECT_NE(other, id);
    return status;
  };
  build_router();
  const auto wanted = environment_->wanted_series->all();
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[1].name, "q:depth");
  EXPECT_EQ(wanted[1].combine, PD_METRIC_MAX);
  fleet_->columns().store_series(1, pod("d1").index, 42);
  ASSERT_TRUE(select());
  EXPECT_EQ(calls, 1);
}

TEST_F(HostServicesTest, MoreSeriesThanThereIsRoomAreRefusedWithAReason) {
  inside_score([](const pd_host*, const pd_request*, const pd_candidates*) {});
  pd_status last = PD_OK;
  std::string message_text;
  decode_->on_create = [&](const pd_policy_config* config) {
    const auto* metrics = find<pd_metrics_v1>(config->host, PD_SERVICE_METRICS);
    for (std::uint32_t i = 0; i <= kMaxWantedSeries && last == PD_OK; ++i) {
      const std::string name = "s" + std::to_string(i);
      const pd_metric_query query{
          sizeof(pd_metric_query), PD_METRIC_SUM, text(name), nullptr, nullptr, 0, 0};
      char message[256] = "";
      pd_error error{sizeof(pd_error), sizeof message, message};
      std::uint32_t id = 0;
      last = metrics->want(config->host, &query, &id, &error);
      message_text = message;
    }
    return PD_OK;
  };
  build_router();
  EXPECT_EQ(last, PD_ERR_OUT_OF_SPACE);
  EXPECT_FALSE(message_text.empty());
}

TEST_F(HostServicesTest, LogLinesReachTheHostWithTheirSource) {
  struct Line {
    std::string source, message;
    std::uint32_t severity;
  };
  std::vector<Line> lines;
  environment_->log = [&](std::string_view source, std::uint32_t severity,
                          std::string_view message) {
    lines.push_back({std::string(source), std::string(message), severity});
  };
  inside_score([](const pd_host* host, const pd_request*, const pd_candidates*) {
    const auto* log = find<pd_log_v1>(host, PD_SERVICE_LOG);
    log->write(host, PD_LOG_WARNING, text("all is well"));
    log->write(host, PD_LOG_DEBUG, pd_str{nullptr, 0});
  });
  ASSERT_TRUE(select());
  ASSERT_GE(lines.size(), 2u);
  EXPECT_THAT(lines[0].source, HasSubstr("hand_made"));
  EXPECT_EQ(lines[0].message, "all is well");
  EXPECT_EQ(lines[0].severity, PD_LOG_WARNING);
  EXPECT_EQ(lines[1].severity, PD_LOG_DEBUG);
  EXPECT_EQ(lines[1].message, "");
}

TEST_F(HostServicesTest, LoggingWithoutALogIsHarmless) {
  inside_score([](const pd_host* host, const pd_request*, const pd_candidates*) {
    find<pd_log_v1>(host, PD_SERVICE_LOG)->write(host, PD_LOG_ERROR, text("x"));
  });
  EXPECT_TRUE(select());
}

TEST_F(HostServicesTest, TheTokenizersOutputIsThePrompt) {
  int calls = 0;
  inside_score(
      [&](const pd_host* host, const pd_request* request, const pd_candidates*) {
        ++calls;
        const auto* tokenizer = find<pd_tokenizer_v1>(host, PD_SERVICE_TOKENIZER);
        EXPECT_EQ(view(tokenizer->name(host)), "character");
        pd_str bytes{nullptr, 0};
        std::uint64_t tokens = 0;
        ASSERT_EQ(tokenizer->output(host, request, &bytes, &tokens), PD_OK);
        EXPECT_EQ(view(bytes), "hello world");
        EXPECT_EQ(tokens, 11u);
      },
      PD_USES_TOKENIZER_OUTPUT);
  ASSERT_TRUE(select());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace pd
