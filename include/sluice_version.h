/* sluice_version.h: which Sluice this is.
 *
 * The macros say what a program was compiled against, sluice_version() what it runs with. Until version 1.0 the
 * interface may change with the middle number; a change of the last one never does more than mend.
 */
#ifndef SLUICE_VERSION_H
#define SLUICE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_VERSION_MAJOR 0
#define SLUICE_VERSION_MINOR 1
#define SLUICE_VERSION_PATCH 0

/* Pure. The version of the library, as in "0.1.0". */
const char *sluice_version(void);

#ifdef __cplusplus
}
#endif
#endif
