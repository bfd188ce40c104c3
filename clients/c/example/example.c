/* Shows the version and interfaces, makes a loopback and a route: example SOCKET */
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
    fv_close(client);
    return 0;
}
