//! The stanzas of the start-up configuration and their words, for manuals.

/// A stanza: its name, its purpose, and its words with their values and meanings.
pub type Entry = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// All stanzas with a meaning, and their words. [`IGNORED`](super::IGNORED) and
/// [`FORMER`](super::FORMER) have those without effect.
pub const REFERENCE: &[Entry] = &[
    ("unix", "The process, its files and its command line.", UNIX),
    ("cpu", "Threads and the CPUs they run on.", CPU),
    ("buffers", "Packet buffers.", BUFFERS),
    ("memory", "Memory. None of it has to be set: what is asked for is an upper bound.", MEMORY),
    ("physmem", "Memory of buffers and rings.", PHYSMEM),
    ("statseg", "The statistics segment, and Prometheus.", STATSEG),
    ("socksvr", "The socket of the binary API.", SOCKSVR),
    ("api-trace", "Recording of messages of the binary API.", API_TRACE),
    ("api-segment", "Accepted for the original's sake.", API_SEGMENT),
    ("node", "Variants of node functions, by node name, or `default' for all.", NODE),
    ("logging", "The log.", LOGGING),
    ("plugins", "Features, built in and in files.", PLUGINS),
    (
        "ip",
        "IP routing.",
        &[("route-counters on|off|auto", "whether routes have counters of their own")],
    ),
    (
        "punt",
        "Packets for programs of the host.",
        &[("socket <file>", "the socket that punted packets are sent from")],
    ),
    ("linux-cp", "Mirrors of interfaces in Linux.", LINUX_CP),
    (
        "linux-nl",
        "What the router follows of Linux.",
        &[("nl-rx-buffer-size <bytes>", "room for messages of the kernel that wait")],
    ),
    ("dpdk", "Interfaces on devices that DPDK drives; see `make dpdk'.", DPDK),
    ("http", "The API over HTTP, and the console; nothing is served without `listen'.", HTTP),
    ("dslite", "Dual-Stack Lite.", &[("ce", "be the customer's edge, not the provider's")]),
    ("ipsec", "Security of IP packets.", IPSEC),
    (
        "mactime",
        "Access by MAC address and time of day.",
        &[("timezone_offset <hours>", "hours that the local time is ahead of UTC: 0")],
    ),
    (
        "sfdp",
        "Sessions of services.",
        &[
            ("sessions-log2 <n>", "logarithm of the number of sessions on a thread: 19"),
            ("tenants-log2 <n>", "logarithm of the number of tenants: 15"),
            ("eviction-sessions-margin <n>", "sessions that there is to be room for: 65536"),
            ("timer-interval <seconds>", "time between two rounds that end sessions: 1"),
        ],
    ),
    (
        "cnat",
        "Address translation for services of a cluster.",
        &[
            ("session-max-age <seconds>", "silence after which a session is over: 30"),
            ("tcp-max-age <seconds>", "the same of established connections of TCP: 3600"),
            ("session-cleanup-timeout <seconds>", "time between two rounds that end sessions: 1"),
            ("scanner on|off", "whether there are such rounds"),
            ("session-max <count>", "sessions of a thread, of which one is never used: 1048576"),
            ("session-max-per-vrf <count>", "sessions of a thread and a routing table"),
            ("maglev-len <places>", "places of a Maglev table, a prime number: 1009"),
        ],
    ),
];

const IPSEC: &[(&str, &str)] = &[
    ("ipv4-outbound-spd-fast-path on|off", "find policies for what goes out by tables of them"),
    ("ipv4-inbound-spd-fast-path on|off", "the same for what comes in"),
    ("ipv6-outbound-spd-fast-path on|off", "the same for IPv6"),
    ("ipv6-inbound-spd-fast-path on|off", "the same for IPv6"),
    ("ipv4-outbound-spd-flow-cache on|off", "remember the policies of flows that go out"),
    ("ipv4-outbound-spd-hash-buckets <n>", "flows remembered on a thread: 4194304"),
    ("ipv4-inbound-spd-flow-cache on|off", "remember the policies of flows that come in"),
    ("ipv4-inbound-spd-hash-buckets <n>", "flows remembered on a thread: 4194304"),
];

const DPDK: &[(&str, &str)] = &[
    (
        "dev <address> { name <name> num-rx-queues <n> num-tx-queues <n> num-rx-desc <n> \
         num-tx-desc <n> devargs <text> }",
        "an interface on a device of the PCI bus; `default' for the options of those that follow",
    ),
    (
        "vdev <device>[,<options>] { … }",
        "an interface on a virtual device, such as net_memif0,role=client",
    ),
    ("no-hugepages", "memory of usual pages"),
    ("no-hugetlb", "the same"),
    ("socket-mem <megabytes>[,…]", "memory, by memory node; in all without hugepages"),
    ("huge-dir <folder>", "where hugepages are mounted"),
    ("num-mbufs <n>", "packets of DPDK's own pool; 16384 when not given"),
    ("no-pci", "no device of the PCI bus is looked at"),
    ("blacklist <address>", "a device of the PCI bus that is left alone; may come again"),
    ("iova-mode va|pa", "addresses that devices use"),
    ("log-level <level>", "how much DPDK says on standard error"),
    ("max-simd-bitwidth <bits>", "widest registers that its drivers use"),
    ("telemetry", "DPDK's own socket for statistics"),
    ("library <folder>", "where ferrovia_dpdk.so is"),
];

const HTTP: &[(&str, &str)] = &[
    ("listen <address>", "a port of this machine, or host:port; may come again"),
    ("listen unix <file>", "a socket in the file system; may come again"),
    ("token-file <file>", "tokens of clients; http.token in runtime-dir is made without"),
    ("certificate <file>", "certificates for TLS (PEM); other machines are served over TLS only"),
    ("key <file>", "their key (PEM)"),
    ("name <name>", "a name by which clients call the router; may come again"),
];

const UNIX: &[(&str, &str)] = &[
    ("nodaemon", "stay in the foreground"),
    ("interactive", "have a command line on standard input; stays in the foreground"),
    ("runtime-dir <folder>", "folder of the sockets; /run/vpp for root"),
    (
        "cli-listen <address>",
        "socket of the command line, a path or host:port; cli.sock in runtime-dir",
    ),
    ("startup-config <file>", "file of the configuration: loaded at start, written by `save'"),
    ("exec <file>", "file of commands to carry out at start; may come again"),
    ("gid <group>", "group of the folder and of the sockets: its members may use the router"),
    (
        "capabilities all|none|<names>",
        "capabilities(7) kept after the start, commas between; those a router needs if not given",
    ),
    ("log <file>", "file that commands and log entries are appended to"),
    ("pidfile <file>", "file that the process writes its number to"),
    ("nosyslog", "log to standard error, not to the system's log"),
    ("nobanner", "no greeting in interactive sessions"),
    ("cli-no-banner", "the same"),
    ("use-current-dir", "accepted, without effect"),
    ("nocolor", "accepted, without effect"),
    ("cli-no-color", "accepted, without effect"),
    ("cli-prompt <text>", "prompt of interactive sessions; `vpp#' when not given"),
    ("cli-no-pager", "no stop at the end of each page"),
    ("cli-pager-buffer-limit <n>", "accepted, without effect"),
    ("cli-line-mode", "no echo and no editing: for terminals that do it themselves"),
    ("cli-history-limit <n>", "lines kept of each session"),
    ("poll-sleep-usec <n>", "microseconds to sleep in each turn of the data plane"),
    ("full-coredump", "accepted, without effect: there are no core files"),
    ("coredump-size unlimited|<size>", "accepted, without effect: there are no core files"),
];

const CPU: &[(&str, &str)] = &[
    ("main-core <n>", "CPU of control or, without workers, of the data plane"),
    ("workers <n>", "threads that move packets"),
    ("corelist-workers <list>", "their CPUs, such as 2,4-6"),
    ("coremask-workers <mask>", "the same as bits in hexadecimal"),
    ("skip-cores <n>", "CPUs left free before the first worker's"),
    ("scheduler-policy <policy>", "other, batch, idle, fifo or rr"),
    ("scheduler-priority <n>", "priority for fifo and rr"),
    ("relative", "count the CPUs this process may use, not the machine's"),
    ("translate", "the same"),
    ("use-pthreads", "accepted, without effect"),
    ("thread-prefix <text>", "accepted, without effect"),
    ("numa-heap-size <size>", "accepted, without effect"),
];

const BUFFERS: &[(&str, &str)] = &[
    ("buffers-per-numa <n>", "buffers on each NUMA node"),
    ("default data-size <bytes>", "bytes of packet data in a buffer; 2048 when not given"),
    ("page-size <size>", "pages of the pools: a size, default or default-hugepage"),
    ("layout packed|natural", "accepted; buffers are packed"),
    ("numa <n> { … }", "accepted, without effect"),
];

const MEMORY: &[(&str, &str)] = &[
    ("main-heap-size <size>", "accepted, without effect"),
    ("main-heap-page-size <size>", "accepted, without effect"),
    ("default-hugepage-size <size>", "pages where default huge pages are asked for"),
];

const PHYSMEM: &[(&str, &str)] = &[
    ("max-size <size>", "most memory for packet buffers and rings"),
    ("base-addr <text>", "accepted, without effect"),
];

const STATSEG: &[(&str, &str)] = &[
    ("socket-name <file>", "its socket; stats.sock in runtime-dir"),
    ("default", "the default socket"),
    ("size <size>", "its size"),
    ("page-size <size>", "accepted, without effect"),
    ("per-node-counters on|off", "calls, vectors, clocks and suspends of each node"),
    (
        "update-interval <seconds>",
        "time between updates of what control computes; 10 when not given",
    ),
    (
        "prometheus <address>",
        "serves the numbers to Prometheus on a port of this machine, or host:port",
    ),
];

const SOCKSVR: &[(&str, &str)] = &[
    ("socket-name <file>", "the socket; api.sock in runtime-dir"),
    ("default", "the default socket"),
];

const API_TRACE: &[(&str, &str)] = &[
    ("on", "record from the start"),
    ("enable", "the same"),
    ("off", "do not"),
    ("disable", "the same"),
    ("nitems <n>", "messages to keep"),
    ("save-api-table <file>", "file to write the message table to"),
];

const API_SEGMENT: &[(&str, &str)] = &[
    ("prefix <text>", "prefix that tells several routers on one machine apart"),
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
    ("unthrottle-time <seconds>", "time after which a class that was cut off may log again"),
    ("nthrottle-time <seconds>", "the same"),
    ("default-log-level <level>", "entries of this level and the more severe ones are kept"),
    ("default-syslog-log-level <level>", "entries of this level go to the system's log"),
    ("default-kmsg-log-level <level>", "accepted, without effect"),
    ("add-to-elog", "accepted, without effect"),
    ("class <name> { level <level> }", "the level of one class"),
    ("class <name> { syslog-level <level> }", "its level in the system's log"),
    ("class <name> { kmsg-level <level> }", "accepted, without effect"),
    ("class <name> { rate-limit <n> }", "its entries a second"),
];

const PLUGINS: &[(&str, &str)] = &[
    ("path <folder>", "folder of plugins in files"),
    ("add-path <folder>", "one more folder"),
    ("plugin <name> { enable }", "have this feature; NAME_plugin.so is the same as NAME"),
    ("plugin <name> { disable }", "do not have it"),
    ("plugin <name> { skip-version-check }", "take it although it was made for another version"),
    ("default { disable }", "no plugin that is not named"),
    ("name-filter <text>", "accepted, without effect"),
    ("vat-path <text>", "accepted, without effect"),
    ("vat-name-filter <text>", "accepted, without effect"),
];

const LINUX_CP: &[(&str, &str)] = &[
    ("default netns <namespace>", "network namespace of mirrors for which none is named"),
    ("default-netns <namespace>", "the same"),
    ("lcp-sync", "mirrors get state, MTU and addresses of their interfaces"),
    ("lcp-auto-subint", "sub-interfaces get mirrors by themselves"),
    ("lcp-sync-unnumbered", "addresses of unnumbered interfaces are synchronised as well"),
    ("del-static-on-link-down", "static routes over a device that goes down are deleted"),
    ("del-dynamic-on-link-down", "dynamic routes over a device that goes down are deleted"),
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
