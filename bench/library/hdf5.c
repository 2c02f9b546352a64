/* hdf5.c: hyperslabs of a parallel HDF5 dataset. See library.h. */
#include "library.h"
#include <hdf5.h>

static const char *const library_name = "HDF5 " H5_VERS_INFO;
static hid_t file[SIDES], dataset[SIDES];

static hid_t access_by_mpi(void) {
    hid_t p = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(p, MPI_COMM_WORLD, MPI_INFO_NULL);
    return p;
}

static int library_create(const char *path, int64_t n) {
    const hsize_t dim[2] = {(hsize_t)n, (hsize_t)n};
    hid_t p = access_by_mpi(), how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dim, NULL);
    H5Pset_fill_time(how, H5D_FILL_TIME_NEVER);
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, p);
    hid_t d = H5Dcreate2(f, "field", H5T_NATIVE_INT32, space, H5P_DEFAULT, how, H5P_DEFAULT);
    H5Dclose(d);
    H5Sclose(space);
    H5Pclose(how);
    H5Pclose(p);
    return d < 0 || H5Fclose(f) < 0;
}

static int library_open(int side, const char *path) {
    hid_t p = access_by_mpi();
    file[side] = H5Fopen(path, H5F_ACC_RDWR, p);
    dataset[side] = H5Dopen2(file[side], "field", H5P_DEFAULT);
    H5Pclose(p);
    return dataset[side] < 0;
}

static int library_close(int side) { return H5Dclose(dataset[side]) < 0 || H5Fclose(file[side]) < 0; }

static int library_move(int side, bool write, bool collective, const section *s, int32_t *buf) {
    hsize_t start[2], count[2], step[2];
    for (int d = 0; d < 2; d++)
        start[d] = (hsize_t)s->start[d], count[d] = (hsize_t)s->count[d], step[d] = (hsize_t)s->step[d];
    hid_t space = H5Dget_space(dataset[side]), mem = H5Screate_simple(2, count, NULL), p = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(p, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, step, count, NULL);
    herr_t err = write ? H5Dwrite(dataset[side], H5T_NATIVE_INT32, mem, space, p, buf)
                       : H5Dread(dataset[side], H5T_NATIVE_INT32, mem, space, p, buf);
    H5Pclose(p);
    H5Sclose(mem);
    H5Sclose(space);
    return err < 0;
}
