/* scrub.c: `sluice check --scrub`: all blocks of a container against their checksums, each process some of the
 * subfiles.
 *
 * A block that does not match is damage. One without a checksum is what a writer left that did not come to close the
 * container; with --seal it gets one, as it is. While someone writes, such blocks are nothing to speak of.
 */
#include "tool/tool.h"
#include <errno.h>

typedef struct scrubbing {
    inspection *s;
    const sluice_manifest *m;
    int subfile;
    int64_t open;        /* blocks of it without checksum */
    int64_t done, total; /* bytes of our share */
} scrubbing;

static int look(void *arg, int how, sluice_run block) {
    scrubbing *w = arg;
    const sluice_manifest *m = w->m;
    const int i = w->subfile;
    w->done += block.len;
    progress_step(NULL, w->done * ranks_size(), w->total);
    if (how == SLUICE_SUMS_OPEN) w->open++;
    if (how < 0)
        check_find(w->s, "subfile %d, %s on target %s: block %" PRId64 ", bytes %" PRId64 " to %" PRId64 ": %s", i,
                   sluice_manifest_name(m, i).text, m->target[m->place[i]].text, block.off / m->checksum, block.off,
                   block.off + block.len - 1, sluice_strerror(how));
    return 0;
}

static void tell_open(const scrubbing *w, bool writing) {
    const int i = w->subfile;
    const sluice_subfile_name name = sluice_manifest_name(w->m, i);
    const char *target = w->m->target[w->m->place[i]].text;
    if (writing || w->s->o->seal)
        printf("%s: subfile %d, %s on target %s: %" PRId64 " block%s without checksum%s\n", w->s->path, i, name.text,
               target, w->open, w->open == 1 ? "" : "s", writing ? ", being written" : ", sealed as they are");
    else
        check_find(w->s,
                   "subfile %d, %s on target %s: %" PRId64 " block%s without checksum, left by a writer that did not "
                   "end well; --seal takes them as they are",
                   i, name.text, target, w->open, w->open == 1 ? "" : "s");
}

static int scrub_subfile(scrubbing *w, sluice_store *member, bool writing, sluice_reason *why) {
    w->open = 0;
    const int error = sluice_sums_scrub(member, look, w, why);
    if (!error && w->open) tell_open(w, writing);
    return error;
}

void scrub_container(inspection *s, bool writing) {
    sluice_container *c = NULL;
    sluice_reason why;
    int error = sluice_container_open(&c, s->path, SLUICE_CONTAINER_READ, s->o->bind, &why);
    if (!error) {
        scrubbing w = {.s = s, .m = c->manifest, .total = c->manifest->layout->length};
        progress_start("check");
        for (w.subfile = ranks_rank(); w.subfile < w.m->layout->n && !error; w.subfile += ranks_size())
            error = scrub_subfile(&w, c->member[w.subfile], writing, &why);
        progress_end();
        sluice_container_close(c);
    }
    if (error) check_find(s, "%s", why.text);
}

void scrub_seal(const options *o, const char *path) {
    sluice_container *c = NULL;
    sluice_reason why;
    int error = sluice_container_open(&c, path, SLUICE_CONTAINER_WRITE, o->bind, &why);
    if (error) report_failure("%s", why.text);
    for (int i = 0; i < c->manifest->layout->n && !error; i++) error = sluice_sums_seal(c->member[i], true, &why);
    const int closed = sluice_container_close(c);
    if (error || closed) report_failure("%s", error ? why.text : sluice_strerror(closed));
}
