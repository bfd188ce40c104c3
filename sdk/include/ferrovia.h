/* SPDX-License-Identifier: Apache-2.0
 *
 * Plugins for Ferrovia in C. A plugin is a shared object:
 *
 *     cc -O2 -shared -fPIC -I<sdk>/include -o nth_drop.so nth_drop.c
 *
 * It begins with FERROVIA_PLUGIN(...), which puts a stamp into the file that the router reads before
 * any code of it runs, and defines `int fv_start(fv_cx *)`, which registers what it brings.
 * FERROVIA_STOP and FERROVIA_END name functions for what only the plugin can undo. docs/plugins.md is
 * the guide.
 *
 * Two kinds of functions are called: control functions get an `fv_cx`, valid until they return, and
 * run one at a time; node functions get an `fv_frame` and run on every data-plane thread at once.
 * All text is UTF-8 and ends with a NUL. The router copies what it is given, but `state` pointers.
 * Threads that a plugin started are joined when its stop function has returned.
 */
#ifndef FERROVIA_H
#define FERROVIA_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The version of this interface. */
#define FV_ABI 1

/* Most packets in a frame, and most interfaces there may be: their numbers are below this. */
#define FV_FRAME 256
#define FV_MOST_INTERFACES 65536
/* No interface, no timer. */
#define FV_NONE UINT32_MAX

/* Answers of functions: 0 or one of these. Messages answer with numbers of the binary API. */
#define FV_OK 0
#define FV_FAILED (-1)
#define FV_INVALID_SW_IF_INDEX (-2)
#define FV_NO_SUCH_ENTRY (-6)
#define FV_INVALID_VALUE (-7)

/* What happened to an interface. */
#define FV_INTERFACE_ADDED 0
#define FV_INTERFACE_DELETING 1
#define FV_INTERFACE_STATE 2
#define FV_INTERFACE_OTHER 3

/* Levels of the log. */
#define FV_LOG_ERROR 3
#define FV_LOG_WARN 4
#define FV_LOG_NOTICE 5
#define FV_LOG_INFO 6
#define FV_LOG_DEBUG 7

/* The router, for the time of a call. */
typedef struct fv_cx fv_cx;

/* What is known about a packet: the first cache line of its buffer. A second line, 128 bytes of
 * headroom and the data follow. */
typedef struct {
    int16_t offset;       /* of the bytes from the data area; negative in the headroom */
    uint16_t len;         /* bytes in the first segment */
    uint32_t flags;       /* FV_FLAG_... */
    uint32_t rest;        /* bytes in the segments behind the first; with FV_FLAG_CHAINED */
    uint32_t rx;          /* interface it came in on */
    uint32_t tx;          /* interface it goes out on */
    uint32_t next;        /* buffer of the next segment; with FV_FLAG_CHAINED */
    uint32_t error;       /* the router's: why it is dropped */
    int16_t l2, l3, l4;   /* where headers begin, from the data area; with their flags */
    uint16_t gso_size;    /* payload of a segment; 0 for a packet that fits */
    uint32_t flow_hash;   /* with FV_FLAG_HASH */
    uint16_t fib;         /* table to look it up in */
    uint16_t trace;       /* the router's */
    uint32_t adjacency;   /* what the lookup chose */
    uint8_t payload[16];  /* the router's */
} fv_buffer;

#define FV_FLAG_CHAINED (1u << 0)
#define FV_FLAG_TRACED (1u << 1)
#define FV_FLAG_GSO (1u << 2)
#define FV_FLAG_CHECKSUM_TODO (1u << 3)
#define FV_FLAG_CHECKSUM_OK (1u << 4)
#define FV_FLAG_HASH (1u << 5)
#define FV_FLAG_LOCAL (1u << 6)
#define FV_FLAG_L2 (1u << 7)
#define FV_FLAG_L3 (1u << 8)
#define FV_FLAG_L4 (1u << 9)

/* Where packets start in a buffer when nothing was taken off or put in front. */
#define FV_DATA 256

/* Up to FV_FRAME packets for a node. */
typedef struct {
    uint32_t count;
    uint32_t thread;          /* number of the data-plane thread, below fv_router->threads */
    double now;               /* seconds on the router's clock */
    uint8_t *pool;
    const uint32_t *indices;
    uint32_t *verdicts;       /* what becomes of each packet; FV_CONTINUE unless the node says more */
    void *local;              /* the node's own memory on this thread */
    void *engine;
} fv_frame;

/* What becomes of a packet: the number of an entry in `next`, or */
#define FV_CONTINUE UINT32_MAX              /* on to the next feature of the arc */
#define FV_CONSUMED (UINT32_MAX - 1)        /* given back to the pool: it was sent */
#define FV_TAKEN (UINT32_MAX - 2)           /* the node keeps it, or has sent it with `send` */
#define FV_DROP(reason) (0x80000000u + (reason)) /* dropped, and counted at this of `reasons` */

/* A name and what it stands for. Lists end with {0}. */
typedef struct {
    const char *name;
    const char *text;
} fv_text;

/* A node: one for all threads, called with vectors of packets. */
typedef struct {
    const char *name;
    void (*process)(void *state, fv_frame *frame);
    void *state;
    uint64_t local_size;      /* bytes that each thread has for it, zero at first */
    const char *const *next;  /* names of nodes it sends to, ending with NULL; or NULL */
    const fv_text *reasons;   /* why it drops: name in the statistics and text; or NULL */
    const fv_text *counts;    /* what else it counts; or NULL */
    const char *drop;         /* node that gets what it drops; NULL: error-drop */
} fv_node;

/* A place on a feature arc: where the catalogue has the node, or beside another one. */
typedef struct {
    const char *arc;          /* such as ip4-unicast: `show features` lists them */
    const char *node;
    const char *before;       /* a node or the arc's end; or NULL */
    const char *after;        /* or NULL */
} fv_feature;

/* A command. `run` gets the words behind the path; it prints with fv_print, or returns non-zero
 * after fv_fail. */
typedef struct {
    const char *path;         /* such as "show interface nth-drop" */
    const char *usage;        /* what follows, such as "<interface> every <number>" */
    const char *about;        /* one line for help */
    int (*run)(fv_cx *cx, void *state, uint32_t count, const char *const *words);
    void *state;
} fv_command;

/* A message of the binary API. The reply of `x` is x_reply, or, of an x_dump, any number of
 * x_details. Fields are declared as in "interface_index sw_if_index; u32 every; string name[64];",
 * their bytes are packed and big endian (fv_get32, fv_put32). `run` answers with fv_answer, once for
 * each row, and returns the retval. */
typedef struct {
    const char *module;       /* the file that clients look for, such as nth_drop */
    const char *version;      /* such as 1.0.0 */
    const char *name;
    const char *about;
    const char *fields;       /* of the request */
    const char *answer;       /* own fields of the reply or details */
    int (*run)(fv_cx *cx, void *state, const uint8_t *fields, uint64_t len);
    void *state;
} fv_message;

/* Counters by interface, a row for each thread: fv_add to &rows[frame->thread][sw_if_index]. */
typedef struct {
    uint64_t *const *rows;
    uint32_t threads;
} fv_counters;

/* A bit of `flags` and bytes in the second line of buffers that are the plugin's: what stands there
 * means something in packets with the bit, which new ones have not. */
typedef struct {
    uint32_t flag;
    uint32_t offset;          /* from the start of the buffer */
} fv_metadata;

/* An interface that the plugin makes. `transmit` is a node without edges: it says FV_CONSUMED of
 * what is sent, FV_TAKEN of what it keeps, or FV_DROP. What comes in is sent to ethernet-input (or
 * ip4-input) with `rx` set, by a node of the plugin or by `inject`. */
typedef struct {
    const char *name;
    const char *hardware;     /* what `show hardware-interfaces` calls it */
    uint8_t mac[6];           /* all zero: it carries IP packets, not frames */
    uint16_t mtu;
    void (*transmit)(void *state, fv_frame *frame);
    void *state;
    uint64_t local_size;
    const fv_text *reasons;   /* or NULL */
} fv_interface;

/* When lines of the configuration come: after what makes what they name. */
#define FV_STAGE_OBJECTS 0
#define FV_STAGE_INTERFACES 1
#define FV_STAGE_SUB_INTERFACES 2
#define FV_STAGE_SETTINGS 3
#define FV_STAGE_ADDRESSES 4
#define FV_STAGE_ATTACHMENTS 5
#define FV_STAGE_ROUTES 6
#define FV_STAGE_STATE 7

/* What the router offers. New functions come at the end. */
typedef struct fv_host {
    uint32_t abi;
    uint32_t size;            /* bytes of this table */
    uint32_t threads;         /* threads are numbered below this */
    uint32_t most_interfaces; /* interfaces are numbered below this */
    /* In node functions. */
    void (*count)(fv_frame *frame, uint32_t counter, uint64_t n);
    void (*trace)(fv_frame *frame, uint32_t packet, const char *text, uint64_t len);
    /* In control functions. */
    int (*node)(fv_cx *cx, const fv_node *node);
    int (*feature)(fv_cx *cx, const fv_feature *feature);
    int (*command)(fv_cx *cx, const fv_command *command);
    int (*message)(fv_cx *cx, const fv_message *message);
    int (*counters)(fv_cx *cx, const char *name, fv_counters *counters);
    int (*on_interface)(fv_cx *cx,
                        void (*changed)(fv_cx *cx, void *state, uint32_t sw_if_index, int what),
                        void *state);
    int (*set_feature)(fv_cx *cx, const char *arc, const char *node, uint32_t sw_if_index, int on);
    uint32_t (*interface_named)(fv_cx *cx, const char *name);
    int (*interface_name)(fv_cx *cx, uint32_t sw_if_index, char *name, uint64_t size);
    uint32_t (*next_interface)(fv_cx *cx, uint32_t first);
    uint32_t (*after)(fv_cx *cx, double seconds, void (*due)(fv_cx *cx, void *state), void *state);
    int (*cancel)(fv_cx *cx, uint32_t timer);
    double (*now)(fv_cx *cx);
    int (*inject)(fv_cx *cx, const char *node, uint32_t rx, const uint8_t *bytes, uint64_t len);
    void (*log)(fv_cx *cx, int level, const char *text, uint64_t len);
    void (*print)(fv_cx *cx, const char *text, uint64_t len);
    void (*json)(fv_cx *cx, const char *text, uint64_t len);
    void (*fail)(fv_cx *cx, const char *text, uint64_t len);
    void (*answer)(fv_cx *cx, const uint8_t *bytes, uint64_t len);
    /* `given` says with `line` (fv_line) which commands make the plugin's state again, for `show
     * configuration`; it changes nothing meanwhile. */
    int (*configure)(fv_cx *cx, void (*given)(fv_cx *cx, void *state), void *state);
    void (*line)(fv_cx *cx, int stage, const char *text, uint64_t len);
    int (*metadata)(fv_cx *cx, const char *name, uint64_t bytes, fv_metadata *metadata);
    int (*interface)(fv_cx *cx, const fv_interface *interface, uint32_t *sw_if_index);
    int (*delete_interface)(fv_cx *cx, uint32_t sw_if_index);
    int (*set_link)(fv_cx *cx, uint32_t sw_if_index, int up);
    /* In node functions: new packets without bytes, how many there are; packets of the node given
     * back to the pool; sent along an edge, to go on on a thread (frame->thread for this one), how
     * many there was room for. The others stay the node's. */
    uint32_t (*alloc)(fv_frame *frame, uint32_t *packets, uint32_t count);
    void (*free)(fv_frame *frame, const uint32_t *packets, uint32_t count);
    uint32_t (*send)(fv_frame *frame, uint32_t thread, uint32_t next, const uint32_t *packets,
                     uint32_t count);
} fv_host;

/* The table, from the start of the plugin on. */
__attribute__((visibility("hidden"))) extern const fv_host *fv_router;

/* What stands in the section .note.ferrovia. */
typedef struct {
    uint32_t name_size, text_size, type;
    char owner[12];
    uint32_t abi, table;
    char name[32], version[32], router[32], about[128], needs[128];
} fv_stamp;

/* The stamp of a plugin: its name, its version and one line about it. `router_` is the version of
 * the router that it is for, "" for any; `needs_` names features it requires, with blanks between. */
#define FERROVIA_PLUGIN_FOR(name_, version_, about_, router_, needs_)                             \
    const fv_host *fv_router;                                                                      \
    __attribute__((section(".note.ferrovia"), used, aligned(4))) static const fv_stamp fv_stamp_ = \
        {9, sizeof(fv_stamp) - 24, 1, "Ferrovia", FV_ABI, sizeof(fv_host),                         \
         name_, version_, router_, about_, needs_};                                                \
    int fv_start(fv_cx *cx);                                                                       \
    int ferrovia_plugin_start(const fv_host *host, fv_cx *cx);                                     \
    __attribute__((visibility("default"))) int ferrovia_plugin_start(const fv_host *host,          \
                                                                     fv_cx *cx) {                  \
        fv_router = host;                                                                          \
        return fv_start(cx);                                                                       \
    }
#define FERROVIA_PLUGIN(name_, version_, about_)                                                   \
    FERROVIA_PLUGIN_FOR(name_, version_, about_, "", "")
/* Behind FERROVIA_PLUGIN in plugins that have something to undo. */
#define FERROVIA_STOP(stop_)                                                                       \
    void ferrovia_plugin_stop(fv_cx *cx);                                                          \
    __attribute__((visibility("default"))) void ferrovia_plugin_stop(fv_cx *cx) { stop_(cx); }
/* The same for memory that is freed when no thread uses it any more: `void end(void)`. */
#define FERROVIA_END(end_)                                                                         \
    void ferrovia_plugin_end(void);                                                                \
    __attribute__((visibility("default"))) void ferrovia_plugin_end(void) { end_(); }

/* A packet by its number. */
static inline fv_buffer *fv_buffer_of(const fv_frame *frame, uint32_t index) {
    return (fv_buffer *)(frame->pool + (uint64_t)index * 64);
}
/* Packet number `at` of a frame. */
static inline fv_buffer *fv_packet(const fv_frame *frame, uint32_t at) {
    return fv_buffer_of(frame, frame->indices[at]);
}
/* The plugin's bytes in the second line of a buffer. */
static inline void *fv_place(fv_buffer *buffer, const fv_metadata *metadata) {
    return (uint8_t *)buffer + metadata->offset;
}
/* Has the processor fetch packet number `at`, if there is one. */
static inline void fv_prefetch(const fv_frame *frame, uint32_t at) {
    if (at < frame->count) {
        __builtin_prefetch(fv_packet(frame, at), 1);
        __builtin_prefetch((const uint8_t *)fv_packet(frame, at) + FV_DATA);
    }
}
/* The bytes of a packet's first segment: buffer->len of them. */
static inline uint8_t *fv_bytes(fv_buffer *buffer) {
    return (uint8_t *)buffer + FV_DATA + buffer->offset;
}
/* Says something of a packet in its trace; nothing happens to packets that are not traced. */
static inline void fv_trace(fv_frame *frame, uint32_t at, const char *text) {
    if (fv_packet(frame, at)->flags & FV_FLAG_TRACED)
        fv_router->trace(frame, at, text, strlen(text));
}

/* Raises a counter, or another number that only this thread changes and others read. */
static inline void fv_add(uint64_t *counter, uint64_t n) {
    uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);
    __atomic_store_n(counter, now + n, __ATOMIC_RELAXED);
}
/* The sum of a counter over all threads. */
static inline uint64_t fv_sum(const fv_counters *counters, uint32_t sw_if_index) {
    uint64_t sum = 0;
    for (uint32_t thread = 0; thread < counters->threads; thread++)
        sum += __atomic_load_n(&counters->rows[thread][sw_if_index], __ATOMIC_RELAXED);
    return sum;
}

/* Numbers in messages. */
static inline uint32_t fv_get32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}
static inline uint64_t fv_get64(const uint8_t *bytes) {
    return (uint64_t)fv_get32(bytes) << 32 | fv_get32(bytes + 4);
}
static inline uint8_t *fv_put32(uint8_t *to, uint32_t n) {
    to[0] = n >> 24, to[1] = n >> 16, to[2] = n >> 8, to[3] = n;
    return to + 4;
}
static inline uint8_t *fv_put64(uint8_t *to, uint64_t n) {
    return fv_put32(fv_put32(to, n >> 32), n);
}

/* Text of at most 1023 bytes to what a command prints, to its JSON, to its error, to the log. */
#define FV_FORMATTED(function_, call_)                                                             \
    __attribute__((format(printf, 2, 3))) static inline int function_(fv_cx *cx,                   \
                                                                      const char *format, ...) {   \
        char text[1024];                                                                           \
        va_list list;                                                                              \
        va_start(list, format);                                                                    \
        int len = vsnprintf(text, sizeof text, format, list);                                      \
        va_end(list);                                                                              \
        uint64_t size = len < 0 ? 0 : len < (int)sizeof text ? (uint64_t)len : sizeof text - 1;    \
        call_;                                                                                     \
        return FV_FAILED;                                                                          \
    }
FV_FORMATTED(fv_print, fv_router->print(cx, text, size))
FV_FORMATTED(fv_json, fv_router->json(cx, text, size))
FV_FORMATTED(fv_fail, fv_router->fail(cx, text, size))
FV_FORMATTED(fv_notice, fv_router->log(cx, FV_LOG_NOTICE, text, size))
/* A command of the plugin's configuration. */
__attribute__((format(printf, 3, 4))) static inline void fv_line(fv_cx *cx, int stage,
                                                                 const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (len > 0 && len < (int)sizeof text)
        fv_router->line(cx, stage, text, len);
}

#endif
