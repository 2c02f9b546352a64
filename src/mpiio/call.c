/* call.c: the calls that move data: now, later, or begun and ended. */
#include "mpiio/door.h"

/* Explicit offsets and individual pointers say where to look, which a sequential file does not let one do. */
static int check_where(const sluice_door *d, sluice_call_how how, MPI_Offset offset, sluice_reason *why) {
    const char *name = d->own.io->store->name;
    if (d->amode & MPI_MODE_SEQUENTIAL && (how.where == SLUICE_AT || how.where == SLUICE_POINTER))
        return sluice_refuse(why, sluice_class_error(MPI_ERR_UNSUPPORTED_OPERATION), -1,
                             "%s: it is read and written from beginning to end, by the shared pointer only", name);
    if (how.where == SLUICE_AT && offset < 0)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s: offset %lld", name, (long long)offset);
    return 0;
}

/* Everything but the transfer. Returns where it starts, in etypes. An error is kept in the carry, which then moves
 * nothing, and no pointer. */
static int64_t prepare(sluice_carry *c, sluice_door *d, sluice_call_how how, MPI_Offset offset, sluice_memory m) {
    sluice_carry_start(c, d, how.write, how.together, m.buf, m.count, m.type);
    if (!c->error) c->error = check_where(d, how, offset, &c->why);
    const int64_t unit = d->view.unit, n = c->error ? 0 : c->length / unit;
    int64_t from = 0, at;
    switch (how.where) {
    case SLUICE_AT: from = c->error ? 0 : offset; break;
    case SLUICE_POINTER: from = sluice_pointer_take(d, n); break;
    case SLUICE_SHARED: from = sluice_pointer_take_shared(d, n); break;
    case SLUICE_ORDERED: from = sluice_pointer_take_ordered(d, n); break;
    }
    if (!c->error && !sluice_mul(from, unit, &at))
        c->error =
            sluice_refuse(&c->why, SLUICE_E_OVERFLOW, -1, "%s: offset %lld", d->own.io->store->name, (long long)from);
    if (!c->error) sluice_carry_place(c, at);
    return from;
}

static void fill_in(MPI_Status *status, int64_t bytes) {
    if (status == MPI_STATUS_IGNORE) return;
    MPI_Status_set_elements_x(status, MPI_BYTE, bytes);
    MPI_Status_set_cancelled(status, 0);
}

static int finish(sluice_carry *c, MPI_Status *status) {
    sluice_door *const d = c->door;
    const int error = c->error;
    const sluice_reason why = c->why;
    fill_in(status, c->moved);
    sluice_carry_free(c); /* before a handler of the user's, which may close the file */
    return sluice_class_raise(d, error, &why);
}

/* The individual pointer stands behind what was accessed; where it was, if that went wrong. */
static void step_back(sluice_door *d, sluice_call_how how, const sluice_carry *c, int64_t from) {
    const int64_t unit = d->view.unit, n = c->length / unit, done = c->error ? 0 : c->in_file / unit;
    if (how.where == SLUICE_POINTER && done < n) sluice_pointer_back(d, from + done, n - done);
}

int sluice_call_now(sluice_door *d, sluice_call_how how, MPI_Offset offset, sluice_memory m, MPI_Status *status) {
    sluice_carry c;
    int64_t bytes;
    if (!how.write && !how.together && how.where == SLUICE_AT && sluice_short_read(d, offset, m, &bytes)) {
        fill_in(status, bytes);
        return MPI_SUCCESS;
    }
    const int64_t from = prepare(&c, d, how, offset, m);
    if (!c.error || (how.together && d->group->size > 1)) sluice_lane_run(how.together ? d->all : &d->own, &c.job);
    step_back(d, how, &c, from);
    return finish(&c, status);
}

int sluice_call_later(sluice_door *d, sluice_call_how how, MPI_Offset offset, sluice_memory m, MPI_Request *request) {
    sluice_carry c;
    const int64_t from = prepare(&c, d, how, offset, m);
    const bool all = how.together && d->group->size > 1;
    int err = c.error && !all ? c.error : 0;
    if (!err) err = sluice_greq_start(&c, request, &c.why);
    if (!err) return MPI_SUCCESS;
    c.error = err;
    if (all) sluice_lane_run(d->all, &c.job); /* the others wait for us */
    *request = MPI_REQUEST_NULL;
    step_back(d, how, &c, from);
    return finish(&c, MPI_STATUS_IGNORE);
}

/* ---- In two halves ------------------------------------------------------------------------------------------- */

/* Never 0. */
static int kind_of(sluice_call_how how) { return 1 + 2 * (int)how.where + how.write; }

static int refuse(sluice_door *d, const char *what) {
    sluice_reason why;
    sluice_refuse(&why, sluice_class_error(MPI_ERR_IO), -1, "%s: %s", d->own.io->store->name, what);
    return sluice_class_raise(d, why.error, &why);
}

int sluice_call_begin(sluice_door *d, sluice_call_how how, MPI_Offset offset, sluice_memory m) {
    sluice_carry *c = &d->split;
    if (d->splitting) return refuse(d, "a split collective call is under way already");
    d->from = prepare(c, d, how, offset, m);
    d->splitting = kind_of(how);
    if (sluice_greq_apart(d, true) && sluice_lane_post(d->all, &c->job)) return MPI_SUCCESS;
    sluice_lane_run(d->all, &c->job);
    c->job.done = true;
    return MPI_SUCCESS;
}

int sluice_call_end(sluice_door *d, sluice_call_how how, MPI_Status *status) {
    if (d->splitting != kind_of(how)) return refuse(d, "no split collective call of this kind is under way");
    sluice_lane_wait(d->all, &d->split.job);
    d->splitting = 0;
    step_back(d, how, &d->split, d->from);
    return finish(&d->split, status);
}
