/* json.h: JSON as Sluice writes and reads it: a text that grows, and the values of a tree, each with the sentence that
 * says what is wrong with it.
 */
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include "base/base.h"
#include <jansson.h>

/* A text being written. Once memory has run out, text is NULL and len -1, and writing does nothing. */
typedef struct sluice_json_text {
    char *text;
    int64_t len, cap;
} sluice_json_text;

void sluice_json_put(sluice_json_text *w, const char *bytes, size_t n);
void sluice_json_print(sluice_json_text *w, const char *format, ...) __attribute__((format(printf, 2, 3))); /* <= 255 */
void sluice_json_string(sluice_json_text *w, const char *s);

/* Pure. Makes a tree of a text of at most `most` bytes, whose depth and values are counted first, which bounds what it
 * takes. It is jansson's memory and counts as one allocation of len bytes, which sluice_json_free() gives back. */
int sluice_json_load(json_t **out, const char *text, int64_t len, int64_t most, sluice_reason *why);
void sluice_json_free(json_t *o, int64_t len);

/* Pure. The value of a key that must be there; strings live as long as the tree. SLUICE_E_FORMAT. */
int sluice_json_get_string(const json_t *o, const char *key, size_t most, const char **value, sluice_reason *why);
int sluice_json_get_number(const json_t *o, const char *key, int64_t least, int64_t most, int64_t *value,
                           sluice_reason *why);
int sluice_json_get_list(const json_t *o, const char *key, size_t least, size_t most, const json_t **list,
                         sluice_reason *why);

/* Pure. Whether "format" is that word, "version" that number, and "requires" asks for nothing. */
int sluice_json_get_version(const json_t *o, const char *format, int64_t version, sluice_reason *why);

#endif
