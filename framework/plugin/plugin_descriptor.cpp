#include "framework/plugin/plugin_descriptor.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "framework/policy/policy_entry.h"
#include "framework/policy/untrusted_text.h"

namespace pd {
namespace {

using Failure = std::optional<PluginError>;

constexpr std::size_t kTextLimit = 1024;
constexpr std::size_t kLargestSize = 64 * 1024;
// Of version 1.0: up to the last member that it has.
constexpr std::size_t kDescriptorSize = offsetof(pd_plugin, unload) + sizeof(pd_plugin::unload);

// The members whose places are the same in every major version.
struct FixedPart {
  std::uint32_t magic;
  std::uint32_t struct_size;
  std::uint16_t abi_major;
  std::uint16_t abi_minor;
};
static_assert(offsetof(FixedPart, struct_size) == offsetof(pd_plugin, struct_size));
static_assert(offsetof(FixedPart, abi_major) == offsetof(pd_plugin, abi_major));
static_assert(offsetof(FixedPart, abi_minor) == offsetof(pd_plugin, abi_minor));

std::string hex_text(std::uint32_t value) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) out += kHex[(value >> shift) & 15];
  return out;
}

std::string version_text(std::uint32_t major, std::uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

Failure check_fixed_part(const FixedPart& fixed, PluginFacts& facts) {
  if (fixed.magic != PD_PLUGIN_MAGIC) {
    return make_plugin_error(PluginErrorCode::kWrongMagic, facts.path,
                             {hex_text(fixed.magic), hex_text(PD_PLUGIN_MAGIC)});
  }
  facts.abi_major = fixed.abi_major;
  facts.abi_minor = fixed.abi_minor;
  const std::string host = version_text(PD_ABI_MAJOR, PD_ABI_MINOR);
  const std::string plugin = version_text(fixed.abi_major, fixed.abi_minor);
  // The version before the size: another major version may have another smallest size.
  if (fixed.abi_major != PD_ABI_MAJOR) {
    return make_plugin_error(PluginErrorCode::kWrongMajor, facts.path,
                             {plugin, host, std::to_string(PD_ABI_MAJOR)});
  }
  if (fixed.abi_minor > PD_ABI_MINOR) {
    return make_plugin_error(PluginErrorCode::kNewerMinor, facts.path,
                             {plugin, host, plugin, host});
  }
  if (fixed.struct_size < kDescriptorSize || fixed.struct_size > kLargestSize ||
      fixed.struct_size % 8 != 0) {
    return make_plugin_error(PluginErrorCode::kWrongSize, facts.path,
                             {std::to_string(fixed.struct_size), std::to_string(kDescriptorSize)});
  }
  return std::nullopt;
}

struct DescriptorText {
  const char* pd_plugin::*member;
  std::string PluginFacts::*copy;
  std::string_view name;
  bool required;
};
constexpr DescriptorText kTexts[] = {
    {&pd_plugin::version, &PluginFacts::version, "version", true},
    {&pd_plugin::vendor, &PluginFacts::vendor, "vendor", false},
    {&pd_plugin::licence, &PluginFacts::licence, "licence", false},
    {&pd_plugin::description, &PluginFacts::description, "description", false},
    {&pd_plugin::build, &PluginFacts::build, "build", false},
};

Failure invalid_text(const PluginFacts& facts, std::string_view name, const char* found,
                     std::string_view needed) {
  const std::string_view shown =
      found == nullptr ? "(null)" : std::string_view(found, ::strnlen(found, 80));
  return make_plugin_error(PluginErrorCode::kInvalidText, facts.path, {name, shown, needed});
}

Failure copy_texts(const pd_plugin& descriptor, PluginFacts& facts) {
  const auto id = untrusted_text(descriptor.id, kTextLimit);
  if (!id || !is_policy_name(*id)) {
    return invalid_text(facts, "id", descriptor.id, "1 to 64 characters of a-z 0-9 _ . -");
  }
  facts.id = *id;
  for (const DescriptorText& text : kTexts) {
    const char* value = descriptor.*text.member;
    if (value == nullptr && !text.required) continue;
    auto copy = untrusted_text(value, kTextLimit);
    if (!copy || (text.required && copy->empty())) {
      return invalid_text(facts, text.name, value, "printable UTF-8 of at most 1024 bytes");
    }
    facts.*text.copy = *std::move(copy);
  }
  return std::nullopt;
}

Failure check_flags(const pd_plugin& descriptor, const PluginFacts& facts) {
  if ((descriptor.flags & ~PD_PLUGIN_FLAGS_KNOWN) != 0) {
    return make_plugin_error(PluginErrorCode::kUnknownFlags, facts.path,
                             {hex_text(descriptor.flags), hex_text(PD_PLUGIN_FLAGS_KNOWN)});
  }
  if (descriptor.reserved0 != 0) {
    return make_plugin_error(PluginErrorCode::kReservedNotZero, facts.path,
                             {std::to_string(descriptor.reserved0)});
  }
  return std::nullopt;
}

}  // namespace

std::optional<PluginError> read_descriptor(const pd_plugin* from, pd_plugin& to,
                                           PluginFacts& facts) {
  if (from == nullptr) return make_plugin_error(PluginErrorCode::kNoDescriptor, facts.path);
  FixedPart fixed{};
  std::memcpy(&fixed, from, sizeof fixed);
  if (auto failure = check_fixed_part(fixed, facts)) return failure;
  to = pd_plugin{};
  std::memcpy(static_cast<void*>(&to), from,
              std::min<std::size_t>(fixed.struct_size, sizeof(pd_plugin)));
  to.struct_size = sizeof(pd_plugin);
  facts.flags = to.flags;
  facts.header_minor = to.header_minor;
  if (auto failure = check_flags(to, facts)) return failure;
  if (auto failure = copy_texts(to, facts)) return failure;
  if (to.load == nullptr) {
    return make_plugin_error(PluginErrorCode::kMissingCallback, facts.path, {"load"});
  }
  return std::nullopt;
}

}  // namespace pd
