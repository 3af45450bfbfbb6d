/* Included twice, after it has been told which host the plugin needs. */
#define PD_NEEDS_MINOR 0u
#include "pd/abi.h"

/* PD_HAS compares a size with constants: no cast, and no pointer behind a short struct. */
int request_reaches_worker(const pd_request* request);
int request_reaches_worker(const pd_request* request) {
  return PD_HAS(pd_request, request, worker);
}
