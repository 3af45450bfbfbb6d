/*
 * The layout of plugin ABI 1.0, in numbers: offset, size and alignment of every member of every
 * public struct, the type of each callback, and the value of each constant. Written from the
 * header's text, for C11 and C++20.
 *
 * Nothing in this file ever changes. A later 1.x appends members, so that sizes may grow then; it
 * gets a file of its own for what it adds. If an assertion here fails, the change that made it fail
 * breaks plugins that people have in use.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pd/abi.h"

#ifdef __cplusplus
#include <type_traits>
#define PD_LAYOUT_ASSERT(condition, text) static_assert(condition, text)
#define PD_LAYOUT_ALIGN(type) alignof(type)
#define PD_LAYOUT_SIZEOF(type, member) sizeof(type::member)
#define PD_LAYOUT_IS(type, member, member_type) \
  std::is_same<decltype(type::member), member_type>::value
#else
#define PD_LAYOUT_ASSERT(condition, text) _Static_assert(condition, text)
#define PD_LAYOUT_ALIGN(type) _Alignof(type)
#define PD_LAYOUT_SIZEOF(type, member) sizeof(((type*)0)->member)
#define PD_LAYOUT_IS(type, member, member_type) \
  _Generic(((type*)0)->member, member_type : 1, default : 0)
#endif

/* One member: its type, and where it lies. */
#define PD_MEMBER(type, member, member_type, offset, size, align)                       \
  PD_LAYOUT_ASSERT(offsetof(type, member) == (offset), #type "." #member " has moved"); \
  PD_LAYOUT_ASSERT(PD_LAYOUT_SIZEOF(type, member) == (size),                            \
                   #type "." #member " has another size");                              \
  PD_LAYOUT_ASSERT(PD_LAYOUT_ALIGN(member_type) == (align),                             \
                   #type "." #member " has another alignment");                         \
  PD_LAYOUT_ASSERT(PD_LAYOUT_IS(type, member, member_type), #type "." #member " has another type")

/* A whole struct: exactly this size in 1.0, never less later, and a multiple of 8 always. */
#define PD_STRUCT(type, size)                                                           \
  PD_LAYOUT_ASSERT(PD_ABI_MINOR == 0 ? sizeof(type) == (size) : sizeof(type) >= (size), \
                   #type " has another size than in 1.0");                              \
  PD_LAYOUT_ASSERT(sizeof(type) % 8 == 0 && PD_LAYOUT_ALIGN(type) == 8,                 \
                   #type " is not laid out by 8")

#define PD_VALUE(name, value) PD_LAYOUT_ASSERT((name) == (value), #name " has another value")

/* The types of the callbacks, written out once more: what a binary passes in which register. */
typedef pd_status (*pd_layout_create_fn)(const pd_policy_config*, void**, pd_error*);
typedef void (*pd_layout_destroy_fn)(void*);
typedef const void* (*pd_layout_policy_service_fn)(void*, const char*);
typedef pd_status (*pd_layout_decode_score_fn)(void*, const pd_request*, const pd_decode_batch*,
                                               pd_scores*, pd_error*);
typedef pd_status (*pd_layout_prepare_fn)(void*, const pd_request*, const pd_prefill_batch*, void**,
                                          pd_error*);
typedef pd_status (*pd_layout_prefill_score_fn)(void*, void*, const pd_request*,
                                                const pd_prefill_batch*, pd_scores*, pd_error*);
typedef pd_status (*pd_layout_prefix_hashes_fn)(void*, void*, const pd_request*, const pd_choice*,
                                                pd_prefix_record*, pd_error*);
typedef void (*pd_layout_release_fn)(void*, void*, const pd_choice*);
typedef pd_status (*pd_layout_register_decode_fn)(pd_registrar*, const pd_decode_policy*,
                                                  pd_error*);
typedef pd_status (*pd_layout_register_prefill_fn)(pd_registrar*, const pd_prefill_policy*,
                                                   pd_error*);
typedef const void* (*pd_layout_host_service_fn)(const pd_host*, const char*);
typedef pd_status (*pd_layout_load_fn)(const pd_host*, pd_registrar*, pd_error*);
typedef void (*pd_layout_unload_fn)(void);
typedef void (*pd_layout_log_write_fn)(const pd_host*, uint32_t, pd_str);
typedef uint64_t (*pd_layout_clock_now_fn)(const pd_host*, const pd_request*);
typedef uint64_t (*pd_layout_random_next_fn)(const pd_host*, const pd_request*);
typedef pd_str (*pd_layout_headers_get_fn)(const pd_host*, const pd_request*, pd_str);
typedef pd_status (*pd_layout_prefix_match_fn)(const pd_host*, const pd_request*,
                                               const pd_candidates*, const uint64_t*, uint64_t,
                                               uint64_t*);
typedef pd_str (*pd_layout_tokenizer_name_fn)(const pd_host*);
typedef pd_status (*pd_layout_tokenizer_output_fn)(const pd_host*, const pd_request*, pd_str*,
                                                   uint64_t*);
typedef void* (*pd_layout_scratch_get_fn)(const pd_host*, const pd_request*, uint64_t, uint64_t);
typedef pd_status (*pd_layout_metrics_want_fn)(const pd_host*, const pd_metric_query*, uint32_t*,
                                               pd_error*);
typedef pd_status (*pd_layout_metrics_read_fn)(const pd_host*, const pd_request*,
                                               const pd_candidates*, uint32_t, double*, double*);
typedef void (*pd_layout_chosen_fn)(void*, const pd_request*, const pd_choice*);
typedef void (*pd_layout_outcome_fn)(void*, const pd_outcome*);
typedef pd_status (*pd_layout_state_save_fn)(void*, void*, uint64_t*, pd_error*);
typedef pd_status (*pd_layout_state_restore_fn)(void*, uint32_t, const void*, uint64_t, pd_error*);

PD_LAYOUT_ASSERT(sizeof(pd_str) == 16 && PD_LAYOUT_ALIGN(pd_str) == 8, "pd_str is frozen");
PD_MEMBER(pd_str, data, const char*, 0, 8, 8);
PD_MEMBER(pd_str, size, uint64_t, 8, 8, 8);

PD_STRUCT(pd_error, 16);
PD_MEMBER(pd_error, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_error, capacity, uint32_t, 4, 4, 4);
PD_MEMBER(pd_error, text, char*, 8, 8, 8);

PD_STRUCT(pd_request, 248);
PD_MEMBER(pd_request, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_request, flags, uint32_t, 4, 4, 4);
PD_MEMBER(pd_request, host_data, const void*, 8, 8, 8);
PD_MEMBER(pd_request, request_id, pd_str, 16, 16, 8);
PD_MEMBER(pd_request, model, pd_str, 32, 16, 8);
PD_MEMBER(pd_request, path, pd_str, 48, 16, 8);
PD_MEMBER(pd_request, profile, pd_str, 64, 16, 8);
PD_MEMBER(pd_request, session, pd_str, 80, 16, 8);
PD_MEMBER(pd_request, adapter, pd_str, 96, 16, 8);
PD_MEMBER(pd_request, prompt, pd_str, 112, 16, 8);
PD_MEMBER(pd_request, prompt_bytes, uint64_t, 128, 8, 8);
PD_MEMBER(pd_request, prompt_tokens, uint64_t, 136, 8, 8);
PD_MEMBER(pd_request, max_output_tokens, uint64_t, 144, 8, 8);
PD_MEMBER(pd_request, token_ids, const uint32_t*, 152, 8, 8);
PD_MEMBER(pd_request, token_id_count, uint64_t, 160, 8, 8);
PD_MEMBER(pd_request, block_hashes, const uint64_t*, 168, 8, 8);
PD_MEMBER(pd_request, block_count, uint64_t, 176, 8, 8);
PD_MEMBER(pd_request, block_size, uint32_t, 184, 4, 4);
PD_MEMBER(pd_request, token_source, uint32_t, 188, 4, 4);
PD_MEMBER(pd_request, priority, int64_t, 192, 8, 8);
PD_MEMBER(pd_request, arrival_ns, uint64_t, 200, 8, 8);
PD_MEMBER(pd_request, decision_ns, uint64_t, 208, 8, 8);
PD_MEMBER(pd_request, choices, uint32_t, 216, 4, 4);
PD_MEMBER(pd_request, attempt, uint32_t, 220, 4, 4);
PD_MEMBER(pd_request, tried_pods, const uint64_t*, 224, 8, 8);
PD_MEMBER(pd_request, tried_pod_count, uint64_t, 232, 8, 8);
PD_MEMBER(pd_request, worker, uint32_t, 240, 4, 4);
PD_MEMBER(pd_request, reserved0, uint32_t, 244, 4, 4);

PD_STRUCT(pd_pod, 104);
PD_MEMBER(pd_pod, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_pod, slot, uint32_t, 4, 4, 4);
PD_MEMBER(pd_pod, incarnation, uint64_t, 8, 8, 8);
PD_MEMBER(pd_pod, name, pd_str, 16, 16, 8);
PD_MEMBER(pd_pod, roleset, pd_str, 32, 16, 8);
PD_MEMBER(pd_pod, engine, pd_str, 48, 16, 8);
PD_MEMBER(pd_pod, address, pd_str, 64, 16, 8);
PD_MEMBER(pd_pod, role, uint32_t, 80, 4, 4);
PD_MEMBER(pd_pod, label_count, uint32_t, 84, 4, 4);
PD_MEMBER(pd_pod, label_keys, const pd_str*, 88, 8, 8);
PD_MEMBER(pd_pod, label_values, const pd_str*, 96, 8, 8);

PD_STRUCT(pd_load, 168);
PD_MEMBER(pd_load, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_load, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_load, running, const double*, 8, 8, 8);
PD_MEMBER(pd_load, waiting, const double*, 16, 8, 8);
PD_MEMBER(pd_load, throughput, const double*, 24, 8, 8);
PD_MEMBER(pd_load, kv_usage, const double*, 32, 8, 8);
PD_MEMBER(pd_load, kv_blocks, const double*, 40, 8, 8);
PD_MEMBER(pd_load, kv_block_tokens, const double*, 48, 8, 8);
PD_MEMBER(pd_load, prefill_time_ms, const double*, 56, 8, 8);
PD_MEMBER(pd_load, drain_rate, const double*, 64, 8, 8);
PD_MEMBER(pd_load, prefill_prealloc, const double*, 72, 8, 8);
PD_MEMBER(pd_load, decode_prealloc, const double*, 80, 8, 8);
PD_MEMBER(pd_load, sample_age_s, const double*, 88, 8, 8);
PD_MEMBER(pd_load, prefill_requests, const double*, 96, 8, 8);
PD_MEMBER(pd_load, decode_requests, const double*, 104, 8, 8);
PD_MEMBER(pd_load, pending_decode, const double*, 112, 8, 8);
PD_MEMBER(pd_load, prefill_tokens, const double*, 120, 8, 8);
PD_MEMBER(pd_load, decode_tokens, const double*, 128, 8, 8);
PD_MEMBER(pd_load, idle_s, const double*, 136, 8, 8);
PD_MEMBER(pd_load, ttft_ms, const double*, 144, 8, 8);
PD_MEMBER(pd_load, inter_token_ms, const double*, 152, 8, 8);
PD_MEMBER(pd_load, error_rate, const double*, 160, 8, 8);

PD_STRUCT(pd_candidates, 32);
PD_MEMBER(pd_candidates, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_candidates, count, uint32_t, 4, 4, 4);
PD_MEMBER(pd_candidates, pods, const pd_pod* const*, 8, 8, 8);
PD_MEMBER(pd_candidates, load, const pd_load*, 16, 8, 8);
PD_MEMBER(pd_candidates, fleet_generation, uint64_t, 24, 8, 8);

PD_STRUCT(pd_prefill_batch, 56);
PD_MEMBER(pd_prefill_batch, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_prefill_batch, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_prefill_batch, candidates, const pd_candidates*, 8, 8, 8);
PD_MEMBER(pd_prefill_batch, request_counts, const double*, 16, 8, 8);
PD_MEMBER(pd_prefill_batch, max_request_count, double, 24, 8, 8);
PD_MEMBER(pd_prefill_batch, match_percent, const double*, 32, 8, 8);
PD_MEMBER(pd_prefill_batch, matched_blocks, const double*, 40, 8, 8);
PD_MEMBER(pd_prefill_batch, matched_bytes, const double*, 48, 8, 8);

PD_STRUCT(pd_decode_batch, 64);
PD_MEMBER(pd_decode_batch, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_decode_batch, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_decode_batch, candidates, const pd_candidates*, 8, 8, 8);
PD_MEMBER(pd_decode_batch, running_reqs, const double*, 16, 8, 8);
PD_MEMBER(pd_decode_batch, throughput, const double*, 24, 8, 8);
PD_MEMBER(pd_decode_batch, free_gpu_percent, const double*, 32, 8, 8);
PD_MEMBER(pd_decode_batch, max_request_count, double, 40, 8, 8);
PD_MEMBER(pd_decode_batch, max_throughput, double, 48, 8, 8);
PD_MEMBER(pd_decode_batch, max_free_gpu_usage, double, 56, 8, 8);

PD_STRUCT(pd_scores, 32);
PD_MEMBER(pd_scores, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_scores, count, uint32_t, 4, 4, 4);
PD_MEMBER(pd_scores, values, double*, 8, 8, 8);
PD_MEMBER(pd_scores, reasons, uint32_t*, 16, 8, 8);
PD_MEMBER(pd_scores, tag, uint64_t, 24, 8, 8);

PD_STRUCT(pd_choice, 40);
PD_MEMBER(pd_choice, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_choice, flags, uint32_t, 4, 4, 4);
PD_MEMBER(pd_choice, prefill, const pd_pod*, 8, 8, 8);
PD_MEMBER(pd_choice, decode, const pd_pod*, 16, 8, 8);
PD_MEMBER(pd_choice, prefill_index, uint32_t, 24, 4, 4);
PD_MEMBER(pd_choice, decode_index, uint32_t, 28, 4, 4);
PD_MEMBER(pd_choice, tag, uint64_t, 32, 8, 8);

PD_STRUCT(pd_prefix_record, 24);
PD_MEMBER(pd_prefix_record, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_prefix_record, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_prefix_record, hashes, const uint64_t*, 8, 8, 8);
PD_MEMBER(pd_prefix_record, count, uint64_t, 16, 8, 8);

PD_STRUCT(pd_option, 96);
PD_MEMBER(pd_option, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_option, type, uint32_t, 4, 4, 4);
PD_MEMBER(pd_option, key, const char*, 8, 8, 8);
PD_MEMBER(pd_option, help, const char*, 16, 8, 8);
PD_MEMBER(pd_option, default_float, double, 24, 8, 8);
PD_MEMBER(pd_option, min_float, double, 32, 8, 8);
PD_MEMBER(pd_option, max_float, double, 40, 8, 8);
PD_MEMBER(pd_option, default_int, int64_t, 48, 8, 8);
PD_MEMBER(pd_option, min_int, int64_t, 56, 8, 8);
PD_MEMBER(pd_option, max_int, int64_t, 64, 8, 8);
PD_MEMBER(pd_option, default_string, const char*, 72, 8, 8);
PD_MEMBER(pd_option, choices, const char* const*, 80, 8, 8);
PD_MEMBER(pd_option, choice_count, uint64_t, 88, 8, 8);

PD_STRUCT(pd_option_value, 40);
PD_MEMBER(pd_option_value, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_option_value, type, uint32_t, 4, 4, 4);
PD_MEMBER(pd_option_value, float_value, double, 8, 8, 8);
PD_MEMBER(pd_option_value, int_value, int64_t, 16, 8, 8);
PD_MEMBER(pd_option_value, string_value, pd_str, 24, 16, 8);

PD_STRUCT(pd_policy_config, 40);
PD_MEMBER(pd_policy_config, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_policy_config, value_count, uint32_t, 4, 4, 4);
PD_MEMBER(pd_policy_config, values, const pd_option_value* const*, 8, 8, 8);
PD_MEMBER(pd_policy_config, host, const pd_host*, 16, 8, 8);
PD_MEMBER(pd_policy_config, role, uint32_t, 24, 4, 4);
PD_MEMBER(pd_policy_config, worker_count, uint32_t, 28, 4, 4);
PD_MEMBER(pd_policy_config, slot_limit, uint32_t, 32, 4, 4);
PD_MEMBER(pd_policy_config, reserved0, uint32_t, 36, 4, 4);

PD_STRUCT(pd_policy, 80);
PD_MEMBER(pd_policy, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_policy, flags, uint32_t, 4, 4, 4);
PD_MEMBER(pd_policy, name, const char*, 8, 8, 8);
PD_MEMBER(pd_policy, description, const char*, 16, 8, 8);
PD_MEMBER(pd_policy, uses, uint64_t, 24, 8, 8);
PD_MEMBER(pd_policy, options, const pd_option* const*, 32, 8, 8);
PD_MEMBER(pd_policy, option_count, uint32_t, 40, 4, 4);
PD_MEMBER(pd_policy, reason_count, uint32_t, 44, 4, 4);
PD_MEMBER(pd_policy, reasons, const char* const*, 48, 8, 8);
PD_MEMBER(pd_policy, create, pd_layout_create_fn, 56, 8, 8);
PD_MEMBER(pd_policy, destroy, pd_layout_destroy_fn, 64, 8, 8);
PD_MEMBER(pd_policy, service, pd_layout_policy_service_fn, 72, 8, 8);

PD_STRUCT(pd_decode_policy, 24);
PD_MEMBER(pd_decode_policy, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_decode_policy, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_decode_policy, policy, const pd_policy*, 8, 8, 8);
PD_MEMBER(pd_decode_policy, score, pd_layout_decode_score_fn, 16, 8, 8);

PD_STRUCT(pd_prefill_policy, 48);
PD_MEMBER(pd_prefill_policy, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_prefill_policy, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_prefill_policy, policy, const pd_policy*, 8, 8, 8);
PD_MEMBER(pd_prefill_policy, prepare, pd_layout_prepare_fn, 16, 8, 8);
PD_MEMBER(pd_prefill_policy, score, pd_layout_prefill_score_fn, 24, 8, 8);
PD_MEMBER(pd_prefill_policy, prefix_hashes, pd_layout_prefix_hashes_fn, 32, 8, 8);
PD_MEMBER(pd_prefill_policy, release, pd_layout_release_fn, 40, 8, 8);

PD_STRUCT(pd_registrar, 32);
PD_MEMBER(pd_registrar, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_registrar, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_registrar, host_data, void*, 8, 8, 8);
PD_MEMBER(pd_registrar, register_decode_policy, pd_layout_register_decode_fn, 16, 8, 8);
PD_MEMBER(pd_registrar, register_prefill_policy, pd_layout_register_prefill_fn, 24, 8, 8);

PD_STRUCT(pd_host, 56);
PD_MEMBER(pd_host, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_host, abi_major, uint16_t, 4, 2, 2);
PD_MEMBER(pd_host, abi_minor, uint16_t, 6, 2, 2);
PD_MEMBER(pd_host, host_data, const void*, 8, 8, 8);
PD_MEMBER(pd_host, name, pd_str, 16, 16, 8);
PD_MEMBER(pd_host, version, pd_str, 32, 16, 8);
PD_MEMBER(pd_host, service, pd_layout_host_service_fn, 48, 8, 8);

PD_STRUCT(pd_plugin, 88);
PD_MEMBER(pd_plugin, magic, uint32_t, 0, 4, 4);
PD_MEMBER(pd_plugin, struct_size, uint32_t, 4, 4, 4);
PD_MEMBER(pd_plugin, abi_major, uint16_t, 8, 2, 2);
PD_MEMBER(pd_plugin, abi_minor, uint16_t, 10, 2, 2);
PD_MEMBER(pd_plugin, flags, uint32_t, 12, 4, 4);
PD_MEMBER(pd_plugin, header_minor, uint32_t, 16, 4, 4);
PD_MEMBER(pd_plugin, reserved0, uint32_t, 20, 4, 4);
PD_MEMBER(pd_plugin, id, const char*, 24, 8, 8);
PD_MEMBER(pd_plugin, version, const char*, 32, 8, 8);
PD_MEMBER(pd_plugin, vendor, const char*, 40, 8, 8);
PD_MEMBER(pd_plugin, licence, const char*, 48, 8, 8);
PD_MEMBER(pd_plugin, description, const char*, 56, 8, 8);
PD_MEMBER(pd_plugin, build, const char*, 64, 8, 8);
PD_MEMBER(pd_plugin, load, pd_layout_load_fn, 72, 8, 8);
PD_MEMBER(pd_plugin, unload, pd_layout_unload_fn, 80, 8, 8);

PD_STRUCT(pd_log_v1, 16);
PD_MEMBER(pd_log_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_log_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_log_v1, write, pd_layout_log_write_fn, 8, 8, 8);

PD_STRUCT(pd_clock_v1, 16);
PD_MEMBER(pd_clock_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_clock_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_clock_v1, now_ns, pd_layout_clock_now_fn, 8, 8, 8);

PD_STRUCT(pd_random_v1, 16);
PD_MEMBER(pd_random_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_random_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_random_v1, next, pd_layout_random_next_fn, 8, 8, 8);

PD_STRUCT(pd_headers_v1, 16);
PD_MEMBER(pd_headers_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_headers_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_headers_v1, get, pd_layout_headers_get_fn, 8, 8, 8);

PD_STRUCT(pd_prefix_index_v1, 16);
PD_MEMBER(pd_prefix_index_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_prefix_index_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_prefix_index_v1, match, pd_layout_prefix_match_fn, 8, 8, 8);

PD_STRUCT(pd_tokenizer_v1, 24);
PD_MEMBER(pd_tokenizer_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_tokenizer_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_tokenizer_v1, name, pd_layout_tokenizer_name_fn, 8, 8, 8);
PD_MEMBER(pd_tokenizer_v1, output, pd_layout_tokenizer_output_fn, 16, 8, 8);

PD_STRUCT(pd_scratch_v1, 16);
PD_MEMBER(pd_scratch_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_scratch_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_scratch_v1, get, pd_layout_scratch_get_fn, 8, 8, 8);

PD_STRUCT(pd_metric_query, 48);
PD_MEMBER(pd_metric_query, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_metric_query, combine, uint32_t, 4, 4, 4);
PD_MEMBER(pd_metric_query, series, pd_str, 8, 16, 8);
PD_MEMBER(pd_metric_query, label_keys, const pd_str*, 24, 8, 8);
PD_MEMBER(pd_metric_query, label_values, const pd_str*, 32, 8, 8);
PD_MEMBER(pd_metric_query, label_count, uint32_t, 40, 4, 4);
PD_MEMBER(pd_metric_query, flags, uint32_t, 44, 4, 4);

PD_STRUCT(pd_metrics_v1, 24);
PD_MEMBER(pd_metrics_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_metrics_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_metrics_v1, want, pd_layout_metrics_want_fn, 8, 8, 8);
PD_MEMBER(pd_metrics_v1, read, pd_layout_metrics_read_fn, 16, 8, 8);

PD_STRUCT(pd_outcome, 176);
PD_MEMBER(pd_outcome, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_outcome, result, uint32_t, 4, 4, 4);
PD_MEMBER(pd_outcome, flags, uint32_t, 8, 4, 4);
PD_MEMBER(pd_outcome, attempt, uint32_t, 12, 4, 4);
PD_MEMBER(pd_outcome, tag, uint64_t, 16, 8, 8);
PD_MEMBER(pd_outcome, now_ns, uint64_t, 24, 8, 8);
PD_MEMBER(pd_outcome, request_id, pd_str, 32, 16, 8);
PD_MEMBER(pd_outcome, model, pd_str, 48, 16, 8);
PD_MEMBER(pd_outcome, session, pd_str, 64, 16, 8);
PD_MEMBER(pd_outcome, prefill_incarnation, uint64_t, 80, 8, 8);
PD_MEMBER(pd_outcome, decode_incarnation, uint64_t, 88, 8, 8);
PD_MEMBER(pd_outcome, status, uint32_t, 96, 4, 4);
PD_MEMBER(pd_outcome, reserved0, uint32_t, 100, 4, 4);
PD_MEMBER(pd_outcome, queue_ms, double, 104, 8, 8);
PD_MEMBER(pd_outcome, selection_ms, double, 112, 8, 8);
PD_MEMBER(pd_outcome, prefill_ms, double, 120, 8, 8);
PD_MEMBER(pd_outcome, first_byte_ms, double, 128, 8, 8);
PD_MEMBER(pd_outcome, inter_chunk_ms, double, 136, 8, 8);
PD_MEMBER(pd_outcome, total_ms, double, 144, 8, 8);
PD_MEMBER(pd_outcome, prompt_tokens, uint64_t, 152, 8, 8);
PD_MEMBER(pd_outcome, output_tokens, uint64_t, 160, 8, 8);
PD_MEMBER(pd_outcome, cached_tokens, uint64_t, 168, 8, 8);

PD_STRUCT(pd_feedback_v1, 24);
PD_MEMBER(pd_feedback_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_feedback_v1, reserved0, uint32_t, 4, 4, 4);
PD_MEMBER(pd_feedback_v1, chosen, pd_layout_chosen_fn, 8, 8, 8);
PD_MEMBER(pd_feedback_v1, outcome, pd_layout_outcome_fn, 16, 8, 8);

PD_STRUCT(pd_state_v1, 24);
PD_MEMBER(pd_state_v1, struct_size, uint32_t, 0, 4, 4);
PD_MEMBER(pd_state_v1, format, uint32_t, 4, 4, 4);
PD_MEMBER(pd_state_v1, save, pd_layout_state_save_fn, 8, 8, 8);
PD_MEMBER(pd_state_v1, restore, pd_layout_state_restore_fn, 16, 8, 8);

/* Constants. The masks of what is known grow with the version. */
PD_VALUE(PD_ABI_MAJOR, 1);
PD_VALUE(PD_PLUGIN_MAGIC, 0x4C504450);
PD_VALUE(PD_OK, 0);
PD_VALUE(PD_ERR_FAILED, 1);
PD_VALUE(PD_ERR_INVALID, 2);
PD_VALUE(PD_ERR_UNSUPPORTED, 3);
PD_VALUE(PD_ERR_OUT_OF_SPACE, 4);
PD_VALUE(PD_UNKNOWN_COUNT, UINT64_MAX);
PD_VALUE(PD_REQUEST_STREAM, 1);
PD_VALUE(PD_REQUEST_DRY_RUN, 2);
PD_VALUE(PD_TOKENS_UNKNOWN, 0);
PD_VALUE(PD_TOKENS_ESTIMATED, 1);
PD_VALUE(PD_TOKENS_COUNTED, 2);
PD_VALUE(PD_TOKENS_GIVEN, 3);
PD_VALUE(PD_ROLE_PREFILL, 1);
PD_VALUE(PD_ROLE_DECODE, 2);
PD_VALUE(PD_ROLE_COMBINED, 3);
PD_VALUE(PD_CHOICE_SHORTCUT, 1);
PD_VALUE(PD_NO_INDEX, UINT32_MAX);
PD_VALUE(PD_USES_PREFIX, 1);
PD_VALUE(PD_USES_PROMPT, 2);
PD_VALUE(PD_USES_PROMPT_TOKENS, 4);
PD_VALUE(PD_USES_TOKEN_IDS, 8);
PD_VALUE(PD_USES_TOKENIZER_OUTPUT, 16);
PD_VALUE(PD_USES_RUNNING, 65536);
PD_VALUE(PD_USES_WAITING, 131072);
PD_VALUE(PD_USES_THROUGHPUT, 262144);
PD_VALUE(PD_USES_KV_USAGE, 524288);
PD_VALUE(PD_USES_KV_BLOCKS, 1048576);
PD_VALUE(PD_USES_PREFILL_TIME, 2097152);
PD_VALUE(PD_USES_DRAIN_RATE, 4194304);
PD_VALUE(PD_USES_PREALLOC, 8388608);
PD_VALUE(PD_USES_SAMPLE_AGE, 16777216);
PD_VALUE(PD_USES_OWN_REQUESTS, 33554432);
PD_VALUE(PD_USES_OWN_TOKENS, 67108864);
PD_VALUE(PD_USES_IDLE_TIME, 134217728);
PD_VALUE(PD_USES_OUTCOME_AVERAGES, 268435456);
PD_VALUE(PD_POLICY_NO_SHORTCUTS, 1);
PD_VALUE(PD_OPTION_FLOAT, 1);
PD_VALUE(PD_OPTION_INT, 2);
PD_VALUE(PD_OPTION_BOOL, 3);
PD_VALUE(PD_OPTION_STRING, 4);
PD_VALUE(PD_PLUGIN_UNLOAD_SAFE, 1);
PD_VALUE(PD_LOG_DEBUG, 0);
PD_VALUE(PD_LOG_INFO, 1);
PD_VALUE(PD_LOG_WARNING, 2);
PD_VALUE(PD_LOG_ERROR, 3);
PD_VALUE(PD_LOG_HOST_MISBEHAVING, 4);
PD_VALUE(PD_LOG_PLUGIN_MISBEHAVING, 5);
PD_VALUE(PD_METRIC_SUM, 0);
PD_VALUE(PD_METRIC_MAX, 1);
PD_VALUE(PD_METRIC_MIN, 2);
PD_VALUE(PD_OUTCOME_OK, 0);
PD_VALUE(PD_OUTCOME_CLIENT_ERROR, 1);
PD_VALUE(PD_OUTCOME_PREFILL_FAILED, 2);
PD_VALUE(PD_OUTCOME_DECODE_FAILED, 3);
PD_VALUE(PD_OUTCOME_TIMEOUT, 4);
PD_VALUE(PD_OUTCOME_CANCELLED, 5);
PD_VALUE(PD_OUTCOME_FINAL, 1);
PD_LAYOUT_ASSERT((PD_USES_KNOWN & 0x1FFF001Fu) == 0x1FFF001Fu, "PD_USES_KNOWN has lost a bit");
PD_LAYOUT_ASSERT(sizeof(PD_USES_KNOWN) == 8, "the complement of PD_USES_KNOWN must have 64 bits");
PD_LAYOUT_ASSERT((PD_POLICY_FLAGS_KNOWN & 1u) == 1u, "PD_POLICY_FLAGS_KNOWN has lost a bit");
PD_LAYOUT_ASSERT((PD_PLUGIN_FLAGS_KNOWN & 1u) == 1u, "PD_PLUGIN_FLAGS_KNOWN has lost a bit");
#if PD_ABI_MINOR == 0
PD_LAYOUT_ASSERT(PD_USES_KNOWN == 0x1FFF001Fu && PD_POLICY_FLAGS_KNOWN == 1u &&
                     PD_PLUGIN_FLAGS_KNOWN == 1u,
                 "1.0 knows other bits");
#endif
