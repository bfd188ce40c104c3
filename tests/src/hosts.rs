//! Two hosts in network namespaces, and the router between them in a third.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::{Daemon, eventually, text_of, unique};

/// Two hosts and their router. Both have address `.2`/`::2` in their networks, the router
/// `.1`/`::1`.
pub struct TwoHosts {
    /// The router: interfaces `host-left` and `host-right`.
    pub router: Daemon,
    /// 10.1.1.2 and 2001:db8:1::2.
    pub left: Host,
    /// 10.1.2.2 and 2001:db8:2::2.
    pub right: Host,
    /// Holds the router's namespace.
    _between: Host,
}

/// A network namespace. Dropping it removes it with its devices.
pub struct Host {
    name: String,
}

/// A program that runs in a namespace. Dropping it ends it.
pub struct Running(Child);

impl TwoHosts {
    /// Makes them, with the router up and routing.
    ///
    /// # Panics
    /// When the kernel or the router refuses something.
    pub fn new() -> Self {
        Self::with("")
    }

    /// As [`TwoHosts::new`], with these lines more in the router's configuration.
    ///
    /// # Panics
    /// When the kernel or the router refuses something.
    pub fn with(config: &str) -> Self {
        Self::with_mtu(config, 1500)
    }

    /// As [`TwoHosts::with`], over links that carry packets of `mtu` bytes.
    ///
    /// # Panics
    /// When the kernel or the router refuses something.
    pub fn with_mtu(config: &str, mtu: u16) -> Self {
        let name = unique();
        let between = Host::new(format!("{name}-router"));
        let left = Host::between(&between, format!("{name}-left"), "left", 1);
        let right = Host::between(&between, format!("{name}-right"), "right", 2);
        for (host, device) in [(&left, "left"), (&right, "right")] {
            ip(&format!("-n {} link set eth0 mtu {mtu}", host.name));
            ip(&format!("-n {} link set {device} mtu {mtu}", between.name));
        }
        let router = Daemon::start_in(
            &between.name,
            config,
            &[
                "create host-interface name left",
                "create host-interface name right",
                "set interface state host-left up",
                "set interface state host-right up",
                "set interface ip address host-left 10.1.1.1/24",
                "set interface ip address host-right 10.1.2.1/24",
                "set interface ip address host-left 2001:db8:1::1/64",
                "set interface ip address host-right 2001:db8:2::1/64",
            ],
        );
        Self { router, left, right, _between: between }
    }
}

impl Default for TwoHosts {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// A host without devices but its own `lo`.
    pub fn alone() -> Self {
        Self::new(unique())
    }

    /// Name of its namespace.
    pub fn namespace(&self) -> &str {
        &self.name
    }

    fn new(name: String) -> Self {
        ip(&format!("netns add {name}"));
        let host = Self { name };
        ip(&format!("-n {} link set lo up", host.name));
        // As many ICMP errors as there is reason for.
        host.set("ipv4/icmp_ratemask", "0");
        host.set("ipv6/icmp/ratemask", "");
        host
    }

    /// Makes a cable between it and another one, with a device at each end.
    ///
    /// # Panics
    /// When the kernel refuses.
    pub fn connect(&self, device: &str, other: &Self, its: &str) {
        let (name, other) = (&self.name, &other.name);
        ip(&format!("-n {name} link add {device} type veth peer name {its} netns {other}"));
        // The kernel's own IPv6 keeps out of a switch's devices.
        ip(&format!("-n {name} link set {device} addrgenmode none"));
        ip(&format!("-n {name} link set {device} up"));
        ip(&format!("-n {other} link set {its} up"));
    }

    /// A host in network `number`, connected to device `device` of the router's namespace.
    fn between(router: &Self, name: String, device: &str, number: u8) -> Self {
        let host = Self::new(name);
        router.connect(device, &host, "eth0");
        let name = &host.name;
        ip(&format!("-n {name} addr add 10.1.{number}.2/24 dev eth0"));
        host.own(&format!("2001:db8:{number}::2/64 dev eth0 nodad"));
        ip(&format!("-n {name} route add default via 10.1.{number}.1"));
        ip(&format!("-n {name} -6 route add default via 2001:db8:{number}::1"));
        host
    }

    /// Output of a program run in it.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&self, words: &str) -> String {
        let (is_ok, text) = self.attempt(words);
        assert!(is_ok, "`{words}` failed:\n{text}");
        text
    }

    /// Whether a program run in it succeeded, and what it printed.
    pub fn attempt(&self, words: &str) -> (bool, String) {
        let output = self.command(words).output().expect("ip can be run");
        (output.status.success(), text_of(&output))
    }

    /// Gives it an IPv6 address, and waits until that is its own: the kernel takes its time.
    ///
    /// # Panics
    /// When the kernel refuses.
    pub fn own(&self, address: &str) {
        self.run(&format!("ip -6 addr add {address}"));
        let local = format!("local {} ", address.split('/').next().unwrap_or_default());
        let is_own = || self.run("ip -6 route show table local").contains(&local);
        assert!(eventually(is_own), "{address} does not become its own");
    }

    /// Sets what is named by a path below `/proc/sys/net`.
    ///
    /// # Panics
    /// When the kernel refuses.
    pub fn set(&self, path: &str, value: &str) {
        let mut tee = self.command(&format!("tee /proc/sys/net/{path}"));
        let mut child = tee.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = child.as_mut().expect("ip can be run");
        let mut stdin = child.stdin.take().expect("it is a pipe");
        writeln!(stdin, "{value}").expect("tee reads");
        drop(stdin);
        assert!(child.wait().expect("it is our child").success(), "{path} cannot be {value:?}");
    }

    /// Starts a program in it.
    pub fn start(&self, words: &str) -> Running {
        let mut command = self.command(words);
        Running(command.stdout(Stdio::null()).spawn().expect("ip can be run"))
    }

    /// Output of iperf3 with these options here, with a server of its own on `other`: one that has
    /// had a client does not listen for a while.
    ///
    /// # Panics
    /// When it fails.
    pub fn iperf3(&self, other: &Self, options: &str) -> String {
        let _server = other.start("iperf3 -s -1");
        let is_one = |line: &str| line.contains(":1451 ") && line.contains(" 0A ");
        let is_listening = || other.run("cat /proc/net/tcp6").lines().any(is_one);
        assert!(eventually(is_listening), "iperf3 does not listen");
        self.run(&format!("iperf3 -f m {options}"))
    }

    /// Packets that its device eth0 has received and sent.
    pub fn packets(&self) -> (u64, u64) {
        let text = self.run("cat /proc/net/dev");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("eth0:"));
        let fields: Vec<_> = line.expect("it has eth0").split_whitespace().collect();
        (fields[1].parse().expect("a number"), fields[9].parse().expect("a number"))
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).args(words.split_whitespace());
        command.stdin(Stdio::null());
        command
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

impl Running {
    /// Number of its process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split_whitespace()).output();
    let output = output.expect("ip can be run: apt-get install iproute2");
    assert!(output.status.success(), "`ip {words}` failed:\n{}", text_of(&output));
}
