/* pnetcdf.c: write|read FILE: a fixed and a record variable of a PnetCDF file, by strided sections, collectively, on
 * their own, and as requests that are waited for together. */
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 48, COLUMNS = 40, RECORDS = 3 };

static int wrong;

static void must(int err) {
    if (err) fprintf(stderr, "%s\n", ncmpi_strerror(err));
    wrong += err != 0;
}

int main(int argc, char **argv) {
    int rank, size, f, dim[3], v[2], all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int write = argc > 2 && !strcmp(argv[1], "write");
    static int buf[ROWS * COLUMNS], got[ROWS * COLUMNS];
    if (write) {
        must(ncmpi_create(MPI_COMM_WORLD, argv[2], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &f));
        must(ncmpi_def_dim(f, "record", NC_UNLIMITED, &dim[0]));
        must(ncmpi_def_dim(f, "row", ROWS, &dim[1]));
        must(ncmpi_def_dim(f, "column", COLUMNS, &dim[2]));
        must(ncmpi_def_var(f, "fixed", NC_INT, 2, dim + 1, &v[0]));
        must(ncmpi_def_var(f, "growing", NC_INT, 3, dim, &v[1]));
        must(ncmpi_enddef(f));
    } else {
        must(ncmpi_open(MPI_COMM_WORLD, argv[2], NC_NOWRITE, MPI_INFO_NULL, &f));
        must(ncmpi_inq_varid(f, "fixed", &v[0]));
        must(ncmpi_inq_varid(f, "growing", &v[1]));
    }
    /* Every other column, and then the ones between, so that all bytes are written. */
    const MPI_Offset count[3] = {1, (ROWS - rank + size - 1) / size, COLUMNS / 2}, step[3] = {1, size, 2};
    const int n = (int)(count[1] * count[2]);
    for (int odd = 0; odd < 2; odd++) {
        MPI_Offset start[3] = {0, rank, odd};
        for (int i = 0; i < n; i++) buf[i] = rank * 100000 + 2 * i + odd;
        if (write) {
            must(ncmpi_put_vars_int_all(f, v[0], start + 1, count + 1, step + 1, buf));
        } else {
            must(ncmpi_get_vars_int_all(f, v[0], start + 1, count + 1, step + 1, got));
            wrong += memcmp(buf, got, (size_t)n * sizeof *buf) != 0;
            memset(got, 0, sizeof got);
            must(ncmpi_begin_indep_data(f));
            must(ncmpi_get_vars_int(f, v[0], start + 1, count + 1, step + 1, got));
            must(ncmpi_end_indep_data(f));
            wrong += memcmp(buf, got, (size_t)n * sizeof *buf) != 0;
        }
        int request[RECORDS], status[RECORDS];
        static int more[RECORDS][ROWS * COLUMNS];
        for (int r = 0; r < RECORDS; r++) {
            start[0] = r;
            for (int i = 0; i < n; i++) more[r][i] = write ? buf[i] + r : 0;
            must(write ? ncmpi_iput_vars_int(f, v[1], start, count, step, more[r], &request[r])
                       : ncmpi_iget_vars_int(f, v[1], start, count, step, more[r], &request[r]));
        }
        must(ncmpi_wait_all(f, RECORDS, request, status));
        for (int r = 0; r < RECORDS; r++)
            for (int i = 0; i < n; i++) wrong += more[r][i] != buf[i] + r;
    }
    must(ncmpi_close(f));
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
