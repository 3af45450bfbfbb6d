/* The ABI header needs nothing in front of it. Compiled as every language that it promises. */
#include "pd/abi.h"
