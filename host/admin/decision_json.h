// A recorded decision as JSON, in the shape of the decision format: what was chosen, by which stage
// and scores, and the case that it was chosen from. The prompt is not part of it.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "host/observability/request_record.h"

namespace pd {

// Scores are numbers, or the strings "inf", "-inf", "nan".
boost::json::value json_number(double value);

boost::json::object decision_json(const std::string& request_id, const DecisionRecord& record);

}  // namespace pd
