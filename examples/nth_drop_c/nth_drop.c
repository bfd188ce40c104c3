/* SPDX-License-Identifier: Apache-2.0
 *
 * Drops every Nth packet that an interface receives. A plugin for Ferrovia in C. */
#include <ferrovia.h>
#include <stdlib.h>

FERROVIA_PLUGIN_FOR("nth_drop", "1.0.0", "Drops every Nth packet of an interface", "", "ip4 ip6")

/* N of each interface; 0 drops none. Control writes it, nodes read it. */
static uint32_t every[FV_MOST_INTERFACES];
static fv_counters dropped;

static const char *const places[2][3] = {
    {"ip4-unicast", "nth-drop-ip4", "ip4-lookup"},
    {"ip6-unicast", "nth-drop-ip6", "ip6-lookup"},
};
static const fv_text reasons[] = {{"dropped", "Every Nth packet."}, {0}};

static uint32_t every_of(uint32_t interface) {
    return __atomic_load_n(&every[interface], __ATOMIC_RELAXED);
}

/* Each thread counts what it has seen of each interface. */
static void process(void *state, fv_frame *frame) {
    uint32_t *seen = frame->local;
    (void)state;
    for (uint32_t i = 0; i < frame->count; i++) {
        fv_prefetch(frame, i + 4);
        uint32_t rx = fv_packet(frame, i)->rx, n = every_of(rx);
        if (n == 0 || ++seen[rx] < n)
            continue;
        seen[rx] = 0;
        frame->verdicts[i] = FV_DROP(0);
        fv_add(&dropped.rows[frame->thread][rx], 1);
        fv_trace(frame, i, "nth-drop: its turn");
    }
}

/* The setting of an interface; an error number when it cannot be. */
static int set(fv_cx *cx, uint32_t interface, uint32_t n) {
    if (n == 1)
        return FV_INVALID_VALUE;
    for (int v = 0; v < 2; v++)
        if (fv_router->set_feature(cx, places[v][0], places[v][1], interface, n > 0))
            return FV_INVALID_SW_IF_INDEX;
    __atomic_store_n(&every[interface], n, __ATOMIC_RELAXED);
    return FV_OK;
}

/* set interface nth-drop <interface> <every> */
static int set_command(fv_cx *cx, void *state, uint32_t count, const char *const *words) {
    char *end = "?";
    (void)state;
    if (count != 2)
        return fv_fail(cx, "an interface and a number are needed");
    uint32_t interface = fv_router->interface_named(cx, words[0]);
    if (interface == FV_NONE)
        return fv_fail(cx, "unknown interface `%s'", words[0]);
    unsigned long n = strtoul(words[1], &end, 10);
    if (*end || end == words[1] || n > UINT32_MAX)
        return fv_fail(cx, "invalid every `%s'", words[1]);
    return set(cx, interface, n) ? fv_fail(cx, "every must be 0 or at least 2") : FV_OK;
}

/* Calls `row` for each interface that drops. */
static void each(fv_cx *cx, void (*row)(fv_cx *cx, uint32_t interface, uint32_t n)) {
    uint32_t i = fv_router->next_interface(cx, 0);
    for (; i != FV_NONE; i = fv_router->next_interface(cx, i + 1))
        if (every_of(i))
            row(cx, i, every_of(i));
}

static int rows; /* printed so far */

static void print_row(fv_cx *cx, uint32_t interface, uint32_t n) {
    unsigned long long sum = fv_sum(&dropped, interface);
    char name[64];
    fv_router->interface_name(cx, interface, name, sizeof name);
    fv_print(cx, "%s: every %u, %llu dropped\n", name, n, sum);
    fv_json(cx, "%s{\"interface\":\"%s\",\"every\":%u,\"dropped\":%llu}", rows++ ? "," : "", name, n,
            sum);
}

/* show interface nth-drop */
static int show_command(fv_cx *cx, void *state, uint32_t count, const char *const *words) {
    (void)state;
    if (count)
        return fv_fail(cx, "unknown input `%s'", words[0]);
    rows = 0;
    fv_json(cx, "[");
    each(cx, print_row);
    fv_json(cx, "]");
    return FV_OK;
}

static void line_row(fv_cx *cx, uint32_t interface, uint32_t n) {
    char name[64];
    fv_router->interface_name(cx, interface, name, sizeof name);
    fv_line(cx, FV_STAGE_ATTACHMENTS, "set interface nth-drop %s %u", name, n);
}

/* show configuration */
static void configuration(fv_cx *cx, void *state) {
    (void)state;
    each(cx, line_row);
}

/* nth_drop_set */
static int set_message(fv_cx *cx, void *state, const uint8_t *fields, uint64_t len) {
    (void)state, (void)len;
    return set(cx, fv_get32(fields), fv_get32(fields + 4));
}

static void answer_row(fv_cx *cx, uint32_t interface, uint32_t n) {
    uint8_t row[16];
    fv_put64(fv_put32(fv_put32(row, interface), n), fv_sum(&dropped, interface));
    fv_router->answer(cx, row, sizeof row);
}

/* nth_drop_dump */
static int dump_message(fv_cx *cx, void *state, const uint8_t *fields, uint64_t len) {
    (void)state, (void)fields, (void)len;
    each(cx, answer_row);
    return FV_OK;
}

/* What is set goes with its interface. */
static void changed(fv_cx *cx, void *state, uint32_t interface, int what) {
    (void)state;
    if (what == FV_INTERFACE_DELETING && every_of(interface))
        set(cx, interface, 0);
}

int fv_start(fv_cx *cx) {
    for (int v = 0; v < 2; v++) {
        fv_node node = {
            .name = places[v][1],
            .process = process,
            .local_size = sizeof(uint32_t) * FV_MOST_INTERFACES,
            .reasons = reasons,
            .drop = v ? "ip6-drop" : "ip4-drop",
        };
        fv_feature feature = {.arc = places[v][0], .node = places[v][1], .before = places[v][2]};
        if (fv_router->node(cx, &node) || fv_router->feature(cx, &feature))
            return FV_FAILED;
    }
    fv_command set_it = {
        .path = "set interface nth-drop",
        .usage = "<interface> <every>",
        .about = "Drop every Nth packet of an interface; 0 drops none",
        .run = set_command,
    };
    fv_command show_it = {
        .path = "show interface nth-drop",
        .about = "Show the interfaces that drop every Nth packet",
        .run = show_command,
    };
    fv_message set_m = {
        .module = "nth_drop",
        .version = "1.0.0",
        .name = "nth_drop_set",
        .about = "Drop every Nth packet of an interface; 0 drops none.",
        .fields = "interface_index sw_if_index; u32 every;",
        .run = set_message,
    };
    fv_message dump_m = {
        .module = "nth_drop",
        .version = "1.0.0",
        .name = "nth_drop_dump",
        .about = "List the interfaces that drop every Nth packet.",
        .answer = "interface_index sw_if_index; u32 every; u64 dropped;",
        .run = dump_message,
    };
    return fv_router->counters(cx, "/nth-drop/dropped", &dropped) ||
           fv_router->configure(cx, configuration, NULL) ||
           fv_router->on_interface(cx, changed, NULL) || fv_router->command(cx, &set_it) ||
           fv_router->command(cx, &show_it) || fv_router->message(cx, &set_m) ||
           fv_router->message(cx, &dump_m);
}
