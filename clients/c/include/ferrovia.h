/* Drives a router through its binary API. One thread for each client. Messages are structs in
 * ferrovia_messages.h: struct fv_NAME for message NAME, with fv_NAME_type beside it. Start from
 * zeros; fields that count others are set by the caller. Numbers are in host order, addresses
 * are bytes as on the wire. */
#ifndef FERROVIA_H
#define FERROVIA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What calls return besides 0 and the router's own error numbers, which are negative. */
#define FV_FAILED 1     /* the connection failed, errno says why; it cannot be used any more */
#define FV_NO_MESSAGE 2 /* the router has no such message */
#define FV_NONSENSE 3   /* the answer is too short, or there is no memory */
#define FV_NOTHING 4    /* no event came in time */

struct fv_type;

/* Where a field is. For this library's own use. */
struct fv_field {
    uint8_t size;    /* bytes of a number; 0: a record */
    uint8_t is_real; /* in host order on the wire */
    uint8_t pointer; /* 1: to as many as the counter says; 2: to a string */
    uint32_t count;  /* how many, of one element */
    size_t offset;
    const struct fv_type *type;
    size_t counter;
    size_t counter_size;
};

/* A message or a record. */
struct fv_type {
    const char *name; /* with its CRC */
    size_t size;
    int head;
    const struct fv_field *fields;
    size_t n_fields;
    size_t retval; /* 1 + where the error number is; 0: there is none */
};

struct fv_client;

/* Connects to the socket of the binary API. NULL: errno says why. */
struct fv_client *fv_connect(const char *path, const char *name);

/* Disconnects and frees. */
void fv_close(struct fv_client *client);

/* Asks and waits for the reply, which fv_free frees after 0. Events that come in between are kept
 * for fv_event. */
int fv_call(struct fv_client *client, const struct fv_type *request_type, const void *request,
            const struct fv_type *reply_type, void *reply);

/* Asks for rows and gives each to `each`; it is freed when that returns. */
int fv_dump(struct fv_client *client, const struct fv_type *request_type, const void *request,
            const struct fv_type *row_type, void (*each)(const void *row, void *argument),
            void *argument);

/* Asks many times without waiting for each reply. `next` fills in the next request, which is zeros,
 * and returns 1, or 0 when there are no more; what it points to has to stay until `next` is called
 * again. `each` is given every reply in the order of the requests with 0, or what fv_call would
 * return; the reply is freed when that returns. */
int fv_calls(struct fv_client *client, const struct fv_type *request_type,
             int (*next)(void *request, void *argument), const struct fv_type *reply_type,
             void (*each)(const void *reply, int result, void *argument), void *argument);

/* Takes the next event of a type, of those that a want_... message asked for; waits for it at most
 * `ms` milliseconds, for ever if that is negative. Events of other types are kept. */
int fv_event(struct fv_client *client, int ms, const struct fv_type *type, void *event);

/* Frees what a decoded message points to. */
void fv_free(const struct fv_type *type, void *message);

#ifdef __cplusplus
}
#endif
#endif
