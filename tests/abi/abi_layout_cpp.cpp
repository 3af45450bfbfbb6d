// Assertions only: compiling this file is the test.
#include <string_view>

#include "tests/abi/abi_layout.h"

// The names by which binaries find each other.
static_assert(std::string_view(PD_PLUGIN_ENTRY_SYMBOL) == "pd_plugin_entry");
static_assert(std::string_view(PD_SERVICE_LOG) == "pd.log/1");
static_assert(std::string_view(PD_SERVICE_CLOCK) == "pd.clock/1");
static_assert(std::string_view(PD_SERVICE_RANDOM) == "pd.random/1");
static_assert(std::string_view(PD_SERVICE_HEADERS) == "pd.headers/1");
static_assert(std::string_view(PD_SERVICE_PREFIX_INDEX) == "pd.prefix_index/1");
static_assert(std::string_view(PD_SERVICE_TOKENIZER) == "pd.tokenizer/1");
static_assert(std::string_view(PD_SERVICE_SCRATCH) == "pd.scratch/1");
static_assert(std::string_view(PD_SERVICE_METRICS) == "pd.metrics/1");
static_assert(std::string_view(PD_SERVICE_FEEDBACK) == "pd.feedback/1");
static_assert(std::string_view(PD_SERVICE_STATE) == "pd.state/1");
