/* version.c: the version as text, made of the numbers in the public header. */
#include "sluice_version.h"

#define TEXT(number) #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *sluice_version(void) { return VERSION(SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH); }
