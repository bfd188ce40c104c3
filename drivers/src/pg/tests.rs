//! The generator as a whole: commands in, packets and files out.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use control::cli::Cli;
use control::log::Log;
use control::process::Processes;
use graph::{Continue, Flags, Frame, Node, Settings};
use net::Assembly;
use net::interface::DEVICE_INPUT;
use wire::checksum::ip4_pseudo;
use wire::ethernet::{self, EtherType};
use wire::zerocopy::{FromBytes, IntoBytes};
use wire::{MacAddr, Protocol, ip4, tcp};

use super::mac_filter::MacFilter;
use super::*;
use crate::pcap;

type Catches = Arc<Mutex<Vec<(u32, Flags, Vec<u8>)>>>;

/// Keeps what arrives.
#[derive(Clone, Default)]
struct Catch(Catches);

impl Node for Catch {
    const NAME: &'static str = "catch";
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut all = self.0.lock().unwrap();
        frame.consume(|p| {
            all.push((p.rx(), p.flags(), p.segments().flatten().copied().collect()));
            Ok(())
        });
    }
}

/// A feature that notes what passes.
#[derive(Clone)]
struct Seen(Catches);

impl Node for Seen {
    const NAME: &'static str = "span-input";
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut all = self.0.lock().unwrap();
        frame.each(|p| {
            all.push((p.rx(), p.flags(), p.bytes().to_vec()));
            Ok(Continue)
        });
    }
}

struct Bench {
    router: Router,
    cli: Cli<Router>,
    caught: Catches,
    folder: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    /// pg0 and pg1, up, and a node `catch`.
    fn new(test: &str) -> Self {
        let mut bench = Self::unstarted(test);
        bench.router.engine.start_inline();
        bench.with_interfaces()
    }
    /// The same with a thread that runs.
    fn running(test: &str) -> Self {
        let mut bench = Self::unstarted(test);
        bench.router.engine.start().unwrap();
        bench.with_interfaces()
    }
    fn unstarted(test: &str) -> Self {
        let settings = Settings { buffers: 4096, ..Settings::default() };
        let router = Router::new(settings, Log::new()).unwrap();
        let mut parts = Assembly::new(router);
        let net = [net::drops::FEATURE, net::interface::FEATURE, net::fast_path::FEATURE];
        for feature in net.iter().chain([&FEATURE, &crate::loopback::FEATURE]) {
            parts.add(feature).unwrap();
        }
        let Assembly { mut router, cli, .. } = parts;
        let caught = Catches::default();
        for name in ["catch", "ip4-input", "ip6-input", "arp-input"] {
            router.engine.add_named(name, Catch(Arc::clone(&caught))).unwrap();
        }
        let seen = Seen(Arc::clone(&caught));
        router.engine.add_feature(&DEVICE_INPUT, seen).unwrap();
        router.engine.build().unwrap();
        cli.check().unwrap();
        let folder = std::env::temp_dir().join(format!("pg-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self { router, cli, caught, folder }
    }
    fn with_interfaces(mut self) -> Self {
        for name in ["pg0", "pg1"] {
            self.ok(&format!("create packet-generator interface {name}"));
            self.up(name);
        }
        self
    }
    fn up(&mut self, name: &str) {
        let index = self.router.interfaces.named(name).unwrap().index;
        self.router.set_admin(index, true);
    }
    #[track_caller]
    fn ok(&mut self, line: &str) -> String {
        let reply = self.cli.run(&mut self.router, line);
        assert!(reply.result.is_ok(), "{line}: {}", reply.text());
        reply.text()
    }
    /// The error of a line, which changes nothing.
    #[track_caller]
    fn err(&mut self, line: &str) -> String {
        let before = self.state();
        let reply = self.cli.run(&mut self.router, line);
        let error = reply.result.expect_err(line).to_string();
        assert_eq!(self.state(), before, "{line}");
        error
    }
    fn state(&mut self) -> (String, usize) {
        let interfaces = self.router.interfaces.iter().count();
        (self.ok("show packet-generator verbose"), interfaces)
    }
    fn run(&mut self) -> Vec<Vec<u8>> {
        self.router.engine.run_inline(1000);
        std::mem::take(&mut *self.caught.lock().unwrap()).into_iter().map(|c| c.2).collect()
    }
    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
    fn write(&self, name: &str, packets: &[Vec<u8>]) -> String {
        let mut bytes = pcap::header(pcap::ETHERNET).to_vec();
        for p in packets {
            pcap::append(&mut bytes, 1.0, p.len(), std::iter::once(p.as_slice()));
        }
        std::fs::write(self.folder.join(name), bytes).unwrap();
        self.path(name)
    }
    fn read(&self, name: &str) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        pcap::read(&self.folder.join(name), |p| packets.push(p.to_vec())).unwrap();
        packets
    }
    fn rx(&self, name: &str) -> (u64, u64) {
        let index = self.router.interfaces.named(name).unwrap().index;
        let rx = self.router.interfaces.values(index).rx;
        (rx.packets, rx.bytes)
    }
    fn used(&mut self) -> usize {
        self.router.engine.buffers_used().unwrap()
    }
    /// Waits until no stream runs.
    fn finish(&mut self) {
        for _ in 0..20_000 {
            if !self.ok("show packet-generator").contains("Yes") {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("streams that do not end");
    }
}

fn frames(lens: &[usize]) -> Vec<Vec<u8>> {
    lens.iter().enumerate().map(|(i, n)| vec![i as u8 + 1; *n]).collect()
}

/// TCP segments with these data, one behind the other.
fn segments(data: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut seq = 0;
    let mut frame = |data: &&[u8]| {
        let ethernet = ethernet::Header::new(MacAddr([2; 6]), MacAddr([4; 6]), EtherType::IP4);
        let (src, dst) = ([10, 0, 0, 1], [10, 0, 1, 2]);
        let len = 20 + data.len() as u16;
        let mut ip = ip4::Header::new(src.into(), dst.into(), Protocol::TCP, 20 + len);
        ip.fragment = ip4::DONT_FRAGMENT.into();
        let mut tcp = tcp::Header::new(1, 2, seq, 1, tcp::Flags::ACK);
        let sum = ip4_pseudo(src, dst, Protocol::TCP, len).add_bytes(tcp.as_bytes());
        tcp.checksum = sum.add_bytes(data).checksum();
        seq += data.len() as u32;
        let ip = ip.with_checksum();
        [ethernet.as_bytes(), ip.as_bytes(), tcp.as_bytes(), data].concat()
    };
    data.iter().map(&mut frame).collect()
}

#[test]
fn streams_are_listed_as_operators_know_them() {
    let mut b = Bench::new("list");
    assert_eq!(b.ok("show packet-generator"), "no streams currently defined\n");
    b.ok("packet-generator new { name a limit 3 size 64-64 interface pg0 node catch \
          data { hex 0x01 } }");
    b.ok("packet-generator new name long-name-of-a-stream rate 1.5e6 size 60+1500 source pg1 \
          node catch data { incrementing 60 }");
    b.ok("packet-generator enable a");
    assert_eq!(b.run().len(), 3);
    assert_eq!(
        b.ok("show packet-generator"),
        "Name               Enabled        Count     Parameters\n\
         a                    No             3       limit 3, rate 0.00e0 pps, size 64-64, \
         buffer-size 2048, worker 0, \n\
         long-name-of-a-stream     No             0       limit 0, rate 1.50e6 pps, \
         size 60-1500, buffer-size 2048, worker 0, \n"
    );
    assert!(b.ok("show packet-generator verbose").contains("    interface pg1, node catch\n"));
}

#[test]
fn a_limit_is_kept_exactly_and_counted_again_each_time() {
    for limit in [1, 255, 256, 257, 1000] {
        let mut b = Bench::new(&format!("limit-{limit}"));
        b.ok(&format!(
            "packet-generator new {{ name a limit {limit} size 100-100 interface pg0 node catch \
             data {{ hex 0x01 }} }}"
        ));
        b.ok("packet-generator enable");
        assert_eq!(b.run().len(), limit);
        assert_eq!(b.rx("pg0"), (limit as u64, limit as u64 * 100));
        assert!(b.run().is_empty());
        b.ok("pa en");
        assert_eq!(b.run().len(), limit);
        assert_eq!(b.used(), 0);
    }
}

#[test]
fn a_stream_without_limit_ends_when_told() {
    let mut b = Bench::new("unlimited");
    b.ok("packet-generator new { name b limit -1 buffer-size 512 data { hex 0x01 } }");
    let shown = b.ok("show packet-generator");
    assert!(shown.contains("limit -1, ") && shown.contains("buffer-size 512, "), "{shown}");
    b.ok("packet-generator delete b");
    b.ok("packet-generator new { name a limit -1 node catch maxframe 10 data { hex 0x01 } }");
    b.ok("packet-generator enable-stream");
    assert_eq!(b.run().len(), 10_000);
    assert!(b.ok("show packet-generator").contains("Yes"));
    b.ok("packet-generator disable-stream a");
    assert!(!b.ok("show packet-generator").contains("Yes"));
    assert!(b.run().is_empty());
}

#[test]
fn a_file_is_sent_in_order_again_and_again() {
    let mut b = Bench::new("replay");
    let packets = frames(&[60, 64, 65, 1, 2048, 2049, 9000, 128]);
    let file = b.write("in.pcap", &packets);
    b.ok(&format!("packet-generator new pcap {file} source pg0 name a node catch"));
    assert!(b.ok("show packet-generator").contains("limit 8, rate 0.00e0 pps, size 1-9000,"));
    b.ok("packet-generator enable");
    assert_eq!(b.run(), packets);
    b.ok("packet-generator configure a limit 20");
    b.ok("packet-generator enable");
    let again: Vec<_> = packets.iter().cycle().take(20).cloned().collect();
    assert_eq!(b.run(), again);
    assert_eq!(b.used(), 0);
}

#[test]
fn packets_enter_where_their_interface_says() {
    let mut b = Bench::new("modes");
    b.ok("create packet-generator interface pg4 mode ip4");
    b.ok("create packet-generator interface 6 mode ip6");
    let file = b.write("in.pcap", &frames(&[40]));
    for (source, input) in [("pg0", "ethernet-input"), ("pg4", "ip4-input"), ("pg6", "ip6-input")] {
        b.ok(&format!("packet-generator new pcap {file} source {source} name {source}"));
        let shown = b.ok("show packet-generator verbose");
        assert!(shown.contains(&format!("interface {source}, node {input}\n")), "{shown}");
    }
    b.ok("packet-generator enable");
    assert_eq!(b.run().len(), 2, "the one at ethernet-input is dropped");
    b.ok("packet-generator new { name x data { UDP: ::1 -> ::2 UDP: 1 -> 2 } }");
    assert!(b.ok("show packet-generator verbose").contains("interface local0, node ip6-input"));
}

#[test]
fn what_an_interface_sends_is_captured_at_once() {
    let mut b = Bench::new("capture");
    let packets = frames(&[60, 3000, 64]);
    let (input, out) = (b.write("in.pcap", &packets), b.path("out.pcap"));
    b.ok(&format!("packet-generator capture pg1 pcap {out}"));
    assert!(!b.folder.join("out.pcap").exists());
    b.ok(&format!("packet-generator new pcap {input} source pg0 name a node pg1-output"));
    b.ok("packet-generator enable");
    b.run();
    assert_eq!(b.read("out.pcap"), packets);
    b.ok("packet-generator enable");
    b.run();
    assert_eq!(b.read("out.pcap"), [packets.clone(), packets.clone()].concat());
    let again = format!("packet-generator capture pg1 pcap {out}");
    assert_eq!(b.err(&again), format!("packet-generator capture: create `{out}': File exists"));
    b.ok(&format!("packet-generator capture pg1 pcap {out} disable"));
    b.ok(&format!("packet-generator capture pg1 pcap {out} disable"));
    b.ok("packet-generator enable");
    b.run();
    assert_eq!(b.read("out.pcap").len(), 6);
    let (tx, bytes) = (std::fs::read(&out).unwrap(), 24 + 6 * 16 + 2 * (60 + 3000 + 64));
    assert_eq!((tx.len(), &tx[20..24]), (bytes, &[1, 0, 0, 0][..]));
}

#[test]
fn segments_are_joined_where_that_is_wanted() {
    let mut b = Bench::new("coalesce");
    b.ok("create packet-generator interface pg2 gso-enabled gso-size 1460 coalesce-enabled");
    b.up("pg2");
    let (input, out) =
        (b.write("in.pcap", &segments(&[b"one", b"two", b"end"])), b.path("out.pcap"));
    b.ok(&format!("packet-generator capture pg2 pcap {out}"));
    b.ok(&format!("packet-generator new pcap {input} source pg0 name a node pg2-output"));
    // What waits goes ahead of the next packets, however late they come.
    b.ok("packet-generator enable");
    b.run();
    b.router.engine.clock().adjust(1.0);
    b.run();
    assert!(!b.folder.join("out.pcap").exists());
    b.ok("packet-generator enable");
    b.run();
    let sent = b.read("out.pcap");
    assert_eq!((sent.len(), &sent[0][54..]), (1, &b"onetwoend"[..]));
    let shown = b.ok("show packet-generator interface pg2");
    assert!(shown.contains("  coalesce: enabled\n    thread 0 flow-table: size 16, 1 in use, "));
    assert!(shown.ends_with(" 3 segments joined to 1 packets\n"), "{shown}");
    let pg2 = b.router.interfaces.named("pg2").unwrap().index;
    // And when nothing is to wait any more.
    b.router.with(|g: &mut Generator, router: &mut Router| g.coalesce(router, pg2, false));
    b.run();
    assert_eq!(b.read("out.pcap").len(), 2);
    b.ok("packet-generator enable");
    b.run();
    assert_eq!(b.read("out.pcap").len(), 5);
    assert!(b.ok("show packet-generator interface pg2").ends_with("  coalesce: disabled\n"));
    assert_eq!(b.used(), 0);
    let coalesces = b.ok("create packet-generator interface pg3 coalesce-enabled")
        + &b.ok("show packet-generator interface pg3");
    assert!(coalesces.contains("  coalesce: enabled\n"), "{coalesces}");
}

#[test]
fn a_capture_ends_after_its_count_and_raw_ip_is_said_to_be() {
    let mut b = Bench::new("count");
    b.ok("create packet-generator interface pg4 mode ip4");
    b.up("pg4");
    let out = b.path("out.pcap");
    b.ok(&format!("packet-generator capture pg4 pcap {out} count 5"));
    b.ok("packet-generator new { name a limit 300 node pg4-output data { hex 0x45 } }");
    b.ok("packet-generator enable");
    b.run();
    assert_eq!(b.read("out.pcap").len(), 5);
    assert_eq!(std::fs::read(&out).unwrap()[20], 12);
}

#[test]
fn a_file_that_cannot_be_written_is_counted() {
    let mut b = Bench::new("unwritable");
    let out = b.path("out.pcap");
    b.ok(&format!("packet-generator capture pg1 pcap {out}"));
    std::fs::write(&out, "mine").unwrap();
    b.ok("packet-generator new { name a limit 3 node pg1-output data { hex 0x45 } }");
    b.ok("packet-generator enable");
    b.run();
    assert_eq!(std::fs::read(&out).unwrap(), b"mine");
    let lost = b.router.engine.errors().into_iter().find(|e| e.2.name == "not_captured").unwrap();
    assert_eq!((lost.1.as_str(), lost.3), ("pg1-tx", 3));
    b.ok("packet-generator enable");
    b.run();
    // It is said in the log, once, and at the end.
    let why = format!("write `{out}': File exists; 6 packets are not in it");
    let said = |b: &Bench| b.router.log.entries().iter().filter(|e| e.text.contains(&why)).count();
    for _ in 0..3 {
        b.router.engine.clock().adjust(2.0);
        let now = b.router.now();
        Processes::run_due(&mut b.router, |r| &mut r.processes, now);
    }
    assert_eq!(said(&b), 1);
    let end = format!("packet-generator capture pg1 pcap {out} disable");
    assert_eq!(b.err(&end), format!("packet-generator capture: {why}"));
    b.ok(&end);
}

#[test]
fn an_interface_goes_up_with_its_streams() {
    let mut b = Bench::new("up");
    let pg0 = b.router.interfaces.named("pg0").unwrap().index;
    b.ok("create loopback interface");
    for name in ["pg0", "loop0"] {
        b.ok(&format!(
            "packet-generator new {{ name {name} limit 1 interface {name} data {{ hex 0x01 }} }}"
        ));
    }
    let is_up = |b: &Bench, name: &str| b.router.interfaces.named(name).unwrap().admin_up;
    b.router.set_admin(pg0, false);
    b.ok("packet-generator enable");
    assert!(is_up(&b, "pg0") && !is_up(&b, "loop0"));
    b.ok("packet-generator disable");
    assert!(is_up(&b, "pg0"));
}

#[test]
fn udp_sums_are_left_to_us_also_where_there_is_none() {
    let mut b = Bench::new("udp-sum");
    b.ok("create packet-generator interface pg7 csum-offload-enabled");
    b.ok(
        "packet-generator new { name a limit 1 interface pg7 node catch data { IP4: 2:0:0:0:0:1 -> \
          2:0:0:0:0:2 UDP: 1.1.1.1 -> 2.2.2.2 UDP: 1 -> 2 checksum 0 incrementing 100 } }",
    );
    b.ok("packet-generator enable");
    b.router.engine.run_inline(10);
    let caught = std::mem::take(&mut *b.caught.lock().unwrap());
    assert!(caught[0].1.has(Flags::CHECKSUM_TODO));
    assert_ne!(caught[0].2[40..42], [0, 0], "the pseudo header's sum");
}

#[test]
fn the_header_sum_of_ip4_is_computed_where_it_is_left_to_others() {
    let mut b = Bench::new("ip-sum");
    b.ok("create packet-generator interface pg7");
    let stream = |name: &str, flags: &str| {
        format!(
            "packet-generator new {{ name {name} limit 1 interface pg7 node catch {flags} data {{ \
             IP4: 2:0:0:0:0:1 -> 2:0:0:0:0:2 UDP: 1.1.1.1 -> 2.2.2.2 checksum 13 UDP: 1 -> 2 \
             incrementing 20 }} }}"
        )
    };
    b.ok(&stream("a", "buffer-offload-flags offload-ip-cksum"));
    b.ok(&stream("b", ""));
    b.ok("packet-generator enable");
    b.router.engine.run_inline(10);
    let caught = std::mem::take(&mut *b.caught.lock().unwrap());
    let is_valid =
        |bytes: &[u8]| ip4::Header::ref_from_prefix(&bytes[14..]).unwrap().0.is_checksum_valid();
    let valid: Vec<_> = caught.iter().map(|packet| is_valid(&packet.2)).collect();
    assert_eq!(valid, [true, false]);
}

#[test]
fn a_filter_lets_in_what_is_for_the_interface_and_for_groups() {
    let mut b = Bench::new("mac-filter");
    let pg0 = b.router.interfaces.named("pg0").unwrap();
    let (index, own) = (pg0.index, pg0.mac.0);
    let [further, other, group, all] =
        [[2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 8], [1, 0, 0x5e, 1, 1, 1], [0xff; 6]];
    b.router.set_secondary_mac(index, MacAddr(further), true).unwrap();
    let frame = |dst: [u8; 6]| {
        let header = ethernet::Header::new(MacAddr(dst), MacAddr([4; 6]), EtherType::new(0x88b5));
        [header.as_bytes(), &[0; 46]].concat()
    };
    let frames = [own, other, further, group, all].map(frame);
    let input = b.write("in.pcap", &frames);
    b.ok(&format!("packet-generator new {{ name a pcap {input} source pg0 }}"));
    b.router.engine.set_feature(&DEVICE_INPUT, Seen::NAME, index.0, true).unwrap();
    let run = |b: &mut Bench| {
        b.ok("packet-generator enable");
        b.run()
    };
    assert_eq!(run(&mut b), frames);
    b.ok("packet-generator mac-filter pg0 on");
    assert!(b.ok("show packet-generator interface pg0").ends_with("  mac-filter: enabled\n"));
    assert_eq!(run(&mut b), [own, further, group, all].map(frame));
    let dropped = b.router.engine.errors().into_iter().find(|e| e.1 == MacFilter::NAME).unwrap();
    assert_eq!((dropped.2.name, dropped.3), ("mac mismatch", 1));
    b.ok("packet-generator mac-filter pg0 off");
    assert_eq!(run(&mut b), frames);
    b.ok("create packet-generator interface pg4 mode ip4");
    for (line, error) in [
        ("pg0", "missing on or off"),
        ("pg0 maybe", "unknown input `maybe'"),
        ("pg4 on", "an IP interface has no MAC address to filter by"),
        ("local0 on", "local0 is not a packet-generator interface"),
    ] {
        let said = b.err(&format!("packet-generator mac-filter {line}"));
        assert_eq!(said, format!("packet-generator mac-filter: {error}"));
    }
    b.ok("packet-generator mac-filter pg0 on");
    b.router.remove_interface(index);
    assert!(b.router.engine.set_feature(&DEVICE_INPUT, MacFilter::NAME, index.0, false).is_ok());
}

#[test]
fn big_packets_are_cut_when_somebody_asks_for_it() {
    let mut b = Bench::new("cut");
    b.ok("create packet-generator interface pg2 gso-enabled gso-size 1000");
    b.up("pg2");
    b.ok("packet-generator new { name a limit 2 interface pg2 node pg1-output data { \
          IP4: 2:0:0:0:0:1 -> 2:0:0:0:0:2 TCP: 1.1.1.1 -> 2.2.2.2 TCP: 1 -> 2 incrementing 2500 } }");
    let pg1 = b.router.interfaces.named("pg1").unwrap().index;
    let lens = |b: &mut Bench, name: &str| {
        let out = b.path(name);
        b.ok(&format!("packet-generator capture pg1 pcap {out}"));
        b.ok("packet-generator enable");
        b.run();
        b.read(name).iter().map(Vec::len).collect::<Vec<_>>()
    };
    let whole = |b: &Bench| {
        let errors = b.router.engine.errors();
        let found = errors.into_iter().find(|e| e.1 == "pg1-tx" && e.2.text.contains("gso"));
        found.map_or(0, |e| e.3)
    };
    assert_eq!(lens(&mut b, "1"), [2554, 2554]);
    assert_eq!(whole(&b), 2);
    b.router.set_segments(pg1, true);
    assert_eq!(lens(&mut b, "2"), [1054, 1054, 554, 1054, 1054, 554]);
    assert_eq!(whole(&b), 2);
    b.router.set_segments(pg1, false);
    assert_eq!(lens(&mut b, "3"), [2554, 2554]);
    assert_eq!(whole(&b), 4);
}

#[test]
fn a_rate_is_kept_on_the_routers_clock() {
    let mut b = Bench::new("rate");
    b.ok("packet-generator new { name a limit 5000 rate 1 node catch data { hex 0x01 } }");
    b.ok("packet-generator enable");
    assert_eq!(b.run().len(), 1);
    b.router.engine.clock().adjust(1000.0);
    assert_eq!(b.run().len(), 1000);
    assert_eq!(b.run().len(), 0);
    b.router.engine.clock().adjust(10_000.0);
    assert_eq!(b.run().len(), 3999, "up to the limit");
    assert!(!b.ok("show packet-generator").contains("Yes"));
}

#[test]
fn interfaces_may_leave_checksums_and_segments_to_us() {
    let mut b = Bench::new("gso");
    b.ok("create packet-generator interface pg7 csum-offload-enabled gso-enabled gso-size 100");
    let tcp = "packet-generator new { name NAME limit 1 interface pg7 node catch \
               data { IP4: 2:0:0:0:0:1 -> 2:0:0:0:0:2 TCP: 1.1.1.1 -> 2.2.2.2 TCP: 1 -> 2";
    b.ok(&format!("{} incrementing 100 }} }}", tcp.replace("NAME", "small")));
    b.ok(&format!("{} incrementing 3000 }} }}", tcp.replace("NAME", "big")));
    b.ok("packet-generator enable");
    b.router.engine.run_inline(10);
    let caught = std::mem::take(&mut *b.caught.lock().unwrap());
    let todo = Flags::CHECKSUM_TODO;
    let is = |i: usize, flag| caught[i].1.has(flag);
    assert!(is(0, todo) && !is(0, Flags::GSO) && is(1, todo) && is(1, Flags::GSO));
    let protocol = wire::Protocol::TCP;
    let pseudo = wire::checksum::ip4_pseudo([1; 4], [2; 4], protocol, 120).fold();
    assert_eq!(caught[0].2[50..52], pseudo.to_be_bytes());
}

#[test]
fn interfaces_without_a_segment_size_take_big_packets_and_cut_none() {
    let mut b = Bench::new("no-size");
    b.ok("create packet-generator interface pg7 gso-enabled coalesce-enabled");
    b.up("pg7");
    let shown = b.ok("show packet-generator interface pg7");
    assert!(shown.contains("  gso: enabled, size 0\n"), "{shown}");
    assert!(shown.contains("  coalesce: enabled\n"), "{shown}");
    let tcp = "data { IP4: 2:0:0:0:0:1 -> 2:0:0:0:0:2 TCP: 1.1.1.1 -> 2.2.2.2 TCP: 1 -> 2 \
               incrementing 3000 } }";
    b.ok(&format!("packet-generator new {{ name in limit 1 interface pg7 node catch {tcp}"));
    b.ok(&format!("packet-generator new {{ name cut limit 1 gso-size 100 node catch {tcp}"));
    b.ok(&format!("packet-generator new {{ name out limit 1 gso-size 100 node pg7-output {tcp}"));
    b.ok("packet-generator enable in");
    b.ok("packet-generator enable cut");
    b.router.engine.run_inline(10);
    let caught = std::mem::take(&mut *b.caught.lock().unwrap());
    let is_cut: Vec<_> = caught.iter().map(|c| c.1.has(Flags::GSO)).collect();
    assert_eq!(is_cut, [false, true], "a stream may say what its interface does not");
    // Where segments are asked for, it still takes them whole: its other side cuts.
    let pg7 = b.router.interfaces.named("pg7").unwrap().index;
    b.router.with(|g: &mut Generator, router: &mut Router| g.coalesce(router, pg7, false));
    b.router.set_segments(pg7, true);
    let out = b.path("out.pcap");
    b.ok(&format!("packet-generator capture pg7 pcap {out}"));
    b.ok("packet-generator enable out");
    b.run();
    assert_eq!(b.read("out.pcap").iter().map(Vec::len).collect::<Vec<_>>(), [3054]);
}

#[test]
fn traces_show_what_was_made() {
    let mut b = Bench::new("trace");
    b.ok("packet-generator new { name a limit 1 size 64-64 interface pg0 node pg1-output data { \
          IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.0.0.1 \
          UDP: 1234 -> 2345 incrementing 22 } }");
    let input = b.router.engine.index_of("pg-input").unwrap();
    b.router.engine.trace(input, 10);
    b.ok("packet-generator enable");
    b.run();
    let traced = b.router.engine.traced(0).unwrap();
    let text = traced[0].text(&b.router.engine, &b.router);
    let packet = "  IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa\n  UDP: 10.0.0.2 -> 16.0.0.1\n    \
                  tos 0x00, ttl 64, length 50, checksum 0x60b9 dscp CS0 ecn NON_ECN\n    \
                  fragment id 0x0000\n  UDP: 1234 -> 2345\n    length 30, checksum 0x693b\n";
    let (_, made) = text.split_once(": pg-input\n").unwrap();
    assert!(
        made.starts_with(&format!(
            "  stream a, 64 bytes, sw_if_index 1, next_node pg1-output\n  current data 0, \
             length 64, buffer-pool 0, ref-count 1, trace handle 0x0\n{packet}"
        )),
        "{text}"
    );
    let (_, sent) = text.split_once(": pg1-tx\n    buffer 0x").unwrap();
    let (_, sent) = sent.split_once(": ").unwrap();
    let line = "current data 0, length 64, buffer-pool 0, ref-count 1, trace handle 0x0\n";
    assert_eq!(sent, format!("{line}{packet}"));
}

#[test]
fn interfaces_are_shown_as_they_were_made() {
    let mut b = Bench::new("interfaces");
    b.ok("create packet-generator interface pg7 mode ip4");
    b.ok("create packet-generator interface pg8 hw-addr 02:00:00:00:00:08 gso-enabled gso-size \
          1400 csum-offload-enabled");
    let pg8 = "  hw-addr: 02:00:00:00:00:08\n  mode: ethernet\n  gso: enabled, size 1400\n  \
               csum-offload: enabled\n  coalesce: disabled\n";
    let shown = b.ok("show packet-generator interface pg8");
    let (head, rest) = shown.split_once('\n').unwrap();
    assert_eq!(rest, pg8);
    let number = head.strip_prefix("Interface: pg8 (sw_if_index ").unwrap().trim_end_matches(')');
    assert_eq!(b.ok(&format!("show packet-generator interface sw_if_index {number}")), shown);
    let all = b.ok("show packet-generator interface");
    assert!(all.contains(&shown) && all.contains("  mode: ip4\n  gso: disabled\n"), "{all}");
    assert!(b.err("show packet-generator interface pg99").contains("pg99"));
    assert!(b.err("show packet-generator interface sw_if_index 99").contains("99"));
}

#[test]
fn wrong_input_changes_nothing() {
    let mut b = Bench::new("errors");
    let (bad, empty) = (b.path("bad"), b.path("empty"));
    std::fs::write(&bad, "#!/bin/sh").unwrap();
    std::fs::write(&empty, "").unwrap();
    b.ok("packet-generator new { name a limit 3 node catch data { hex 0x01 } }");
    for (line, error) in [
        (
            "new pcap /nonexistent source pg0 name x",
            "open `/nonexistent': No such file or directory",
        ),
        (&format!("new pcap {bad} source pg0"), &format!("read `{bad}': not a pcap file")),
        (&format!("new pcap {empty} source pg0"), &format!("read `{empty}': the file is empty")),
        ("new pcap /dev/zero", "read `/dev/zero': not a pcap file"),
        ("new { name a data { hex 01 } }", "stream `a' exists"),
        ("new { name b }", "expected `pcap <file>' or `data { … }'"),
        ("new { name b data { hex 01 }", "missing `}' in `{ name b data { hex 01 }'"),
        ("new { name b data hex 01 }", "expected `{' before `hex 01'"),
        ("new { name b node nosuch data { hex 01 } }", "unknown node `nosuch'"),
        ("new { name b node pg-input data { hex 01 } }", "node pg-input does not accept packets"),
        ("new { name b interface pg9 data { hex 01 } }", "unknown interface `pg9 data { hex 01 }'"),
        ("new { name b limit 1e99 data { hex 01 } }", "invalid limit `1e99 data { hex 01 }'"),
        ("new { name b rate -1 data { hex 01 } }", "invalid rate `-1 data { hex 01 }'"),
        ("new { name b rate inf data { hex 01 } }", "invalid rate `inf data { hex 01 }'"),
        ("new { name b size 9-8 data { } }", "size range ends before it starts in `9-8 data { }'"),
        ("new { name b size 0-8 data { } }", "no packet size (1 to 65549) in `0-8 data { }'"),
        ("new { name b maxframe 0 data { } }", "maxframe must be 1 to 256, not `0 data { }'"),
        ("new { name b buffer-size 0 data { } }", "buffer-size must be positive, not `0 data { }'"),
        (
            "new { name b size 20-20 data { UDP: ::1 -> ::2 UDP: 1 -> 2 } }",
            "size 20 is less than the headers' 48 bytes",
        ),
        ("new { name b bogus 1 }", "unknown input `bogus 1'"),
        ("delete b", "unknown stream `b'"),
        ("delete", "missing stream"),
        ("enable-stream b", "unknown stream `b'"),
        ("disable-stream b", "unknown stream `b'"),
        ("configure b limit 1", "unknown stream `b'"),
        ("configure a limit x", "invalid limit `x'"),
        ("configure a data { hex 02 }", "name, pcap and data of a stream cannot be changed"),
        ("configure a limit 7 node nosuch", "unknown node `nosuch'"),
        ("capture pg9 pcap /tmp/x", "unknown interface `pg9 pcap /tmp/x'"),
        ("capture local0 pcap /tmp/x", "local0 is not a packet-generator interface"),
        ("capture pg0", "missing `pcap <file>'"),
        ("capture pg0 pcap /nonexistent/x", "create `/nonexistent/x': No such file or directory"),
    ] {
        let got = b.err(&format!("packet-generator {line}"));
        let path = got.split(": ").next().unwrap_or_default().to_owned();
        assert_eq!(got, format!("{path}: {error}"), "{line}");
    }
    for (line, error) in [
        ("create packet-generator interface pg0", "interface name `pg0' is in use"),
        ("create packet-generator interface x", "invalid name `x'"),
        ("create packet-generator interface pg07", "invalid name `pg07'"),
        ("create packet-generator interface", "missing name"),
        (
            "create packet-generator interface pg7 hw-addr 1:0:0:0:0:0",
            "is not a unicast MAC address",
        ),
        ("create packet-generator interface pg7 gso-size 9", "gso-size without gso-enabled"),
        ("create packet-generator interface pg7 mode x", "invalid mode `x'"),
        ("delete packet-generator interface pg9", "unknown interface `pg9'"),
        ("delete packet-generator interface local0", "local0 is not a packet-generator interface"),
        ("delete packet-generator interface sw_if_index 99", "unknown sw_if_index 99"),
        ("delete packet-generator interface", "expected the name or the sw_if_index"),
        ("create loopback interface instance 99999", "instance 99999 is not below 16384"),
        ("delete loopback interface intfc pg0", "pg0 is not a loopback interface"),
    ] {
        let got = b.err(line);
        assert!(got.contains(error), "{line}: {got}");
    }
}

#[test]
fn what_refers_to_a_deleted_interface_goes_with_it() {
    let mut b = Bench::new("delete");
    for (name, stream) in [("a", "interface pg0 node catch"), ("b", "interface pg1 node pg0-tx")] {
        b.ok(&format!("packet-generator new {{ name {name} {stream} data {{ hex 01 }} }}"));
    }
    b.ok("packet-generator new { name c interface pg1 node catch data { hex 01 } }");
    b.ok(&format!("packet-generator capture pg0 pcap {}", b.path("out")));
    b.ok("packet-generator enable");
    b.ok("delete packet-generator interface pg0");
    let left = b.ok("show packet-generator");
    assert!(left.lines().count() == 2 && left.contains("\nc "), "{left}");
    b.ok("create packet-generator interface pg0");
    b.ok("delete packet-generator interface sw_if_index 2");
    assert_eq!(b.ok("show packet-generator"), "no streams currently defined\n");
    b.run();
    assert_eq!(b.used(), 0);
}

#[test]
fn threads_send_while_control_changes_everything() {
    let mut b = Bench::running("threads");
    let file = b.write("in.pcap", &frames(&[64, 3000, 100]));
    b.ok(&format!("packet-generator new pcap {file} source pg0 name f limit 0 node pg1-output"));
    b.ok("packet-generator new { name d limit 0 interface pg0 node pg1-output data { \
          UDP: 1.1.1.1 -> 2.0.0.0+2.255.255.255 UDP: 1 -> 2 } }");
    b.ok("packet-generator new { name r rate 1e5 limit 2000 interface pg0 node pg1-output \
          size 28+5000 data { UDP: 1.1.1.1 -> 2.0.0.0 UDP: 1 -> 2 } }");
    b.ok("packet-generator enable");
    for round in 0..50 {
        b.ok("packet-generator configure d size 28+9000");
        b.ok("packet-generator disable-stream f");
        b.ok("packet-generator enable-stream f");
        b.ok(&format!("packet-generator capture pg1 pcap {} count 9", b.path(&round.to_string())));
        if round % 10 == 9 {
            b.ok("delete packet-generator interface pg1");
            assert_eq!(b.ok("show packet-generator"), "no streams currently defined\n");
            b.ok("create packet-generator interface pg1");
            b.up("pg1");
            let new = "limit 0 source pg0 node pg1-output";
            b.ok(&format!("packet-generator new pcap {file} name f {new}"));
            b.ok(&format!("packet-generator new name d {new} data {{ incrementing 40 }}"));
            b.ok("packet-generator enable");
        }
    }
    b.ok("packet-generator disable-stream");
    b.finish();
    assert_eq!(b.used(), 0);
}

#[test]
fn no_means_that_every_packet_is_through() {
    let mut b = Bench::running("fence");
    b.ok("packet-generator new { name a limit 5000 interface pg0 node catch data { hex 01 } }");
    b.ok("packet-generator new { name s limit 20 rate 1e4 interface pg0 node catch \
          data { hex 01 } }");
    for _ in 0..20 {
        b.ok("packet-generator enable");
        b.finish();
        assert_eq!(std::mem::take(&mut *b.caught.lock().unwrap()).len(), 5020);
    }
}

#[test]
fn loopbacks_give_back_what_they_are_sent() {
    let mut b = Bench::new("loop");
    assert_eq!(b.ok("create loopback interface"), "loop0\n");
    assert_eq!(b.ok("create loopback interface instance 300"), "loop300\n");
    assert_eq!(b.ok("loopback create-interface mac 2:0:0:0:0:9"), "loop1\n");
    let mac = |name: &str| b.router.interfaces.named(name).unwrap().mac.to_string();
    let macs = [mac("loop0"), mac("loop300"), mac("loop1")];
    assert_eq!(macs, ["de:ad:00:00:00:00", "de:ad:00:00:01:2c", "02:00:00:00:00:09"]);
    b.up("loop0");
    b.ok("packet-generator new { name a limit 3 interface pg0 node loop0-output data { \
          IP4: 2:0:0:0:0:1 -> de:ad:0:0:0:0 UDP: 10.0.0.2 -> 16.0.0.1 UDP: 1 -> 2 } }");
    b.ok("packet-generator enable");
    b.router.engine.run_inline(10);
    let caught = std::mem::take(&mut *b.caught.lock().unwrap());
    let loop0 = b.router.interfaces.named("loop0").unwrap().index.0;
    assert!(caught.len() == 3 && caught.iter().all(|c| c.0 == loop0 && c.2[0] == 0x45));
    assert_eq!(b.rx("loop0"), (3, 126));
    b.ok("delete loopback interface intfc loop0");
    b.ok("loopback delete-interface intfc loop300");
    assert_eq!((b.run().len(), b.used()), (0, 0));
}

#[test]
fn frames_meet_the_features_of_their_interface() {
    let mut b = Bench::new("features");
    let pg0 = b.router.interfaces.named("pg0").unwrap().index.0;
    let entrances = ["interface pg0", "interface pg1", "interface pg0 node pg1-output"];
    for (name, to) in ["a", "b", "c"].iter().zip(entrances) {
        b.ok(&format!("packet-generator new {{ name {name} limit 3 {to} data {{ hex 0x01 }} }}"));
    }
    b.router.engine.set_feature(&DEVICE_INPUT, Seen::NAME, pg0, true).unwrap();
    b.ok("packet-generator enable");
    assert_eq!(b.run().len(), 3);
    b.router.engine.set_feature(&DEVICE_INPUT, Seen::NAME, pg0, false).unwrap();
    b.ok("packet-generator enable");
    assert_eq!(b.run().len(), 0);
}
