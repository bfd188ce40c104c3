//! Routing daemons of Linux over mirrors: BGP of FRR, and of BIRD with as many routes as the Internet has.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tests::{Running, has, is_root, skip};

use crate::linux::{Lab, terminate};

/// Where the programs of FRR are.
const FRR: &str = "/usr/lib/frr";

/// BIRD as the neighbour of the router, autonomous system 65002, with static routes.
fn peer(statics: &str) -> String {
    format!(
        "router id 2.2.2.2;\nprotocol device {{}}\n\
         protocol static {{ ipv4; route 10.88.0.0/16 blackhole;\n{statics}}}\n\
         protocol static {{ ipv6; route 2001:db8:88::/48 blackhole; }}\n\
         protocol bgp {{ local 10.1.2.2 as 65002; neighbor 10.1.2.1 as 65001;\n\
         connect delay time 1; error wait time 1,2; ipv4 {{ import all; export all; next hop self; }};\n\
         ipv6 {{ import all; export all; next hop address 2001:db8:2::2; }}; }}\n"
    )
}

/// BIRD beside the router.
const OWN: &str = "router id 1.1.1.1;\nprotocol device { scan time 2; }\n\
    protocol kernel { ipv4 { export where source = RTS_BGP; }; }\n\
    protocol kernel { ipv6 { export where source = RTS_BGP; }; }\n\
    protocol bgp { local 10.1.2.1 as 65001; neighbor 10.1.2.2 as 65002; connect delay time 1;\n\
    error wait time 1,2; ipv4 { import all; export none; }; ipv6 { import all; export none; }; }\n";

impl Lab {
    /// Starts programs of FRR in the namespace of the mirrors, `zebra` first.
    #[track_caller]
    pub fn frr(&self, programs: &[(&str, &str)]) -> Vec<Running> {
        // FRR drops the rights of root at once.
        let folder = self.router.folder().join("frr");
        fs::create_dir(&folder).unwrap();
        let zebra = folder.join("zserv.api").display().to_string();
        let start = |(program, config): &(&str, &str)| {
            let file = |kind: &str| folder.join(format!("{program}.{kind}")).display().to_string();
            fs::write(file("conf"), config).unwrap();
            let own = Command::new("chown").args(["-R", "frr:frr"]).arg(&folder).status();
            assert!(own.is_ok_and(|status| status.success()));
            let (conf, pid, at) = (file("conf"), file("pid"), folder.display());
            let running = self
                .linux
                .start(&format!("{FRR}/{program} -f {conf} -i {pid} -z {zebra} --vty_socket {at}"));
            assert!(within(30, || Path::new(&zebra).exists()), "{program} does not start");
            running
        };
        programs.iter().map(start).collect()
    }
    /// The most memory that the router has had.
    fn memory_mb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.router.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }
    /// Routes that are mirrored.
    fn mirrored(&self) -> usize {
        let shown = self.router.tell("show lcp mirror");
        let count = shown.split(": ").nth(1).and_then(|rest| rest.split(' ').next());
        count.and_then(|n| n.parse().ok()).unwrap_or_default()
    }
}

/// Whether FRR is there; says that the test is skipped otherwise.
pub fn has_frr() -> bool {
    let is_there = Path::new(FRR).join("bgpd").exists();
    if !is_there {
        skip("FRR is not installed");
    }
    is_there
}

fn within(seconds: u64, mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > Duration::from_secs(seconds) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

#[test]
fn routes_of_bgp_in_frr_are_the_routers() {
    if !is_root() || !has("ping") || !has("bird") || !has_frr() {
        return;
    }
    let lab = Lab::new();
    lab.right.run("ip addr add 10.88.0.1/32 dev lo");
    lab.right.run("ip -6 addr add 2001:db8:88::1/128 dev lo");
    lab.right.run("ip route add 10.1.1.0/24 via 10.1.2.1");
    lab.right.run("ip -6 route add 2001:db8:1::/64 via 2001:db8:2::1");
    let _peer = lab.bird(&lab.right, "peer", &peer(""));
    let bgp = "router bgp 65001\n bgp router-id 1.1.1.1\n no bgp ebgp-requires-policy\n \
        neighbor 10.1.2.2 remote-as 65002\n neighbor 10.1.2.2 timers connect 1\n \
        address-family ipv6 unicast\n  neighbor 10.1.2.2 activate\n exit-address-family\n";
    let running = lab.frr(&[("zebra", "hostname z\n"), ("bgpd", bgp)]);
    assert!(within(60, || lab.has_route("10.88.0.0/16")), "{}", lab.linux.run("ip route"));
    let six = || lab.router.ask("show ip6 fib 2001:db8:88::/48").text.contains("lcp-rt");
    assert!(within(60, six), "{}", lab.linux.run("ip -6 route"));
    for address in ["10.88.0.1", "2001:db8:88::1"] {
        let ping = || lab.left.attempt(&format!("ping -n -c 1 -W 1 {address}")).0;
        assert!(within(20, ping), "{address}");
    }
    lab.agrees();
    // bgpd that ends takes its routes back.
    terminate(&running[1]);
    assert!(within(60, || !lab.has_route("10.88.0.0/16") && !six()));
    lab.agrees();
}

/// 20,000 routes, or with `FERROVIA_TIMING` a million, whose times are printed.
#[test]
fn a_full_table_of_bird_comes_stays_when_it_is_killed_and_goes() {
    if !is_root() || !has("ping") || !has("bird") {
        return;
    }
    let is_timed = std::env::var_os("FERROVIA_TIMING").is_some();
    let (count, patience) = if is_timed { (1_000_000, 900) } else { (20_000, 120) };
    let prefix = |n: u32| format!("{}.{}.{}.0/24", 16 + (n >> 16), (n >> 8) & 255, n & 255);
    let statics = (0..count).fold(String::new(), |mut text, n| {
        writeln!(text, "route {} blackhole;", prefix(n)).unwrap();
        text
    });
    let lab = Lab::new();
    lab.right.run("ip addr add 10.88.0.1/32 dev lo");
    lab.right.run("ip route add 10.1.1.0/24 via 10.1.2.1");
    let all = count as usize + 2;
    let last = prefix(count - 1);
    let settled = || {
        let shown = lab.router.ask("show lcp diff");
        shown.is_ok && shown.text.trim().is_empty()
    };
    let time = |what: &str, is_so: &dyn Fn() -> bool| {
        let began = Instant::now();
        assert!(within(patience, is_so), "{what}: {}", lab.router.tell("show lcp mirror"));
        println!("{what}: {:.1} s", began.elapsed().as_secs_f64());
    };
    let in_linux = || {
        let shown = lab.linux.run("cat /proc/net/fib_triestat");
        let sizes = shown.lines().filter_map(|line| line.trim().strip_prefix("Prefixes:"));
        sizes.filter_map(|n| n.trim().parse::<usize>().ok()).max().unwrap_or_default()
    };
    let peer = lab.bird(&lab.right, "peer", &peer(&statics));
    let bird = lab.bird(&lab.linux, "own", OWN);
    time("all routes in Linux", &|| in_linux() >= all);
    time("then in the router as well", &|| lab.mirrored() >= all && lab.has_route(&last));
    assert!(within(patience, settled), "{}", lab.router.ask("show lcp diff").text);
    assert!(within(20, || lab.left.attempt("ping -n -c 1 -W 1 10.88.0.1").0));

    // Killed, BIRD leaves its routes in Linux, and none is lost here. A new one begins by tidying
    // up in Linux what it has not yet learnt, which the router follows, and ends where that was.
    let before = lab.mirrored();
    drop(bird);
    let (_, said) = lab.left.attempt("ping -n -q -c 100 -i 0.02 -W 10 10.88.0.1");
    assert!(said.contains(" 100 received"), "{said}");
    assert_eq!(lab.mirrored(), before);
    let bird = lab.bird(&lab.linux, "again", OWN);
    let ctl = lab.router.folder().join("again.ctl").display().to_string();
    time("a new BIRD has learnt all", &|| {
        let (_, said) = lab.linux.attempt(&format!("birdc -s {ctl} show protocols all"));
        said.contains(&format!("{} imported", all - 1))
    });
    time("and all routes are there", &|| {
        in_linux() >= all && lab.mirrored() == before && lab.has_route(&last)
    });
    assert!(within(patience, settled), "{}", lab.router.ask("show lcp diff").text);
    assert!(lab.left.attempt("ping -n -c 1 -W 10 10.88.0.1").0);

    // The neighbour goes: so do its routes.
    drop(peer);
    terminate(&bird);
    time("none in Linux any more", &|| in_linux() < 100);
    time("then in the router neither", &|| lab.mirrored() < 2);
    assert!(!lab.has_route(&last));
    let memory = lab.memory_mb();
    println!("most memory: {memory} MB");
    assert!(memory < 400 + 3 * u64::from(count) / 1000, "{memory} MB for {count} routes");
    assert!(within(patience, settled), "{}", lab.router.ask("show lcp diff").text);
}
