/*
 * pd plugin ABI 1.0: what a policy plugin and a pd host say to each other.
 *
 * A plugin is a shared object with one exported symbol, pd_plugin_entry. A binary built against this header works in
 * every later host of the same major version. docs/abi-design.md says why each thing is as it is.
 *
 * Rules that hold everywhere below
 *   1. Growth. Tables and structs only grow at the end. Each starts with struct_size, the size that its writer knew.
 *      A reader treats what lies beyond struct_size as zero. Use PD_HAS(ptr, member) before reading a member that is
 *      newer than 1.0. Structs are handed over by pointer, never by value and never in arrays, so their size may grow;
 *      pd_str is the one exception and is frozen.
 *   2. Types. Fixed-width integers, double, pointers. Flags and enumerations are uint32_t or uint64_t with #defines.
 *      Reserved members are zero.
 *   3. Ownership. Nobody frees the other side's memory. What a call hands over lives until the call returns, unless its
 *      comment names a longer life. What a plugin publishes (tables, strings) lives until unload() has returned.
 *   4. Errors. A pd_status, and a message written into the caller's pd_error. No exception, no longjmp, no signal
 *      crosses. errno and the locale mean nothing across the line.
 *   5. Threads. Each function carries a tag:
 *        [control] one call at a time per plugin, on any thread; may block briefly and allocate.
 *        [hot]     called concurrently, also on the same instance; must not block, must not allocate without bound,
 *                  must not call a [control] function.
 *        [any]     callable from both.
 *   6. Numbers. NaN in an input means "not known". An unknown is never zero.
 *   7. Time and chance come from the host only, so that a recorded decision can be repeated.
 *
 * This header compiles alone and repeatedly, as C89 (with <stdint.h>), C11, C17, C++17 and C++20.
 */
#ifndef PD_ABI_H
#define PD_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PD_ABI_MAJOR 1u
#define PD_ABI_MINOR 0u
#define PD_PLUGIN_MAGIC 0x4C504450u /* the bytes "PDPL" in memory on a little-endian machine */

/* Is `member` within what the writer of *ptr knew? */
#define PD_HAS(ptr, member) \
  ((ptr)->struct_size >= (size_t)((const char *)(&(ptr)->member + 1) - (const char *)(ptr)))

/* ---- Status, strings, errors ------------------------------------------------------------------------------------ */

typedef int32_t pd_status;
#define PD_OK 0               /* the call did what it says */
#define PD_ERR_FAILED 1       /* it could not; the message says why */
#define PD_ERR_INVALID 2      /* an argument or a table breaks the contract */
#define PD_ERR_UNSUPPORTED 3  /* this side does not offer it */
#define PD_ERR_OUT_OF_SPACE 4 /* a bounded resource is used up */

/* Bytes, not terminated; data may be NULL when size is 0. Frozen: this struct never changes. */
typedef struct pd_str {
  const char *data;
  uint64_t size;
} pd_str;

/* Where the callee of a failing call writes its message. */
typedef struct pd_error {
  uint32_t struct_size;
  uint32_t capacity; /* bytes at text, with the terminating zero; at least 256 */
  char *text;        /* UTF-8, zero-terminated by the callee; cut to fit, never overrun */
} pd_error;

/* ---- Requests, pods, batches: what a policy sees ------------------------------------------------------------------ */

#define PD_UNKNOWN_COUNT UINT64_MAX /* a count that is not known */

#define PD_REQUEST_STREAM 1u /* the client asked for a stream */

#define PD_TOKENS_UNKNOWN 0u   /* prompt_tokens is PD_UNKNOWN_COUNT */
#define PD_TOKENS_ESTIMATED 1u /* from the number of bytes */
#define PD_TOKENS_COUNTED 2u   /* by a tokenizer of this host */
#define PD_TOKENS_GIVEN 3u     /* the client sent token ids */

/* One request. [any] Lives until the last call for this request has returned (prefill: release()). */
typedef struct pd_request {
  uint32_t struct_size;
  uint32_t flags;              /* PD_REQUEST_* */
  const void *host_data;       /* the host's; services take the request and look here */
  pd_str request_id;           /* printable, at most 128 bytes */
  pd_str model;                /* served model name, never empty */
  pd_str path;                 /* without the query, for instance "/v1/chat/completions" */
  pd_str profile;              /* name of the routing profile, or empty */
  pd_str session;              /* session key of the client, or empty */
  pd_str adapter;              /* LoRA adapter asked for, or empty */
  pd_str prompt;               /* what is hashed and tokenized; set when PD_USES_PROMPT or the prefix is used */
  uint64_t prompt_tokens;      /* or PD_UNKNOWN_COUNT; see token_source */
  uint64_t max_output_tokens;  /* or PD_UNKNOWN_COUNT */
  const uint32_t *token_ids;   /* PD_USES_TOKEN_IDS, token_id_count of them; or NULL */
  uint64_t token_id_count;
  const uint64_t *block_hashes; /* PD_USES_PREFIX: hash of every whole block of the prompt, chained; or NULL */
  uint64_t block_count;
  uint32_t block_size;          /* bytes of tokenizer output in one block */
  uint32_t token_source;        /* PD_TOKENS_* */
  uint64_t arrival_ns;          /* host clock (pd.clock/1) when the head was read */
  int64_t priority;             /* larger is more important; 0 when the request names none */
  uint32_t choices;             /* `n` of the request, at least 1 */
  uint32_t attempt;             /* 1 for the first choice made for this request */
  const uint64_t *tried_pods;   /* incarnations of pods that failed this request, tried_pod_count of them */
  uint64_t tried_pod_count;
} pd_request;

#define PD_ROLE_PREFILL 1u
#define PD_ROLE_DECODE 2u
#define PD_ROLE_COMBINED 3u

#define PD_HEALTH_PENDING 0u  /* never heard of */
#define PD_HEALTH_READY 1u
#define PD_HEALTH_UNREADY 2u
#define PD_HEALTH_DRAINING 3u

/* One pod of the fleet. [any] Lives as long as the batch that holds it; keep `incarnation`, never the pointer. */
typedef struct pd_pod {
  uint32_t struct_size;
  uint32_t slot;         /* small, dense; taken by another pod only under a new incarnation */
  uint64_t incarnation;  /* never used twice in the life of the host; a restarted pod has a new one */
  pd_str name;
  pd_str roleset;        /* pods that may hand over to each other share it */
  pd_str engine;         /* "vllm", "sglang", "trtllm" */
  pd_str address;        /* host:port */
  uint32_t role;         /* PD_ROLE_* */
  uint32_t label_count;
  const pd_str *label_keys;   /* label_count of each, sorted by key */
  const pd_str *label_values;
} pd_pod;

/*
 * Load of the pods of a batch, column by column: element i belongs to pods[i]. NaN is "not known" (never sampled, or
 * the sample is too old). A column may be NULL in a batch whose host does not have it. Columns behind a PD_USES_ flag
 * are NULL unless some policy asked. [any] Lives for the call.
 */
typedef struct pd_load {
  uint32_t struct_size;
  uint32_t reserved0;
  /* from the engine's own metrics, as scraped */
  const double *running;            /* requests being computed */
  const double *waiting;            /* requests queued */
  const double *throughput;         /* generated tokens per second */
  const double *kv_usage;           /* 0..1 */
  const double *kv_blocks;          /* blocks of the KV cache */
  const double *kv_block_tokens;    /* tokens in one of them */
  const double *prefill_time_ms;    /* mean time of one prefill */
  const double *drain_rate;         /* finished requests per second */
  const double *prefill_prealloc;   /* requests in the engine's pre-allocation queues */
  const double *decode_prealloc;
  const double *sample_age_s;       /* seconds since the last good sample; NaN: never sampled */
  const uint8_t *metrics_ready;     /* 1: the engine columns are fresh */
  const uint8_t *health;            /* PD_HEALTH_* */
  /* the host's own counts; always known */
  const double *prefill_requests;   /* in their prefill leg */
  const double *decode_requests;    /* in their decode leg */
  const double *pending_decode;     /* chosen for this decode pod, not dispatched to it yet */
  const double *prefill_tokens;     /* PD_USES_INFLIGHT_TOKENS: prompt tokens of prefill_requests */
  const double *decode_tokens;      /* PD_USES_INFLIGHT_TOKENS: prompt tokens of decode_requests */
  const double *idle_s;             /* PD_USES_OUTCOME_AVERAGES: seconds since the pod was last chosen; NaN: never */
  const double *ttft_ms;            /* PD_USES_OUTCOME_AVERAGES: averages of recent requests */
  const double *inter_token_ms;
  const double *error_rate;         /* 0..1 */
} pd_load;

/* The pods to choose from, and their load. Referred to by both batches, so that it can grow without moving them. */
typedef struct pd_candidates {
  uint32_t struct_size;
  uint32_t count;             /* may be 0 */
  const pd_pod *const *pods;
  const pd_load *load;
  uint64_t fleet_generation;  /* changes whenever a pod comes, goes or changes */
} pd_candidates;

/* Candidates of one prefill choice: every roleset's in one batch. [any] Lives until release(). */
typedef struct pd_prefill_batch {
  uint32_t struct_size;
  uint32_t reserved0;
  const pd_candidates *candidates;
  const double *request_counts;  /* requests in their prefill leg on this pod */
  double max_request_count;      /* largest of all candidates, skipped ones included; at least 1 */
  const double *match_percent;   /* PD_USES_PREFIX: 0..100, whole numbers; contiguous from the first block */
  const double *matched_blocks;  /* PD_USES_PREFIX */
  const double *matched_bytes;   /* PD_USES_PREFIX: of tokenizer output: match_percent * prompt_bytes / 100 */
  uint64_t prompt_bytes;         /* of tokenizer output; PD_UNKNOWN_COUNT when nobody asked */
} pd_prefill_batch;

/* Candidates of one decode choice. The first three columns and the maxima are the reference's DecodePodInput. */
typedef struct pd_decode_batch {
  uint32_t struct_size;
  uint32_t reserved0;
  const pd_candidates *candidates;
  const double *running_reqs;      /* active decode requests, chosen but undispatched ones included */
  const double *throughput;        /* generated tokens per second; 0 when not known */
  const double *free_gpu_percent;  /* free share of the KV cache, above 0, usually at most 100 */
  double max_request_count;        /* largest running_reqs; at least 1 */
  double max_throughput;           /* at least 1 */
  double max_free_gpu_usage;       /* at least 1 */
} pd_decode_batch;

/* The answer to a batch. The host owns all of it and has filled it with NaN and 0. */
typedef struct pd_scores {
  uint32_t struct_size;
  uint32_t count;    /* of the batch */
  double *values;    /* lower is better; +Inf is a legal last resort; NaN is "no score": a fault of the policy */
  uint32_t *reasons; /* 0, or 1 + index into the policy's table of reasons: this pod is excluded on purpose */
} pd_scores;

/* ---- Policies: what a plugin registers ----------------------------------------------------------------------------- */

/* What a policy reads beyond the plain columns. The host computes what somebody uses, once per request, and no more. */
#define PD_USES_PREFIX ((uint64_t)1 << 0)           /* block_hashes and the match columns */
#define PD_USES_PROMPT ((uint64_t)1 << 1)           /* pd_request.prompt */
#define PD_USES_PROMPT_TOKENS ((uint64_t)1 << 2)    /* prompt_tokens counted, not estimated */
#define PD_USES_TOKEN_IDS ((uint64_t)1 << 3)
#define PD_USES_INFLIGHT_TOKENS ((uint64_t)1 << 4)
#define PD_USES_OUTCOME_AVERAGES ((uint64_t)1 << 5)
#define PD_USES_KNOWN (((uint64_t)1 << 6) - 1)      /* a policy with other bits is refused by this host */

#define PD_OPTION_FLOAT 1u
#define PD_OPTION_INT 2u
#define PD_OPTION_BOOL 3u
#define PD_OPTION_STRING 4u

/* One option of a policy, set under [policy.NAME] in the host's configuration. */
typedef struct pd_option {
  uint32_t struct_size;
  uint32_t type;               /* PD_OPTION_* */
  const char *key;             /* [a-z0-9_]+ */
  const char *help;            /* one sentence: meaning, unit, when to change it */
  double default_float, min_float, max_float; /* FLOAT; bounds inclusive */
  int64_t default_int, min_int, max_int;      /* INT; BOOL uses default_int 0 or 1 */
  const char *default_string;  /* STRING */
  const char *const *choices;  /* STRING: allowed values, choice_count of them; 0 = any */
  uint64_t choice_count;
} pd_option;

/* The value of one option, checked against its declaration by the host. */
typedef struct pd_option_value {
  uint32_t struct_size;
  uint32_t type;          /* PD_OPTION_*, as declared */
  double float_value;
  int64_t int_value;      /* also BOOL */
  pd_str string_value;    /* lives for the create() call */
} pd_option_value;

typedef struct pd_host pd_host;

/* What create() gets. Lives for the call; `host` lives until the instance is destroyed. */
typedef struct pd_policy_config {
  uint32_t struct_size;
  uint32_t value_count;                    /* as many as the policy declares options, in that order */
  const pd_option_value *const *values;
  const pd_host *host;
} pd_policy_config;

/* What is the same for every kind of policy. Referred to by the tables below, so that it can grow without moving them. */
typedef struct pd_policy {
  uint32_t struct_size;
  uint32_t flags;                  /* none defined: 0 */
  const char *name;                /* [a-z0-9_.-]+, at most 64 bytes; how configuration, logs and metrics call it */
  const char *description;         /* one sentence */
  uint64_t uses;                   /* PD_USES_* */
  const pd_option *const *options; /* option_count of them; may be NULL */
  uint32_t option_count;
  uint32_t reason_count;
  const char *const *reasons;      /* why this policy may exclude a pod; short, for people; reason_count of them */

  /* [control] Makes an instance, shared by all threads. On failure *instance stays NULL. Required. */
  pd_status (*create)(const pd_policy_config *config, void **instance, pd_error *error);

  /* [control] The last call on an instance. Never concurrent with another call on it. Required. */
  void (*destroy)(void *instance);

  /* [control] Optional services of this policy by id ("pd.feedback/1"), or NULL. Asked once per id, after create. */
  const void *(*service)(void *instance, const char *id);
} pd_policy;

/* A decode policy. Registered tables live until unload(). */
typedef struct pd_decode_policy {
  uint32_t struct_size;
  uint32_t reserved0;
  const pd_policy *policy;

  /* [hot] Scores all pods of the batch; on an error the host treats every score as NaN. Required. */
  pd_status (*score)(void *instance, const pd_request *request, const pd_decode_batch *batch,
                     pd_scores *scores, pd_error *error);
} pd_decode_policy;

/* A prefill policy: prepare once per request, then score, prefix_hashes and release on the same thread. */
typedef struct pd_prefill_policy {
  uint32_t struct_size;
  uint32_t reserved0;
  const pd_policy *policy;

  /* [hot] Begins one request. *scorer may stay NULL when the policy keeps nothing between the calls. Required. */
  pd_status (*prepare)(void *instance, const pd_request *request, const pd_prefill_batch *batch,
                       void **scorer, pd_error *error);

  /* [hot] Scores all pods of the batch that prepare() saw. Required. */
  pd_status (*score)(void *instance, void *scorer, const pd_request *request,
                     const pd_prefill_batch *batch, pd_scores *scores, pd_error *error);

  /*
   * [hot] The block hashes to record for the chosen pod, *count of them, alive until release(). NULL and 0: nothing
   * is recorded. A policy that works on the host's hashes returns request->block_hashes. Optional.
   */
  const uint64_t *(*prefix_hashes)(void *instance, void *scorer, const pd_request *request,
                                   uint64_t *count);

  /* [hot] Ends what prepare() began; called once for each successful prepare(). Optional. */
  void (*release)(void *instance, void *scorer);
} pd_prefill_policy;

/* ---- Plugin and host ------------------------------------------------------------------------------------------------ */

/* Handed to load(). [control] Valid until load() returns. */
typedef struct pd_registrar pd_registrar;
struct pd_registrar {
  uint32_t struct_size;
  uint32_t reserved0;
  void *host_data;

  /*
   * Offers a policy under its name. The host reads the table at once and keeps the pointer until unload(). A name that
   * another plugin has registered is replaced, and the host warns about it. PD_ERR_INVALID, with the reason, when the
   * name or the table breaks the contract; load() may go on without that policy or fail.
   */
  pd_status (*register_decode_policy)(pd_registrar *registrar, const pd_decode_policy *policy,
                                      pd_error *error);
  pd_status (*register_prefill_policy)(pd_registrar *registrar, const pd_prefill_policy *policy,
                                       pd_error *error);
};

/* The host. Lives until unload() has returned. */
struct pd_host {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const void *host_data;
  pd_str name;     /* "pd-host", or of a test */
  pd_str version;

  /* [control] A service by id, for instance "pd.clock/1", or NULL when this host has none of it. Lives as the host. */
  const void *(*service)(const pd_host *host, const char *id);
};

#define PD_PLUGIN_UNLOAD_SAFE 1u /* nothing of this plugin outlives unload(): no thread, no handler, no thread_local
                                    with a destructor; the host may remove it from the address space */
#define PD_PLUGIN_FLAGS_KNOWN 1u

/* What pd_plugin_entry returns: static, constant, alive as long as the library is mapped. */
typedef struct pd_plugin {
  uint32_t magic; /* PD_PLUGIN_MAGIC; magic, struct_size and the two versions keep their places in every major */
  uint32_t struct_size;
  uint16_t abi_major; /* PD_ABI_MAJOR and PD_ABI_MINOR of the header it was built with */
  uint16_t abi_minor;
  uint32_t flags;           /* PD_PLUGIN_* */
  const char *id;           /* [a-z0-9_.-]+, unique: "org.example.my_policies" */
  const char *version;      /* of the plugin, free text */
  const char *vendor;
  const char *licence;      /* SPDX expression */
  const char *description;
  const char *build;        /* compiler, flags that matter, sanitizers: for people and error texts */

  /* [control] Registers the plugin's policies. The host calls it once, before any other function. Required. */
  pd_status (*load)(const pd_host *host, pd_registrar *registrar, pd_error *error);

  /* [control] After every instance is destroyed. Optional. */
  void (*unload)(void);
} pd_plugin;

typedef const pd_plugin *(*pd_plugin_entry_fn)(void);
#define PD_PLUGIN_ENTRY_SYMBOL "pd_plugin_entry"

#if defined(__GNUC__)
#define PD_EXPORT __attribute__((visibility("default")))
#else
#define PD_EXPORT
#endif

/* The one exported symbol of a plugin. [control] */
PD_EXPORT const pd_plugin *pd_plugin_entry(void);

/* ---- Services of the host -------------------------------------------------------------------------------------------- */

#define PD_LOG_DEBUG 0u
#define PD_LOG_INFO 1u
#define PD_LOG_WARNING 2u
#define PD_LOG_ERROR 3u
#define PD_LOG_HOST_MISBEHAVING 4u   /* the host broke the contract */
#define PD_LOG_PLUGIN_MISBEHAVING 5u /* a self-check of the plugin failed */

#define PD_SERVICE_LOG "pd.log/1"
typedef struct pd_log_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [any] One line; never blocks, dropped and counted when too many. The host adds plugin and policy. */
  void (*write)(const pd_host *host, uint32_t severity, pd_str message);
} pd_log_v1;

#define PD_SERVICE_CLOCK "pd.clock/1"
typedef struct pd_clock_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [any] Monotonic nanoseconds. With a request: the time of this decision, the same for all its calls and in a replay. */
  uint64_t (*now_ns)(const pd_host *host, const pd_request *request);
} pd_clock_v1;

#define PD_SERVICE_RANDOM "pd.random/1"
typedef struct pd_random_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] The next 64 uniform bits of this request's own sequence; a replay repeats them. */
  uint64_t (*next)(const pd_host *host, const pd_request *request);
} pd_random_v1;

#define PD_SERVICE_HEADERS "pd.headers/1"
typedef struct pd_headers_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] Value of a request header by its lower-case name; empty data NULL when absent. Lives as the request. */
  pd_str (*get)(const pd_host *host, const pd_request *request, pd_str lower_case_name);
} pd_headers_v1;

#define PD_SERVICE_PREFIX_INDEX "pd.prefix_index/1"
typedef struct pd_prefix_index_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] For hashes of the policy's own: blocks, contiguous from the first, that each pod of the batch holds. */
  pd_status (*match)(const pd_host *host, const pd_request *request, const uint64_t *hashes,
                     uint64_t hash_count, const pd_candidates *candidates, uint64_t *matched_blocks);
} pd_prefix_index_v1;

#define PD_SERVICE_TOKENIZER "pd.tokenizer/1"
typedef struct pd_tokenizer_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [any] Name of the configured tokenizer. */
  pd_str (*name)(const pd_host *host);
  /* [hot] The tokenizer's output for this request's prompt: bytes, alive as the request; computed at most once. */
  pd_status (*output)(const pd_host *host, const pd_request *request, pd_str *bytes,
                      uint64_t *tokens);
} pd_tokenizer_v1;

#define PD_SERVICE_METRICS "pd.metrics/1"
typedef struct pd_metrics_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [control] Asks for a series of the engines' metrics pages by name, in create(). *id is then used to read it. */
  pd_status (*want)(const pd_host *host, pd_str series, uint32_t *id, pd_error *error);
  /* [hot] Last value of that series on this pod, ranks summed, NaN when not known; *age_s its age in seconds. */
  double (*value)(const pd_host *host, const pd_pod *pod, uint32_t id, double *age_s);
} pd_metrics_v1;

/* ---- Services of a policy -------------------------------------------------------------------------------------------- */

#define PD_OUTCOME_OK 0u
#define PD_OUTCOME_CLIENT_ERROR 1u   /* an engine answered 4xx */
#define PD_OUTCOME_PREFILL_FAILED 2u
#define PD_OUTCOME_DECODE_FAILED 3u
#define PD_OUTCOME_TIMEOUT 4u
#define PD_OUTCOME_CANCELLED 5u      /* the client left */

/* What became of a request that this policy chose a pod for. Times in milliseconds, NaN when not reached. */
typedef struct pd_outcome {
  uint32_t struct_size;
  uint32_t result;                /* PD_OUTCOME_* */
  pd_str request_id;
  pd_str session;
  uint64_t prefill_incarnation;   /* 0: no prefill leg */
  uint64_t decode_incarnation;
  uint32_t status;                /* HTTP status that the client got, 0: none */
  uint32_t attempts;
  double queue_ms;
  double selection_ms;
  double prefill_ms;              /* dispatch to answer of the prefill leg */
  double first_byte_ms;           /* arrival to the first byte of the decode answer */
  double inter_chunk_ms;          /* mean between chunks of the stream */
  double total_ms;
  uint64_t prompt_tokens;         /* as the engine counted; or PD_UNKNOWN_COUNT */
  uint64_t output_tokens;         /* or PD_UNKNOWN_COUNT */
  uint64_t cached_tokens;         /* of the prompt, on the prefill pod; or PD_UNKNOWN_COUNT */
} pd_outcome;

#define PD_SERVICE_FEEDBACK "pd.feedback/1"
typedef struct pd_feedback_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] One call per request that this instance scored for, when it has ended, in any order. */
  void (*outcome)(void *instance, const pd_outcome *outcome);
} pd_feedback_v1;

#define PD_SERVICE_STATE "pd.state/1"
typedef struct pd_state_v1 {
  uint32_t struct_size;
  uint32_t format;  /* the policy's own number for the layout of its state */
  /* [control] Writes the state into the buffer; *size is its capacity before and the length after. */
  pd_status (*save)(void *instance, void *buffer, uint64_t *size, pd_error *error);
  /* [control] Takes over the state of a predecessor of the same name, before the first score(). */
  pd_status (*restore)(void *instance, uint32_t format, const void *buffer, uint64_t size,
                       pd_error *error);
} pd_state_v1;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PD_ABI_H */
