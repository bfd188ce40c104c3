//! The stanzas of the start-up configuration and their words, for manuals.

/// A stanza: its name, its purpose, and its words with their values and meanings.
pub type Entry = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// All stanzas with a meaning, and their words. [`IGNORED`](super::IGNORED) and
/// [`FORMER`](super::FORMER) have those without effect.
pub const REFERENCE: &[Entry] = &[
    ("unix", "The process, its files and its command line.", UNIX),
    ("cpu", "Threads and the CPUs they run on.", CPU),
    ("buffers", "Packet buffers.", BUFFERS),
    ("memory", "Memory. All settings are optional upper bounds.", MEMORY),
    ("physmem", "Memory of buffers and rings.", PHYSMEM),
    ("statseg", "The statistics segment, and Prometheus.", STATSEG),
    ("socksvr", "The socket of the binary API.", SOCKSVR),
    ("api-trace", "Recording of messages of the binary API.", API_TRACE),
    ("api-segment", "Accepted for compatibility.", API_SEGMENT),
    ("node", "Variants of node functions, by node name, or `default' for all.", NODE),
    ("logging", "The log.", LOGGING),
    ("plugins", "Plugins, built in and in files.", PLUGINS),
    (
        "ip",
        "IP routing.",
        &[
            ("route-counters on|off|auto", "per-route counters"),
            ("default-table-name <name>", "name of IPv4 table 0"),
        ],
    ),
    ("ip6", "IPv6 routing.", &[("default-table-name <name>", "name of IPv6 table 0")]),
    (
        "l2learn",
        "Learning of MAC addresses.",
        &[("limit <n>", "addresses that a bridge domain learns at most")],
    ),
    (
        "trace",
        "Packet traces.",
        &[("timestamp-format relative|unix|datetime", "format of timestamps")],
    ),
    ("vlib", "The event log.", &[("elog-events <n>", "events kept")]),
    (
        "punt",
        "Packets punted to host programs.",
        &[("socket <file>", "socket that punted packets are sent from")],
    ),
    ("linux-cp", "Mirrors of interfaces in Linux.", LINUX_CP),
    (
        "linux-nl",
        "Netlink listener: Linux routes, neighbors and addresses.",
        &[("nl-rx-buffer-size <bytes>", "receive buffer of the netlink socket")],
    ),
    ("dpdk", "Interfaces on DPDK devices; see `make dpdk'.", DPDK),
    ("http", "The HTTP API and the console; nothing is served without `listen'.", HTTP),
    (
        "dslite",
        "Dual-Stack Lite.",
        &[(
            "ce",
            "act as the customer edge (B4) instead of the \
        provider's (AFTR)",
        )],
    ),
    ("ipsec", "IPsec.", IPSEC),
    (
        "mactime",
        "Access by MAC address and time of day.",
        &[("timezone_offset <hours>", "offset of local time from UTC in hours; default 0")],
    ),
    (
        "sfdp",
        "Stateful flow data plane: sessions and services.",
        &[
            ("sessions-log2 <n>", "log2 of the sessions per thread; default 19"),
            ("tenants-log2 <n>", "log2 of the number of tenants; default 15"),
            ("eviction-sessions-margin <n>", "free sessions to keep; default 65536"),
            ("timer-interval <seconds>", "interval between expiry scans; default 1"),
        ],
    ),
    (
        "session",
        "The session layer of the host stack; off without `enable'.",
        &[
            ("enable", "enable it, with session rules"),
            ("enable rt-backend rule-table|sdl", "the same, with rules or the source deny list"),
            ("use-app-socket-api", "programs attach through sockets in app_ns_sockets"),
            ("min-src-port <port>", "first local port of outgoing connections; default 1024"),
            ("max-src-port <port>", "last local port of outgoing connections; default 65535"),
        ],
    ),
    ("tcp", "TCP of the host stack. Times are in seconds.", TCP),
    (
        "cnat",
        "Address translation for cluster services.",
        &[
            ("session-max-age <seconds>", "idle timeout of sessions; default 30"),
            ("tcp-max-age <seconds>", "idle timeout of established TCP connections; default 3600"),
            ("session-cleanup-timeout <seconds>", "interval between expiry scans; default 1"),
            ("scanner on|off", "enable expiry scans"),
            (
                "session-max <count>",
                "sessions per thread, one of which is never used; default \
                1048576",
            ),
            ("session-max-per-vrf <count>", "sessions per thread and table"),
            ("maglev-len <places>", "size of a Maglev table, a prime number; default 1009"),
        ],
    ),
];

const TCP: &[(&str, &str)] = &[
    ("cc-algo cubic|newreno", "congestion control of new connections; default cubic"),
    ("mtu <n>", "longest packet sent; default 1500"),
    ("max-rx-fifo <size>", "largest receive queue; default 32M"),
    ("initial-cwnd-multiplier <n>", "multiple of the initial congestion window"),
    ("max-gso-size <n>", "longest super-segment; default 65536"),
    ("tso", "hand super-segments down; default"),
    ("no-dsack", "do not report duplicate segments (RFC 2883)"),
    ("syn-rcvd-time <n>", "in SYN-RECEIVED; default 60"),
    ("finwait1-time <n>", "in FIN-WAIT-1 without acknowledgment; default 60"),
    ("finwait2-time <n>", "in FIN-WAIT-2 after the application closed; default 30"),
    ("closing-time <n>", "in CLOSING; default 30"),
    ("lastack-time <n>", "in LAST-ACK; default 30"),
    ("timewait-time <n>", "in TIME-WAIT; default 60"),
];

const IPSEC: &[(&str, &str)] = &[
    ("ipv4-outbound-spd-fast-path on|off", "look up outbound policies in a table"),
    ("ipv4-inbound-spd-fast-path on|off", "the same for inbound policies"),
    ("ipv6-outbound-spd-fast-path on|off", "the same for IPv6"),
    ("ipv6-inbound-spd-fast-path on|off", "the same for IPv6"),
    ("ipv4-outbound-spd-flow-cache on|off", "cache the policies of outbound flows"),
    ("ipv4-outbound-spd-hash-buckets <n>", "cached flows per thread; default 4194304"),
    ("ipv4-inbound-spd-flow-cache on|off", "cache the policies of inbound flows"),
    ("ipv4-inbound-spd-hash-buckets <n>", "cached flows per thread; default 4194304"),
];

const DPDK: &[(&str, &str)] = &[
    (
        "dev <address> { name <name> num-rx-queues <n> num-tx-queues <n> num-rx-desc <n> \
         num-tx-desc <n> devargs <text> }",
        "an interface on a PCI device; `default' for the options of the following ones",
    ),
    (
        "vdev <device>[,<options>] { … }",
        "an interface on a virtual device, such as net_memif0,role=client",
    ),
    ("no-hugepages", "use regular pages"),
    ("no-hugetlb", "the same"),
    ("socket-mem <megabytes>[,…]", "memory per NUMA node; in total without hugepages"),
    ("huge-dir <folder>", "where hugepages are mounted"),
    ("num-mbufs <n>", "packets in DPDK's own pool; default 16384"),
    ("no-pci", "do not probe the PCI bus"),
    ("blacklist <address>", "PCI device to ignore; may be repeated"),
    ("iova-mode va|pa", "addressing mode of devices"),
    ("log-level <level>", "DPDK log level, on standard error"),
    ("max-simd-bitwidth <bits>", "widest SIMD registers of its drivers"),
    ("telemetry", "enable DPDK's telemetry socket"),
    ("library <folder>", "directory of ferrovia_dpdk.so"),
];

const HTTP: &[(&str, &str)] = &[
    ("listen <address>", "local port, or host:port; may be repeated"),
    ("listen unix <file>", "Unix socket; may be repeated"),
    ("token-file <file>", "file of client tokens; default: http.token in runtime-dir is created"),
    ("certificate <file>", "TLS certificates (PEM); required to serve other machines"),
    ("key <file>", "TLS key (PEM)"),
    ("name <name>", "host name of the router for clients; may be repeated"),
];

const UNIX: &[(&str, &str)] = &[
    ("nodaemon", "stay in the foreground"),
    ("interactive", "command line on standard input; stays in the foreground"),
    ("runtime-dir <folder>", "directory of the sockets; /run/vpp for root"),
    ("cli-listen <address>", "CLI socket, a path or host:port; default cli.sock in runtime-dir"),
    ("startup-config <file>", "configuration file: loaded at start, written by `save'"),
    ("exec <file>", "file of commands to run at start; may be repeated"),
    ("gid <group>", "group of the directory and the sockets: its members may use the router"),
    (
        "capabilities all|none|<names>",
        "capabilities(7) kept after start, comma-separated; default those a router needs",
    ),
    ("log <file>", "file to append commands and log entries to"),
    ("pidfile <file>", "file to write the process ID to"),
    ("nosyslog", "log to standard error, not to the system log"),
    ("nobanner", "no greeting in interactive sessions"),
    ("cli-no-banner", "the same"),
    ("use-current-dir", "accepted, without effect"),
    ("nocolor", "accepted, without effect"),
    ("cli-no-color", "accepted, without effect"),
    ("cli-prompt <text>", "prompt of interactive sessions; default `vpp#'"),
    ("cli-no-pager", "do not page output"),
    ("cli-pager-buffer-limit <n>", "accepted, without effect"),
    ("cli-line-mode", "no echo and no editing, for terminals that do both"),
    ("cli-history-limit <n>", "history lines kept per session"),
    ("poll-sleep-usec <n>", "microseconds to sleep in each loop of the data plane"),
    ("full-coredump", "accepted, without effect: there are no core files"),
    ("coredump-size unlimited|<size>", "accepted, without effect: there are no core files"),
];

const CPU: &[(&str, &str)] = &[
    ("main-core <n>|auto", "CPU of control, or of the data plane without workers"),
    ("workers <n>", "number of worker threads"),
    ("corelist-workers <list>", "CPUs of the workers, such as 2,4-6"),
    ("coremask-workers <mask>", "the same as a hexadecimal mask"),
    ("skip-cores <n>", "CPUs to skip before the first worker"),
    ("scheduler-policy <policy>", "other, batch, idle, fifo or rr"),
    ("scheduler-priority <n>", "priority for fifo and rr"),
    ("relative", "count only the CPUs this process may use"),
    ("translate", "the same"),
    ("use-pthreads", "accepted, without effect"),
    ("thread-prefix <text>", "accepted, without effect"),
    ("numa-heap-size <size>", "accepted, without effect"),
];

const BUFFERS: &[(&str, &str)] = &[
    ("buffers-per-numa <n>", "buffers per NUMA node"),
    ("default data-size <bytes>", "data bytes per buffer; default 2048"),
    ("page-size <size>", "page size of the pools: a size, default or default-hugepage"),
    ("layout packed|natural", "accepted; buffers are packed"),
    ("numa <n> { … }", "accepted, without effect"),
];

const MEMORY: &[(&str, &str)] = &[
    ("main-heap-size <size>", "accepted, without effect"),
    ("main-heap-page-size <size>", "accepted, without effect"),
    ("default-hugepage-size <size>", "page size of default-hugepage"),
];

const PHYSMEM: &[(&str, &str)] = &[
    ("max-size <size>", "maximum memory for packet buffers and rings"),
    ("base-addr <text>", "accepted, without effect"),
];

const STATSEG: &[(&str, &str)] = &[
    ("socket-name <file>", "its socket; default stats.sock in runtime-dir"),
    ("default", "the default socket"),
    ("size <size>", "its size"),
    ("page-size <size>", "accepted, without effect"),
    ("per-node-counters on|off", "count calls, vectors, clocks and suspends of each node"),
    ("update-interval <seconds>", "time between updates of computed statistics; default 10"),
    ("prometheus <address>", "serve Prometheus metrics on a local port, or host:port"),
];

const SOCKSVR: &[(&str, &str)] = &[
    ("socket-name <file>", "the socket; default api.sock in runtime-dir"),
    ("default", "the default socket"),
];

const API_TRACE: &[(&str, &str)] = &[
    ("on", "record from the start"),
    ("enable", "the same"),
    ("off", "do not record"),
    ("disable", "the same"),
    ("nitems <n>", "messages to keep"),
    ("save-api-table <file>", "file to write the message table to"),
];

const API_SEGMENT: &[(&str, &str)] = &[
    ("prefix <text>", "prefix that distinguishes several routers on one machine"),
    ("uid <text>", "owner"),
    ("gid <group>", "group"),
    ("baseva <text>", "accepted, without effect"),
    ("global-size <size>", "accepted, without effect"),
    ("global-pvt-heap-size <size>", "accepted, without effect"),
    ("api-size <size>", "accepted, without effect"),
    ("api-pvt-heap-size <size>", "accepted, without effect"),
];

const NODE: &[(&str, &str)] = &[
    ("default { variant <name> }", "the variant of all nodes: baseline, hsw, skx or icl"),
    ("<node> { variant <name> }", "the variant of one node"),
];

const LOGGING: &[(&str, &str)] = &[
    ("size <n>", "entries kept in memory"),
    ("unthrottle-time <seconds>", "time after which a silenced class may log again"),
    ("nthrottle-time <seconds>", "the same"),
    ("default-log-level <level>", "minimum severity of entries kept"),
    ("default-syslog-log-level <level>", "minimum severity of entries sent to the system log"),
    ("default-kmsg-log-level <level>", "accepted, without effect"),
    ("add-to-elog", "accepted, without effect"),
    ("class <name> { level <level> }", "level of one class"),
    ("class <name> { syslog-level <level> }", "its level for the system log"),
    ("class <name> { kmsg-level <level> }", "accepted, without effect"),
    ("class <name> { rate-limit <n> }", "its entries per second"),
];

const PLUGINS: &[(&str, &str)] = &[
    ("path <folder>", "directory of plugin files"),
    ("add-path <folder>", "another directory"),
    ("plugin <name> { enable }", "load this plugin; NAME_plugin.so is the same as NAME"),
    ("plugin <name> { disable }", "do not load it"),
    ("plugin <name> { skip-version-check }", "load it although it was built for another version"),
    ("default { disable }", "load only the plugins named"),
    ("name-filter <text>", "accepted, without effect"),
    ("vat-path <text>", "accepted, without effect"),
    ("vat-name-filter <text>", "accepted, without effect"),
];

const LINUX_CP: &[(&str, &str)] = &[
    ("default netns <namespace>", "default network namespace of mirrors"),
    ("default-netns <namespace>", "the same"),
    ("lcp-sync", "copy state, MTU and addresses of interfaces to their mirrors"),
    ("lcp-auto-subint", "create mirrors of sub-interfaces automatically"),
    ("lcp-sync-unnumbered", "copy addresses of unnumbered interfaces as well"),
    ("del-static-on-link-down", "delete static routes over a device when it goes down"),
    ("del-dynamic-on-link-down", "delete dynamic routes over a device when it goes down"),
];

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    /// A value of the kind that a usage names.
    const SAMPLES: &[(&str, &str)] = &[
        ("<n>", "1"),
        ("<size>", "2M"),
        ("<bytes>", "2048"),
        ("<seconds>", "5"),
        ("<hours>", "5"),
        ("<list>", "1-2"),
        ("<mask>", "0x6"),
        ("<policy>", "fifo"),
        ("<level>", "notice"),
    ];

    fn example(usage: &str) -> String {
        let word = |word: &str| {
            let first = word.split('|').next().unwrap_or_default();
            let sample = SAMPLES.iter().find(|(kind, _)| *kind == first).map(|s| s.1);
            sample.unwrap_or(if first.starts_with('<') { "x" } else { first }).to_owned()
        };
        usage.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn all_words_are_accepted() {
        for (stanza, _, words) in REFERENCE {
            for (usage, _) in *words {
                let text = format!(
                    "{stanza} {{ {} }}",
                    example(&usage.replace("{ … }", "{ }"))
                        .replace("prometheus x", "prometheus 9482")
                );
                Config::parse(&text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
            }
        }
    }

    #[test]
    fn words_without_effect_are_accepted_and_noted() {
        use super::super::ignored::{FORMER, IGNORED};
        for (stanza, _, why, words) in IGNORED {
            for usage in *words {
                let inner = example(&usage.replace("{ … }", "{ }"));
                let text = match stanza.split_once(' ') {
                    Some(("dpdk", _)) => format!("dpdk {{ dev x {{ {inner} }} }}"),
                    Some((stanza, block)) => format!("{stanza} {{ {block} {{ {inner} }} }}"),
                    None if *stanza == "test_plugin_path" => format!("{stanza} {inner}"),
                    None if inner.starts_with("kmsg-level") => {
                        format!("{stanza} {{ class x {{ {inner} }} }}")
                    }
                    None => format!("{stanza} {{ {inner} }}"),
                };
                let config = Config::parse(&text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
                assert!(!config.notices.is_empty() && !why.is_empty(), "{text}");
            }
        }
        for (names, ..) in FORMER {
            for name in *names {
                let config = Config::parse(&format!("{name} {{ any words {{ }} }}"), &[]);
                assert_eq!(config.unwrap_or_else(|e| panic!("{name}: {e}")).notices.len(), 1);
            }
        }
    }

    #[test]
    fn all_words_that_are_read_are_described() {
        let sources = [
            ("unix", include_str!("unix.rs")),
            ("cpu", include_str!("cpu.rs")),
            ("buffers memory physmem", include_str!("memory.rs")),
            ("statseg socksvr api-trace api-segment", include_str!("sockets.rs")),
            ("logging", include_str!("logging.rs")),
            ("plugins", include_str!("plugins.rs")),
        ];
        for (stanzas, source) in sources {
            let known = REFERENCE.iter().filter(|e| stanzas.split(' ').any(|s| s == e.0));
            let known: Vec<_> =
                known.flat_map(|e| e.2.iter().flat_map(|w| w.0.split([' ', '|']))).collect();
            let sections = source.split("impl Section for").skip(1);
            let bodies = sections.map(|s| s.split("\n}\n").next().unwrap_or_default());
            let mut count = 0;
            for line in bodies.flat_map(str::lines) {
                let Some((pattern, _)) = line.split_once("=>") else { continue };
                for word in pattern.split('"').skip(1).step_by(2) {
                    assert!(known.contains(&word), "{stanzas}: {word}");
                    count += 1;
                }
            }
            assert!(count > 3, "{stanzas}: {count} words");
        }
    }
}
