/* skew.h: the clocks of several nodes. */
#ifndef SLUICE_IO_SKEW_H
#define SLUICE_IO_SKEW_H

#include "io/group.h"

/* Collective. If all processes record a trace, tells their recorders what the clock of their node lacks to that of rank
 * 0's. Only if they are all of the program, which thus has one clock for all; on one node there is nothing to do. */
int sluice_skew_measure(sluice_group *g, sluice_reason *why);

#endif
