//! Commands that a configuration may have: those that make or take back state of the router alone.
//!
//! A trial runs no others. Commands that show, act once, or reach files, sessions or the network
//! are excluded.

use control::cli::Error;

/// First words of commands that make a configuration.
const MAKING: &[&str] = &[
    "abf",
    "adjacency counters",
    "adl",
    "app ns",
    "auto-sdl",
    "bfd",
    "bier",
    "binary-api adl_allowlist_enable_disable",
    "binary-api adl_interface_enable_disable",
    "bond",
    "buffer metadata tracking",
    "bvi",
    "cdp",
    "classify",
    "cnat",
    "comment",
    "configure policer",
    "create",
    "define",
    "delete",
    "det44",
    "dhcp6",
    "disable",
    "dns",
    "dslite",
    "echo",
    "enable",
    "firewall",
    "flow",
    "flowprobe",
    "http cli server",
    "http static",
    "igmp",
    "ikev2",
    "interface collect detailed-stats",
    "ip",
    "ip6",
    "ipfix classify",
    "ipfix exporter",
    "ipsec",
    "l2 rewrite entry",
    "l2fib add",
    "l2fib del",
    "l3xc",
    "lb",
    "lcp",
    "loopback",
    "mactime",
    "map",
    "mpls",
    "nat",
    "nat44",
    "nat64",
    "nat66",
    "npol",
    "nsim",
    "p2p_ethernet",
    "packet-generator coalesce",
    "packet-generator mac-filter",
    "pipe",
    "plugin",
    "policer",
    "prom",
    "punt socket",
    "pvti",
    "qos",
    "renumber interface",
    "scheduler",
    "session",
    "set",
    "sfdp",
    "sflow",
    "soft-rss",
    "sr",
    "stn",
    "svs",
    "tcp src-address",
    "test igmp timers",
    "test l2patch",
    "test lcp",
    "udp",
    "uncomment",
    "undefine",
    "vrrp",
    "wireguard",
];

/// First words of commands that make none, also below those that do.
const OTHERS: &[&str] = &[
    "api",
    "app crypto",
    "arping",
    "binary-api",
    "capture",
    "clear",
    "cnat purge",
    "commit",
    "configure",
    "debug",
    "det44 close",
    "device",
    "event-logger",
    "exec",
    "exit",
    "explain",
    "firewall explain",
    "help",
    "history",
    "ikev2 initiate",
    "ipfix flush",
    "kill",
    "l2fib flush-mac",
    "lb flush",
    "monitor",
    "nat44 del",
    "nat44 ei del",
    "nat44 ei ha flush",
    "nat44 ei ha resync",
    "npol match",
    "packet-generator",
    "pcap",
    "perfmon",
    "ping",
    "policer reset",
    "q",
    "quit",
    "save",
    "set clock",
    "set terminal",
    "show",
    "suspend",
    "test",
    "trace",
    "tracenode",
    "traceroute",
    "wait",
    "vperf",
];

/// First words of commands that leave the configuration as it is, whatever their arguments.
const LOOKING: &[&str] = &[
    "arping",
    "capture",
    "clear drops",
    "clear errors",
    "clear hardware-interfaces",
    "clear interfaces",
    "clear logging",
    "clear node counters",
    "clear runtime",
    "clear trace",
    "commit",
    "configure",
    "exec",
    "exit",
    "explain",
    "firewall explain",
    "help",
    "history",
    "monitor",
    "npol match",
    "pcap",
    "perfmon",
    "ping",
    "q",
    "quit",
    "save",
    "set terminal",
    "show",
    "suspend",
    "trace",
    "tracenode",
    "traceroute",
    "wait",
];

/// Whether the command with a path may change the configuration. Those that `exec` and `configure`
/// run count by themselves.
pub fn may_change(path: &str) -> bool {
    !LOOKING.iter().any(|words| begins(path, words))
}

/// Whether the command with a path makes a configuration; `None` if its words are not known.
pub fn makes_configuration(path: &str) -> Option<bool> {
    let longest = |list: &[&str]| list.iter().filter(|w| begins(path, w)).map(|w| w.len()).max();
    match (longest(MAKING), longest(OTHERS)) {
        (None, None) => None,
        (making, other) => Some(making > other),
    }
}

/// Whether a path has these words at its beginning.
pub fn begins(path: &str, words: &str) -> bool {
    path.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Refuses commands that make no configuration.
pub fn limit(path: &str) -> Result<(), Error> {
    match makes_configuration(path) {
        Some(true) => Ok(()),
        _ => Err(Error::new(format!("`{path}' is not a configuration command"))),
    }
}
