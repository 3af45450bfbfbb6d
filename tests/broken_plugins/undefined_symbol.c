/* A plugin that calls a function that nobody defines. */
#include "pd/abi.h"

const pd_plugin* function_of_nobody(void);

const pd_plugin* pd_plugin_entry(void) {
  return function_of_nobody();
}
