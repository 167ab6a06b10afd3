/* Text files, as Debian's package fortunes has them. */
#ifndef FAR_EXPERIMENTS_FORTUNES_H
#define FAR_EXPERIMENTS_FORTUNES_H

#include "reproduce.h"

typedef struct book {
    char *name;
    unsigned char *bytes;
    int64_t length;
} book;

/* In the order of their names. */
typedef struct shelf {
    book *books;
    int64_t count, length; /* length: of all of them */
    const char *from;      /* the folder */
} shelf;

/* Files without an ending and .txt in the folder given (--data), or in fortunes in it; none given:
 * where Debian has them. FAR_ERR_IO: there are none. */
far_status shelf_open(reproduction *r, shelf *out);
void shelf_free(shelf *s);

#endif
