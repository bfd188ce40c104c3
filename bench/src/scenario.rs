//! Configurations and streams, as lines that any daemon of this command line understands.

use std::path::Path;

use crate::sealed;

/// Lines that set a router up, and the one that makes its traffic.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name in the results.
    pub name: String,
    /// Configuration.
    pub setup: Vec<String>,
    /// The stream of the packet generator.
    pub stream: String,
}

const INTERFACES: [&str; 5] = [
    "create packet-generator interface pg0",
    "create packet-generator interface pg1",
    "set interface mac address pg0 02:00:00:00:00:aa",
    "set interface state pg0 up",
    "set interface state pg1 up",
];
const IP4: [&str; 3] = [
    "set interface ip address pg0 10.0.0.1/24",
    "set interface ip address pg1 10.0.1.1/24",
    "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb static",
];
const IP6: [&str; 3] = [
    "set interface ip address pg0 2001:db8:0::1/64",
    "set interface ip address pg1 2001:db8:1::1/64",
    "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb static",
];
/// Neighbours of the random table.
pub const NEIGHBORS: u32 = 64;

/// Both interfaces, with addresses and a neighbour of the version, if it is one.
pub fn base(version: u8) -> Vec<String> {
    let addresses: &[&str] = match version {
        4 => &IP4,
        6 => &IP6,
        _ => &[],
    };
    INTERFACES.iter().chain(addresses).map(|line| (*line).to_owned()).collect()
}

/// The line that adds (or, `verb` being `del`, withdraws) so many consecutive host routes.
pub fn count(verb: &str, n: u64) -> String {
    format!("ip route {verb} count {n} 16.0.0.0/32 via 10.0.1.2 pg1")
}

/// Both interfaces in a bridge domain.
const BRIDGE: [&str; 2] = ["set interface l2 bridge pg0 1", "set interface l2 bridge pg1 1"];

/// A bridge domain with the receive interface and a tunnel out of the other one.
const VXLAN: [&str; 5] = [
    "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 5",
    "set interface state vxlan_tunnel0 up",
    "set interface l2 bridge pg0 1",
    "set interface l2 bridge vxlan_tunnel0 1",
    "l2fib add 02:00:00:00:10:00 1 vxlan_tunnel0 static",
];
/// A route into a tunnel out of the other interface.
const GRE: [&str; 4] = [
    "create gre tunnel src 10.0.1.1 dst 10.0.1.2",
    "set interface state gre0 up",
    "set interface ip address gre0 10.9.0.1/24",
    "ip route add 16.0.0.0/8 via gre0",
];
/// A label for another.
const SWAP: [&str; 3] = [
    "mpls table add 0",
    "set interface mpls pg0 enable",
    "mpls local-label add 33 eos via 10.0.1.2 pg1 out-labels 44",
];
/// A label put on.
const PUSH: [&str; 2] =
    ["mpls table add 0", "ip route add 16.0.0.0/8 via 10.0.1.2 pg1 out-labels 44"];

/// Translation between the interfaces, with ports for eight million sessions to one far end.
const NAT44: [&str; 3] = [
    "nat44 plugin enable sessions 8000000",
    "set interface nat44 in pg0 out pg1",
    "nat44 add address 192.0.2.0 - 192.0.2.127",
];

/// A stream to one IPv4 address, or to random ones of a range `a+b`.
pub fn ip4_stream(dst: &str) -> String {
    format!(
        "packet-generator new {{ name s0 limit 0 size 64-64 interface pg0 node ethernet-input data \
         {{ IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> {dst} \
         UDP: 1234 -> 2345 incrementing 22 }} }}"
    )
}

/// The first `n` host addresses from 16.0.0.0 on, as a stream draws them at random.
pub fn range(n: u64) -> String {
    let [_, b, c, d] = (n as u32 - 1).to_be_bytes();
    if n == 1 { "16.0.0.0".to_owned() } else { format!("16.0.0.0+16.{b}.{c}.{d}") }
}

/// Lines that make a sub-interface for a VLAN, with an address.
pub fn vlan(parent: &str, vlan: u16) -> Vec<String> {
    let [high, low] = vlan.to_be_bytes();
    let net = if parent == "pg0" { 11 } else { 12 };
    vec![
        format!("create sub-interfaces {parent} {vlan}"),
        format!("set interface state {parent}.{vlan} up"),
        format!("set interface ip address {parent}.{vlan} {net}.{high}.{low}.1/24"),
    ]
}

/// These lines, and a route that leads through a VLAN of `pg1`.
fn vlan_routes(lines: impl Iterator<Item = String>) -> Vec<String> {
    let end = [
        "set ip neighbor pg1.100 12.0.100.2 02:00:00:00:00:bb static",
        "ip route add 16.0.0.0/8 via 12.0.100.2 pg1.100",
    ];
    lines.chain(end.map(str::to_owned)).collect()
}

/// A stream of the packets of a capture.
pub fn replay(folder: &Path, file: &str) -> String {
    let file = folder.join(file);
    format!(
        "packet-generator new {{ name s0 limit 100000000000 interface pg0 node ethernet-input \
         pcap {} }}",
        file.display()
    )
}

/// A scenario with packets that get headers or labels: version, set-up and stream.
fn behind_headers(name: &str, folder: &Path) -> Option<(u8, Vec<String>, String)> {
    let one = ip4_stream("16.0.0.1");
    if name == "mpls-1m" {
        let labels = format!("exec {}", folder.join("mpls-1m.labels").display());
        let lines = SWAP[..2].iter().map(|line| (*line).to_owned()).chain([labels]);
        return Some((4, lines.collect(), replay(folder, "mpls-1m.pcap")));
    }
    let (lines, stream) = match name {
        "vxlan-encap" => (&VXLAN[..], one.replace("00:00:aa", "00:10:00")),
        "gre" => (&GRE[..], one),
        "mpls-push" => (&PUSH[..], one),
        "mpls-swap" => (&SWAP[..], replay(folder, "mpls.pcap")),
        "mpls-1m-one" => (&SWAP[..], replay(folder, "mpls-1m-one.pcap")),
        _ => return None,
    };
    Some((4, lines.iter().map(|line| (*line).to_owned()).collect(), stream))
}

/// A scenario with packets that are translated or sealed: version, set-up and stream.
fn translated(name: &str, folder: &Path) -> Option<(u8, Vec<String>, String)> {
    let route = "ip route add 16.0.0.0/8 via 10.0.1.2 pg1";
    let mut lines: Vec<String> = [route].into_iter().chain(NAT44).map(str::to_owned).collect();
    let stream = match name {
        "nat44-15k" | "nat44-1m-sessions" => replay(folder, &format!("{name}.pcap")),
        // Hosts by chance among four millions, whose sessions are soon over.
        "nat44-setup" => {
            lines.push("set nat timeout udp 1".to_owned());
            ip4_stream("16.0.0.1").replace("10.0.0.2", "10.64.0.0+10.127.255.255")
        }
        _ => return sealed::scenario(name, folder),
    };
    Some((4, lines, stream))
}

impl Scenario {
    /// The scenario of this name; its files are in `folder`.
    pub fn named(name: &str, folder: &Path) -> Option<Self> {
        let exec = |file: &str| format!("exec {}", folder.join(file).display());
        let all16 = "ip route add 16.0.0.0/8 via 10.0.1.2 pg1".to_owned();
        let neighbor =
            |i: u32| format!("set ip neighbor pg1 10.0.1.{} 02:00:00:00:01:{i:02x} static", i + 3);
        let dense = |n: u64| (4, vec![count("add", n)], ip4_stream(&range(n)));
        let one = |n: u64| (4, vec![all16.clone()], ip4_stream(&range(n)));
        let (version, more, stream) = match name {
            "ip4-1" => (4, vec![all16], ip4_stream("16.0.0.1")),
            "ip4-255k" => dense(1 << 18),
            "ip4-1m" => dense(1 << 20),
            "ip4-8m" => dense(1 << 23),
            "ip4-1m-one" => one(1 << 20),
            "ip4-8m-one" => one(1 << 23),
            "bgp4-1m" => (4, vec![exec("bgp4.routes")], replay(folder, "bgp4.pcap")),
            "ip4-rand1m" => {
                let mut lines: Vec<String> = (0..NEIGHBORS).map(neighbor).collect();
                lines.push(exec("rand4.routes"));
                (4, lines, replay(folder, "rand4.pcap"))
            }
            "ip4-rand1m-one" => {
                let default = "ip route add 0.0.0.0/0 via 10.0.1.2 pg1".to_owned();
                (4, vec![default], replay(folder, "rand4.pcap"))
            }
            "ip6-1" => {
                let route = "ip route add 2001:db8:ff::/48 via 2001:db8:1::2 pg1".to_owned();
                let stream = ip4_stream("").replace("IP4:", "IP6:");
                let stream = stream.replace("10.0.0.2 -> ", "2001:db8::2 -> 2001:db8:ff::1");
                (6, vec![route], stream.replace("incrementing 22", "incrementing 2"))
            }
            "vlan-1" => {
                let stream = ip4_stream("16.0.0.1").replace(":aa UDP", ":aa vlan 100 UDP");
                let setup = vlan_routes(["pg0", "pg1"].into_iter().flat_map(|on| vlan(on, 100)));
                (4, setup, stream.replace("incrementing 22", "incrementing 18"))
            }
            "vlan-4k" => {
                let setup = vlan_routes(std::iter::once(exec("vlans.setup")));
                (4, setup, replay(folder, "vlans.pcap"))
            }
            "acl-50" | "acl-1k" | "acl-100k" => {
                let to = if name == "acl-50" { range(1) } else { range(1 << 20) };
                let apply = "set acl-plugin interface pg0 input acl 0".to_owned();
                (4, vec![all16, exec(&format!("{name}.rules")), apply], ip4_stream(&to))
            }
            "xconnect" => {
                let both = [("pg0", "pg1"), ("pg1", "pg0")];
                let lines = both.map(|(rx, tx)| format!("set interface l2 xconnect {rx} {tx}"));
                (0, lines.to_vec(), ip4_stream("16.0.0.1"))
            }
            "l2bd-1" => {
                let one = "l2fib add 02:00:00:00:10:00 1 pg1 static";
                let lines = BRIDGE.into_iter().chain([one]).map(str::to_owned).collect();
                (0, lines, ip4_stream("16.0.0.1").replace("00:00:aa", "00:10:00"))
            }
            "l2bd-100k" | "l2bd-1m" => {
                let lines = BRIDGE.map(str::to_owned).into_iter();
                let lines = lines.chain([exec(&format!("{name}.macs"))]).collect();
                (0, lines, replay(folder, &format!("{name}.pcap")))
            }
            "bgp6-220k" => (6, vec![exec("bgp6.routes")], replay(folder, "bgp6.pcap")),
            "bgp6-one" => {
                let default = "ip route add ::/0 via 2001:db8:1::2 pg1".to_owned();
                (6, vec![default], replay(folder, "bgp6.pcap"))
            }
            _ => behind_headers(name, folder).or_else(|| translated(name, folder))?,
        };
        let mut setup = base(version);
        setup.extend(more);
        Some(Self { name: name.to_owned(), setup, stream })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_draw_from_the_routes_there_are() {
        assert_eq!(range(1), "16.0.0.0");
        assert_eq!(range(1 << 20), "16.0.0.0+16.15.255.255");
        assert_eq!(range(1 << 24), "16.0.0.0+16.255.255.255");
        let ip6 = Scenario::named("ip6-1", Path::new("t")).unwrap();
        assert!(ip6.stream.contains("2001:db8::2 -> 2001:db8:ff::1 UDP"), "{}", ip6.stream);
        let bridged = Scenario::named("l2bd-1", Path::new("t")).unwrap();
        assert!(bridged.stream.contains("-> 02:00:00:00:10:00 UDP"), "{}", bridged.stream);
        assert_eq!(bridged.setup.last().unwrap(), "l2fib add 02:00:00:00:10:00 1 pg1 static");
        let vlan = Scenario::named("vlan-1", Path::new("t")).unwrap();
        assert!(vlan.stream.contains(":aa vlan 100 UDP: 10.0.0.2 -> 16.0.0.1 UDP"));
        assert!(vlan.setup.contains(&"set interface ip address pg0.100 11.0.100.1/24".to_owned()));
    }
}
