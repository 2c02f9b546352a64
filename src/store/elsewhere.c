/* elsewhere.c: the store of a subfile that another process has. It has a name and a size, and stands in a join for what
 * is not to be reached there: transfers are -EREMOTE, and there is nothing to sync.
 */
#include "store/store.h"
#include <errno.h>

typedef struct elsewhere {
    sluice_store s;
    int64_t size;
} elsewhere;

static int elsewhere_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    (void)s, (void)write;
    for (int i = 0; i < n; i++) req[i].result = -EREMOTE;
    return 0;
}

static int elsewhere_wait(sluice_store *s, sluice_req *req, int n) {
    (void)s, (void)req, (void)n;
    return 0;
}

static int64_t elsewhere_size(sluice_store *s) { return ((elsewhere *)s)->size; }

static int elsewhere_resize(sluice_store *s, int64_t size) {
    ((elsewhere *)s)->size = size;
    return 0;
}

static int elsewhere_sync(sluice_store *s) {
    (void)s;
    return 0;
}

static int elsewhere_close(sluice_store *s) {
    sluice_store_free(s);
    return 0;
}

static const sluice_store_ops elsewhere_ops = {.name = "elsewhere",
                                               .close = elsewhere_close,
                                               .submit = elsewhere_submit,
                                               .wait = elsewhere_wait,
                                               .size = elsewhere_size,
                                               .resize = elsewhere_resize,
                                               .sync = elsewhere_sync};

int sluice_store_open_elsewhere(sluice_store **out, int64_t size, const char *path, sluice_reason *why) {
    elsewhere *e = sluice_mem_alloc(1, sizeof *e);
    if (!e || !sluice_store_init(&e->s, &elsewhere_ops, path)) {
        sluice_mem_free(e);
        return sluice_store_refuse(why, -ENOMEM, "open", path, -1);
    }
    e->s.facts = (sluice_store_facts){.align = 1, .block = 1, .depth = SLUICE_STORE_DEPTH}; /* no worse than others */
    e->size = size;
    *out = &e->s;
    return 0;
}
