/* serve.c: any bytes as questions of clients to a server of parallel files, or of an array. Each is answered, with an
 * error that names the server or without one; memory stays below what the server was given; and a client who asks
 * properly finds what it wrote.
 *
 * The first byte says what is served. Then come messages: who asks, how long the message is (two bytes) and its bytes;
 * those of the head that are the same in all messages, its magic, are left out.
 */
#include "io/desk.h"
#include "must.h"
#include <string.h>

enum { CLIENTS = 3, GOOD = CLIENTS - 1, SUBS = 2, LENGTH = 4096, PIECE = 2048, MEMORY = 8192 };

typedef struct scene {
    sluice_desk desk;
    sluice_io io[SUBS];
    sluice_set mine;
    int64_t limit; /* of live memory */
} scene;

/* A slot as serve.c finds one, with every answer gone out at once. */
static sluice_slot *free_slot(sluice_desk *d) {
    for (;;) {
        for (int i = 0; i < SLUICE_DESK_SLOTS; i++)
            if (!d->slot[i].queued) return &d->slot[i];
        sluice_desk_write(d, sluice_desk_oldest(d));
    }
}

/* Asks, and returns the slot with the answer. */
static const sluice_slot *ask(scene *s, int client, const sluice_message *head, const void *data, int64_t length) {
    const int64_t head_bytes = sizeof *head;
    sluice_slot *t = free_slot(&s->desk);
    memset(t->head, 0, sizeof *t->head);
    memcpy(t->head, head, sizeof *head);
    if (length > head_bytes) memcpy(t->data, data, (size_t)(length - head_bytes));
    const int64_t back = sluice_desk_answer(&s->desk, t, length, client);
    MUST(t->head->magic == SLUICE_MESSAGE_MAGIC && t->head->error <= 0 && back == head_bytes + t->head->n);
    const bool read = head->question == SLUICE_ASK_READ || head->question == SLUICE_ASK_GET;
    MUST(t->head->n >= 0 && t->head->n <= PIECE && t->head->n == (read && !t->head->error ? head->n : 0));
    MUST(t->head->error ? !strncmp(t->head->text, "server rank 7: ", 15) : !t->head->text[0]);
    MUST(sluice_mem_live() <= s->limit);
    return t;
}

static void begin(scene *s, bool array) {
    sluice_store *store;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < (array ? 1 : SUBS); i++) {
        MUST(!sluice_store_open_ram(&store, LENGTH, NULL));
        MUST(!sluice_store_open_join(&store, &store, (int64_t[]){0}, 1, LENGTH, "memory")); /* that does not grow */
        s->io[i] = (sluice_io){.store = store, .no_map = true, .writable = true, .exclusive = true, .memory = 4096};
    }
    MUST(!sluice_set_block(&s->mine, 100, 1900)); /* of the space of an array, half is another's */
    const sluice_server_options o = {.rank = 7,
                                     .size = CLIENTS,
                                     .io = s->io,
                                     .nsub = array ? 0 : SUBS,
                                     .space = array ? &s->io[0] : NULL,
                                     .mine = &s->mine,
                                     .writable = true,
                                     .behind = true,
                                     .piece = PIECE,
                                     .memory = MEMORY};
    MUST(!sluice_desk_open(&s->desk, &o));
    /* Views and the set of a question; a transfer makes a few more of that, and has its buffer. */
    s->limit = sluice_mem_live() + 4 * MEMORY + 4096;
}

/* A client writes something and reads it: no one can prevent that, but by taking all memory for views. */
static void work(scene *s, bool array) {
    unsigned char wire[64], message[64 + 100];
    sluice_set set = SLUICE_SET_EMPTY;
    MUST(!sluice_set_falls(&set, 1900, 1, 2, 50)); /* 50 bytes, one in two */
    const int64_t len = sluice_set_pack(&set, wire, sizeof wire);
    sluice_message put = {.magic = SLUICE_MESSAGE_MAGIC, .question = SLUICE_ASK_PUT, .wire = len, .n = 50}, get = put;
    memcpy(message, wire, (size_t)len);
    for (int i = 0; i < 50; i++) message[len + i] = (unsigned char)(i * 5 + 1);
    get.question = SLUICE_ASK_GET;
    const int wrote = ask(s, GOOD, &put, message, (int64_t)sizeof put + len + 50)->head->error;
    const sluice_slot *t = ask(s, GOOD, &get, wire, (int64_t)sizeof get + len);
    MUST(array ? !wrote && !t->head->error && !memcmp(t->data, message + len, 50) : wrote && t->head->error);
    sluice_set_free(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static scene s;
    if (size < 1) return 0;
    const bool array = *data++ & 1;
    const size_t head = sizeof(sluice_message) - sizeof(int64_t);
    size--;
    begin(&s, array);
    while (size >= 3) {
        sluice_message m = {.magic = SLUICE_MESSAGE_MAGIC};
        const int client = data[0] % GOOD;
        size_t length = (size_t)(data[1] + 256 * data[2]);
        data += 3, size -= 3;
        if (length > size) length = size;
        memcpy((unsigned char *)&m + sizeof m.magic, data, length < head ? length : head);
        /* What is longer than a slot is cut off before, and the desk is told how long it was. */
        const size_t behind = length > head ? length - head : 0;
        static unsigned char tail[PIECE];
        memset(tail, 0, sizeof tail);
        if (behind) memcpy(tail, data + head, behind < PIECE ? behind : PIECE);
        const int64_t told = length < head ? (int64_t)length : (int64_t)(sizeof m + behind);
        if (told <= (int64_t)(sizeof m + PIECE))
            ask(&s, client, &m, tail, told);
        else
            MUST(ask(&s, client, &m, tail, (int64_t)(sizeof m + PIECE))->head->magic);
        data += length, size -= length;
    }
    work(&s, array);
    MUST(s.desk.held <= MEMORY);
    sluice_desk_drain(&s.desk);
    sluice_desk_close(&s.desk);
    sluice_set_free(&s.mine);
    for (int i = 0; i < SUBS; i++) {
        sluice_io_release(&s.io[i]);
        sluice_store_close(s.io[i].store);
    }
    MUST(sluice_mem_live() == 0);
    return 0;
}
