// libFuzzer target for pages of metrics. Besides the sanitizers it checks that a sample is finite
// or unknown, that every view lies on the page, and that lines do not disturb each other.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "framework/load/exposition_parser.h"
#include "framework/load/vllm_signals.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

bool lies_on(std::string_view page, std::string_view view) {
  const std::less_equal<const char*> not_after;
  return view.empty() || (not_after(page.data(), view.data()) &&
                          not_after(view.data() + view.size(), page.data() + page.size()));
}

void check_line_alone(const pd::ExpositionParser& parser, std::string_view page) {
  std::size_t begin = 0;
  for (std::size_t line = 1; line < parser.sample().line; ++line)
    begin = page.find('\n', begin) + 1;
  const std::string alone(page.substr(begin, page.find('\n', begin) - begin));
  pd::ExpositionParser again(alone);
  require(again.next() != pd::ExpositionParser::Step::kEnd, "a line alone is still one step");
  require(again.fault() == parser.fault(), "a line alone has the same fault");
  require(again.sample().labels.size() == parser.sample().labels.size(), "and the same labels");
}

void check_steps(std::string_view page) {
  pd::ExpositionParser parser(page);
  while (parser.next() != pd::ExpositionParser::Step::kEnd) {
    require(lies_on(page, parser.sample().name.raw), "the name lies on the page");
    for (const pd::ExpositionLabel& label : parser.sample().labels) {
      require(lies_on(page, label.name.raw), "a label name lies on the page");
      require(lies_on(page, label.value.raw), "a label value lies on the page");
      std::string meaning;
      label.value.append_to(meaning);
      require(label.value.equals(meaning), "a text equals its own meaning");
    }
    check_line_alone(parser, page);
  }
}

void check_signals(std::string_view page) {
  pd::EngineSample sample;
  pd::read_signals(pd::vllm_signals(), page, {.model = "m-small", .of_pod = "m-small"}, sample);
  for (const double value :
       {sample.running, sample.waiting, sample.throughput, sample.kv_usage, sample.kv_blocks,
        sample.kv_block_tokens, sample.prefill_time_ms, sample.generated_tokens_total}) {
    require(std::isnan(value) || (std::isfinite(value) && value >= 0), "unknown or a finite count");
  }
  require(!(sample.kv_usage > 1), "a share is at most 1");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view page(reinterpret_cast<const char*>(data), size);
  check_steps(page);
  check_signals(page);
  return 0;
}
