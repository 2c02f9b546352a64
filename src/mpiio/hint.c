/* hint.c: what programs advise, and what is in force. None is needed.
 *
 * Of MPI's reserved hints and of ROMIO's those are understood that say something which Sluice decides as well; the
 * others are listed under "sluice_ignored", so that a program can find out.
 */
#include "mpiio/door.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 64 << 20 };

void sluice_hint_start(sluice_hints *h) {
    memset(h, 0, sizeof *h);
    h->memory = MEMORY;
    const char *container = getenv("SLUICE_MPIIO_CONTAINER");
    h->container = !container || strcmp(container, "0") != 0;
}

static const char *const choice[] = {"automatic", "disable", "enable"};

/* One of the words, or -1. */
static int choose(const char *value) {
    for (int i = 0; i < 3; i++)
        if (!strcmp(value, choice[i])) return i;
    return -1;
}

static const sluice_method methods[] = {SLUICE_AUTO, SLUICE_DIRECT, SLUICE_SIEVE};

/* A number from `least` on, or -1. */
static int64_t number(const char *value, int64_t least) {
    char *end;
    const long long n = strtoll(value, &end, 10);
    return end == value || *end || n < least ? -1 : n;
}

/* Whether it had an effect. */
static bool understand(sluice_hints *h, const char *key, const char *value) {
    const bool write = strstr(key, "write") != NULL;
    if (!strcmp(key, "cb_buffer_size")) {
        const int64_t n = number(value, SLUICE_IO_LEAST);
        if (n > 0) h->memory = n;
        return n > 0;
    }
    if (!strcmp(key, "cb_nodes") || !strcmp(key, "sluice_nodes")) {
        const int64_t n = number(value, 1);
        if (n < 1 || n > 1 << 20) return false;
        *(*key == 'c' ? &h->aggregators : &h->nodes) = (int)n;
        return true;
    }
    if (!strcmp(key, "romio_cb_read") || !strcmp(key, "romio_cb_write")) {
        const int k = choose(value);
        if (k >= 0) h->way[write] = (sluice_way)k; /* in the order of the words */
        return k >= 0;
    }
    if (!strcmp(key, "collective_buffering")) {
        const bool yes = !strcmp(value, "true");
        h->way[0] = h->way[1] = yes ? SLUICE_WAY_AUTO : SLUICE_WAY_OWN;
        return true;
    }
    if (!strcmp(key, "romio_ds_read") || !strcmp(key, "romio_ds_write")) {
        const int k = choose(value);
        if (k >= 0) h->method[write] = methods[k];
        return k >= 0;
    }
    if (!strcmp(key, "sluice_container")) {
        h->container = !strcmp(value, "true");
        return true;
    }
    return !strncmp(key, "sluice_last_", 12); /* from MPI_File_get_info: told, not asked for */
}

static void ignore(sluice_hints *h, const char *key) {
    const size_t used = strlen(h->ignored), room = sizeof h->ignored - used;
    if (!strcmp(key, "sluice_ignored")) return;
    if ((size_t)snprintf(h->ignored + used, room, "%s%s", used ? "," : "", key) >= room) h->ignored[used] = 0;
}

void sluice_hint_read(sluice_hints *h, MPI_Info info) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int n = 0, there;
    if (info == MPI_INFO_NULL || MPI_Info_get_nkeys(info, &n)) return;
    for (int i = 0; i < n; i++) {
        if (MPI_Info_get_nthkey(info, i, key) || MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &there) || !there)
            continue;
        if (!understand(h, key, value)) ignore(h, key);
    }
}

static void tell_number(MPI_Info info, const char *key, int64_t n) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    MPI_Info_set(info, key, text);
}

int sluice_hint_tell(const sluice_door *d, MPI_Info *out) {
    const sluice_hints *h = &d->hints;
    MPI_Info info;
    int code = MPI_Info_create(&info);
    if (code) return code;
    tell_number(info, "cb_buffer_size", h->memory);
    if (h->aggregators) tell_number(info, "cb_nodes", h->aggregators);
    if (h->nodes) tell_number(info, "sluice_nodes", h->nodes);
    for (int write = 0; write < 2; write++) {
        const sluice_method m = h->method[write];
        MPI_Info_set(info, write ? "romio_cb_write" : "romio_cb_read", choice[h->way[write]]);
        MPI_Info_set(info, write ? "romio_ds_write" : "romio_ds_read",
                     choice[m == SLUICE_SIEVE    ? 2
                            : m == SLUICE_DIRECT ? 1
                                                 : 0]);
        if (d->last[write]) MPI_Info_set(info, write ? "sluice_last_write" : "sluice_last_read", d->last[write]);
    }
    MPI_Info_set(info, "sluice_container", h->container ? "true" : "false");
    if (h->ignored[0]) MPI_Info_set(info, "sluice_ignored", h->ignored);
    *out = info;
    return MPI_SUCCESS;
}
