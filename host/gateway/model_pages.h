// GET /v1/models and /v1/models/{id}: answered from our own fleet, never by one pod.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <string_view>

#include "framework/fleet/fleet.h"
#include "host/gateway/gateway_error.h"

namespace pd {

// JSON for the list or for one model. An id is percent-decoded once and may hold slashes.
boost::system::result<std::string, GatewayError> model_page(const Fleet& fleet,
                                                            std::string_view path);

}  // namespace pd
