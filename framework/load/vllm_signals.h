// Which series of vLLM's /metrics feed which column.
#pragma once

#include "framework/load/signal_table.h"

namespace pd {

// For read_signals(). vLLM has no series for throughput: feed generated_tokens_total to TokenRate.
// Lives as long as the process.
const SignalTable& vllm_signals();

}  // namespace pd
