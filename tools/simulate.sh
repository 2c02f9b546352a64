#!/bin/sh
# simulate.sh RANKS PLATFORM PROGRAM [ARGUMENT...]: runs a program built with SimGrid (make MPI=simgrid).
#
# smpirun loads the program as a library into one process, in which all ranks share its variables (-no-privatize saves a
# copy of the program per rank, and ours has none that matter). Only messages and sleep take simulated time. By default
# its collectives send with the square of the ranks; those chosen here do not.
set -eu
ranks=$1 platform=$2
shift 2
exec smpirun -quiet -no-privatize -np "$ranks" -platform "$platform" --log=root.thres:error \
    --cfg=smpi/simulate-computation:no --cfg=smpi/bcast:binomial_tree --cfg=smpi/barrier:ompi_bruck \
    --cfg=smpi/allreduce:rdb --cfg=smpi/reduce:binomial --cfg=smpi/allgather:rdb --cfg=smpi/allgatherv:mpich_rdb "$@"
