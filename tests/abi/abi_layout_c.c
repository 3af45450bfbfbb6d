/* Assertions only: compiling this file is the test. */
#include "tests/abi/abi_layout.h"
