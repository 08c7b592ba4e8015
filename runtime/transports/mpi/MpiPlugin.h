// The library that knows MPI, loaded when somebody asks for it.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_MPI_MPIPLUGIN_H
#define LAYLINE_RUNTIME_TRANSPORTS_MPI_MPIPLUGIN_H

#include "transports/mpi/Link.h"

namespace layline::runtime {

/// The link between the processes that mpirun started, of which there is one in
/// a process and to its end. Throws Error if liblayline_mpi.so or MPI is not
/// there. `timeout` counts when it is opened first.
Link &mpiLink(double timeout);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_MPI_MPIPLUGIN_H
