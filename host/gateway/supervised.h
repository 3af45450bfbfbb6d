// What a worker's timer looks after: client connections and requests in progress.
#pragma once

#include <boost/intrusive/list.hpp>
#include <chrono>

namespace pd {

// Leaves its list by itself when it ends.
class Supervised : public boost::intrusive::list_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual ~Supervised() = default;

  // Ends what has taken too long. May destroy this object or any other of the worker's.
  virtual void check_deadlines(std::chrono::steady_clock::time_point now) = 0;

  // Ends at once.
  virtual void cut() = 0;

  // Nothing is in progress.
  virtual bool idle() const = 0;
};

using SupervisedList =
    boost::intrusive::list<Supervised, boost::intrusive::constant_time_size<false>>;

}  // namespace pd
