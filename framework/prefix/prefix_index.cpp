#include "framework/prefix/prefix_index.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <random>
#include <vector>

namespace pd {
namespace {

// Chains are short (at most one block per bucket on average); a longer walk means that the chain
// changes under the reader.
constexpr unsigned kMaxChain = 64;
// A change takes the writer well below a microsecond, unless it is descheduled in the middle.
constexpr unsigned kReadAttempts = 64;
// How many blocks ahead of the current one memory is asked for; the entry can be asked for only
// once its bucket has arrived.
constexpr std::size_t kBucketLead = 16;
constexpr std::size_t kEntryLead = 6;

// The key of an entry that is free. A block may have it too: its entry is looked up by its chain.
constexpr std::uint64_t kFreeKey = 0;

// At least 4 MiB, so that a small index too can hold a prompt that the whole fleet shares.
constexpr std::uint64_t kMinPodSetNodes = 65'536;

std::uint64_t mix_salt(std::uint64_t salt) {
  salt = (salt + 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
  salt = (salt ^ (salt >> 29)) * 0x94D049BB133111EBULL;
  return salt ^ (salt >> 32);
}

void add_one(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

// Marks the bucket as changing. Readers may see what happens inside, but never believe it: each
// word that they load is stored with release after the version became odd.
class PrefixIndex::BucketChange {
 public:
  explicit BucketChange(Bucket& bucket)
      : bucket_(bucket), version_(bucket.version.load(std::memory_order_relaxed)) {
    bucket_.version.store(version_ + 1, std::memory_order_relaxed);
  }
  ~BucketChange() { bucket_.version.store(version_ + 2, std::memory_order_release); }
  BucketChange(const BucketChange&) = delete;
  BucketChange& operator=(const BucketChange&) = delete;

 private:
  Bucket& bucket_;
  std::uint32_t version_;
};

// Blocks of one prompt mostly have the same holders: what adding the pod made of the holders of
// the last block is kept for the next one. That is also what makes the blocks share a set.
class PrefixIndex::SetMemo {
 public:
  explicit SetMemo(PodSetPool& sets) : sets_(sets) {}
  ~SetMemo() { drop(); }
  SetMemo(const SetMemo&) = delete;
  SetMemo& operator=(const SetMemo&) = delete;

  bool knows(const Holders& before) const { return known_ && before == before_; }
  const Holders& after() const { return after_; }

  // Takes over one reference to a set in `after`.
  void keep(const Holders& before, const Holders& after) {
    drop();
    known_ = true;
    before_ = before;
    after_ = after;
  }

 private:
  void drop() {
    if (known_ && after_.serial != 0) sets_.drop_reference(after_.holders);
  }

  PodSetPool& sets_;
  bool known_ = false;
  Holders before_;
  Holders after_;
};

PrefixIndex::PrefixIndex() {
  std::random_device random;
  multiplier_ = (std::uint64_t{random()} << 32U) | random() | 1U;
}

boost::system::result<std::unique_ptr<PrefixIndex>, PrefixIndexError> PrefixIndex::create(
    const PrefixIndexOptions& options) {
  if (options.capacity < 1 || options.capacity > kMaxCapacity) {
    return prefix_index_errors::capacity_out_of_range(options.capacity, kMaxCapacity);
  }
  if (options.ttl.count() < 1 || options.ttl > kMaxTtl) {
    return prefix_index_errors::ttl_out_of_range(options.ttl.count(), kMaxTtl.count());
  }
  std::unique_ptr<PrefixIndex> index(new PrefixIndex);
  index->ttl_ms_ = static_cast<std::uint32_t>(options.ttl.count());
  const int error_number = index->reserve(options.capacity, options.pod_set_nodes);
  if (error_number != 0) return prefix_index_errors::out_of_memory(options.capacity, error_number);
  return index;
}

int PrefixIndex::reserve(std::uint64_t capacity, std::uint32_t pod_set_nodes) {
  capacity_ = capacity;
  const std::uint64_t buckets = std::bit_ceil(std::max<std::uint64_t>(capacity, 2));
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(buckets));
  if (pod_set_nodes == 0) {
    pod_set_nodes = static_cast<std::uint32_t>(std::max(capacity / 2, kMinPodSetNodes));
  }
  const bool reserved =
      buckets_.reserve(buckets) && entries_.reserve(capacity + 1) && sets_.reserve(pod_set_nodes);
  return reserved ? 0 : errno;
}

std::uint64_t PrefixIndex::key_of(std::uint64_t mixed_salt, std::uint64_t hash) const {
  return hash ^ mixed_salt;
}

void PrefixIndex::prefetch_bucket(std::uint64_t key) const {
  __builtin_prefetch(&bucket_of(key));
}

void PrefixIndex::prefetch_entry(std::uint64_t key) const {
  __builtin_prefetch(&entries_[bucket_of(key).head.load(std::memory_order_relaxed)]);
}

// Reading.

std::span<const std::uint32_t> PrefixIndex::match(std::uint64_t model_salt,
                                                  std::span<const std::uint64_t> hashes,
                                                  std::span<const PodKey> candidates,
                                                  PrefixMatchScratch& scratch) const {
  scratch.begin(candidates);
  const std::uint64_t salt = mix_salt(model_salt);
  BlockPlace last;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const std::uint32_t next = last.entry + 1;
    if (!match_block(key_of(salt, hashes[i]), last, scratch)) break;
    if (i + kBucketLead < hashes.size()) prefetch_bucket(key_of(salt, hashes[i + kBucketLead]));
    // Blocks that stand one behind the other are found without their chains.
    const bool in_a_row = last.entry == next;
    if (!in_a_row && i + kEntryLead < hashes.size()) {
      prefetch_entry(key_of(salt, hashes[i + kEntryLead]));
    }
  }
  scratch.finish();
  return scratch.matched();
}

// False ends the match: nobody holds this block who held all before.
bool PrefixIndex::match_block(std::uint64_t key, BlockPlace& last,
                              PrefixMatchScratch& scratch) const {
  for (unsigned attempt = 0; attempt < kReadAttempts; ++attempt) {
    BlockPlace found;
    const BlockRead read = try_read_block(key, last, found, scratch);
    if (read == BlockRead::kMissing) return false;
    if (read == BlockRead::kHeld) {
      last.entry = found.entry;
      if (found.holders == last.holders) {
        scratch.end_same_block();
        return true;
      }
      last.holders = found.holders;
      return scratch.end_block();
    }
    scratch.undo_block();
  }
  abandoned_reads_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

// Tells the holders to `scratch`, unless they are those of the block before.
PrefixIndex::BlockRead PrefixIndex::try_read_block(std::uint64_t key, const BlockPlace& last,
                                                   BlockPlace& found,
                                                   PrefixMatchScratch& scratch) const {
  const Bucket& bucket = bucket_of(key);
  const std::uint32_t version = bucket.version.load(std::memory_order_acquire);
  if ((version & 1U) != 0) return BlockRead::kTorn;

  // The blocks of a prompt were mostly entered one behind the other. The version guards such a
  // block, too: nothing with this key comes or goes without a change of this bucket.
  const std::uint32_t next = last.entry + 1;
  const bool in_a_row = last.entry != 0 && holds(next, key);
  const std::uint32_t at = in_a_row ? next : find_while_changing(bucket, key);
  BlockRead result = BlockRead::kMissing;
  if (at != 0) {
    result = BlockRead::kHeld;
    found.entry = at;
    found.holders = {entries_[at].holders.load(std::memory_order_acquire),
                     entries_[at].serial.load(std::memory_order_acquire)};
    const bool known = found.holders == last.holders;
    if (!known && found.holders.serial == 0) {
      scratch.holder(found.holders.holders);
    } else if (!known) {
      // A torn pair may name a pod as a set: the handle is checked before it is followed.
      if (!sets_.has(found.holders.holders)) return BlockRead::kTorn;
      sets_.for_each(found.holders.holders, [&scratch](PodKey pod) { scratch.holder(pod); });
    }
  }
  // The loads above are acquiring: this one cannot move before them.
  const bool unchanged = bucket.version.load(std::memory_order_relaxed) == version;
  return unchanged ? result : BlockRead::kTorn;
}

// The entry of `key`, or 0; what it gives counts only if the bucket did not change meanwhile.
std::uint32_t PrefixIndex::find_while_changing(const Bucket& bucket, std::uint64_t key) const {
  std::uint32_t at = bucket.head.load(std::memory_order_acquire);
  for (unsigned step = 0; at != 0 && step < kMaxChain; ++step) {
    if (entries_[at].key.load(std::memory_order_acquire) == key) return at;
    at = entries_[at].next.load(std::memory_order_acquire);
  }
  return 0;
}

PrefixIndexStats PrefixIndex::stats() const {
  PrefixIndexStats stats{};
  stats.blocks = blocks_.load(std::memory_order_relaxed);
  stats.evicted = evicted_.load(std::memory_order_relaxed);
  stats.expired = expired_.load(std::memory_order_relaxed);
  stats.purged = purged_.load(std::memory_order_relaxed);
  stats.forgotten_sets = forgotten_sets_.load(std::memory_order_relaxed);
  stats.abandoned_reads = abandoned_reads_.load(std::memory_order_relaxed);
  stats.used_bytes = buckets_.bytes() + sets_.used_bytes() +
                     touched_.load(std::memory_order_relaxed) * sizeof(Entry);
  stats.reserved_bytes = buckets_.bytes() + entries_.bytes() + sets_.reserved_bytes();
  return stats;
}

// Writing.

void PrefixIndex::record(std::uint64_t model_salt, std::span<const std::uint64_t> hashes,
                         PodKey pod, Clock::time_point now) {
  if (pod == kNoPod) return;
  latest_ms_ = milliseconds(now);
  const std::uint64_t salt = mix_salt(model_salt);
  SetMemo memo(sets_);
  std::uint32_t index = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const std::uint64_t key = key_of(salt, hashes[i]);
    // The blocks of a prompt were mostly entered one behind the other: then no bucket is looked up.
    if (index != 0 && holds(index + 1, key)) {
      ++index;
    } else {
      if (i + kBucketLead < hashes.size()) prefetch_bucket(key_of(salt, hashes[i + kBucketLead]));
      if (i + kEntryLead < hashes.size()) prefetch_entry(key_of(salt, hashes[i + kEntryLead]));
      index = find(bucket_of(key), key);
    }
    if (index == 0) {
      insert(bucket_of(key), key, pod);
      continue;
    }
    unlink(index);
    link_newest(index);
    add_holder(entries_[index], pod, memo);
  }
}

// Is this entry in use, for this key?
bool PrefixIndex::holds(std::uint32_t index, std::uint64_t key) const {
  return index < entries_.size() && key != kFreeKey &&
         entries_[index].key.load(std::memory_order_acquire) == key;
}

std::size_t PrefixIndex::sweep(Clock::time_point now) {
  latest_ms_ = milliseconds(now);
  std::size_t dropped = 0;
  // Recording moves a block to the front, so the order of the list is the order of time.
  while (oldest_ != 0 && latest_ms_ - entries_[oldest_].recorded_ms > ttl_ms_) {
    remove(oldest_);
    add_one(expired_);
    ++dropped;
  }
  return dropped;
}

std::size_t PrefixIndex::purge(std::span<const PodKey> pods) {
  std::vector<PodKey> gone(pods.begin(), pods.end());
  std::sort(gone.begin(), gone.end());
  sets_.remove_everywhere(gone);
  std::size_t dropped = 0;
  const std::uint32_t touched = touched_.load(std::memory_order_relaxed);
  for (std::uint32_t index = 1; index < touched; ++index) {
    const std::uint32_t holders = entries_[index].holders.load(std::memory_order_relaxed);
    const bool single = entries_[index].serial.load(std::memory_order_relaxed) == 0;
    if (single && holders == kNoPod) continue;  // a free entry
    const bool orphaned =
        single ? std::binary_search(gone.begin(), gone.end(), holders) : sets_.is_empty(holders);
    if (!orphaned) continue;
    remove(index);
    add_one(purged_);
    ++dropped;
  }
  return dropped;
}

// Of the clock, modulo 2^32.
std::uint32_t PrefixIndex::milliseconds(Clock::time_point now) {
  latest_ = std::max(latest_, now);
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(latest_.time_since_epoch()).count());
}

std::uint32_t PrefixIndex::find(const Bucket& bucket, std::uint64_t key) const {
  std::uint32_t at = bucket.head.load(std::memory_order_relaxed);
  while (at != 0 && entries_[at].key.load(std::memory_order_relaxed) != key) {
    at = entries_[at].next.load(std::memory_order_relaxed);
  }
  return at;
}

void PrefixIndex::insert(Bucket& bucket, std::uint64_t key, PodKey pod) {
  const std::uint32_t index = take_entry();
  Entry& entry = entries_[index];
  {
    BucketChange change(bucket);
    entry.key.store(key, std::memory_order_release);
    entry.holders.store(pod, std::memory_order_release);
    entry.serial.store(0, std::memory_order_release);
    entry.next.store(bucket.head.load(std::memory_order_relaxed), std::memory_order_release);
    bucket.head.store(index, std::memory_order_release);
  }
  link_newest(index);
  blocks_.store(blocks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void PrefixIndex::add_holder(Entry& entry, PodKey pod, SetMemo& memo) {
  const Holders before{entry.holders.load(std::memory_order_relaxed),
                       entry.serial.load(std::memory_order_relaxed)};
  if (before == Holders{pod, 0}) return;
  if (!memo.knows(before)) memo.keep(before, holders_with(before, pod));
  const Holders after = memo.after();
  if (after == before) return;
  if (after.serial != 0) sets_.add_reference(after.holders);
  {
    BucketChange change(bucket_of(entry.key.load(std::memory_order_relaxed)));
    entry.holders.store(after.holders, std::memory_order_release);
    entry.serial.store(after.serial, std::memory_order_release);
  }
  if (before.serial != 0) sets_.drop_reference(before.holders);
}

// The result holds a reference of its own if it is a set.
PrefixIndex::Holders PrefixIndex::holders_with(Holders before, PodKey pod) {
  PodSetHandle set = 0;
  if (before.serial == 0) {
    if (slot_of(before.holders) == slot_of(pod)) return {pod, 0};
    set = sets_.make_pair(before.holders, pod);
  } else if (sets_.contains(before.holders, pod)) {
    sets_.add_reference(before.holders);
    return before;
  } else {
    set = sets_.copy_with(before.holders, pod);
  }
  if (set == 0) {
    add_one(forgotten_sets_);
    return {pod, 0};
  }
  if (++last_serial_ == 0) last_serial_ = 1;
  return {set, last_serial_};
}

std::uint32_t PrefixIndex::take_entry() {
  if (size() >= capacity_) evict_oldest();
  if (free_ != 0) {
    const std::uint32_t taken = free_;
    free_ = entries_[taken].next.load(std::memory_order_relaxed);
    return taken;
  }
  const std::uint32_t taken = touched_.load(std::memory_order_relaxed);
  touched_.store(taken + 1, std::memory_order_relaxed);
  return taken;
}

void PrefixIndex::evict_oldest() {
  // What leaves next was mostly entered next, too: its bucket is asked for early.
  const std::uint64_t ahead = std::min<std::uint64_t>(oldest_ + kBucketLead, capacity_);
  prefetch_bucket(entries_[ahead].key.load(std::memory_order_relaxed));
  remove(oldest_);
  add_one(evicted_);
}

void PrefixIndex::remove(std::uint32_t index) {
  Entry& entry = entries_[index];
  Bucket& bucket = bucket_of(entry.key.load(std::memory_order_relaxed));
  const std::uint32_t next = entry.next.load(std::memory_order_relaxed);
  const Holders holders{entry.holders.load(std::memory_order_relaxed),
                        entry.serial.load(std::memory_order_relaxed)};
  {
    BucketChange change(bucket);
    std::atomic<std::uint32_t>* link = &bucket.head;
    while (link->load(std::memory_order_relaxed) != index) {
      link = &entries_[link->load(std::memory_order_relaxed)].next;
    }
    link->store(next, std::memory_order_release);
    entry.key.store(kFreeKey, std::memory_order_release);
    entry.holders.store(kNoPod, std::memory_order_release);
    entry.serial.store(0, std::memory_order_release);
  }
  if (holders.serial != 0) sets_.drop_reference(holders.holders);
  unlink(index);
  entry.next.store(free_, std::memory_order_release);
  free_ = index;
  blocks_.store(blocks_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void PrefixIndex::link_newest(std::uint32_t index) {
  Entry& entry = entries_[index];
  entry.recorded_ms = latest_ms_;
  entry.newer = 0;
  entry.older = newest_;
  if (newest_ != 0) entries_[newest_].newer = index;
  newest_ = index;
  if (oldest_ == 0) oldest_ = index;
}

void PrefixIndex::unlink(std::uint32_t index) {
  const Entry& entry = entries_[index];
  (entry.newer != 0 ? entries_[entry.newer].older : newest_) = entry.older;
  (entry.older != 0 ? entries_[entry.older].newer : oldest_) = entry.newer;
}

}  // namespace pd
