/* movers.c: how the contenders move a process's boxes: through Sluice, by a call for each run, by loops over a mapping
 * that stays, through the file views of MPI, by its own library and by the door. */
#include "array/array.h"
#include "bench.h"
#include "contend.h"
#include "sluice_mpi.h"
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

int transfer(int fd, void *p, int64_t len, int64_t off, bool write) {
    unsigned char *at = p;
    while (len > 0) {
        ssize_t n = write ? pwrite(fd, at, (size_t)len, off) : pread(fd, at, (size_t)len, off);
        if (n <= 0) return -1;
        at += n, off += n, len -= n;
    }
    return 0;
}

void copy_line(unsigned char *file, unsigned char *mem, int64_t n, int64_t step, int64_t elem, bool write) {
    if (step == elem) {
        memcpy(write ? file : mem, write ? mem : file, (size_t)(n * elem));
    } else if (elem == 4 && write) {
        for (int64_t i = 0; i < n; i++) memcpy(file + i * step, mem + i * 4, 4);
    } else if (elem == 4) {
        for (int64_t i = 0; i < n; i++) memcpy(mem + i * 4, file + i * step, 4);
    } else {
        for (int64_t i = 0; i < n; i++)
            memcpy(write ? file + i * step : mem + i * elem, write ? mem + i * elem : file + i * step, (size_t)elem);
    }
}

/* ---- Sluice ---- */

int move_sluice(job *j, int way) {
    sluice_part part[BOXES];
    sluice_range range[BOXES][DIMS];
    unsigned char *buf = j->buf;
    for (int i = 0; i < j->nboxes; i++) {
        const box *b = &j->box[i];
        for (int d = 0; d < DIMS; d++) range[i][d] = (sluice_range){b->start[d], b->count[d], b->step[d]};
        part[i] = (sluice_part){.range = range[i], .buf = buf};
        buf += box_bytes(j->field, b);
    }
    int err = (j->event->write ? sluice_write_parts_all : sluice_read_parts_all)(j->array[way], part, j->nboxes);
    if (err) fprintf(stderr, "%s: %s\n", j->contest->name, sluice_errmsg());
    return err;
}

static void open_arrays(job *j) {
    static const sluice_together together[WAYS] = {
        [WAY_OWN] = {.way = SLUICE_WAY_OWN},
        [WAY_TWO_PHASE] = {.way = SLUICE_WAY_TWO_PHASE},
        [WAY_STATIC] = {.way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_STATIC},
        [WAY_DYNAMIC] = {.way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC},
    };
    sluice_desc d = {.format = SLUICE_RAW, .shape = {.ndims = j->field->ndims, .order = SLUICE_COLUMN_MAJOR}};
    d.shape.elem = j->field->elem;
    for (int k = 0; k < j->field->ndims; k++) d.shape.dim[k] = j->field->dim[k];
    for (int w = 0; w < WAYS; w++) {
        /* Contenders take turns, so what the mapping of one claims for itself need not hinder those that use windows.
         */
        sluice_options o = {.size = sizeof o, .together = together[w]};
        o.exclusive = together[w].way == SLUICE_WAY_TWO_PHASE;
        if (!sluice_open_all(&j->array[w], MPI_COMM_WORLD, j->path, SLUICE_WRITE, &d, &o)) continue;
        fprintf(stderr, "%s: %s\n", j->contest->name, sluice_errmsg());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* ---- By hand ---- */

int move_direct(job *j, int how) {
    (void)how;
    const int64_t elem = j->field->elem;
    unsigned char *buf = j->buf;
    int err = 0;
    for (int i = 0; i < j->nboxes; i++) {
        const box *b = &j->box[i];
        int64_t n = b->step[0] == 1 ? 1 : b->count[0], len = b->step[0] == 1 ? b->count[0] * elem : elem;
        EACH_LINE(j->field, b, off, at)
        for (int64_t k = 0; k < n; k++)
            err |= transfer(j->fd, buf + at + k * elem, len, off + k * b->step[0] * elem, j->event->write);
        buf += box_bytes(j->field, b);
    }
    return err;
}

int move_mapped(job *j, int how) {
    (void)how;
    const int64_t elem = j->field->elem;
    unsigned char *buf = j->buf;
    for (int i = 0; i < j->nboxes; i++) {
        const box *b = &j->box[i];
        EACH_LINE(j->field, b, off, at)
        copy_line(j->map + off, buf + at, b->count[0], b->step[0] * elem, elem, j->event->write);
        buf += box_bytes(j->field, b);
    }
    return 0;
}

/* ---- MPI ---- */

/* The calls that are used: of the MPI library, which are looked up behind this program's own, and of the door, which is
 * linked into it, so that Sluice is there only once. */
typedef int at_call(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);
static struct mpi_io {
    int (*open)(MPI_Comm, const char *, int, MPI_Info, MPI_File *);
    int (*close)(MPI_File *);
    int (*set_view)(MPI_File, MPI_Offset, MPI_Datatype, MPI_Datatype, const char *, MPI_Info);
    at_call *move[2][2]; /* write, collective */
} mpi_io[2] = {[1] = {MPI_File_open,
                      MPI_File_close,
                      MPI_File_set_view,
                      {{MPI_File_read_at, MPI_File_read_at_all},
                       {(at_call *)MPI_File_write_at, (at_call *)MPI_File_write_at_all}}}};

static void *look_up(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found) return found;
    fprintf(stderr, "the MPI library has no %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return NULL;
}

static void find_host(void) {
    static const char *const move[2][2] = {{"MPI_File_read_at", "MPI_File_read_at_all"},
                                           {"MPI_File_write_at", "MPI_File_write_at_all"}};
    struct mpi_io *h = &mpi_io[0];
    *(void **)&h->open = look_up("MPI_File_open");
    *(void **)&h->close = look_up("MPI_File_close");
    *(void **)&h->set_view = look_up("MPI_File_set_view");
    for (int i = 0; i < 4; i++) *(void **)&h->move[i / 2][i % 2] = look_up(move[i / 2][i % 2]);
}

int move_mpi(job *j, int how) {
    MPI_Status s;
    int n = (int)(j->bytes / j->field->elem), got = -1, door = how & MPI_DOOR ? 1 : 0;
    int err = mpi_io[door].move[j->event->write][how & MPI_COLLECTIVE](j->file[door], 0, j->buf, n, j->elem, &s);
    if (!err) MPI_Get_count(&s, j->elem, &got);
    return err || got != n;
}

static MPI_Datatype strided(const job *j, const box *b) {
    const field *f = j->field;
    MPI_Datatype t, next;
    MPI_Aint stride = (MPI_Aint)f->elem;
    MPI_Type_contiguous(1, j->elem, &t);
    for (int d = 0; d < f->ndims; d++) {
        MPI_Type_create_hvector((int)b->count[d], 1, stride * (MPI_Aint)b->step[d], t, &next);
        MPI_Type_free(&t);
        t = next;
        stride *= (MPI_Aint)f->dim[d];
    }
    MPI_Aint at = (MPI_Aint)line_offset(f, b, 0, 0);
    MPI_Type_create_hindexed_block(1, 1, &at, t, &next);
    MPI_Type_free(&t);
    MPI_Type_create_resized(next, 0, (MPI_Aint)j->file_bytes, &t);
    MPI_Type_free(&next);
    return t;
}

static MPI_Datatype whole(const job *j, const box *b) {
    int dim[DIMS], count[DIMS], start[DIMS];
    MPI_Datatype t;
    for (int d = 0; d < DIMS; d++)
        dim[d] = (int)j->field->dim[d], count[d] = (int)b->count[d], start[d] = (int)b->start[d];
    MPI_Type_create_subarray(j->field->ndims, dim, count, start, MPI_ORDER_FORTRAN, j->elem, &t);
    return t;
}

void make_view(job *j) {
    MPI_Datatype type[BOXES];
    int length[BOXES];
    MPI_Aint at[BOXES] = {0};
    for (int i = 0; i < j->nboxes; i++) {
        const box *b = &j->box[i];
        type[i] = (b->step[0] == 1 && b->step[1] == 1 && b->step[2] == 1 ? whole : strided)(j, b);
        length[i] = 1;
    }
    if (j->nboxes == 1) {
        j->view = type[0];
    } else {
        MPI_Type_create_struct(j->nboxes, length, at, type, &j->view);
        for (int i = 0; i < j->nboxes; i++) MPI_Type_free(&type[i]);
    }
    MPI_Type_commit(&j->view);
}

void set_view(job *j, int door) { mpi_io[door].set_view(j->file[door], 0, j->elem, j->view, "native", MPI_INFO_NULL); }

void free_view(job *j) {
    for (int i = 0; i <= j->board->door; i++)
        mpi_io[i].set_view(j->file[i], 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_Type_free(&j->view);
}

static void open_file(job *j, int door) {
    if (mpi_io[door].open(MPI_COMM_WORLD, j->path, MPI_MODE_RDWR, MPI_INFO_NULL, &j->file[door]))
        MPI_Abort(MPI_COMM_WORLD, 1);
}

void open_movers(job *j) {
    open_arrays(j);
    if (j->field->elem == 4) {
        j->elem = MPI_FLOAT;
    } else {
        MPI_Type_contiguous((int)j->field->elem, MPI_BYTE, &j->elem);
        MPI_Type_commit(&j->elem);
    }
    if (!mpi_io[0].open) find_host();
    for (int i = 0; i <= j->board->door; i++) open_file(j, i);
}

void check_in(job *j) {
    for (int w = 0; w < WAYS; w++) {
        sluice_io_release(&j->array[w]->io);
        j->array[w]->io.map_tried = false;
    }
    if (!j->board->door) return;
    mpi_io[1].close(&j->file[1]);
    open_file(j, 1);
    set_view(j, 1);
}

void close_movers(job *j) {
    for (int w = 0; w < WAYS; w++) bench_must(sluice_close(j->array[w]), "closing");
    for (int i = 0; i <= j->board->door; i++) mpi_io[i].close(&j->file[i]);
    if (j->elem != MPI_FLOAT) MPI_Type_free(&j->elem);
}
