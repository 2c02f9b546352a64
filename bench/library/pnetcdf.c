/* pnetcdf.c: strided sections of a variable of PnetCDF. See library.h. */
#include "library.h"
#include <pnetcdf.h>

static const char *const library_name = "PnetCDF " PNETCDF_VERSION;
static int file[SIDES], variable[SIDES];

static int library_create(const char *path, int64_t n) {
    int f, dim[2], v;
    int err = ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &f);
    if (!err) err = ncmpi_def_dim(f, "column", n, &dim[0]);
    if (!err) err = ncmpi_def_dim(f, "row", n, &dim[1]);
    if (!err) err = ncmpi_def_var(f, "field", NC_INT, 2, dim, &v);
    if (!err) err = ncmpi_enddef(f);
    return err ? err : ncmpi_close(f);
}

static int library_open(int side, const char *path) {
    int err = ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &file[side]);
    return err ? err : ncmpi_inq_varid(file[side], "field", &variable[side]);
}

static int library_close(int side) { return ncmpi_close(file[side]); }

/* The library asks that processes say so before they work on their own. */
static int library_move(int side, bool write, bool collective, const section *s, int32_t *buf) {
    static bool alone[SIDES];
    const int f = file[side], v = variable[side];
    MPI_Offset start[2], count[2], step[2];
    for (int d = 0; d < 2; d++) start[d] = s->start[d], count[d] = s->count[d], step[d] = s->step[d];
    int err = collective == !alone[side] ? 0 : collective ? ncmpi_end_indep_data(f) : ncmpi_begin_indep_data(f);
    alone[side] = !collective;
    if (err) return err;
    if (write) return (collective ? ncmpi_put_vars_int_all : ncmpi_put_vars_int)(f, v, start, count, step, buf);
    return (collective ? ncmpi_get_vars_int_all : ncmpi_get_vars_int)(f, v, start, count, step, buf);
}
