/* hdf5.c: write|read FILE: two datasets of a parallel HDF5 file, a contiguous and a chunked one, by strided hyperslabs:
 * rows dealt out to the processes, in collective and in independent calls. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 60, COLUMNS = 50 };

int main(int argc, char **argv) {
    int rank, size, wrong = 0, mine = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int write = argc > 2 && !strcmp(argv[1], "write");
    static double buf[ROWS * COLUMNS], got[ROWS * COLUMNS];
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t f = write ? H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(argv[2], H5F_ACC_RDONLY, access);
    const hsize_t dim[2] = {ROWS, COLUMNS}, chunk[2] = {20, 25}, start[2] = {(hsize_t)rank, 1};
    const hsize_t step[2] = {(hsize_t)size, 2}, count[2] = {(hsize_t)((ROWS - rank + size - 1) / size), COLUMNS / 2};
    for (hsize_t i = 0; i < count[0]; i++)
        for (hsize_t k = 0; k < count[1]; k++)
            buf[i * count[1] + k] = (double)((start[0] + i * step[0]) * 1000 + start[1] + k * step[1]);
    for (int chunked = 0; chunked < 2 && f >= 0; chunked++)
        for (int collective = 0; collective < 2; collective++) {
            char name[40];
            snprintf(name, sizeof name, "%s %s", chunked ? "chunked" : "plain", collective ? "together" : "alone");
            hid_t make = H5Pcreate(H5P_DATASET_CREATE), all = H5Screate_simple(2, dim, NULL), mem = -1, d;
            mem = H5Screate_simple(2, count, NULL);
            H5Pset_obj_track_times(make, 0); /* so that two runs give the same bytes, also where nothing is written */
            H5Pset_fill_time(make, H5D_FILL_TIME_ALLOC);
            if (chunked) H5Pset_chunk(make, 2, chunk);
            d = write ? H5Dcreate2(f, name, H5T_NATIVE_DOUBLE, all, H5P_DEFAULT, make, H5P_DEFAULT)
                      : H5Dopen2(f, name, H5P_DEFAULT);
            H5Pset_dxpl_mpio(transfer, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
            H5Sselect_hyperslab(all, H5S_SELECT_SET, start, step, count, NULL);
            if (write)
                wrong += H5Dwrite(d, H5T_NATIVE_DOUBLE, mem, all, transfer, buf) < 0;
            else
                wrong += H5Dread(d, H5T_NATIVE_DOUBLE, mem, all, transfer, got) < 0 ||
                         memcmp(buf, got, count[0] * count[1] * sizeof *buf) != 0;
            H5Dclose(d);
            H5Sclose(mem);
            H5Sclose(all);
            H5Pclose(make);
        }
    wrong += f < 0 || H5Fclose(f) < 0;
    H5Pclose(transfer);
    H5Pclose(access);
    MPI_Allreduce(&wrong, &mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return mine != 0;
}
