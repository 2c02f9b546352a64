/* target.c: where targets lie.
 *
 * A manifest names targets; which folder a name stands for is said by whoever opens the container, so that a manifest
 * cannot lead anywhere on its own, and a disk may be mounted elsewhere tomorrow.
 *
 *     fast=/mnt/ssd,slow=/mnt/disk      an option, or SLUICE_TARGETS in the environment
 *     fast = /mnt/ssd                   a line of $XDG_CONFIG_HOME/sluice/targets; # starts a comment
 *
 * The first of option, environment and file that knows the name is taken. Paths in the file are absolute.
 */
#include "file/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 64 << 10 }; /* file that is read */

bool sluice_target_valid(const char *name, size_t len) {
    if (len < 1 || len > 63 || *name == '.') return false;
    for (size_t i = 0; i < len; i++) {
        const char c = name[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && c != '_' && c != '-' && c != '.') return false;
    }
    return true;
}

/* Where bindings stand, and how they are written there. */
typedef struct source {
    const char *what, *text;
    char separator;
    bool absolute;
} source;

static size_t trim(const char **s, size_t len) {
    while (len && strchr(" \t\r", **s)) ++*s, len--;
    while (len && strchr(" \t\r", (*s)[len - 1])) len--;
    return len;
}

/* One binding of len bytes at `at`. 1: it is of this name, and *out is its path; 0: of another. */
static int read_binding(sluice_target_path *out, const source *from, const char *at, size_t len, const char *name,
                        sluice_reason *why) {
    const int64_t pos = at - from->text;
    const char *equals = memchr(at, '=', len), *key = at, *path = equals + 1;
    const char *wrong = NULL;
    if (!equals)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, pos, "%s, byte %d: expected NAME=PATH", from->what, (int)pos);
    const size_t nkey = trim(&key, (size_t)(equals - at)), npath = trim(&path, (size_t)(at + len - path));
    if (!sluice_target_valid(key, nkey))
        wrong = "not the name of a target";
    else if (npath == 0 || npath >= sizeof out->text)
        wrong = npath ? "the path is too long" : "expected a path after '='";
    else if (from->absolute && *path != '/')
        wrong = "expected a path from / on";
    if (wrong) return sluice_refuse(why, SLUICE_E_ARGUMENT, pos, "%s, byte %d: %s", from->what, (int)pos, wrong);
    if (strlen(name) != nkey || memcmp(name, key, nkey) != 0) return 0;
    memcpy(out->text, path, npath);
    out->text[npath] = 0;
    return 1;
}

/* 1 if the source binds the name, 0 if not. */
static int look_up(sluice_target_path *out, const source *from, const char *name, sluice_reason *why) {
    sluice_target_path path;
    bool found = false;
    for (const char *at = from->text; *at;) {
        const char *start = at;
        const size_t len = strcspn(at, (char[]){from->separator, 0});
        const size_t used = from->separator == '\n' ? strcspn(at, "#\n") : len;
        at += len + (at[len] != 0);
        const char *inside = start;
        if (trim(&inside, used) == 0) continue;
        const int r = read_binding(&path, from, start, used, name, why);
        if (r < 0) return r;
        if (r && found)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, start - from->text, "%s: target %s is bound twice", from->what,
                                 name);
        found |= r;
    }
    if (found) *out = path;
    return found;
}

/* The file of bindings, or an empty text if there is none. The caller frees it. */
static int read_file(char **text, sluice_reason *why) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char path[4096];
    int64_t n = 0;
    ssize_t got = 1;
    int fd = -1;
    if (config && *config)
        snprintf(path, sizeof path, "%s/sluice/targets", config);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/.config/sluice/targets", home);
    else
        path[0] = 0;
    char *all = sluice_mem_alloc(LONGEST + 1, 1);
    if (!all) return sluice_pass(why, -ENOMEM);
    if (path[0]) fd = sluice_sys_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd == -ENOENT || fd == -ENOTDIR || !path[0]) got = 0;
    while (got > 0 && n <= LONGEST && fd >= 0) {
        got = sluice_sys_read(fd, all + n, (size_t)(LONGEST + 1 - n));
        n += sluice_max(got, 0);
    }
    int error = fd < 0 && got ? fd : got < 0 ? (int)got : 0;
    if (error) sluice_store_refuse(why, error, "read", path, -1);
    if (!error && n > LONGEST)
        error = sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s has more than %d bytes", sluice_store_label(path).text,
                              LONGEST);
    if (fd >= 0) close(fd);
    if (error) {
        sluice_mem_free(all);
        return error;
    }
    all[n] = 0;
    *text = all;
    return 0;
}

int sluice_target_find(sluice_target_path *out, const char *name, const char *bindings, sluice_reason *why) {
    const char *environment = getenv("SLUICE_TARGETS");
    const source given[] = {{"bindings", bindings ? bindings : "", ',', false},
                            {"SLUICE_TARGETS", environment ? environment : "", ',', false}};
    char *text;
    int found = 0;
    for (int i = 0; i < 2 && !found; i++) found = look_up(out, &given[i], name, why);
    if (found) return found < 0 ? found : 0;
    const int error = read_file(&text, why);
    if (error) return error;
    found = look_up(out, &(source){"sluice/targets", text, '\n', true}, name, why);
    sluice_mem_free(text);
    if (found) return found < 0 ? found : 0;
    return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                         "target %s is bound to no folder: say %s=PATH in the option bindings or in SLUICE_TARGETS, or "
                         "as a line of ~/.config/sluice/targets",
                         name, name);
}
