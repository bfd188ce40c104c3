//! Tunnels and VLANs whose other end is Open vSwitch (its GTP-U, as of version 3.1, is no peer:
//! checksums are wrong, and packets are taken for frames).

use tests::capture::decoded;
use tests::{Daemon, Host, eventually, has, is_root};

use crate::open_vswitch::OpenVSwitch;

/// A kind of tunnels, as both ends know it.
struct Kind {
    /// Name of its bridge there.
    name: &'static str,
    /// Options of its port there.
    port: &'static str,
    /// The command that makes it here, but for the addresses.
    create: &'static str,
    /// Its interface here.
    interface: &'static str,
    is_ip6: bool,
    /// Whether it carries frames, and packets else.
    is_frames: bool,
}

const fn kind(
    name: &'static str,
    port: &'static str,
    create: &'static str,
    interface: &'static str,
    is_ip6: bool,
    is_frames: bool,
) -> Kind {
    Kind { name, port, create, interface, is_ip6, is_frames }
}

const KINDS: [Kind; 8] = [
    kind("vx", "vxlan options:key=101", "vxlan vni 101", "vxlan_tunnel0", false, true),
    kind("vx6", "vxlan options:key=102", "vxlan vni 102", "vxlan_tunnel1", true, true),
    kind("gre", "gre options:key=103", "gre teb key 103", "gre0", false, true),
    kind("gre6", "gre options:key=104", "gre teb key 104", "gre1", true, true),
    kind("gen", "geneve options:key=105", "geneve vni 105", "geneve_tunnel0", false, true),
    kind("gen6", "geneve options:key=106", "geneve vni 106", "geneve_tunnel1", true, true),
    kind("ip", "gre options:packet_type=legacy_l3", "gre", "gre2", false, false),
    kind("ip6", "gre options:packet_type=legacy_l3", "gre", "gre3", true, false),
];

/// The router with a link to a host, on which the other switch runs.
struct Link {
    router: Daemon,
    _here: Host,
    there: Host,
}

impl Link {
    fn new() -> Self {
        let (here, there) = (Host::alone(), Host::alone());
        here.connect("v0", &there, "p0");
        let setup = [
            // The other end reads frames as they are, and would see checksums not yet made.
            "create host-interface name v0 cksum-gso-disable",
            "set interface state host-v0 up",
            "set interface ip address host-v0 10.1.0.1/24",
            "set interface ip address host-v0 2001:db8:1::1/64",
        ];
        let router = Daemon::start_in(here.namespace(), "", &setup);
        Self { router, _here: here, there }
    }
    /// Whether the host has answers to packets of this size.
    fn talks(&self, to: &str, size: u16) -> bool {
        let ping = format!("ping -n -c 3 -i 0.2 -W 10 -s {size} {to}");
        self.there.attempt(&ping).1.contains("3 received, 0% packet loss")
    }
    fn add(&self, switch: &OpenVSwitch, number: usize, kind: &Kind) {
        let (there, Kind { name, port, create, interface, .. }) = (&self.there, kind);
        let (ours, theirs) = match kind.is_ip6 {
            false => ("10.1.0.1", "10.1.0.2"),
            true => ("2001:db8:1::1", "2001:db8:1::2"),
        };
        switch.add_bridge(there, name, &[&format!("10.2.{number}.2/24")]);
        let add = format!("add-port {name} t{name} -- set interface t{name} ofport_request=7");
        switch.set(there, &format!("{add} options:remote_ip={ours} type={port}"));
        let (what, more) = create.split_once(' ').unwrap_or((create, ""));
        let [from, to] = if what == "geneve" { ["local", "remote"] } else { ["src", "dst"] };
        self.router.tell(&format!("create {what} tunnel {from} {ours} {to} {theirs} {more}"));
        self.router.tell(&format!("set interface state {interface} up"));
        let mut with_address = (*interface).to_owned();
        if kind.is_frames {
            with_address = self.router.tell("bvi create").trim().to_owned();
            self.router.tell(&format!("set interface state {with_address} up"));
            self.router.tell(&format!("set interface l2 bridge {interface} {number}"));
            self.router.tell(&format!("set interface l2 bridge {with_address} {number} bvi"));
        } else {
            // The switch carries frames only: packets get a header on receive.
            let mac = there.run(&format!("cat /sys/class/net/{name}/address"));
            let actions = format!("actions=set_field:{}->eth_dst,LOCAL", mac.trim());
            switch.add_flow(there, name, "priority=9,in_port=LOCAL,ip,actions=output:7");
            switch.add_flow(there, name, &format!("priority=9,in_port=7,{actions}"));
            let neighbor = format!("10.2.{number}.1 lladdr 02:00:00:00:00:01 dev {name}");
            there.run(&format!("ip neigh replace {neighbor}"));
        }
        let address = format!("{with_address} 10.2.{number}.1/24");
        self.router.tell(&format!("set interface ip address {address}"));
    }
}

#[test]
fn tunnels_of_all_kinds_lead_to_open_vswitch() {
    if !(is_root() && has("ip") && has("ping")) {
        return;
    }
    let link = Link::new();
    let Some(switch) = OpenVSwitch::start(&link.there, link.router.folder()) else { return };
    switch.add_bridge(&link.there, "under", &["10.1.0.2/24", "2001:db8:1::2/64"]);
    switch.set(&link.there, "add-port under p0");
    for (number, kind) in (1..).zip(&KINDS) {
        link.add(&switch, number, kind);
    }
    for (number, kind) in (1..).zip(&KINDS) {
        let shown = || {
            let counts = format!("show interface {}", kind.interface);
            format!(
                "{}: {}{}",
                kind.name,
                link.router.tell("show errors"),
                link.router.tell(&counts)
            )
        };
        let file = link.router.folder().join("sent.pcap");
        let on = format!("pcap trace tx max 10000 intfc host-v0 file {}", file.display());
        link.router.tell(&on);
        // The first packets may wait for neighbours.
        let to = format!("10.2.{number}.1");
        assert!(eventually(|| link.talks(&to, 56)), "{}", shown());
        for size in [1, 1300] {
            assert!(eventually(|| link.talks(&to, size)), "{size}: {}", shown());
        }
        let said = link.router.tell(&format!("ping 10.2.{number}.2 repeat 3 interval 0.1"));
        assert!(said.contains("3 sent, 3 received"), "{}: {said}", kind.name);
        link.router.tell("pcap trace tx off");
        // Checksums of UDP over IPv6 are made behind the capture; the other end checks them.
        if has("tshark") && !kind.is_ip6 {
            assert!(decoded(&file).len() >= 9);
        }
    }
}

#[test]
fn vlans_of_open_vswitch_are_sub_interfaces() {
    if !(is_root() && has("ip") && has("ping")) {
        return;
    }
    let link = Link::new();
    let Some(switch) = OpenVSwitch::start(&link.there, link.router.folder()) else { return };
    switch.add_bridge(&link.there, "lan", &["10.1.0.2/24"]);
    switch.set(&link.there, "add-port lan p0");
    for id in [10, 4094] {
        let third = id % 100;
        link.router.tell(&format!("create sub-interfaces host-v0 {id}"));
        link.router.tell(&format!("set interface state host-v0.{id} up"));
        link.router.tell(&format!("set interface ip address host-v0.{id} 10.3.{third}.1/24"));
        let device = format!("access{id}");
        let add = format!("add-port lan {device} tag={id} -- set interface {device} type=internal");
        switch.set(&link.there, &add);
        link.there.run(&format!("ip link set {device} up"));
        link.there.run(&format!("ip addr add 10.3.{third}.2/24 dev {device}"));
    }
    for to in ["10.1.0.1", "10.3.10.1", "10.3.94.1"] {
        for size in [56, 1400] {
            let counts = || link.router.tell("show interface");
            assert!(eventually(|| link.talks(to, size)), "{to}: {}", counts());
        }
    }
}
