#include "transports/Transport.h"

#include "plan/Error.h"
#include "transports/mpi/MessageTransport.h"
#include "transports/mpi/MpiPlugin.h"
#include "transports/threads/ThreadTransport.h"

#include <algorithm>

namespace layline::runtime {

std::vector<std::int64_t> membersOf(const Plan &plan, const Group &group,
                                    std::int64_t rank) {
  std::vector<std::int64_t> mine = plan.coordinates(rank), members;
  for (std::int64_t other = 0; other < plan.ranks(); ++other) {
    std::vector<std::int64_t> coordinates = plan.coordinates(other);
    // Members differ on the group's axes only. Ranks are row-major over the
    // axes, so that ascending ranks are ascending members.
    for (int axis : group.axes)
      coordinates[axis] = mine[axis];
    if (coordinates == mine)
      members.push_back(other);
  }
  return members;
}

std::string wrongProcesses(const Plan &plan, std::int64_t processes) {
  return concat("the plan is for ", plan.ranks(),
                plan.ranks() == 1 ? " rank, " : " ranks, ", processes,
                processes == 1 ? " process runs" : " processes run",
                "; transport 'mpi' expects one for each (mpirun -n ",
                plan.ranks(), ")");
}

void checkOneRankEach(const Plan &plan, Transport &transport) {
  if (Communicator *world = transport.world();
      world && world->size() != plan.ranks())
    fail(LAYLINE_BAD_ARGUMENT, wrongProcesses(plan, world->size()),
         "; several ranks in each are device 'cuda's");
}

std::unique_ptr<Transport> makeTransport(const std::string &name,
                                         const TransportOptions &options) {
  if (name == "threads")
    return std::make_unique<ThreadTransport>(options);
  if (name == "mpi")
    return std::make_unique<MessageTransport>(mpiLink(options.timeout),
                                              options);
  fail(LAYLINE_REFUSED_FEATURE, "transport '", name,
       "' is unknown; 'threads' or 'mpi' is expected");
}

} // namespace layline::runtime
