/* The client: bytes to messages by the tables of types, and the socket. */
#define FERROVIA_MESSAGES_BODY
#include "ferrovia_messages.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEADER 16
#define CREATE 15
#define NAME 64
/* Requests without an answer at most: the router has room for their replies. */
#define WINDOW 4096
/* Bytes of requests that are sent at once. */
#define BATCH 65536
/* Events kept for fv_event at most; further ones are dropped. */
#define EVENTS 65536

struct buffer {
    uint8_t *bytes;
    size_t len, room;
    int failed;
};

/* A message that answered nothing when it came. */
struct event {
    struct event *next;
    size_t len;
    uint8_t bytes[];
};

struct fv_client {
    int socket;
    uint32_t index, context;
    struct fv_sockclnt_create_reply table;
    struct event *first, **last;
    size_t n_events;
    /* Read and not yet taken. */
    size_t in_at, in_len;
    uint8_t in[65536];
};

struct reader {
    const uint8_t *at;
    size_t left;
};

static void put(struct buffer *out, const void *bytes, size_t len) {
    if (out->room - out->len < len) {
        size_t room = (out->len + len) * 2;
        uint8_t *grown = realloc(out->bytes, room);
        if (!grown) {
            out->failed = 1;
            return;
        }
        out->bytes = grown;
        out->room = room;
    }
    memcpy(out->bytes + out->len, bytes, len);
    out->len += len;
}

static uint64_t load(const void *value, size_t size) {
    uint8_t a;
    uint16_t b;
    uint32_t c;
    uint64_t d;
    switch (size) {
    case 1: memcpy(&a, value, 1); return a;
    case 2: memcpy(&b, value, 2); return b;
    case 4: memcpy(&c, value, 4); return c;
    default: memcpy(&d, value, 8); return d;
    }
}

static void store(void *value, size_t size, uint64_t number) {
    uint8_t a = (uint8_t)number;
    uint16_t b = (uint16_t)number;
    uint32_t c = (uint32_t)number;
    switch (size) {
    case 1: memcpy(value, &a, 1); break;
    case 2: memcpy(value, &b, 2); break;
    case 4: memcpy(value, &c, 4); break;
    default: memcpy(value, &number, 8); break;
    }
}

static void put_number(struct buffer *out, uint64_t number, size_t size) {
    uint8_t bytes[8];
    for (size_t n = 0; n < size; n++)
        bytes[n] = (uint8_t)(number >> (8 * (size - 1 - n)));
    put(out, bytes, size);
}

static size_t element_size(const struct fv_field *field) {
    return field->size ? field->size : field->type->size;
}

static void encode(const struct fv_type *type, const void *record, struct buffer *out) {
    for (size_t n = 0; n < type->n_fields; n++) {
        const struct fv_field *field = &type->fields[n];
        const uint8_t *at = (const uint8_t *)record + field->offset;
        size_t count = field->count;
        if (field->pointer) {
            const uint8_t *target;
            memcpy(&target, at, sizeof target);
            at = target;
        }
        if (field->pointer == 2) {
            count = at ? strlen((const char *)at) : 0;
            put_number(out, count, 4);
        } else if (field->pointer) {
            const uint8_t *counter = (const uint8_t *)record + field->counter;
            count *= load(counter, field->counter_size);
        }
        for (size_t i = 0; i < count; i++, at += element_size(field)) {
            if (!field->size)
                encode(field->type, at, out);
            else if (field->is_real)
                put(out, at, field->size);
            else
                put_number(out, load(at, field->size), field->size);
        }
    }
}

static int take_number(struct reader *from, size_t size, uint64_t *number) {
    if (from->left < size)
        return 0;
    *number = 0;
    for (size_t n = 0; n < size; n++)
        *number = *number << 8 | from->at[n];
    from->at += size;
    from->left -= size;
    return 1;
}

/* `record` is zeroed before; what fails half way may be freed. */
static int decode(const struct fv_type *type, void *record, struct reader *from) {
    for (size_t n = 0; n < type->n_fields; n++) {
        const struct fv_field *field = &type->fields[n];
        uint8_t *at = (uint8_t *)record + field->offset;
        size_t count = field->count;
        uint64_t number;
        if (field->pointer) {
            if (field->pointer == 2) {
                if (!take_number(from, 4, &number))
                    return 0;
                count = number;
            } else {
                count *= load((uint8_t *)record + field->counter, field->counter_size);
            }
            /* Each element has a byte at least. */
            if (count > from->left)
                return 0;
            uint8_t *target = calloc(count + 1, element_size(field));
            if (!target)
                return 0;
            memcpy(at, &target, sizeof target);
            at = target;
        }
        for (size_t i = 0; i < count; i++, at += element_size(field)) {
            if (!field->size) {
                if (!decode(field->type, at, from))
                    return 0;
            } else if (field->is_real) {
                if (from->left < field->size)
                    return 0;
                memcpy(at, from->at, field->size);
                from->at += field->size;
                from->left -= field->size;
            } else {
                if (!take_number(from, field->size, &number))
                    return 0;
                store(at, field->size, number);
            }
        }
    }
    return 1;
}

void fv_free(const struct fv_type *type, void *record) {
    for (size_t n = 0; n < type->n_fields; n++) {
        const struct fv_field *field = &type->fields[n];
        uint8_t *at = (uint8_t *)record + field->offset;
        uint8_t *target = NULL;
        size_t count = field->count;
        if (field->pointer) {
            memcpy(&target, at, sizeof target);
            memset(at, 0, sizeof(void *));
            at = target;
            if (field->pointer == 1)
                count *= load((uint8_t *)record + field->counter, field->counter_size);
        }
        if (!field->size && at)
            for (size_t i = 0; i < count; i++)
                fv_free(field->type, at + i * field->type->size);
        free(target);
    }
}

static int send_all(struct fv_client *client, struct buffer *out) {
    size_t sent = 0;
    if (out->failed)
        return FV_NONSENSE;
    while (sent < out->len) {
        ssize_t n = send(client->socket, out->bytes + sent, out->len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return FV_FAILED;
        sent += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int read_all(struct fv_client *client, uint8_t *bytes, size_t len) {
    while (len) {
        size_t there = client->in_len - client->in_at;
        if (!there) {
            ssize_t n = read(client->socket, client->in, sizeof client->in);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0) {
                if (n == 0)
                    errno = ECONNRESET;
                return FV_FAILED;
            }
            client->in_at = 0;
            client->in_len = (size_t)n;
            continue;
        }
        if (there > len)
            there = len;
        memcpy(bytes, client->in + client->in_at, there);
        client->in_at += there;
        bytes += there;
        len -= there;
    }
    return 0;
}

/* The next message. What is not given to `keep` is to be freed. */
static int receive(struct fv_client *client, struct event **message) {
    uint8_t header[HEADER];
    size_t len;
    *message = NULL;
    if (read_all(client, header, HEADER))
        return FV_FAILED;
    len = (size_t)header[8] << 24 | header[9] << 16 | header[10] << 8 | header[11];
    *message = malloc(sizeof **message + len);
    if (!*message)
        return FV_NONSENSE;
    (*message)->next = NULL;
    (*message)->len = len;
    return read_all(client, (*message)->bytes, len);
}

static void keep(struct fv_client *client, struct event *message) {
    if (client->n_events == EVENTS) {
        free(message);
        return;
    }
    *client->last = message;
    client->last = &message->next;
    client->n_events++;
}

static void put_message(struct fv_client *client, uint16_t id, const struct fv_type *type,
                        const void *request, struct buffer *out) {
    static const uint8_t zeros[HEADER];
    size_t start = out->len;
    put(out, zeros, HEADER);
    put_number(out, id, 2);
    if (type->head == 2)
        put_number(out, client->index, 4);
    if (type->head > 0)
        put_number(out, client->context, 4);
    encode(type, request, out);
    if (!out->failed) {
        size_t len = out->len - start - HEADER;
        for (size_t n = 0; n < 4; n++)
            out->bytes[start + 8 + n] = (uint8_t)(len >> (8 * (3 - n)));
    }
}

static int number_of(struct fv_client *client, const struct fv_type *type) {
    for (size_t n = 0; n < client->table.count; n++)
        if (!strncmp(client->table.message_table[n].name, type->name, NAME))
            return client->table.message_table[n].index;
    return -1;
}

/* Whether `message` is of number `id` and answers request `asked`. */
static int answers(uint32_t asked, int id, const struct fv_type *type,
                   const struct event *message, struct reader *fields) {
    uint64_t is, context = asked;
    struct reader from = { message->bytes, message->len };
    if (!take_number(&from, 2, &is) || (int)is != id)
        return 0;
    for (int n = 0; n < type->head; n++)
        if (!take_number(&from, 4, &context))
            return 0;
    *fields = from;
    return context == asked;
}

struct fv_client *fv_connect(const char *path, const char *name) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct fv_sockclnt_create request;
    struct buffer out = { 0 };
    struct reader fields;
    struct event *message = NULL;
    struct fv_client *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    client->last = &client->first;
    memset(&request, 0, sizeof request);
    strncpy(request.name, name, sizeof request.name - 1);
    client->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        goto failed;
    }
    strcpy(address.sun_path, path);
    if (client->socket < 0 || connect(client->socket, (void *)&address, sizeof address))
        goto failed;
    put_message(client, CREATE, &fv_sockclnt_create_type, &request, &out);
    if (send_all(client, &out) || receive(client, &message))
        goto failed;
    errno = EPROTO;
    if (!answers(0, CREATE + 1, &fv_sockclnt_create_reply_type, message, &fields)
        || !decode(&fv_sockclnt_create_reply_type, &client->table, &fields)
        || client->table.response)
        goto failed;
    client->index = client->table.index;
    free(message);
    free(out.bytes);
    return client;
failed:
    free(message);
    free(out.bytes);
    fv_close(client);
    return NULL;
}

void fv_close(struct fv_client *client) {
    int error = errno;
    if (!client)
        return;
    if (client->socket >= 0)
        close(client->socket);
    while (client->first) {
        struct event *next = client->first->next;
        free(client->first);
        client->first = next;
    }
    fv_free(&fv_sockclnt_create_reply_type, &client->table);
    free(client);
    errno = error;
}

/* The error number of a reply, or 0. */
static int retval_of(const struct fv_type *type, const void *reply) {
    return type->retval ? (int32_t)load((const uint8_t *)reply + type->retval - 1, 4) : 0;
}

/* The reply in `fields`: its error number, FV_NONSENSE, or 0. */
static int take_reply(const struct fv_type *type, struct reader *fields, void *reply) {
    memset(reply, 0, type->size);
    int result = decode(type, reply, fields) ? retval_of(type, reply) : FV_NONSENSE;
    if (result)
        fv_free(type, reply);
    return result;
}

int fv_call(struct fv_client *client, const struct fv_type *request_type, const void *request,
            const struct fv_type *reply_type, void *reply) {
    int id = number_of(client, request_type), last = number_of(client, reply_type);
    struct buffer out = { 0 };
    if (id < 0 || last < 0)
        return FV_NO_MESSAGE;
    client->context++;
    put_message(client, (uint16_t)id, request_type, request, &out);
    int result = send_all(client, &out);
    free(out.bytes);
    for (int found = 0; !result && !found;) {
        struct event *message;
        struct reader fields;
        result = receive(client, &message);
        found = !result && answers(client->context, last, reply_type, message, &fields);
        if (found)
            result = take_reply(reply_type, &fields, reply);
        if (found || result)
            free(message);
        else
            keep(client, message);
    }
    return result;
}

int fv_calls(struct fv_client *client, const struct fv_type *request_type,
             int (*next)(void *request, void *argument), const struct fv_type *reply_type,
             void (*each)(const void *reply, int result, void *argument), void *argument) {
    int id = number_of(client, request_type), last = number_of(client, reply_type);
    void *request = malloc(request_type->size), *reply = malloc(reply_type->size);
    uint32_t sent = 0, answered = 0, first = client->context + 1;
    struct buffer out = { 0 };
    int is_more = 1, result = id < 0 || last < 0 ? FV_NO_MESSAGE : request && reply ? 0 : FV_NONSENSE;
    while (!result && (is_more || answered != sent)) {
        out.len = 0;
        while (is_more && sent - answered < WINDOW && out.len < BATCH) {
            memset(request, 0, request_type->size);
            is_more = next(request, argument);
            if (is_more) {
                client->context++;
                put_message(client, (uint16_t)id, request_type, request, &out);
                sent++;
            }
        }
        result = send_all(client, &out);
        while (!result && answered != sent && (!is_more || sent - answered > WINDOW / 2)) {
            struct event *message;
            struct reader fields;
            result = receive(client, &message);
            if (!result && !answers(first + answered, last, reply_type, message, &fields)) {
                keep(client, message);
                continue;
            }
            if (!result) {
                int refused = take_reply(reply_type, &fields, reply);
                each(reply, refused, argument);
                if (!refused)
                    fv_free(reply_type, reply);
                answered++;
            }
            free(message);
        }
    }
    free(out.bytes);
    free(request);
    free(reply);
    return result;
}

int fv_event(struct fv_client *client, int ms, const struct fv_type *type, void *event) {
    int id = number_of(client, type);
    struct event **at = &client->first, *message;
    struct reader fields;
    if (id < 0)
        return FV_NO_MESSAGE;
    for (;;) {
        for (; *at && !answers(0, id, type, *at, &fields); at = &(*at)->next)
            ;
        if (*at)
            break;
        struct pollfd socket = { .fd = client->socket, .events = POLLIN };
        int ready = client->in_at < client->in_len ? 1 : poll(&socket, 1, ms);
        if (ready == 0)
            return FV_NOTHING;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0 || receive(client, &message))
            return FV_FAILED;
        keep(client, message);
    }
    message = *at;
    *at = message->next;
    if (client->last == &message->next)
        client->last = at;
    client->n_events--;
    memset(event, 0, type->size);
    int result = decode(type, event, &fields) ? 0 : FV_NONSENSE;
    if (result)
        fv_free(type, event);
    free(message);
    return result;
}

int fv_dump(struct fv_client *client, const struct fv_type *request_type, const void *request,
            const struct fv_type *row_type, void (*each)(const void *row, void *argument),
            void *argument) {
    static const struct fv_control_ping ping;
    int id = number_of(client, request_type), row_id = number_of(client, row_type);
    int ping_id = number_of(client, &fv_control_ping_type);
    int last = number_of(client, &fv_control_ping_reply_type);
    struct buffer out = { 0 };
    if (id < 0 || row_id < 0 || ping_id < 0 || last < 0)
        return FV_NO_MESSAGE;
    void *row = malloc(row_type->size);
    uint32_t asked = ++client->context;
    put_message(client, (uint16_t)id, request_type, request, &out);
    put_message(client, (uint16_t)ping_id, &fv_control_ping_type, &ping, &out);
    int result = row ? send_all(client, &out) : FV_NONSENSE;
    free(out.bytes);
    for (int is_done = 0; !result && !is_done;) {
        struct event *message;
        struct reader fields;
        result = receive(client, &message);
        if (!result && answers(asked, row_id, row_type, message, &fields)) {
            memset(row, 0, row_type->size);
            if (decode(row_type, row, &fields))
                each(row, argument);
            else
                result = FV_NONSENSE;
            fv_free(row_type, row);
        } else if (!result) {
            is_done = answers(asked, last, &fv_control_ping_reply_type, message, &fields);
            if (!is_done) {
                keep(client, message);
                continue;
            }
        }
        free(message);
    }
    free(row);
    return result;
}
