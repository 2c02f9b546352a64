/* sluice_file.h: what an array in a file is: its format, shape and type. */
#ifndef SLUICE_FILE_PUBLIC_H
#define SLUICE_FILE_PUBLIC_H

#include "sluice_set.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sluice_format {
    SLUICE_RAW, /* a header of any size, then the elements */
    SLUICE_NPY  /* NumPy's .npy */
} sluice_format;

/* What an array is. */
typedef struct sluice_desc {
    sluice_format format;
    sluice_shape shape; /* with element (0: that of the type) and header size (.npy: set by Sluice) */
    char type[32];      /* "float64", "int16", "complex64", "V12" (12 bytes of anything), ..., or as NumPy writes it:
                           "<f8"; "": V and shape.elem */
    int swapped;        /* the file has the other byte order; reads convert, writes are refused */
    char descr[4096];   /* records: NumPy's dtype as Python (UTF-8), "[('x', '<f4'), ('n', '<i8')]", kept so that a
                           copy has it too; Sluice moves records as they are, type "V12"; "" = from type */
} sluice_desc;

/* Pure. Bytes of an element of a type by name; -1 if there is no such type. Names: bool, int8 ... int64, uint8 ...
 * uint64, float16 ... float128 (C's long double), complex64 ... complex256, S5 (5 bytes of text), U5 (5 characters of 4
 * bytes), V12, datetime64[ns], timedelta64[ms]; or NumPy's codes, f4, <f4, >i8, |u1, <M8[ns]. */
int64_t sluice_type_size(const char *type);

#ifdef __cplusplus
}
#endif
#endif
