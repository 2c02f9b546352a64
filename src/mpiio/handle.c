/* handle.c: which files are ours. A handle is the address of a sluice_door, and only those listed here are looked into;
 * Fortran's are numbers from a range that no MPI library reaches by counting. */
#include "mpiio/door.h"
#include <errno.h>

enum { FIRST = 0x51000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sluice_door **table;
static int n;

sluice_door *sluice_handle_find(MPI_File fh) {
    sluice_door *found = NULL;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < n && !found; i++)
        if (table[i] && (void *)table[i] == (void *)fh) found = table[i];
    pthread_mutex_unlock(&mutex);
    return found;
}

sluice_door *sluice_handle_at(MPI_Fint index) {
    pthread_mutex_lock(&mutex);
    sluice_door *found = index >= FIRST && index - FIRST < n ? table[index - FIRST] : NULL;
    pthread_mutex_unlock(&mutex);
    return found;
}

MPI_Fint sluice_handle_index(const sluice_door *d) { return FIRST + d->slot; }

int sluice_handle_add(sluice_door *d) {
    int i = 0, err = 0;
    pthread_mutex_lock(&mutex);
    while (i < n && table[i]) i++;
    if (i == n) {
        sluice_door **more = sluice_mem_resize(table, (size_t)n + 1, sizeof *more);
        if (more) {
            table = more;
            n++;
        } else {
            err = -ENOMEM;
        }
    }
    if (!err) {
        table[i] = d;
        d->slot = i;
    }
    pthread_mutex_unlock(&mutex);
    return err;
}

void sluice_handle_remove(sluice_door *d) {
    pthread_mutex_lock(&mutex);
    table[d->slot] = NULL;
    while (n && !table[n - 1]) n--;
    if (!n) {
        sluice_mem_free(table);
        table = NULL;
    }
    pthread_mutex_unlock(&mutex);
}
