/* tree.h: removing a folder with all that is in it. */
#ifndef SLUICE_TESTS_TREE_H
#define SLUICE_TESTS_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_one(const char *name, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(name);
}
static inline void remove_tree(const char *name) { nftw(name, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

#endif
