/* trace.c: any bytes as a trace and as a part of one. What is accepted can be walked, and all of its offsets and times
 * are in range. The fuzzer does not find checksums, so those of chunks that are there are made right first. */
#include "must.h"
#include "trace/form.h"
#include <string.h>

/* Makes the checksums of all chunks right that lie in the bytes. */
static void seal(uint8_t *data, size_t size) {
    for (size_t at = SLUICE_FORM_HEAD; at + SLUICE_FORM_AROUND <= size;) {
        const size_t len =
            data[at + 1] | (size_t)data[at + 2] << 8 | (size_t)data[at + 3] << 16 | (size_t)data[at + 4] << 24;
        if (len > size - at - SLUICE_FORM_AROUND) return;
        const uint32_t sum = sluice_crc32c(0, data + at, 5 + len);
        for (int i = 0; i < 4; i++) data[at + 5 + len + (size_t)i] = (uint8_t)(sum >> 8 * i);
        at += SLUICE_FORM_AROUND + len;
    }
}

static void walk(const sluice_trace *t) {
    sluice_events c;
    sluice_event e;
    int64_t last = 0;
    MUST(!sluice_events_init(&c, t, SLUICE_EVERY_PROCESS));
    for (int i = 0; i < 1000 && sluice_events_next(&c, &e); i++, last = e.begin) {
        MUST(e.proc >= 0 && e.proc < t->nproc && e.file >= 0 && e.file < t->nfile);
        MUST(e.begin >= last && e.end >= e.begin && e.off >= 0);
        MUST(!sluice_set_check(e.set, NULL) && e.off < INT64_MAX - sluice_set_hi(e.set));
    }
    sluice_events_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + 1);
    MUST(copy);
    memcpy(copy, data, size);
    for (int sealed = 0; sealed < 2; sealed++) {
        for (int part = 0; part < 2; part++) {
            sluice_trace t;
            sluice_author who;
            sluice_reason why = {0};
            sluice_source s = {.fd = -1, .bytes = copy, .n = (int64_t)size};
            const int error = sluice_read_source(&t, &s, part ? &who : NULL, &why);
            MUST(error ? why.error == error && why.text[0] : true);
            if (!error) walk(&t);
            sluice_trace_free(&t);
        }
        seal(copy, size);
    }
    free(copy);
    MUST(sluice_mem_live() == 0);
    return 0;
}
