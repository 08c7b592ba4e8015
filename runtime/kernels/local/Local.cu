#include "kernels/local/LocalKernels.cuh"
