//! A bond whose other end is another program's: two links between two namespaces, and LACP.

use tests::{Daemon, Host, Running, eventually, has, is_root, skip};

use crate::open_vswitch::OpenVSwitch;

/// The router in one namespace and a host in another, with two links between them.
struct Links {
    router: Daemon,
    _here: Host,
    there: Host,
}

/// The host's means to have its ends of the links, `p0` and `p1`, as one; `None` where there are
/// none.
trait Peer: Sized {
    fn start(links: &Links) -> Option<Self>;
}

impl Links {
    fn new() -> Self {
        let (here, there) = (Host::alone(), Host::alone());
        for n in [0, 1] {
            let peer = format!("type veth peer name p{n} netns {}", there.namespace());
            here.run(&format!("ip link add v{n} {peer}"));
            here.run(&format!("ip link set v{n} addrgenmode none"));
            here.run(&format!("ip link set v{n} up"));
        }
        let setup = [
            "create bond mode lacp load-balance l34",
            "create host-interface name v0",
            "create host-interface name v1",
            "bond add BondEthernet0 host-v0",
            "bond add BondEthernet0 host-v1",
            "set interface ip address BondEthernet0 10.1.0.1/24",
            "set interface state host-v0 up",
            "set interface state host-v1 up",
            "set interface state BondEthernet0 up",
        ];
        let router = Daemon::start_in(here.namespace(), "", &setup);
        Self { router, _here: here, there }
    }
    /// Members that carry packets.
    fn active(&self) -> usize {
        self.router.tell("show lacp").matches("COLLECTING_DISTRIBUTING").count()
    }
    /// Whether the host reaches the router.
    fn talks(&self) -> bool {
        let text = self.there.attempt("ping -n -c 3 -i 0.2 -W 2 10.1.0.1").1;
        text.contains("3 received, 0% packet loss")
    }
    /// Both links are one, and one of them is enough.
    fn agree_with<P: Peer>(&self) {
        let Some(_peer) = P::start(self) else { return };
        assert!(eventually(|| self.active() == 2), "{}", self.router.tell("show lacp"));
        assert!(eventually(|| self.talks()), "{}", self.router.tell("show bond details"));
        self.there.run("ip link set p0 down");
        assert!(eventually(|| self.active() == 1), "{}", self.router.tell("show lacp"));
        assert!(eventually(|| self.talks()), "{}", self.router.tell("show bond details"));
        self.there.run("ip link set p0 up");
        assert!(eventually(|| self.active() == 2), "{}", self.router.tell("show lacp"));
        let shown = self.router.tell("show lacp");
        assert!(shown.contains("RX-state: CURRENT"), "{shown}");
    }
}

/// The kernel's bonding driver.
struct Kernel;

impl Peer for Kernel {
    fn start(links: &Links) -> Option<Self> {
        let there = &links.there;
        let made = "ip link add bond0 type bond mode 802.3ad miimon 100 lacp_rate fast";
        if !there.attempt(made).0 {
            skip("the kernel has no bonding driver");
            return None;
        }
        for n in [0, 1] {
            there.run(&format!("ip link set p{n} down"));
            there.run(&format!("ip link set p{n} master bond0"));
        }
        there.run("ip link set bond0 up");
        there.run("ip addr add 10.1.0.2/24 dev bond0");
        Some(Self)
    }
}

/// Open vSwitch with its data path in user space.
struct Switch {
    _switch: OpenVSwitch,
}

impl Peer for Switch {
    fn start(links: &Links) -> Option<Self> {
        let there = &links.there;
        let switch = OpenVSwitch::start(there, links.router.folder())?;
        there.run("ip link set p0 up");
        there.run("ip link set p1 up");
        switch.add_bridge(there, "br0", &["10.1.0.2/24"]);
        let bond = "add-bond br0 bond0 p0 p1 bond_mode=balance-tcp lacp=active";
        switch.set(there, &format!("{bond} other_config:lacp-time=fast"));
        Some(Self { _switch: switch })
    }
}

/// DPDK's bonding device: testpmd over packet sockets, which sends unaddressed frames as long as
/// the other end exists.
fn testpmd(links: &Links) -> Option<Running> {
    if !has("dpdk-testpmd") {
        return None;
    }
    links.there.run("ip link set p0 up");
    links.there.run("ip link set p1 up");
    // It polls without a pause: others have priority. Frames of the protocol are sent only while it
    // sends others, and received only while it receives.
    Some(links.there.start(&format!(
        "nice -n 5 dpdk-testpmd -l 0,1 --no-huge -m 256 --no-pci --file-prefix {} \
         --vdev net_af_packet0,iface=p0 --vdev net_af_packet1,iface=p1 \
         --vdev net_bonding0,mode=4,slave=0,slave=1 -- --portmask=0x4 -a --forward-mode=flowgen \
         --flowgen-flows=4 --burst=1 --total-num-mbufs=8192 --stats-period=3600",
        tests::unique()
    )))
}

#[test]
fn dpdks_bonding_device_agrees() {
    if !(is_root() && has("ip")) {
        return;
    }
    let links = Links::new();
    let Some(peer) = testpmd(&links) else { return };
    let shown = || links.router.tell("show lacp");
    // It takes its time to start.
    let is_one = || eventually(|| links.active() == 2);
    assert!(is_one() || is_one(), "{}", shown());
    assert!(shown().contains("RX-state: CURRENT"), "{}", shown());
    let counts = || links.router.tell("show interface BondEthernet0");
    assert!(eventually(|| counts().contains("rx packets")), "{}", counts());
    drop(peer);
    assert!(eventually(|| links.active() == 0), "{}", shown());
}

#[test]
fn the_kernels_bonding_driver_agrees() {
    if is_root() && has("ip") && has("ping") {
        Links::new().agree_with::<Kernel>();
    }
}

#[test]
fn open_vswitch_agrees() {
    if is_root() && has("ip") && has("ping") {
        Links::new().agree_with::<Switch>();
    }
}

#[test]
fn a_member_is_captured_by_itself() {
    if !is_root() || !has("ping") {
        return skip("root, and ping");
    }
    let (here, there) = (Host::alone(), Host::alone());
    here.run(&format!("ip link add v0 type veth peer name p0 netns {}", there.namespace()));
    here.run("ip link set v0 up");
    there.run("ip link set p0 up");
    there.run("ip address add 10.1.0.2/24 dev p0");
    let setup = [
        "create bond mode active-backup",
        "create host-interface name v0",
        "bond add BondEthernet0 host-v0",
        "set interface ip address BondEthernet0 10.1.0.1/24",
        "set interface state host-v0 up",
        "set interface state BondEthernet0 up",
    ];
    let router = Daemon::start_in(here.namespace(), "", &setup);
    for interface in ["host-v0", "BondEthernet0", "any"] {
        let file = router.folder().join(format!("{interface}.pcap"));
        router.tell(&format!("pcap trace rx max 500 intfc {interface} file {}", file.display()));
        let text = there.attempt("ping -n -c 4 -i 0.2 -W 5 10.1.0.1").1;
        assert!(text.contains("4 received"), "{text}");
        router.tell("pcap trace off");
        let echoes = |frame: &&Vec<u8>| frame.len() == 98 && frame[23] == 1;
        let all = tests::capture::frames(&file);
        assert_eq!(all.iter().filter(echoes).count(), 4, "{interface}");
    }
}
