//! Open vSwitch, with its data path in user space, as a peer.

use std::path::{Path, PathBuf};

use tests::{Host, Running, eventually, has};

/// A switch in a host's namespace. Dropping it ends its programs.
pub struct OpenVSwitch {
    folder: PathBuf,
    _programs: [Running; 2],
}

impl OpenVSwitch {
    /// Starts one that keeps its files in `folder`; none where it is not installed.
    pub fn start(host: &Host, folder: &Path) -> Option<Self> {
        if !["ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl"].into_iter().all(has) {
            return None;
        }
        let shared = std::env::var("OVS_PKGDATADIR");
        let shared = shared.unwrap_or_else(|_| "/usr/share/openvswitch".to_owned());
        let path = |name: &str| folder.join(name).display().to_string();
        let (database, socket) = (path("ovs.db"), path("ovs.sock"));
        host.run(&format!("ovsdb-tool create {database} {shared}/vswitch.ovsschema"));
        let start = |program: &str, words: &str| {
            let control = format!("--unixctl={} --verbose=console:off", path(program));
            let at = format!("env OVS_RUNDIR={}", folder.display());
            host.start(&format!("{at} {program} {words} {control}"))
        };
        let server = start("ovsdb-server", &format!("{database} --remote=punix:{socket}"));
        let init = format!("ovs-vsctl --db=unix:{socket} --no-wait init");
        assert!(eventually(|| host.attempt(&init).0), "no database");
        let switch = start("ovs-vswitchd", &format!("unix:{socket}"));
        Some(Self { folder: folder.to_owned(), _programs: [server, switch] })
    }
    /// Changes its database, and waits until it is so: words of `ovs-vsctl`.
    pub fn set(&self, host: &Host, words: &str) {
        let socket = self.folder.join("ovs.sock");
        host.run(&format!("ovs-vsctl --db=unix:{} -- {words}", socket.display()));
    }
    /// Adds a bridge; its own device has these addresses.
    pub fn add_bridge(&self, host: &Host, name: &str, addresses: &[&str]) {
        self.set(host, &format!("add-br {name} -- set bridge {name} datapath_type=netdev"));
        host.run(&format!("ip link set {name} up"));
        for address in addresses {
            let nodad = if address.contains(':') { " nodad" } else { "" };
            host.run(&format!("ip addr add {address} dev {name}{nodad}"));
        }
    }
    /// Adds a flow to a bridge, in the words of `ovs-ofctl`.
    pub fn add_flow(&self, host: &Host, bridge: &str, flow: &str) {
        let control = self.folder.join(format!("{bridge}.mgmt"));
        host.run(&format!("ovs-ofctl add-flow unix:{} {flow}", control.display()));
    }
}
