/* A plugin with one decode policy that is correct until a BROKEN_ macro changes one thing. */
#include <stddef.h>

#include "pd/abi.h"

#ifndef BROKEN_MAGIC
#define BROKEN_MAGIC PD_PLUGIN_MAGIC
#endif
#ifndef BROKEN_SIZE
#define BROKEN_SIZE sizeof(pd_plugin)
#endif
#ifndef BROKEN_MAJOR
#define BROKEN_MAJOR PD_ABI_MAJOR
#endif
#ifndef BROKEN_MINOR
#define BROKEN_MINOR PD_NEEDS_MINOR
#endif
#ifndef BROKEN_FLAGS
#define BROKEN_FLAGS PD_PLUGIN_UNLOAD_SAFE
#endif
#ifndef BROKEN_RESERVED
#define BROKEN_RESERVED 0
#endif
#ifndef BROKEN_ID
#define BROKEN_ID "test.broken"
#endif
#ifndef BROKEN_VERSION
#define BROKEN_VERSION "1.0"
#endif
#ifndef BROKEN_LOAD
#define BROKEN_LOAD load
#endif
#ifndef BROKEN_NAME
#define BROKEN_NAME "broken"
#endif
#ifndef BROKEN_USES
#define BROKEN_USES PD_USES_RUNNING
#endif
#ifndef BROKEN_SCORE
#define BROKEN_SCORE score
#endif
#ifndef BROKEN_POLICY_SIZE
#define BROKEN_POLICY_SIZE sizeof(pd_policy)
#endif

static pd_status create(const pd_policy_config* config, void** instance, pd_error* error) {
  (void)config;
  (void)instance;
  (void)error;
  return PD_OK;
}

static void destroy(void* instance) {
  (void)instance;
}

static pd_status score(void* instance, const pd_request* request, const pd_decode_batch* batch,
                       pd_scores* scores, pd_error* error) {
  (void)instance;
  (void)request;
  (void)batch;
  (void)scores;
  (void)error;
  return PD_OK;
}

static const pd_policy policy = {BROKEN_POLICY_SIZE,
                                 0,
                                 BROKEN_NAME,
                                 "A policy for tests.",
                                 BROKEN_USES,
                                 NULL,
                                 0,
                                 0,
                                 NULL,
                                 create,
                                 destroy,
                                 NULL};
static const pd_decode_policy decode_policy = {sizeof(pd_decode_policy), 0, &policy, BROKEN_SCORE};

static pd_status load(const pd_host* host, pd_registrar* registrar, pd_error* error) {
  pd_status status;
  (void)host;
#ifdef BROKEN_DEPENDENCY
  {
    extern int vanished_function(void);
    if (vanished_function() < 0) return PD_ERR_FAILED;
  }
#endif
  status = registrar->register_decode_policy(registrar, &decode_policy, error);
#ifdef BROKEN_AFTER_REGISTERING
  {
    static const char text[] = "licence\nserver is down";
    size_t i;
    for (i = 0; i < sizeof text; ++i) error->text[i] = text[i];
    return PD_ERR_FAILED;
  }
#endif
  return status;
}

#ifdef BROKEN_STATIC_TLS
static __thread int counters[16];
static int count_up(int i) {
  return ++counters[i];
}
#endif

#ifdef BROKEN_TEXT_RELOCATION
__asm__(".text\n.balign 8\n.8byte pd_plugin_entry\n");
#endif

#ifdef BROKEN_FLOATING_POINT
__attribute__((constructor)) static void flush_to_zero(void) {
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
}
#endif

#ifdef BROKEN_EXPORTS
PD_EXPORT int one_export_too_many(void) {
  return 1;
}
#endif

PD_EXPORT const pd_plugin* pd_plugin_entry(void) {
  static const pd_plugin plugin = {
      BROKEN_MAGIC, BROKEN_SIZE,    BROKEN_MAJOR, BROKEN_MINOR, BROKEN_FLAGS, 0,    BROKEN_RESERVED,
      BROKEN_ID,    BROKEN_VERSION, NULL,         NULL,         NULL,         NULL, BROKEN_LOAD,
      NULL};
#ifdef BROKEN_STATIC_TLS
  if (count_up(3) < 0) return NULL;
#endif
#ifdef BROKEN_NO_DESCRIPTOR
  (void)plugin;
  return NULL;
#else
  return &plugin;
#endif
}
