/* The part of the DPDK driver that is compiled against DPDK's headers, whose functions for packets
 * are inline and whose structures change from version to version: ferrovia_dpdk.so. The daemon loads
 * it when DPDK is asked for, and knows DPDK by the functions and structures below alone, which
 * src/dpdk/shim/mod.rs repeats. `make dpdk` builds it.
 *
 * Functions return 0 or a negative errno unless they say something else. One thread at a time uses a
 * receive queue or a transmit queue; one thread at a time calls the functions of control.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_version.h>

#define SHOWN __attribute__((visibility("default")))

/* Changes with each change of what follows. */
#define FV_ABI 1

/* Checksums of the packet are right, as far as the device looked. */
#define FV_RX_GOOD 1

/* Checksums that the device is to complete. */
#define FV_TX_IP4 1
#define FV_TX_IP6 2
#define FV_TX_TCP 4
#define FV_TX_UDP 8
/* The packet goes on in the next entry. */
#define FV_TX_MORE 16

struct fv_info {
    char name[64];
    char driver[32];
    char device[64];
    uint8_t mac[8];
    uint32_t mtu;
    uint32_t max_mtu;
    uint16_t rx_queues;
    uint16_t tx_queues;
    uint16_t rx_ring;
    uint16_t tx_ring;
    /* Completes checksums of TCP and UDP. */
    uint8_t checksums;
    /* Receives spread over queues. */
    uint8_t spreads;
    /* Sends packets in pieces. */
    uint8_t pieces;
    uint8_t padding;
    int32_t node;
};

struct fv_link {
    uint32_t up;
    uint32_t full_duplex;
    /* Mbit/s; UINT32_MAX if it does not say. */
    uint32_t speed;
};

struct fv_stats {
    uint64_t rx_missed;
    uint64_t rx_errors;
    uint64_t rx_no_mbuf;
    uint64_t tx_errors;
};

struct fv_xstat {
    char name[64];
    uint64_t value;
};

struct fv_rx {
    struct rte_mbuf *mbuf;
    const uint8_t *data;
    uint32_t len;
    uint16_t pieces;
    uint16_t flags;
};

struct fv_tx {
    struct rte_mbuf *mbuf;
    uint8_t *data;
    uint32_t len;
    uint16_t flags;
    uint8_t l2_len;
    uint8_t l3_len;
};

static struct rte_mempool *pool;
static uint16_t room;

/* Threads are known to DPDK as long as they live, so that each has a cache of free packets. */
static pthread_key_t registered;
static _Thread_local int is_registered;

static void unregister(void *unused) {
    (void)unused;
    rte_thread_unregister();
}

static inline void enter(void) {
    if (__builtin_expect(!is_registered, 0)) {
        is_registered = 1;
        if (rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0)
            pthread_setspecific(registered, &registered);
    }
}

SHOWN uint32_t fv_abi(void) { return FV_ABI; }

SHOWN const char *fv_version(void) { return rte_version(); }

SHOWN const char *fv_error(int error) { return rte_strerror(-error); }

/* Starts DPDK with these arguments, and a pool of so many packets. Only once in a process. */
SHOWN int fv_init(int argc, char **argv, uint32_t packets, uint16_t data_room) {
    cpu_set_t cpus;
    int has_cpus = pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus) == 0;
    int done = rte_eal_init(argc, argv);
    if (has_cpus)
        pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    if (done < 0)
        return rte_errno ? -rte_errno : -EINVAL;
    is_registered = 1;
    /* Nothing is in it where nothing is shared. */
    (void)rmdir(rte_eal_get_runtime_dir());
    if (pthread_key_create(&registered, unregister) != 0)
        return -ENOMEM;
    pool = rte_pktmbuf_pool_create("ferrovia", packets, 256, 0,
                                   (uint16_t)(RTE_PKTMBUF_HEADROOM + data_room), SOCKET_ID_ANY);
    if (!pool)
        return rte_errno ? -rte_errno : -ENOMEM;
    room = data_room;
    return 0;
}

/* The port of a device: a PCI address, or a virtual device and its options. Makes it if it is not
 * there. Its number, or a negative errno. */
SHOWN int fv_find(const char *device, int *is_new) {
    char name[64];
    uint16_t port;
    size_t len = strcspn(device, ",");
    if (len == 0 || len >= sizeof name)
        return -EINVAL;
    memcpy(name, device, len);
    name[len] = 0;
    *is_new = 0;
    if (rte_eth_dev_get_port_by_name(name, &port) == 0)
        return port;
    int done = rte_dev_probe(device);
    /* What DPDK says of a driver or device that it does not know is "bad address". */
    if (done < 0)
        return done == -EFAULT ? -ENODEV : done;
    *is_new = 1;
    return rte_eth_dev_get_port_by_name(name, &port) == 0 ? port : -ENODEV;
}

SHOWN int fv_info(uint16_t port, struct fv_info *out) {
    struct rte_eth_dev_info info;
    struct rte_ether_addr mac;
    uint16_t mtu = 0;
    memset(out, 0, sizeof *out);
    int done = rte_eth_dev_info_get(port, &info);
    if (done < 0)
        return done;
    if (rte_eth_macaddr_get(port, &mac) == 0)
        memcpy(out->mac, mac.addr_bytes, 6);
    if (rte_eth_dev_get_mtu(port, &mtu) == 0)
        out->mtu = mtu;
    rte_eth_dev_get_name_by_port(port, out->name);
    snprintf(out->driver, sizeof out->driver, "%s", info.driver_name ? info.driver_name : "");
    out->max_mtu = info.max_mtu;
    out->rx_queues = info.max_rx_queues;
    out->tx_queues = info.max_tx_queues;
    out->rx_ring = info.rx_desc_lim.nb_max;
    out->tx_ring = info.tx_desc_lim.nb_max;
    uint64_t sums = RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    out->checksums = (info.tx_offload_capa & sums) == sums;
    out->pieces = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    out->spreads = info.flow_type_rss_offloads != 0;
    out->node = rte_eth_dev_socket_id(port);
    return 0;
}

/* Sets a port up with its queues and rings of so many packets (0: what the device likes), and starts
 * it. Writes the sizes of the rings. */
SHOWN int fv_start(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, uint16_t *rx_ring,
                   uint16_t *tx_ring) {
    struct rte_eth_conf conf = {0};
    struct rte_eth_dev_info info;
    int done = rte_eth_dev_info_get(port, &info);
    if (done < 0)
        return done;
    conf.rxmode.offloads = info.rx_offload_capa &
        (RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_SCATTER);
    conf.txmode.offloads = info.tx_offload_capa &
        (RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
         RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
    if (rx_queues > 1 && info.flow_type_rss_offloads) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads &
            (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP);
    }
    done = rte_eth_dev_configure(port, rx_queues, tx_queues, &conf);
    if (done < 0)
        return done;
    if (*rx_ring == 0)
        *rx_ring = 1024;
    if (*tx_ring == 0)
        *tx_ring = 1024;
    done = rte_eth_dev_adjust_nb_rx_tx_desc(port, rx_ring, tx_ring);
    int node = rte_eth_dev_socket_id(port);
    for (uint16_t q = 0; q < rx_queues && done >= 0; q++)
        done = rte_eth_rx_queue_setup(port, q, *rx_ring, (unsigned)node, NULL, pool);
    for (uint16_t q = 0; q < tx_queues && done >= 0; q++)
        done = rte_eth_tx_queue_setup(port, q, *tx_ring, (unsigned)node, NULL);
    if (done >= 0)
        done = rte_eth_dev_start(port);
    if (done >= 0) {
        /* Not every device knows: then it takes all frames. */
        (void)rte_eth_promiscuous_enable(port);
        (void)rte_eth_allmulticast_enable(port);
    }
    return done;
}

/* Stops a port and gives it up; one that fv_find made goes. Nobody uses its queues any more. */
SHOWN int fv_close(uint16_t port, int is_own) {
    struct rte_eth_dev_info info;
    struct rte_device *device = NULL;
    if (rte_eth_dev_info_get(port, &info) == 0)
        device = info.device;
    (void)rte_eth_dev_stop(port);
    int done = rte_eth_dev_close(port);
    if (is_own && device)
        (void)rte_dev_remove(device);
    return done;
}

SHOWN int fv_link(uint16_t port, struct fv_link *out) {
    struct rte_eth_link link = {0};
    int done = rte_eth_link_get_nowait(port, &link);
    out->up = link.link_status == RTE_ETH_LINK_UP;
    out->full_duplex = link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX;
    out->speed = link.link_speed;
    return done;
}

SHOWN int fv_set_up(uint16_t port, int on) {
    return on ? rte_eth_dev_set_link_up(port) : rte_eth_dev_set_link_down(port);
}

SHOWN int fv_set_mtu(uint16_t port, uint16_t mtu) { return rte_eth_dev_set_mtu(port, mtu); }

SHOWN int fv_set_mac(uint16_t port, const uint8_t *mac) {
    struct rte_ether_addr address;
    memcpy(address.addr_bytes, mac, 6);
    return rte_eth_dev_default_mac_addr_set(port, &address);
}

SHOWN int fv_stats(uint16_t port, struct fv_stats *out) {
    struct rte_eth_stats stats = {0};
    int done = rte_eth_stats_get(port, &stats);
    out->rx_missed = stats.imissed;
    out->rx_errors = stats.ierrors;
    out->rx_no_mbuf = stats.rx_nombuf;
    out->tx_errors = stats.oerrors;
    return done;
}

/* Extended statistics, at most so many; how many there are. */
SHOWN int fv_xstats(uint16_t port, struct fv_xstat *out, uint32_t most) {
    struct rte_eth_xstat values[1024];
    struct rte_eth_xstat_name names[1024];
    int count = rte_eth_xstats_get_names(port, names, 1024);
    if (count < 0 || count > 1024)
        return count < 0 ? count : -E2BIG;
    int there = rte_eth_xstats_get(port, values, 1024);
    if (there < 0)
        return there;
    uint32_t filled = 0;
    for (int i = 0; i < there && filled < most; i++) {
        if (values[i].id >= (uint64_t)count)
            continue;
        snprintf(out[filled].name, sizeof out[filled].name, "%s", names[values[i].id].name);
        out[filled++].value = values[i].value;
    }
    return (int)filled;
}

/* Packets that wait in a receive queue, at most so many; how many. They belong to the caller. */
SHOWN uint32_t fv_receive(uint16_t port, uint16_t queue, struct fv_rx *out, uint32_t most) {
    struct rte_mbuf *got[256];
    enter();
    uint16_t count = rte_eth_rx_burst(port, queue, got, (uint16_t)(most < 256 ? most : 256));
    for (uint16_t i = 0; i < count; i++) {
        struct rte_mbuf *m = got[i];
        out[i].mbuf = m;
        out[i].data = rte_pktmbuf_mtod(m, const uint8_t *);
        out[i].len = rte_pktmbuf_data_len(m);
        out[i].pieces = m->nb_segs;
        uint64_t sums = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
        out[i].flags = sums == RTE_MBUF_F_RX_L4_CKSUM_GOOD ? FV_RX_GOOD : 0;
        __builtin_prefetch(out[i].data);
    }
    return count;
}

/* The piece behind one: NULL behind the last. */
SHOWN struct rte_mbuf *fv_next(struct rte_mbuf *mbuf, const uint8_t **data, uint32_t *len) {
    struct rte_mbuf *next = mbuf->next;
    if (next) {
        *data = rte_pktmbuf_mtod(next, const uint8_t *);
        *len = rte_pktmbuf_data_len(next);
    }
    return next;
}

/* Gives received packets back. */
SHOWN void fv_free_received(const struct fv_rx *packets, uint32_t count) {
    struct rte_mbuf *all[256];
    for (uint32_t i = 0; i < count && i < 256; i++)
        all[i] = packets[i].mbuf;
    rte_pktmbuf_free_bulk(all, count < 256 ? count : 256);
}

/* Empty packets to fill, at most so many; how many. Each has room for fv_init's data_room bytes. */
SHOWN uint32_t fv_take(struct fv_tx *out, uint32_t count) {
    struct rte_mbuf *all[256];
    enter();
    if (count > 256)
        count = 256;
    if (rte_pktmbuf_alloc_bulk(pool, all, count) != 0)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (struct fv_tx){.mbuf = all[i], .data = rte_pktmbuf_mtod(all[i], uint8_t *)};
    }
    return count;
}

/* Gives empty packets back. */
SHOWN void fv_give(const struct fv_tx *packets, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        rte_pktmbuf_free(packets[i].mbuf);
}

/* Sends filled packets; how many entries the device did not take, which are lost. */
SHOWN uint32_t fv_send(uint16_t port, uint16_t queue, const struct fv_tx *packets, uint32_t count) {
    struct rte_mbuf *all[256], *first = NULL, *last = NULL;
    uint16_t ready = 0, sent = 0;
    enter();
    for (uint32_t i = 0; i < count && i < 256; i++) {
        struct rte_mbuf *m = packets[i].mbuf;
        uint16_t len = (uint16_t)(packets[i].len < room ? packets[i].len : room);
        m->data_len = len;
        m->pkt_len = len;
        if (first) {
            first->pkt_len += len;
            first->nb_segs++;
            last->next = m;
        } else {
            first = m;
            uint16_t flags = packets[i].flags;
            if (flags & (FV_TX_TCP | FV_TX_UDP)) {
                m->l2_len = packets[i].l2_len;
                m->l3_len = packets[i].l3_len;
                m->ol_flags |= flags & FV_TX_IP6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
                m->ol_flags |= flags & FV_TX_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
            }
        }
        last = m;
        if (!(packets[i].flags & FV_TX_MORE)) {
            all[ready++] = first;
            first = NULL;
        }
    }
    if (first)
        rte_pktmbuf_free(first);
    /* A device that takes a few at a time, or empties its ring meanwhile, gets more than one try. */
    for (int tries = 0; sent < ready && tries < 8; tries++)
        sent += rte_eth_tx_burst(port, queue, all + sent, (uint16_t)(ready - sent));
    if (sent < ready)
        rte_pktmbuf_free_bulk(all + sent, (unsigned)(ready - sent));
    return (uint32_t)(ready - sent);
}
