/*
 * pd plugin ABI 1.0: what a policy plugin and a pd host say to each other.
 *
 * A plugin is a shared object with one exported symbol, pd_plugin_entry. A binary built against this header works in
 * every later host of the same major version. docs/abi-design.md says why each thing is as it is.
 *
 * Rules that hold everywhere below
 *   1. Growth. Structs only grow at the end, by multiples of 8 bytes without padding, and are handed over by pointer,
 *      never by value or in arrays; pd_str is the exception and is frozen. Each starts with struct_size, the size that
 *      its writer knew (pd_plugin has it at offset 4): at least the size of version 1.0, at most 64 KiB, a multiple of 8.
 *      A host copies a plugin's tables and reads members beyond their size as zero. A plugin asks PD_HAS() before it
 *      reads a member that is newer than 1.0. A new member's zero means "as before". Never form a reference to, or a copy
 *      of, a struct of the other side: compilers may then read all of what they believe it to be.
 *   2. Types. Fixed-width integers, double, pointers; 64-bit targets only. Reserved members are zero: a host refuses
 *      others, a plugin ignores them. Unknown flags in a plugin's table are refused, in a host's struct ignored. Unknown
 *      values: a status is PD_ERR_FAILED, an outcome a failure, a health not ready, a severity PD_LOG_INFO.
 *   3. Ownership. Nobody frees the other side's memory. What a call hands over lives until the call returns, unless its
 *      comment names a longer life. Tables and strings that a plugin publishes are constant, and live until unload() has
 *      returned. Outputs never alias inputs.
 *   4. Errors. A pd_status, and a message written into the caller's pd_error, which is never NULL and ignored after
 *      PD_OK. No exception, no longjmp, no signal crosses. errno and the locale mean nothing across the line.
 *   5. Threads. Each function carries a tag:
 *        [control] one [control] call at a time per plugin, on any thread; may allocate and block briefly. [hot] calls
 *                  may run meanwhile on other instances and on the same one; only destroy() excludes everything.
 *        [hot]     called concurrently, also on the same instance; must not block, must not allocate without bound,
 *                  must not call a [control] function.
 *        [any]     callable from both, and from the plugin's own threads while the instance lives.
 *      No host function calls back into the plugin.
 *   6. Numbers. NaN in an input means "not known". An unknown is never zero, where the comment does not say so.
 *   7. Time and chance come from the host only, so that a recorded decision can be repeated.
 *   8. Text. pd_str holds bytes from the wire, of any value; const char * is UTF-8.
 *
 * This header compiles alone and repeatedly, as C89 (with <stdint.h>), C11, C17, C++17 and C++20.
 */
#ifndef PD_ABI_H
#define PD_ABI_H

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "the pd plugin ABI is defined for 64-bit targets only"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PD_ABI_MAJOR 1u
#define PD_ABI_MINOR 0u
#define PD_PLUGIN_MAGIC 0x4C504450u /* the bytes "PDPL" in the memory of a little-endian machine */

/* The oldest 1.x host that this plugin can work with; define it higher to rely on something newer without asking. */
#ifndef PD_NEEDS_MINOR
#define PD_NEEDS_MINOR 0u
#endif

/* Is `member` of `type` within what the writer of *ptr knew? */
#define PD_HAS(type, ptr, member) ((ptr)->struct_size >= offsetof(type, member) + sizeof((ptr)->member))

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

/* Where the callee of a failing call writes its message. text[0] is 0 on entry. */
typedef struct pd_error {
  uint32_t struct_size;
  uint32_t capacity; /* bytes at text, with the terminating zero; at least 256 */
  char *text;        /* UTF-8, zero-terminated by the callee; cut to fit, never overrun */
} pd_error;

/* ---- Requests, pods, batches: what a policy sees ------------------------------------------------------------------ */

#define PD_UNKNOWN_COUNT 0xFFFFFFFFFFFFFFFFu /* a count that is not known */

#define PD_REQUEST_STREAM 1u  /* the client asked for a stream */
#define PD_REQUEST_DRY_RUN 2u /* a probe, a replay or an explanation: answer as usual, change no state */

#define PD_TOKENS_UNKNOWN 0u   /* prompt_tokens is PD_UNKNOWN_COUNT */
#define PD_TOKENS_ESTIMATED 1u /* from the number of bytes */
#define PD_TOKENS_COUNTED 2u   /* by a tokenizer of this host */
#define PD_TOKENS_GIVEN 3u     /* the client sent token ids */

/* One request, at one choice of pods. [any] Lives for the calls of that choice (prefill: until release()). */
typedef struct pd_request {
  uint32_t struct_size;
  uint32_t flags;               /* PD_REQUEST_* */
  const void *host_data;        /* the host's; services take the request and look here */
  pd_str request_id;            /* printable, at most 128 bytes */
  pd_str model;                 /* served model name, never empty */
  pd_str path;                  /* without the query, for instance "/v1/chat/completions" */
  pd_str profile;               /* name of the routing profile, or empty */
  pd_str session;               /* session key of the client, or empty */
  pd_str adapter;               /* LoRA adapter asked for, or empty */
  pd_str prompt;                /* PD_USES_PROMPT: what is hashed and tokenized */
  uint64_t prompt_bytes;        /* PD_USES_PREFIX: of tokenizer output; or PD_UNKNOWN_COUNT */
  uint64_t prompt_tokens;       /* or PD_UNKNOWN_COUNT; see token_source */
  uint64_t max_output_tokens;   /* or PD_UNKNOWN_COUNT */
  const uint32_t *token_ids;    /* PD_USES_TOKEN_IDS, token_id_count of them; or NULL */
  uint64_t token_id_count;
  const uint64_t *block_hashes; /* PD_USES_PREFIX: hash of every whole block of the prompt, chained; or NULL */
  uint64_t block_count;
  uint32_t block_size;          /* bytes of tokenizer output in one block */
  uint32_t token_source;        /* PD_TOKENS_* */
  int64_t priority;             /* larger is more important; 0 when the request names none */
  uint64_t arrival_ns;          /* host clock when the request's head had been read */
  uint64_t decision_ns;         /* host clock of this choice; the same in a replay */
  uint32_t choices;             /* `n` of the request, at least 1 */
  uint32_t attempt;             /* 1 for the first choice made for this request */
  const uint64_t *tried_pods;   /* incarnations of pods that failed this request, tried_pod_count of them; they are not */
  uint64_t tried_pod_count;     /* in the batch */
  uint32_t worker;              /* below pd_policy_config.worker_count; calls with the same number never overlap */
  uint32_t reserved0;
} pd_request;

/* A mask: PD_ROLE_COMBINED is both, so test with &. */
#define PD_ROLE_PREFILL 1u
#define PD_ROLE_DECODE 2u
#define PD_ROLE_COMBINED 3u

/*
 * One target of the fleet; a data-parallel rank may be one of its own, so addresses may repeat. [any] Constant while
 * fleet_generation is; name, role, roleset, engine and address for the life of the incarnation. Lives as the batch that
 * holds it: keep `incarnation`, never the pointer.
 */
typedef struct pd_pod {
  uint32_t struct_size;
  uint32_t slot;              /* below pd_policy_config.slot_limit; taken by another pod only under a new incarnation */
  uint64_t incarnation;       /* never used twice in the life of the host; a restarted pod has a new one */
  pd_str name;
  pd_str roleset;             /* pods that may hand over to each other share it */
  pd_str engine;              /* "vllm", "sglang", "trtllm" */
  pd_str address;             /* host:port */
  uint32_t role;              /* PD_ROLE_* */
  uint32_t label_count;
  const pd_str *label_keys;   /* label_count of each, sorted by key */
  const pd_str *label_values;
} pd_pod;

/*
 * Load of the pods of a batch, column by column: element i belongs to pods[i]; NaN is "not known" (never sampled, or the
 * sample is too old). A column is set for a policy that declares its PD_USES_ bit, and unspecified for others.
 * [any] Lives for the call.
 */
typedef struct pd_load {
  uint32_t struct_size;
  uint32_t reserved0;
  /* from the engine's own metrics, as scraped */
  const double *running;          /* PD_USES_RUNNING: requests being computed */
  const double *waiting;          /* PD_USES_WAITING: requests queued */
  const double *throughput;       /* PD_USES_THROUGHPUT: generated tokens per second */
  const double *kv_usage;         /* PD_USES_KV_USAGE: 0..1 */
  const double *kv_blocks;        /* PD_USES_KV_BLOCKS: blocks of the KV cache */
  const double *kv_block_tokens;  /* PD_USES_KV_BLOCKS: tokens in one of them */
  const double *prefill_time_ms;  /* PD_USES_PREFILL_TIME: mean time of one prefill */
  const double *drain_rate;       /* PD_USES_DRAIN_RATE: finished requests per second */
  const double *prefill_prealloc; /* PD_USES_PREALLOC: requests in the engine's pre-allocation queues */
  const double *decode_prealloc;  /* PD_USES_PREALLOC */
  const double *sample_age_s;     /* PD_USES_SAMPLE_AGE: seconds since the last good sample; NaN: never sampled */
  /* the host's own counts, always known */
  const double *prefill_requests; /* PD_USES_OWN_REQUESTS: in their prefill leg; combined pods count in decode_requests */
  const double *decode_requests;  /* PD_USES_OWN_REQUESTS: in their decode leg */
  const double *pending_decode;   /* PD_USES_OWN_REQUESTS: chosen for this decode pod, not dispatched to it yet */
  const double *prefill_tokens;   /* PD_USES_OWN_TOKENS: prompt tokens of prefill_requests */
  const double *decode_tokens;    /* PD_USES_OWN_TOKENS: prompt tokens of decode_requests */
  const double *idle_s;           /* PD_USES_IDLE_TIME: seconds since the pod was last chosen; NaN: never */
  const double *ttft_ms;          /* PD_USES_OUTCOME_AVERAGES: averages of recent requests; NaN: none */
  const double *inter_token_ms;   /* PD_USES_OUTCOME_AVERAGES */
  const double *error_rate;       /* PD_USES_OUTCOME_AVERAGES: 0..1 */
} pd_load;

/*
 * The pods to choose from: exactly those whose score will be used, all of them ready; others only set the maxima.
 * Their order means nothing and may differ from call to call. [any] Lives for the call.
 */
typedef struct pd_candidates {
  uint32_t struct_size;
  uint32_t count;            /* at least 1 */
  const pd_pod *const *pods;
  const pd_load *load;
  uint64_t fleet_generation; /* changes whenever a pod comes, goes or changes */
} pd_candidates;

/* Candidates of one prefill choice: every roleset's in one batch. [any] Lives until release(). */
typedef struct pd_prefill_batch {
  uint32_t struct_size;
  uint32_t reserved0;
  const pd_candidates *candidates;
  const double *request_counts; /* requests in their prefill leg on this pod */
  double max_request_count;     /* largest of all candidates, those without a batch row included; finite, at least 1 */
  const double *match_percent;  /* PD_USES_PREFIX: 0..100, whole numbers; contiguous from the first block */
  const double *matched_blocks; /* PD_USES_PREFIX: of pd_request.block_count */
  const double *matched_bytes;  /* PD_USES_PREFIX: match_percent * prompt_bytes / 100 */
} pd_prefill_batch;

/* Candidates of one decode choice. The first three columns and the maxima are the reference's DecodePodInput. */
typedef struct pd_decode_batch {
  uint32_t struct_size;
  uint32_t reserved0;
  const pd_candidates *candidates;
  const double *running_reqs;     /* active decode requests, chosen but undispatched ones included; always known */
  const double *throughput;       /* generated tokens per second; 0 when not known */
  const double *free_gpu_percent; /* free share of the KV cache, above 0, usually at most 100; 100 when not known */
  double max_request_count;       /* largest running_reqs; finite, at least 1 */
  double max_throughput;          /* finite, at least 1 */
  double max_free_gpu_usage;      /* finite, at least 1 */
} pd_decode_batch;

/*
 * The answer to a batch. The host owns all of it and has filled it with NaN and 0. A score is any finite number, 0 or
 * more by custom, or +Inf as a last resort; lower is better. NaN and -Inf are faults of the policy. The host adds the
 * two stages of a roleset up: p / max(maxP, 1) + d / max(maxD, 0.01), the maxima over the scored pods of the stage.
 */
typedef struct pd_scores {
  uint32_t struct_size;
  uint32_t count;    /* of the batch */
  double *values;
  uint32_t *reasons; /* 0, or 1 + index into the policy's table of reasons: this pod is excluded on purpose */
  uint64_t tag;      /* the policy's own word for this choice; comes back in pd_choice and pd_outcome */
} pd_scores;

#define PD_CHOICE_SHORTCUT 1u /* a rule of the host chose in this policy's stage, not the scores */
#define PD_NO_INDEX 0xFFFFFFFFu

/* What was chosen. [any] Lives for the call. */
typedef struct pd_choice {
  uint32_t struct_size;
  uint32_t flags;         /* PD_CHOICE_* */
  const pd_pod *prefill;  /* NULL: no prefill leg */
  const pd_pod *decode;
  uint32_t prefill_index; /* in the batch of that stage, or PD_NO_INDEX */
  uint32_t decode_index;
  uint64_t tag;           /* what this instance wrote into pd_scores.tag, or 0 */
} pd_choice;

/* The blocks to enter into the prefix index for the chosen prefill pod, once its prefill has succeeded. */
typedef struct pd_prefix_record {
  uint32_t struct_size;
  uint32_t reserved0;
  const uint64_t *hashes; /* alive until release(); the host has set NULL */
  uint64_t count;         /* the host has set 0 */
} pd_prefix_record;

/* ---- Policies: what a plugin registers ----------------------------------------------------------------------------- */

/* What a policy reads. The host computes what some policy in use declares, once per choice, and nothing else. */
#define PD_USES_PREFIX 0x01ul           /* prompt_bytes, block_hashes and the match columns */
#define PD_USES_PROMPT 0x02ul           /* pd_request.prompt */
#define PD_USES_PROMPT_TOKENS 0x04ul    /* prompt_tokens counted, not estimated */
#define PD_USES_TOKEN_IDS 0x08ul
#define PD_USES_TOKENIZER_OUTPUT 0x10ul /* pd.tokenizer/1 output() */
#define PD_USES_RUNNING 0x10000ul       /* columns of pd_load from here on */
#define PD_USES_WAITING 0x20000ul
#define PD_USES_THROUGHPUT 0x40000ul
#define PD_USES_KV_USAGE 0x80000ul
#define PD_USES_KV_BLOCKS 0x100000ul
#define PD_USES_PREFILL_TIME 0x200000ul
#define PD_USES_DRAIN_RATE 0x400000ul
#define PD_USES_PREALLOC 0x800000ul
#define PD_USES_SAMPLE_AGE 0x1000000ul
#define PD_USES_OWN_REQUESTS 0x2000000ul
#define PD_USES_OWN_TOKENS 0x4000000ul
#define PD_USES_IDLE_TIME 0x8000000ul
#define PD_USES_OUTCOME_AVERAGES 0x10000000ul
#define PD_USES_KNOWN 0x1FFF001Ful      /* a policy with other bits needs a newer host */

/* The host's imbalance and cold-pod rules do not choose in this policy's stage: only its scores and reasons do. Without
 * it they may, before or instead of a score, and a pod that the policy would exclude can be chosen by them. */
#define PD_POLICY_NO_SHORTCUTS 1u
#define PD_POLICY_FLAGS_KNOWN 1u

#define PD_OPTION_FLOAT 1u
#define PD_OPTION_INT 2u
#define PD_OPTION_BOOL 3u
#define PD_OPTION_STRING 4u

/* One option of a policy, set under [policy.NAME] in the host's configuration. */
typedef struct pd_option {
  uint32_t struct_size;
  uint32_t type;              /* PD_OPTION_* */
  const char *key;            /* [a-z0-9_]+ */
  const char *help;           /* one sentence: meaning, unit, when to change it */
  double default_float;       /* FLOAT: finite, within the bounds */
  double min_float;           /* bounds are inclusive; equal bounds: none */
  double max_float;
  int64_t default_int;        /* INT; BOOL: 0 or 1 */
  int64_t min_int;            /* as for FLOAT */
  int64_t max_int;
  const char *default_string; /* STRING: never NULL */
  const char *const *choices; /* STRING: allowed values, choice_count of them; 0: any */
  uint64_t choice_count;
} pd_option;

/* The value of one option, checked against its declaration by the host. */
typedef struct pd_option_value {
  uint32_t struct_size;
  uint32_t type;       /* PD_OPTION_*, as declared */
  double float_value;
  int64_t int_value;   /* also BOOL */
  pd_str string_value; /* lives for the create() call */
} pd_option_value;

typedef struct pd_host pd_host;

/* What create() gets. Lives for the call; `host` lives until the instance is destroyed and is this instance's own. */
typedef struct pd_policy_config {
  uint32_t struct_size;
  uint32_t value_count;                 /* as many as the policy declares options, in that order */
  const pd_option_value *const *values;
  const pd_host *host;
  uint32_t role;                        /* PD_ROLE_PREFILL or PD_ROLE_DECODE: the stage of this instance */
  uint32_t worker_count;                /* pd_request.worker is below it */
  uint32_t slot_limit;                  /* every slot that this instance sees is below it */
  uint32_t reserved0;
} pd_policy_config;

/* What is the same for every kind of policy. Referred to by the tables below, so that it can grow without moving them. */
typedef struct pd_policy {
  uint32_t struct_size;
  uint32_t flags;                  /* PD_POLICY_* */
  const char *name;                /* [a-z0-9_.-]+, at most 64 bytes, unique per kind: how configuration, logs and
                                      metrics call it */
  const char *description;         /* one sentence */
  uint64_t uses;                   /* PD_USES_* */
  const pd_option *const *options; /* option_count of them; may be NULL when there are none */
  uint32_t option_count;
  uint32_t reason_count;
  const char *const *reasons;      /* why this policy may exclude a pod; short, for people; reason_count of them */

  /* [control] Makes an instance for one stage and configuration, shared by all threads; called any number of times, also
   * while older instances live. On failure *instance stays NULL, else it may be any value. Required. */
  pd_status (*create)(const pd_policy_config *config, void **instance, pd_error *error);

  /* [control] The last call on an instance; nothing overlaps with it. Required. */
  void (*destroy)(void *instance);

  /* [control] Optional services of this policy by id ("pd.feedback/1"), or NULL; static tables. May be NULL. */
  const void *(*service)(void *instance, const char *id);
} pd_policy;

/* A decode policy. */
typedef struct pd_decode_policy {
  uint32_t struct_size;
  uint32_t reserved0;
  const pd_policy *policy;

  /* [hot] Scores all pods of the batch; on an error the host treats every score as NaN. Required. */
  pd_status (*score)(void *instance, const pd_request *request, const pd_decode_batch *batch, pd_scores *scores,
                     pd_error *error);
} pd_decode_policy;

/*
 * A prefill policy. For each choice: prepare() once, score() zero or more times with the same batch, prefix_hashes() at
 * most once when something was chosen, release() always unless prepare() failed; all on one thread. Calls for other
 * requests may come in between on that thread, so nothing belongs into thread_local. A retry is a new choice.
 */
typedef struct pd_prefill_policy {
  uint32_t struct_size;
  uint32_t reserved0;
  const pd_policy *policy;

  /* [hot] Begins one choice. *scorer may stay NULL when the policy keeps nothing between the calls. Required. */
  pd_status (*prepare)(void *instance, const pd_request *request, const pd_prefill_batch *batch, void **scorer,
                       pd_error *error);

  /* [hot] Scores all pods of the batch; on an error the host treats every score as NaN. Required. */
  pd_status (*score)(void *instance, void *scorer, const pd_request *request, const pd_prefill_batch *batch,
                     pd_scores *scores, pd_error *error);

  /* [hot] What to record for the chosen pod. A policy that works on the host's hashes gives request->block_hashes. May
   * be NULL: nothing is recorded. */
  pd_status (*prefix_hashes)(void *instance, void *scorer, const pd_request *request, const pd_choice *choice,
                             pd_prefix_record *record, pd_error *error);

  /* [hot] Ends the choice, as soon as it is known; never waits for a leg. choice is NULL when nothing was chosen. May be
   * NULL when no scorer needs an end. */
  void (*release)(void *instance, void *scorer, const pd_choice *choice);
} pd_prefill_policy;

/* ---- Plugin and host ------------------------------------------------------------------------------------------------ */

/* Handed to load(). [control] Valid until load() returns. */
typedef struct pd_registrar pd_registrar;
struct pd_registrar {
  uint32_t struct_size;
  uint32_t reserved0;
  void *host_data;

  /*
   * Offers a policy under its name. The host copies the table. A name that is registered already is replaced, and the host
   * warns about it. PD_ERR_INVALID, with the reason, when the name or the table breaks the contract; load() may go on
   * without that policy or fail.
   */
  pd_status (*register_decode_policy)(pd_registrar *registrar, const pd_decode_policy *policy, pd_error *error);
  pd_status (*register_prefill_policy)(pd_registrar *registrar, const pd_prefill_policy *policy, pd_error *error);
};

/* The host, as one instance (or load()) sees it. Lives until destroy() (or unload()) has returned. */
struct pd_host {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const void *host_data;
  pd_str name;           /* "pd-host", or of a test */
  pd_str version;

  /* [control] A service by id, for instance "pd.clock/1", or NULL when this host has none of it. Static tables. */
  const void *(*service)(const pd_host *host, const char *id);
};

#define PD_PLUGIN_UNLOAD_SAFE 1u /* nothing of this plugin outlives unload(): no thread, no handler, no thread_local
                                    with a destructor; the host may remove it from the address space */
#define PD_PLUGIN_FLAGS_KNOWN 1u

/* What pd_plugin_entry returns: static, constant, alive as long as the library is mapped. */
typedef struct pd_plugin {
  uint32_t magic;         /* PD_PLUGIN_MAGIC; the first four members keep their places in every major version */
  uint32_t struct_size;
  uint16_t abi_major;     /* PD_ABI_MAJOR */
  uint16_t abi_minor;     /* PD_NEEDS_MINOR: a host with a smaller minor refuses the plugin */
  uint32_t flags;         /* PD_PLUGIN_* */
  uint32_t header_minor;  /* PD_ABI_MINOR of the header it was built with; for messages only */
  uint32_t reserved0;
  const char *id;         /* [a-z0-9_.-]+, unique: "org.example.my_policies"; required */
  const char *version;    /* of the plugin, free text; required */
  const char *vendor;     /* this and the next three may be NULL */
  const char *licence;    /* SPDX expression */
  const char *description;
  const char *build;      /* compiler, flags that matter, sanitizers: for people and error texts */

  /* [control] Registers the plugin's policies, before anything else of it is used. When it fails, what it registered is
   * dropped and unload() is not called. load() and unload() may alternate in one process. Required. */
  pd_status (*load)(const pd_host *host, pd_registrar *registrar, pd_error *error);

  /* [control] After every instance is destroyed. May be NULL. */
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
  /* [any] One line; never blocks; dropped and counted when there are too many. The host adds plugin and policy. */
  void (*write)(const pd_host *host, uint32_t severity, pd_str message);
} pd_log_v1;

#define PD_SERVICE_CLOCK "pd.clock/1"
typedef struct pd_clock_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [any] Monotonic nanoseconds. With a request: its decision_ns. With NULL: now. */
  uint64_t (*now_ns)(const pd_host *host, const pd_request *request);
} pd_clock_v1;

#define PD_SERVICE_RANDOM "pd.random/1"
typedef struct pd_random_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] The next 64 uniform bits of the sequence that belongs to this request and instance; a replay repeats them. */
  uint64_t (*next)(const pd_host *host, const pd_request *request);
} pd_random_v1;

#define PD_SERVICE_HEADERS "pd.headers/1"
typedef struct pd_headers_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] Value of a request header by its lower-case name; data is NULL when there is none. Lives as the request. */
  pd_str (*get)(const pd_host *host, const pd_request *request, pd_str lower_case_name);
} pd_headers_v1;

#define PD_SERVICE_PREFIX_INDEX "pd.prefix_index/1"
typedef struct pd_prefix_index_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] For hashes of the policy's own: blocks, contiguous from the first, that each candidate holds.
   * matched_blocks has room for candidates->count numbers. */
  pd_status (*match)(const pd_host *host, const pd_request *request, const pd_candidates *candidates,
                     const uint64_t *hashes, uint64_t hash_count, uint64_t *matched_blocks);
} pd_prefix_index_v1;

#define PD_SERVICE_TOKENIZER "pd.tokenizer/1"
typedef struct pd_tokenizer_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [any] Name of the configured tokenizer. */
  pd_str (*name)(const pd_host *host);
  /* [hot] The tokenizer's output for this request's prompt: bytes, alive as the request, and how many tokens they are.
   * Computed before the call for a policy with PD_USES_TOKENIZER_OUTPUT; PD_ERR_UNSUPPORTED for others. */
  pd_status (*output)(const pd_host *host, const pd_request *request, pd_str *bytes, uint64_t *tokens);
} pd_tokenizer_v1;

#define PD_SERVICE_SCRATCH "pd.scratch/1"
typedef struct pd_scratch_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] Memory for this choice, freed by the host after it; alignment is a power of two, at most 64. NULL when more
   * than the host grants (at least 1 MiB for one choice). */
  void *(*get)(const pd_host *host, const pd_request *request, uint64_t size, uint64_t alignment);
} pd_scratch_v1;

#define PD_METRIC_SUM 0u
#define PD_METRIC_MAX 1u
#define PD_METRIC_MIN 2u

/* A series of the engines' metrics pages, as a policy wants to read it. */
typedef struct pd_metric_query {
  uint32_t struct_size;
  uint32_t combine;           /* PD_METRIC_*: over ranks and label sets */
  pd_str series;
  const pd_str *label_keys;   /* label_count labels that a sample must carry; 0: all samples */
  const pd_str *label_values;
  uint32_t label_count;
  uint32_t flags;             /* none defined: 0 */
} pd_metric_query;

#define PD_SERVICE_METRICS "pd.metrics/1"
typedef struct pd_metrics_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [control] Asks, in create(), for a series to be scraped; *id is then used to read it. PD_ERR_OUT_OF_SPACE when the
   * host has no room for more. */
  pd_status (*want)(const pd_host *host, const pd_metric_query *query, uint32_t *id, pd_error *error);
  /* [hot] Fills candidates->count values, NaN when not known, and their ages in seconds; ages_s may be NULL. */
  pd_status (*read)(const pd_host *host, const pd_request *request, const pd_candidates *candidates, uint32_t id,
                    double *values, double *ages_s);
} pd_metrics_v1;

/* ---- Services of a policy -------------------------------------------------------------------------------------------- */

#define PD_OUTCOME_OK 0u
#define PD_OUTCOME_CLIENT_ERROR 1u /* an engine answered 4xx */
#define PD_OUTCOME_PREFILL_FAILED 2u
#define PD_OUTCOME_DECODE_FAILED 3u
#define PD_OUTCOME_TIMEOUT 4u
#define PD_OUTCOME_CANCELLED 5u    /* the client left */

#define PD_OUTCOME_FINAL 1u        /* no further attempt follows */

/* What became of one attempt. Times in milliseconds, NaN when that point was not reached. [any] Lives for the call. */
typedef struct pd_outcome {
  uint32_t struct_size;
  uint32_t result;              /* PD_OUTCOME_* */
  uint32_t flags;               /* PD_OUTCOME_FINAL */
  uint32_t attempt;
  uint64_t tag;                 /* what this instance wrote into pd_scores.tag, or 0 */
  uint64_t now_ns;              /* host clock */
  pd_str request_id;
  pd_str model;
  pd_str session;
  uint64_t prefill_incarnation; /* 0: no prefill leg */
  uint64_t decode_incarnation;  /* 0: no decode leg */
  uint32_t status;              /* HTTP status that the client got; 0: none yet */
  uint32_t reserved0;
  double queue_ms;
  double selection_ms;
  double prefill_ms;            /* dispatch to answer of the prefill leg */
  double first_byte_ms;         /* arrival to the first byte of the decode answer */
  double inter_chunk_ms;        /* mean between chunks of the stream */
  double total_ms;
  uint64_t prompt_tokens;       /* as the engine counted; or PD_UNKNOWN_COUNT */
  uint64_t output_tokens;       /* or PD_UNKNOWN_COUNT */
  uint64_t cached_tokens;       /* of the prompt, on the prefill pod; or PD_UNKNOWN_COUNT */
} pd_outcome;

#define PD_SERVICE_FEEDBACK "pd.feedback/1"
typedef struct pd_feedback_v1 {
  uint32_t struct_size;
  uint32_t reserved0;
  /* [hot] Right after each choice of this instance's stage, shortcuts included. Never for a dry run. May be NULL. */
  void (*chosen)(void *instance, const pd_request *request, const pd_choice *choice);
  /* [hot] When an attempt has ended, in any order; to the instance that scored for it, while that lives, else dropped and
   * counted. Never for a dry run. May be NULL. */
  void (*outcome)(void *instance, const pd_outcome *outcome);
} pd_feedback_v1;

#define PD_SERVICE_STATE "pd.state/1"
typedef struct pd_state_v1 {
  uint32_t struct_size;
  uint32_t format; /* the policy's own number for the layout of its state */
  /* [control] Writes the state. *size is the capacity before; after PD_OK the length written; after PD_ERR_OUT_OF_SPACE
   * the length needed, the buffer untouched, and the host asks again with more, up to a bound of its own. buffer is NULL
   * only with *size 0. [hot] calls may run meanwhile. */
  pd_status (*save)(void *instance, void *buffer, uint64_t *size, pd_error *error);
  /* [control] Takes over the state of a predecessor of the same kind and name, before the first score(). When it refuses,
   * the instance starts fresh and the host warns. */
  pd_status (*restore)(void *instance, uint32_t format, const void *buffer, uint64_t size, pd_error *error);
} pd_state_v1;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PD_ABI_H */
