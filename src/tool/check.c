/* check.c: `sluice check`: looks for damage, and says it line by line.
 *
 * Of a container: is the manifest readable and consistent; does its layout give each byte to one subfile; are all
 * subfiles there, regular files, and as long as they should be; have they their checksums, and do these match
 * (scrub.c); did a crash leave something behind. Of a plain file: is it as long as it, or whoever describes it, says.
 * The status is 1 if there is damage. Of several processes the first does it, but for the checksums, which all compare.
 */
#include "array/array.h"
#include "tool/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void check_find(inspection *s, const char *format, ...) {
    va_list args;
    s->findings++;
    printf("%s: ", s->path);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* The sentence of the library, which names the path in its own way: "open x.sluice: truncated". */
static const char *without_path(const char *text, const char *path) {
    const char *at = strstr(text, path);
    if (!at || at[strlen(path)] == 0) return text;
    at += strlen(path);
    return !strncmp(at, ": ", 2) ? at + 2 : *at == ' ' ? at + 1 : text;
}

/* ---- Containers ---- */

static bool named_container(const char *path) { return sluice_contain_wanted(path, &(sluice_options){0}); }

static sluice_manifest *read_manifest(inspection *s, int folder) {
    sluice_manifest *m = NULL, *gone = NULL;
    sluice_reason why;
    int again = 0;
    const int error = sluice_folder_read(&m, folder, SLUICE_MANIFEST_NAME, s->path, &why);
    if (!error) return m;
    if (error == -ENOMEM || error == SLUICE_E_VERSION) report_usage("%s", why.text);
    if (error != -ENOENT) {
        check_find(s, "%s", without_path(why.text, s->path));
    } else if (s->o->clean && !(again = sluice_container_delete_rest(s->path, s->o->bind, &why))) {
        printf("%s: half removed: the rest is removed\n", s->path);
    } else if (s->o->clean && again != -ENOENT) {
        check_find(s, "half removed: %s", without_path(why.text, s->path));
    } else if (!sluice_folder_read(&gone, folder, SLUICE_DELETED_NAME, s->path, NULL)) {
        check_find(s, "half removed; --clean, or `sluice rm`, removes the rest");
        sluice_manifest_free(gone);
    } else if (named_container(s->path)) {
        check_find(s, "there is no %s in it", SLUICE_MANIFEST_NAME);
    } else {
        report_usage("%s", why.text);
    }
    return NULL;
}

/* Each byte of the array belongs to one subfile; some of these may be empty. */
static void check_layout(inspection *s, const sluice_layout *l) {
    sluice_set *full = report_alloc((size_t)l->n, sizeof *full);
    sluice_reason why;
    sluice_partition p = {0, full, 0, 0};
    for (int i = 0; i < l->n; i++)
        if (l->set[i].size) full[p.n++] = l->set[i];
    const int error = p.n ? sluice_partition_check(&p, &why) : 0;
    if (error == -ENOMEM || error == SLUICE_E_COMPLEX) report_error(error, "layout");
    if (error) check_find(s, "layout %s is no partition: %s", l->text, why.text);
    if (!error && p.period != l->length)
        check_find(s, "layout %s has %" PRId64 " bytes, the array %" PRId64, l->text, p.period, l->length);
    free(full);
}

static void check_subfile(inspection *s, const sluice_manifest *m, int folder, int i) {
    const sluice_subfile_name name = sluice_manifest_name(m, i);
    const char *target = m->target[m->place[i]].text;
    const int64_t need = m->layout->size[i];
    struct stat st;
    if (fstatat(folder, name.text, &st, AT_SYMLINK_NOFOLLOW))
        check_find(s, "subfile %d, %s on target %s: %s", i, name.text, target, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        check_find(s, "subfile %d, %s on target %s: not a regular file", i, name.text, target);
    else if (st.st_size != need)
        check_find(s, "subfile %d, %s on target %s: %" PRId64 " bytes instead of %" PRId64, i, name.text, target,
                   (int64_t)st.st_size, need);
}

static void tell_leftover(void *arg, const char *target, const char *name) {
    inspection *s = arg;
    if (s->o->clean)
        printf("%s: %s on target %s was left behind by a crash: removed\n", s->path, name, target);
    else
        check_find(s, "%s on target %s was left behind by a crash; --clean removes it", name, target);
}

/* Whether checksums can be compared, and someone has come to give all blocks theirs. */
static void check_sums(inspection *s, bool writing) {
    sluice_container *c = NULL;
    sluice_reason why;
    int error = sluice_container_open(&c, s->path, SLUICE_CONTAINER_READ, s->o->bind, &why);
    for (int i = 0; !error && i < c->manifest->layout->n; i++) {
        sluice_sums_states state;
        error = sluice_sums_state(c->member[i], &state, &why);
        if (error || state == SLUICE_SUMS_SEALED || writing || s->o->scrub || s->o->seal) continue;
        check_find(s, "subfile %d, %s on target %s: some blocks may have no checksum, left by %s; --scrub counts them",
                   i, sluice_manifest_name(c->manifest, i).text, c->manifest->target[c->manifest->place[i]].text,
                   state == SLUICE_SUMS_DOUBT ? "a power cut" : "a writer that did not end well");
    }
    if (error) check_find(s, "%s", without_path(why.text, s->path));
    if (c) sluice_container_close(c);
}

/* Whether it is still of that generation: what was the next one when the manifest was read may be the present one. */
static bool unchanged(const inspection *s, const sluice_manifest *m, int folder) {
    sluice_manifest *now = NULL;
    const int error = sluice_folder_read(&now, folder, SLUICE_MANIFEST_NAME, s->path, NULL);
    const bool same = !error && now->generation == m->generation && !strcmp(now->uuid, m->uuid);
    sluice_manifest_free(now);
    return same;
}

/* While someone writes, what looks left behind may be in the making. */
static bool check_leftovers(inspection *s, const sluice_manifest *m, int folder, const int *target) {
    sluice_reason why;
    const bool clean = s->o->clean;
    int error = clean ? sluice_claim_take(folder, s->path, &why) : sluice_claim_ask(folder, s->path, &why);
    if (error == -EBUSY && !clean) {
        printf("%s: %s\n", s->path, without_path(why.text, s->path));
        return true;
    }
    if (error) check_find(s, "%s", without_path(why.text, s->path));
    if (error && clean) return error == -EBUSY;
    if (clean && !unchanged(s, m, folder))
        error = sluice_refuse(&why, -EAGAIN, -1, "it was changed just now; nothing is removed");
    else
        error =
            sluice_leftovers(&(sluice_sweep){m, target, folder, s->path, s->o->bind, clean, tell_leftover, s}, &why);
    if (clean) sluice_claim_drop(folder);
    if (error) check_find(s, "%s", without_path(why.text, s->path));
    return false;
}

static void check_copies(inspection *s, const sluice_manifest *m, int folder) {
    bool differ;
    if (!m->layout->placed || !m->layout->placed->copies) return;
    if (sluice_mark_ask(folder, m, &differ))
        check_find(s, "it cannot be read whether copies may differ: %s", sluice_mark_name(m).text);
    else if (differ)
        check_find(s, "copies of the same bytes may differ: a writer was killed, or failed; the next makes them equal");
}

/* What of a container is to be compared with its checksums. */
typedef enum scope { NOTHING, ALL, ALL_WRITING } scope;

static scope check_container(inspection *s) {
    sluice_reason why;
    int *target = NULL;
    scope rest = NOTHING;
    const int folder = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) report_usage("%s: %s", s->path, strerror(errno));
    sluice_manifest *m = read_manifest(s, folder);
    if (m) {
        check_layout(s, m->layout);
        const int error = sluice_folder_targets(&target, m, folder, s->o->bind, &why);
        if (error == -ENOMEM || error < -1000) report_usage("%s", why.text); /* bound to nothing */
        if (error) check_find(s, "%s", without_path(why.text, s->path));
        for (int i = 0; i < m->layout->n && !error; i++) check_subfile(s, m, target[m->place[i]], i);
        const bool writing = !error && check_leftovers(s, m, folder, target);
        if (!error && !writing) check_copies(s, m, folder);
        if (!error && m->checksum) {
            const int64_t before = s->findings;
            check_sums(s, writing);
            if (s->findings == before) rest = writing ? ALL_WRITING : ALL;
        }
        if (!error) sluice_folder_close(target, m, folder);
    }
    sluice_manifest_free(m);
    close(folder);
    return rest;
}

/* ---- Files ---- */

/* By all processes together. */
static void check_file(inspection *s) {
    sluice_array *a;
    const int error = file_try(&a, s->o, s->path, FILE_ONLY, SLUICE_READ, 0);
    const bool damaged = error == SLUICE_E_FORMAT || error == SLUICE_E_OVERFLOW || error == -EIO;
    if (damaged && ranks_first())
        check_find(s, "%s", without_path(sluice_errmsg(), s->path));
    else if (error && !damaged)
        report_usage("%s", sluice_errmsg());
    else if (!error)
        file_close(a);
}

static void check(inspection *s) {
    struct stat st;
    scope rest = NOTHING;
    const bool scrub = s->o->scrub || s->o->seal;
    if (stat(s->path, &st) || !S_ISDIR(st.st_mode)) {
        check_file(s);
    } else if (ranks_lead()) {
        rest = check_container(s);
        ranks_led();
    }
    ranks_share(&rest, sizeof rest);
    if (!scrub || rest == NOTHING) return;
    scrub_container(s, rest == ALL_WRITING);
    report_flush();
    if (s->o->seal && ranks_lead()) {
        scrub_seal(s->o, s->path);
        ranks_led();
    }
}

static int check_run(const options *o, int n, char **argument) {
    int64_t findings = 0;
    report_trouble();
    for (int i = 0; i < n; i++) {
        inspection s = {o, argument[i], 0};
        check(&s);
        findings += s.findings;
    }
    return ranks_sum(findings) ? 1 : 0;
}

const command check_command = {
    "check",
    "FILE...",
    "Looks for damage of containers and files",
    "Of a container: the manifest, whether all subfiles are there and as long as they should be, a lock whose writer "
    "is\n"
    "gone, and what a crash left behind. Of an .npy file: whether its header can be read and the file is as long as "
    "it\n"
    "says; of a raw one: whether it is as long as the options say. What is wrong is printed, a line each.\n"
    "With --scrub all of a container that has checksums is read and compared; under mpiexec all processes take part.\n"
    "The exit status is 0 if all is well, 1 if there is damage, 2 if it could not be looked at.\n"
    "\n"
    "examples:\n"
    "  sluice check field.sluice\n"
    "  sluice check field.sluice --clean --bind fast=/mnt/ssd\n"
    "  mpiexec -n 4 sluice check field.sluice --scrub\n",
    "sTohxbeL",
    1,
    -1,
    check_run,
};
