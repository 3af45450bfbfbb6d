// What the admin port shows: health, metrics, the fleet, policies, plugins and recent decisions.
#pragma once

#include <memory>
#include <vector>

#include "framework/plugin/plugin.h"
#include "framework/policy/policy_registry.h"
#include "host/admin/admin_server.h"
#include "host/gateway/gateway_environment.h"

namespace pd {

class AdminPages {
 public:
  // Everything given must outlive the pages.
  AdminPages(const GatewayEnvironment& environment, const DecisionStore& decisions,
             const PolicyRegistry& registry)
      : environment_(environment), decisions_(decisions), registry_(registry) {}

  // [admin thread]
  AdminAnswer answer(const AdminRequest& request) const;

 private:
  AdminAnswer readiness() const;
  AdminAnswer fleet() const;
  AdminAnswer policies() const;
  AdminAnswer plugins() const;
  AdminAnswer decision(const std::string& request_id) const;
  AdminAnswer decisions() const;

  const GatewayEnvironment& environment_;
  const DecisionStore& decisions_;
  const PolicyRegistry& registry_;
};

}  // namespace pd
