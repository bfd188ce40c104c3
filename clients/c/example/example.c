/* Shows the version and interfaces, makes a loopback, hears of it, and adds a route and then many
 * at once: example SOCKET */
#include <ferrovia_messages.h>

#include <stdio.h>
#include <string.h>

static int check(const char *what, int result) {
    if (result)
        fprintf(stderr, "%s: error %d\n", what, result);
    return result;
}

static void show(const void *row, void *count) {
    const struct fv_sw_interface_details *interface = row;
    printf("interface %u %s\n", interface->sw_if_index, interface->interface_name);
    ++*(int *)count;
}

static void show_route(const void *row, void *found) {
    const struct fv_ip_route_v2_details *details = row;
    const uint8_t *to = details->route.prefix.address.un;
    if (to[0] == 16 && details->route.n_paths == 1)
        *(uint32_t *)found = details->route.paths[0].sw_if_index;
}

#define MANY 20000

/* What fv_calls goes on with. */
struct many {
    struct fv_fib_path path;
    uint32_t asked, added, refused;
};

/* The next of many routes; one of them leads nowhere. */
static int next_route(void *request, void *argument) {
    struct fv_ip_route_add_del_v2 *add = request;
    struct many *many = argument;
    uint32_t n = many->asked++;
    if (n == MANY)
        return 0;
    add->is_add = 1;
    add->route.prefix.address.un[0] = 17;
    add->route.prefix.address.un[1] = (uint8_t)(n >> 16);
    add->route.prefix.address.un[2] = (uint8_t)(n >> 8);
    add->route.prefix.address.un[3] = (uint8_t)n;
    add->route.prefix.len = n == 7 ? 99 : 32;
    add->route.n_paths = 1;
    add->route.paths = &many->path;
    return 1;
}

static void count_route(const void *reply, int result, void *argument) {
    struct many *many = argument;
    (void)reply;
    *(result ? &many->refused : &many->added) += 1;
}

/* Brings an interface up and waits until the router says so. */
static int watch(struct fv_client *client, uint32_t on) {
    struct fv_want_interface_events want = { .enable_disable = 1, .pid = 3 };
    struct fv_want_interface_events_reply wanted;
    struct fv_sw_interface_set_flags up = { .sw_if_index = on,
                                            .flags = FV_IF_STATUS_API_FLAG_ADMIN_UP };
    struct fv_sw_interface_set_flags_reply done;
    struct fv_sw_interface_event event;
    if (check("events", fv_call(client, &fv_want_interface_events_type, &want,
                                &fv_want_interface_events_reply_type, &wanted))
        || check("up", fv_call(client, &fv_sw_interface_set_flags_type, &up,
                               &fv_sw_interface_set_flags_reply_type, &done))
        || check("event", fv_event(client, 5000, &fv_sw_interface_event_type, &event)))
        return 1;
    printf("event: interface %u is %s\n", event.sw_if_index, event.flags & 1 ? "up" : "down");
    return fv_event(client, 0, &fv_sw_interface_event_type, &event) != FV_NOTHING;
}

int main(int argc, char **argv) {
    struct fv_client *client = fv_connect(argc > 1 ? argv[1] : "/run/vpp/api.sock", "example");
    struct fv_show_version show_version = { 0 };
    struct fv_show_version_reply version;
    struct fv_create_loopback create = { 0 };
    struct fv_create_loopback_reply created;
    struct fv_sw_interface_dump interfaces = { .sw_if_index = UINT32_MAX };
    struct fv_fib_path path;
    struct fv_ip_route_add_del_v2 add;
    struct fv_ip_route_add_del_v2_reply added;
    struct fv_ip_route_v2_dump routes;
    int count = 0;
    uint32_t found = UINT32_MAX;
    if (!client) {
        perror("connect");
        return 1;
    }
    if (check("version", fv_call(client, &fv_show_version_type, &show_version,
                                 &fv_show_version_reply_type, &version)))
        return 1;
    printf("version %s %s\n", version.program, version.version);
    if (check("loopback", fv_call(client, &fv_create_loopback_type, &create,
                                  &fv_create_loopback_reply_type, &created)))
        return 1;
    if (check("interfaces", fv_dump(client, &fv_sw_interface_dump_type, &interfaces,
                                    &fv_sw_interface_details_type, show, &count)))
        return 1;
    if (watch(client, created.sw_if_index))
        return 1;
    memset(&path, 0, sizeof path);
    path.sw_if_index = created.sw_if_index;
    path.weight = 1;
    memset(&add, 0, sizeof add);
    add.is_add = 1;
    add.route.prefix.address.un[0] = 16;
    add.route.prefix.len = 8;
    add.route.n_paths = 1;
    add.route.paths = &path;
    if (check("route", fv_call(client, &fv_ip_route_add_del_v2_type, &add,
                               &fv_ip_route_add_del_v2_reply_type, &added)))
        return 1;
    memset(&routes, 0, sizeof routes);
    if (check("routes", fv_dump(client, &fv_ip_route_v2_dump_type, &routes,
                                &fv_ip_route_v2_details_type, show_route, &found)))
        return 1;
    path.sw_if_index = 77;
    printf("route to %u, refused with %d\n", found,
           fv_call(client, &fv_ip_route_add_del_v2_type, &add,
                   &fv_ip_route_add_del_v2_reply_type, &added));
    struct many many = { .path = path };
    many.path.sw_if_index = created.sw_if_index;
    if (check("routes", fv_calls(client, &fv_ip_route_add_del_v2_type, next_route,
                                 &fv_ip_route_add_del_v2_reply_type, count_route, &many)))
        return 1;
    printf("%u routes added, %u refused\n", many.added, many.refused);
    fv_close(client);
    return 0;
}
