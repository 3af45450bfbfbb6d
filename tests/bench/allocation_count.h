// Counts the allocations of a benchmark's process.
#pragma once

#include <cstdint>

namespace pd::bench {

// Calls of operator new so far, on all threads, those of loaded plugins included. Thread-safe. Link
// allocation_count.cpp into one executable only: it replaces operator new.
std::uint64_t allocation_count();

}  // namespace pd::bench
