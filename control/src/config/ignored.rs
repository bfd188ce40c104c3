//! Words and stanzas of the original that are read here without effect, and why.

use super::notice::Weight;
use Weight::{Loss, Needless};

/// Words of a stanza without effect: the stanza, their weight, the reason or what replaces them,
/// and the words with their values, as in [`REFERENCE`](super::REFERENCE).
pub type Ignored = (&'static str, Weight, &'static str, &'static [&'static str]);

/// All of them. A stanza may have several rows, and words with effect beside these. Words in a
/// block belong to a stanza named by both.
pub const IGNORED: &[Ignored] = &[
    ("acl-plugin", Needless, GROWS, ACL_TABLES),
    (
        "acl-plugin",
        Loss,
        "`set acl-plugin' sets it",
        &["connection count max <n>", "reclassify sessions <n>"],
    ),
    ("api-fuzz", Needless, "there is no fuzzing in the router", &["off", "disable", "no"]),
    ("api-fuzz", Loss, "there is no fuzzing in the router", &["on", "enable", "yes"]),
    ("api-queue", Needless, "client queues have a fixed length", &["length <n>", "len <n>"]),
    ("api-segment", Needless, "the API needs no memory of its own", API_SEGMENT),
    ("buffers", Needless, "buffers are packed", &["layout natural"]),
    ("buffers", Needless, PAGES, &["page-size <size>"]),
    ("buffers", Loss, "`buffers-per-numa' is for all NUMA nodes", &["numa <n> { … }"]),
    ("cnat", Needless, GROWS, CNAT_TABLES),
    ("cnat", Loss, "ports are tried until one is free", &["session-max-port-retries <n>"]),
    ("cpu", Needless, "threads are always system threads", &["use-pthreads"]),
    ("cpu", Needless, "memory is allocated as needed", &["numa-heap-size <size>"]),
    ("cpu", Loss, "threads have fixed names", &["thread-prefix <text>"]),
    (
        "crypto-engines",
        Loss,
        "`set crypto handler' chooses engines",
        &["default { … }", "disable", "<engine> { … }"],
    ),
    ("crypto-engines default", Loss, CRYPTO, &["enable", "disable"]),
    (
        "crypto_sw_scheduler",
        Loss,
        "packets are encrypted on their own thread",
        &["crypto-sw-scheduler-queue-size <n>"],
    ),
    ("ct6", Needless, GROWS, &["session-hash-buckets <n>", "session-hash-memory <size>"]),
    ("ct6", Loss, "sessions of ct6 have a fixed timeout", &["session-timeout <seconds>"]),
    ("devices", Loss, DEVICES, &["dev <address> { … }"]),
    ("dns", Loss, "the cache of names has a fixed size", &["max-cache-size <n>", "max-ttl <n>"]),
    ("dpdk", Needless, OFFLOADS, DPDK_OFFLOADS),
    ("dpdk", Needless, "devices are polled continuously", DPDK_TIMES),
    ("dpdk", Needless, "bind devices before start (dpdk-devbind.py)", DPDK_BINDING),
    ("dpdk", Needless, "DPDK gets the arguments it needs", DPDK_ARGUMENTS),
    ("dpdk", Loss, "`name' in the block of a device names it", &["decimal-interface-names"]),
    ("dpdk", Loss, NO_LRO, &["enable-lro"]),
    (
        "dpdk",
        Loss,
        "`capture' and `pcap trace' show packets",
        &["trace-dir <folder>", "trace-bufsz <text>", "trace <text>"],
    ),
    ("dpdk dev", Loss, "`set interface rx-placement' chooses threads", &["workers <list>"]),
    ("dpdk dev", Needless, OFFLOADS, &["tso on|off", "vlan-strip-offload on|off"]),
    ("dpdk dev", Loss, NO_LRO, &["max-lro-pkt-size <n>"]),
    ("dpdk dev", Loss, "interfaces have no tag at start", &["tag <text>"]),
    ("dpdk dev", Loss, RSS, &["rss { … }", "rss-queues <list>"]),
    ("dpdk dev", Needless, "devices are polled", &["no-rx-interrupts"]),
    ("dpdk dev", Loss, "the policer and QoS replace it", &["hqos { … }"]),
    ("dsa", Loss, "there is no DMA engine", &["dev <text>"]),
    ("ethernet", Loss, "`set interface mtu' sets it", &["default-mtu <n>"]),
    (
        "fateshare",
        Loss,
        "a supervisor such as systemd ends programs together (BindsTo=)",
        &["monitor <file>", "logfile <file>", "command <text>"],
    ),
    ("http", Needless, SEGMENTLESS, SEGMENTS),
    ("interface", Loss, "`set interface rx-mode' sets it", RX_MODES),
    ("ip6", Needless, GROWS, &["hash-buckets <n>", "heap-size <size>"]),
    ("ipsec", Needless, GROWS, &["spd-fast-path-num-buckets <n>", "num-buckets <n>"]),
    ("ipsec", Needless, GROWS, &["ip4 { … }", "ip6 { … }", "async-handoff-queue-size <n>"]),
    ("ipsec ip4", Needless, GROWS, &["num-buckets <n>"]),
    ("ipsec ip6", Needless, GROWS, &["num-buckets <n>"]),
    ("l2fib", Needless, GROWS, &["table-size <size>", "num-buckets <n>"]),
    (
        "l2tp",
        Needless,
        "tunnels are found by addresses and session",
        &["lookup-v6-src", "lookup-v6-dst", "lookup-session-id"],
    ),
    (
        "l3fib",
        Needless,
        GROWS,
        &[
            "load-balance-pool-size <size>",
            "fib-entry-pool-size <size>",
            "ip4-mtrie-pool-size <size>",
        ],
    ),
    (
        "linux-cp",
        Loss,
        "mirrors have one queue for each thread",
        &["num-rx-queues <n>", "num-tx-queues <n>"],
    ),
    (
        "linux-nl",
        Needless,
        "netlink messages are processed as they arrive",
        &["nl-batch-size <n>", "nl-batch-delay-ms <n>"],
    ),
    ("logging", Loss, "`event-logger trace' selects the events recorded", &["add-to-elog"]),
    ("logging", Loss, "nothing is logged to the kernel", &["default-kmsg-log-level <level>"]),
    ("logging", Loss, "nothing is logged to the kernel", &["kmsg-level <level>"]),
    ("mactime", Needless, GROWS, &["lookup-table-buckets <n>", "lookup-table-memory <size>"]),
    ("mc", Loss, "a test of the original's library", MC),
    ("memory", Needless, "memory is allocated as needed", MEMORY),
    ("memory", Needless, PAGES, &["default-hugepage-size <size>"]),
    ("mpls", Loss, "`mpls table add 0 name NAME' names it", &["default-table-name <name>"]),
    ("npol-plugin", Needless, GROWS, &[]),
    ("nsim", Needless, "the simulator runs on the existing threads", &["poll-main-thread"]),
    (
        "physmem",
        Needless,
        "memory is allocated as needed",
        &["base-addr <address>", "max-size <size>"],
    ),
    ("physmem", Needless, "memory is allocated as needed", MEMORY),
    ("plugins", Loss, "plugins are named one by one", &["name-filter <text>"]),
    ("plugins", Needless, VAT, &["vat-path <folder>", "vat-name-filter <text>"]),
    ("pvti", Loss, "the order of features is fixed", &["runs-before <node>"]),
    ("quic", Loss, HOST_STACK, SEGMENTS),
    (
        "quic",
        Loss,
        HOST_STACK,
        &[
            "conn-timeout <n>",
            "fifo-prealloc <n>",
            "no-tx-pacing",
            "respect-app-limited",
            "enable-vnet-crypto",
        ],
    ),
    ("selog", Loss, "`show event-logger' shows events", &["ssvm-name <name>"]),
    ("session", Needless, GROWS, SESSION_TABLES),
    ("session", Needless, SEGMENTLESS, SESSION_SEGMENTS),
    ("session", Needless, "threads sleep when there is no work", &["poll-main", "no-adaptive"]),
    ("session", Needless, "packets are copied by the processor", &["use-dma"]),
    ("session", Loss, "programs attach through app sockets", &["use-bapi-socket-api"]),
    ("session", Loss, "there is no transparent proxy", &["nat44-original-dst-enable"]),
    (
        "sfdp",
        Needless,
        "caches follow the number of sessions",
        &["sessions-per-thread-cache-log2 <n>"],
    ),
    ("sfdp", Loss, "without workers the data plane's thread is used", &["no-main"]),
    ("statseg", Needless, "pages are used as counters move", &["page-size <size>"]),
    ("tcp", Needless, GROWS, TCP_TABLES),
    ("tcp", Needless, CHECKSUMS, &["no-csum-offload"]),
    ("tcp", Needless, "queues have the size that applications ask for", &["min-rx-fifo <size>"]),
    ("tcp", Needless, "segments are sent as windows allow", &["no-tx-pacing"]),
    ("tcp", Needless, "congestion control measures what it needs", &["byte-tracker"]),
    (
        "tcp",
        Needless,
        "a connection that its application closed is in LAST-ACK",
        &["closewait-time <n>"],
    ),
    ("tcp", Needless, "the window is announced when it opens", &["rwnd-min-update-ack <n>"]),
    (
        "tcp",
        Needless,
        "connections are freed with their last packet",
        &["cleanup-time <n>", "alloc-err-timeout <n>"],
    ),
    ("tcp", Loss, "a test of the original's buffers", &["buffer-fail-fraction <seconds>"]),
    ("test-proxy", Loss, HOST_STACK, &["server { … }"]),
    ("test_plugin_path", Needless, VAT, &["<folder>"]),
    ("tls", Loss, NO_TLS, SEGMENTS),
    ("tls", Loss, NO_TLS, &["use-test-cert-in-ca", "ca-cert-path <file>"]),
    ("tuntap", Needless, "no device exists until a command creates one", &["disable"]),
    ("tuntap", Loss, "`create tap' and `create tun' make devices", TUNTAP),
    ("udp", Needless, CHECKSUMS, &["no-csum-offload"]),
    ("udp", Needless, "datagrams have the MTU of their interface", &["mtu <n>"]),
    (
        "udp",
        Loss,
        "ICMP errors are limited by rate, not switched off",
        &["icmp-unreachable-disabled"],
    ),
    ("unix", Needless, "there are no core files", CORES),
    ("unix", Needless, "the router uses no colours", &["nocolor", "cli-no-color"]),
    ("unix", Needless, "output pauses until it is read", &["cli-pager-buffer-limit <n>"]),
    ("unix", Needless, "the daemon stays in its working directory", &["use-current-dir"]),
    ("unix-cli", Needless, "`unix' has the settings of the command line", &[]),
    (
        "vhost-user",
        Needless,
        "guests are notified at once",
        &["coalesce-frames <n>", "coalesce-time <seconds>"],
    ),
    ("vhost-user", Needless, "there are no core files", &["dont-dump-memory"]),
    ("vlib", Loss, "`event-logger save' writes events to a file", &["elog-post-mortem-dump"]),
    (
        "vlib",
        Loss,
        "a test of the original's buffers",
        &["buffer-alloc-success-rate <seconds>", "buffer-alloc-success-seed <n>"],
    ),
    ("vlib", Loss, "system tools trace the heap", &["memory-trace"]),
];

/// Stanzas of earlier versions and of other builds, with any words: their names, and what replaces
/// them.
pub const FORMER: &[(&[&str], Weight, &str)] = &[
    (&["nat", "nat44", "nat44-ed", "nat44-ei"], Loss, "`nat44 plugin enable' has its settings"),
    (&["nat64"], Loss, "`nat64 plugin enable' has its settings"),
    (&["nat66", "npt66"], Loss, "`nat66 plugin enable' has its settings"),
    (&["det44"], Loss, "`det44 plugin enable' has its settings"),
    (&["af_xdp"], Loss, "`create interface af_xdp' makes interfaces"),
    (&["af_packet"], Loss, "`create host-interface' makes interfaces"),
    (&["tap", "tapv2"], Loss, "`create tap' makes interfaces"),
    (&["memif"], Loss, "`create interface memif' makes interfaces"),
    (&["avf", "rdma", "vmxnet3", "virtio"], Loss, DEVICES),
    (&["heapsize"], Needless, "memory is allocated as needed"),
    (&["cj", "tracedump", "oddbuf", "perfmon", "prom"], Loss, "commands have its settings"),
    (&["fib"], Needless, GROWS),
    (&["crypto", "crypto-sw-scheduler", "ikev2"], Loss, CRYPTO),
    (
        &["hs_apps", "http_static", "srtp", "tlsmbedtls", "tlsopenssl", "tlspicotls"],
        Loss,
        HOST_STACK,
    ),
    (&["ioam", "lisp", "snort"], Loss, "there is no such part here"),
    (
        &[
            "abf",
            "adl",
            "arping",
            "bfd",
            "bond",
            "bufmon",
            "dhcp",
            "flowprobe",
            "geneve",
            "gre",
            "gso",
            "gtpu",
            "igmp",
            "ipip",
            "lb",
            "lldp",
            "map",
            "mss_clamp",
            "ping",
            "pnat",
            "policer",
            "pppoe",
            "sflow",
            "sr",
            "svs",
            "urpf",
            "vrrp",
            "vxlan",
            "wireguard",
        ],
        Loss,
        "commands have its settings",
    ),
];

/// Stanzas of others by the name under which their settings are here.
pub const RENAMED: &[(&str, &str)] =
    &[("lcpng", "linux-cp"), ("vcdp", "sfdp"), ("acl", "acl-plugin")];

/// Words that are commands: the stanza, the words, and the command for their value.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("ip", "default-table-name <name>", "ip table add 0 name"),
    ("ip6", "default-table-name <name>", "ip6 table add 0 name"),
    ("l2learn", "limit <n>", "set bridge-domain default-learn-limit"),
    ("trace", "timestamp-format relative|unix|datetime", "set trace timestamp-format"),
    ("vlib", "elog-events <n>", "event-logger resize"),
];

/// Words with effect in blocks that a feature reads itself.
pub const INSIDE: &[(&str, &[&str])] = &[(
    "dpdk dev",
    &[
        "name <name>",
        "num-rx-queues <n>",
        "num-tx-queues <n>",
        "num-rx-desc <n>",
        "num-tx-desc <n>",
        "devargs <text>",
    ],
)];

const GROWS: &str = "tables grow as needed";
const HOST_STACK: &str = "the host stack has no such part";
const CRYPTO: &str = "`set crypto handler' chooses engines";
const DEVICES: &str = "`dpdk' or `create interface dpdk' has devices of the PCI bus";
const OFFLOADS: &str = "checksums and segmentation are offloaded to capable devices";
const NO_LRO: &str = "received packets are not coalesced";
const RSS: &str = "`num-rx-queues' spreads flows over queues";
const PAGES: &str = "large tables use huge pages automatically";
const VAT: &str = "there is no such test program";
const ACL_TABLES: &[&str] = &[
    "connection hash buckets <n>",
    "connection hash memory <size>",
    "main heap size <size>",
    "hash lookup heap size <size>",
    "hash lookup hash buckets <n>",
    "hash lookup hash memory <size>",
    "use tuple merge <n>",
    "tuple merge split threshold <n>",
];
const API_SEGMENT: &[&str] = &[
    "prefix <text>",
    "uid <text>",
    "gid <group>",
    "baseva <text>",
    "global-size <size>",
    "global-pvt-heap-size <size>",
    "global-pvt-heap-size size <size>",
    "api-size <size>",
    "api-pvt-heap-size <size>",
    "api-pvt-heap-size size <size>",
];
const CNAT_TABLES: &[&str] = &[
    "session-log2-pool-size <n>",
    "session-db-buckets <n>",
    "session-db-memory <size>",
    "translation-db-buckets <n>",
    "translation-db-memory <size>",
    "client-db-buckets <n>",
    "client-db-memory <size>",
    "snat-db-buckets <n>",
    "snat-db-memory <size>",
    "snat-if-map-len <n>",
];
const CORES: &[&str] = &["full-coredump", "coredump-size <size>"];
const DPDK_OFFLOADS: &[&str] = &[
    "enable-tcp-udp-checksum",
    "enable-outer-checksum-offload",
    "no-tx-checksum-offload",
    "no-multi-seg",
    "enable-mbuf-fast-free",
];
const DPDK_TIMES: &[&str] =
    &["link-state-poll-interval <seconds>", "stats-poll-interval <seconds>"];
const DPDK_BINDING: &[&str] = &["uio-driver <name>", "uio-bind-force", "no-vmbus"];
const DPDK_ARGUMENTS: &[&str] = &[
    "nchannels <n>",
    "coremask <mask>",
    "num-crypto-mbufs <n>",
    "proc-type <text>",
    "file-prefix <text>",
    "base-virtaddr <address>",
    "default",
];
const MC: &[&str] = &[
    "interface <name>",
    "n-bytes <n>",
    "max-n-bytes <n>",
    "min-n-bytes <n>",
    "seed <n>",
    "window <n>",
    "verbose",
    "no-validate",
    "min-delay <seconds>",
    "max-delay <seconds>",
    "no-delay",
    "n-packets <seconds>",
];
const MEMORY: &[&str] = &["main-heap-size <size>", "main-heap-page-size <size>"];
const RX_MODES: &[&str] = &["default-rx-mode polling|interrupt|adaptive"];
const SEGMENTS: &[&str] =
    &["first-segment-size <size>", "add-segment-size <size>", "fifo-size <size>"];
const SEGMENTLESS: &str = "queues take memory as they fill";
const SESSION_SEGMENTS: &[&str] = &[
    "wrk-mq-length <n>",
    "wrk-mqs-segment-size <size>",
    "use-private-rx-mqs",
    "no-dump-segments",
    "evt_qs_memfd_seg",
    "segment-baseva <address>",
    "evt_qs_seg_size <size>",
    "event-queue-length <n>",
];
const SESSION_TABLES: &[&str] = &[
    "preallocated-sessions <n>",
    "v4-session-table-buckets <n>",
    "v4-halfopen-table-buckets <n>",
    "v6-session-table-buckets <n>",
    "v6-halfopen-table-buckets <n>",
    "v4-session-table-memory <size>",
    "v4-halfopen-table-memory <size>",
    "v6-session-table-memory <size>",
    "v6-halfopen-table-memory <size>",
    "local-endpoints-table-memory <size>",
    "local-endpoints-table-buckets <n>",
];
const TCP_TABLES: &[&str] =
    &["preallocated-connections <n>", "preallocated-half-open-connections <n>"];
const CHECKSUMS: &str = "checksums are computed where a device does not";
const NO_TLS: &str = "applications use TCP and UDP without TLS";
const TUNTAP: &[&str] = &[
    "mtu <n>",
    "enable",
    "ethernet",
    "ether",
    "have-normal-interface",
    "have-normal",
    "name <name>",
];
