//! Filters of traces and captures in the language of tcpdump: tests with packets.

use bpf_trace_filter::program::{Instruction, Program};
use bpf_trace_filter::{BpfTraceFilterSet, BpfTraceFilterSetV2};
use control::api::Retval;
use net::testing::Bench;
use net::testing::packets::*;

/// A router whose traces are filtered; `None`, saying so, on machines without libpcap.
fn bench() -> Option<Bench> {
    let plugins = [bpf_trace_filter::FEATURE, tracenode::FEATURE];
    let mut bench = Bench::featuring(&plugins, 1, |_| (), |_| ());
    bench.run("tracenode feature pg0").unwrap();
    bench.run("set trace filter function bpf_trace_filter").unwrap();
    match bench.run("set bpf trace filter {tcp}") {
        Err(e) if e.contains("libpcap is not installed") => {
            eprintln!("skipped: libpcap is not installed");
            None
        }
        done => {
            done.unwrap();
            Some(bench)
        }
    }
}

/// A packet behind an Ethernet header, as far as the filter is concerned.
fn framed(packet: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], packet].concat()
}

#[test]
fn a_filter_chooses_what_is_traced() {
    let Some(mut bench) = bench() else { return };
    // Traces of `ip4-input` find IPv4 headers where the filter looks for Ethernet: none is TCP.
    bench.run("trace add trace-filtering 10 filter").unwrap();
    bench.send("ip4-input", &[udp4(HOST4, "16.0.0.1", 9, b"data")]);
    assert!(bench.run("show trace").unwrap().contains("No packets in trace buffer"));
    // The protocol's place in the header, by its offset.
    bench.run("set bpf trace filter {ether[9] = 17 and ether[22:2] = 9}").unwrap();
    bench.run("trace add trace-filtering 10 filter").unwrap();
    let to = |port| udp4(HOST4, "16.0.0.1", port, b"data");
    bench.send("ip4-input", &[to(9), to(10), to(9)]);
    assert_eq!(bench.run("show trace").unwrap().matches("Packet ").count(), 2);
    let shown = bench.run("show trace filter function").unwrap();
    assert_eq!(shown, "(*) name:bpf_trace_filter\nname:vnet_is_packet_traced\n");
    let shown = bench.run("show pcap filter function").unwrap();
    assert_eq!(shown, "name:bpf_trace_filter\n(*) name:vnet_is_packet_traced\n");
    let shown = bench.run("show bpf trace filter").unwrap();
    assert!(shown.starts_with("(000) ldb      [9]\n"), "{shown}");
    bench.run("set bpf trace filter del").unwrap();
    let refused = bench.run("trace add trace-filtering 10 filter").unwrap_err();
    assert!(refused.contains("no trace filter is set"), "{refused}");
    let refused = bench.run("set bpf trace filter del").unwrap_err();
    assert!(refused.contains("no filter is set"), "{refused}");
}

#[test]
fn what_is_no_filter_is_refused_and_the_one_before_stays() {
    let Some(mut bench) = bench() else { return };
    let before = bench.run("show bpf trace filter").unwrap();
    for (line, error) in [
        ("set bpf trace filter {nosuch 7}", "`nosuch 7': "),
        ("set bpf trace filter {ip protochain 6}", "is not sound"), // it has a loop
        ("set bpf trace filter tcp", "expected {FILTER}, got `tcp'"),
        ("set bpf trace filter {tcp", "missing `}'"),
        ("set trace filter function nosuch", "no filter function `nosuch'"),
        ("set pcap filter function nosuch", "no filter function `nosuch'"),
    ] {
        let refused = bench.run(line).unwrap_err();
        assert!(refused.contains(error), "{line}: {refused}");
    }
    assert_eq!(bench.run("show bpf trace filter").unwrap(), before);
}

#[test]
fn programs_set_filters_and_configurations_make_them_again() {
    let Some(mut bench) = bench() else { return };
    let v2 = |filter: &str, is_add, optimize| BpfTraceFilterSetV2 {
        is_add,
        optimize,
        filter: filter.to_owned(),
    };
    bench.talk(|local, router| {
        let set = BpfTraceFilterSet { is_add: true, filter: "udp or ip6".to_owned() };
        local.call(router, &set).unwrap();
        assert_eq!(local.call(router, &v2("nosuch", true, true)), Err(Retval::INVALID_VALUE));
    });
    let printed = bench.run("show configuration").unwrap();
    assert!(printed.contains("set bpf trace filter { udp or ip6 }\n"), "{printed}");
    assert!(printed.contains("set trace filter function bpf_trace_filter\n"), "{printed}");
    bench.talk(|local, router| {
        local.call(router, &v2("udp", true, false)).unwrap();
    });
    let printed = bench.run("show configuration").unwrap();
    assert!(printed.contains("set bpf trace filter no-optimize { udp }\n"), "{printed}");
    bench.talk(|local, router| {
        local.call(router, &v2("", false, true)).unwrap();
        assert_eq!(local.call(router, &v2("", false, true)), Err(Retval::NO_SUCH_ENTRY));
    });
}

#[test]
fn compiled_filters_tell_packets_apart() {
    let Some(mut bench) = bench() else { return };
    let udp = framed(&udp4("10.0.0.2", "16.0.0.1", 53, b"question"));
    for (filter, accepts) in [
        ("udp", true),
        ("tcp", false),
        ("udp and dst port 53", true),
        ("udp and not port 53", false),
        ("host 10.0.0.2", true),
        ("src net 16.0.0.0/8", false),
        ("dst net 16.0.0.0/8", true),
        ("greater 1000", false),
        ("less 1000", true),
        ("ip6", false),
        ("vlan", false),
        ("ether dst 02:00:00:00:00:01", true),
        ("udp[8:4] = 0x71756573", true),
        ("ip[8] * 2 > 1 and ip[0] & 0xf = 5", true),
    ] {
        for optimizes in ["", "no-optimize "] {
            bench.run(&format!("set bpf trace filter {optimizes}{{{filter}}}")).unwrap();
            let program = bpf_trace_filter::program(&bench.router).unwrap();
            assert_eq!(program.accepts(&udp), accepts, "{filter}");
            // A packet that ends early is refused, never read behind its end.
            let accepted = (0..udp.len()).filter(|len| program.accepts(&udp[..*len])).count();
            assert!(accepted <= udp.len());
        }
    }
}

#[test]
fn programs_that_are_not_sound_are_refused() {
    let i = |code, jt, jf, k| Instruction { code, jt, jf, k };
    let end = i(0x06, 0, 0, 1);
    let is_sound = |first| Program::new(vec![first, end]).is_some();
    assert!(is_sound(i(0x28, 0, 0, 12)), "ldh [12]");
    assert!(is_sound(i(0x15, 0, 0, 1)), "jeq 1 jt 1 jf 1");
    assert!(!is_sound(i(0x15, 1, 0, 1)), "a jump behind the end");
    assert!(!is_sound(i(0x05, 0, 0, 1)), "a jump behind the end");
    assert!(!is_sound(i(0x34, 0, 0, 0)), "a division by zero");
    assert!(!is_sound(i(0x94, 0, 0, 0)), "a remainder of a division by zero");
    assert!(!is_sound(i(0x02, 0, 0, 16)), "a word behind the memory");
    assert!(!is_sound(i(0x60, 0, 0, 16)), "a word behind the memory");
    assert!(!is_sound(i(0x38, 0, 0, 0)), "no size of a load");
    assert!(!is_sound(i(0xb4, 0, 0, 1)), "no operation");
    assert!(!is_sound(i(0x0e, 0, 0, 1)), "a return of the index register");
    assert!(Program::new(vec![i(0x28, 0, 0, 12)]).is_none(), "no return");
    assert!(Program::new(Vec::new()).is_none(), "nothing");
}

#[test]
fn whatever_is_sound_ends_and_stays_inside() {
    // Numbers of a linear congruence: the same each time.
    let mut state = 1u64;
    let mut number = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32
    };
    let (mut sound, mut accepted) = (0, 0);
    for _ in 0..200_000 {
        let mut program: Vec<_> = (0..number() % 6)
            .map(|_| Instruction {
                code: number() as u16 & 0xff,
                jt: number() as u8 & 3,
                jf: number() as u8 & 3,
                k: number() >> (number() % 32),
            })
            .collect();
        program.push(Instruction { code: 0x16, jt: 0, jf: 0, k: 0 });
        let Some(program) = Program::new(program) else { continue };
        sound += 1;
        accepted += usize::from(program.accepts(&[0xa5; 64]));
    }
    assert!(sound > 10_000 && accepted > 1_000, "{sound} {accepted}");
}

#[test]
fn operations_compute_what_they_say() {
    let i = |code, k| Instruction { code, jt: 0, jf: 0, k };
    // The accumulator is 7, the index register 3; the program gives what is computed.
    let result = |operation| {
        let program = vec![i(0x01, 3), i(0x00, 7), operation, i(0x15, 0), i(0x16, 0)];
        let expects = |value: u32| {
            let mut program = program.clone();
            program[3] = Instruction { code: 0x15, jt: 0, jf: 1, k: value };
            program[4] = i(0x06, 1);
            program.push(i(0x06, 0));
            Program::new(program).unwrap().accepts(&[])
        };
        (0..64).chain([u32::MAX - 6, u32::MAX - 3]).find(|value| expects(*value))
    };
    for (code, value) in [
        (0x0c, 10),
        (0x1c, 4),
        (0x2c, 21),
        (0x3c, 2),
        (0x4c, 7),
        (0x5c, 3),
        (0x6c, 56),
        (0x7c, 0),
        (0x84, u32::MAX - 6),
        (0x9c, 1),
        (0xac, 4),
        (0x87, 3),
    ] {
        assert_eq!(result(i(code, 0)), Some(value), "{code:#x}");
    }
    assert_eq!(result(i(0x14, 11)), Some(u32::MAX - 3), "less than nothing");
}

/// Numbers of a linear congruence: the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

const ATOMS: &[&str] = &[
    "ip",
    "ip6",
    "arp",
    "tcp",
    "udp",
    "icmp",
    "icmp6",
    "sctp",
    "host 10.0.0.1",
    "src host 10.0.0.2",
    "dst net 10.0.0.0/8",
    "net 192.168.0.0/16",
    "ip6 host 2001:db8::1",
    "port 53",
    "src port 80",
    "dst portrange 50-90",
    "tcp port 443",
    "udp port 53",
    "ether host 02:00:00:00:00:01",
    "ether src 02:00:00:00:00:02",
    "ether multicast",
    "ip multicast",
    "ip proto 17",
    "ip6 proto 6",
    "greater 60",
    "less 70",
    "len >= 42",
    "ip[8] < 64",
    "ip[0] & 0xf = 5",
    "ip[6:2] & 0x1fff = 0",
    "ip[2:2] - ((ip[0] & 0xf) << 2) > 20",
    "tcp[tcpflags] & (tcp-syn | tcp-ack) = tcp-syn",
    "tcp[(tcp[12] >> 4) * 4 : 2] > 100",
    "udp[4:2] > 8",
    "udp[8:4] % 7 = 3",
    "ether[12:2] = 0x800",
    "ether[20] ^ ether[21] > 10",
    "ip[9] * ip[8] / 3 > 200",
    "icmp[icmptype] = icmp-echo",
];

fn expression(n: &mut Numbers, depth: usize) -> String {
    match n.below(if depth == 0 { 1 } else { 4 }) {
        1 => format!("not ({})", expression(n, depth - 1)),
        2 => format!("({}) and ({})", expression(n, depth - 1), expression(n, depth - 1)),
        3 => format!("({}) or ({})", expression(n, depth - 1), expression(n, depth - 1)),
        _ => n.one(ATOMS).to_owned(),
    }
}

/// A frame that filters have something to say about, sometimes cut.
fn frame(n: &mut Numbers) -> Vec<u8> {
    let mac = |last| [2, 0, 0, 0, 0, last];
    let address =
        |n: &mut Numbers| n.one(&[[10, 0, 0, 1], [10, 0, 0, 2], [192, 168, 1, 1], [224, 0, 0, 5]]);
    let ports = |n: &mut Numbers| {
        let port = |n: &mut Numbers| n.one(&[53_u16, 80, 443, 60_000]).to_be_bytes();
        [port(n), port(n)].concat()
    };
    let mut frame = [mac(n.below(3) as u8), mac(n.below(3) as u8)].concat();
    frame[0] |= n.below(2) as u8;
    let protocol = n.one(&[1, 6, 17, 58, 132]);
    match n.below(5) {
        0 | 1 => {
            let words = 5 + n.one(&[0, 0, 1, 3]);
            frame.extend([8, 0, 0x40 | words as u8, 0, 0, n.below(120) as u8]);
            let fragment = n.one(&[[0x40, 0], [0, 0], [0x20, 0], [0, 7]]);
            frame.extend([n.bytes(2), fragment.to_vec()].concat());
            frame.extend([n.below(256) as u8, protocol, 0, 0]);
            frame.extend([address(n), address(n)].concat());
            frame.extend(n.bytes((words - 5) * 4));
            frame.extend(ports(n));
        }
        2 => {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, n.below(99) as u8, protocol, 64]);
            let address = |n: &mut Numbers| {
                let mut address = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
                address[15] = n.below(3) as u8;
                address
            };
            frame.extend([address(n), address(n)].concat());
            frame.extend(ports(n));
        }
        3 => frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]),
        _ => frame.extend(n.bytes(2)),
    }
    let more = n.below(60);
    frame.extend(n.bytes(more));
    if n.below(8) == 0 {
        let end = n.below(frame.len());
        frame.truncate(end);
    }
    frame
}

/// The numbers of the frames that tcpdump's own filter lets through, by their times.
fn tcpdump(file: &std::path::Path, expression: &str, optimizes: bool) -> Vec<u32> {
    let mut tcpdump = std::process::Command::new("tcpdump");
    // Shortened programs look at less, and so refuse fewer of the packets that end early.
    tcpdump.args((!optimizes).then_some("-O"));
    tcpdump.args(["-Z", "root", "-r"]).arg(file).args(["-w", "-", expression]);
    let out = tcpdump.output().unwrap();
    assert!(out.status.success(), "{expression}: {}", String::from_utf8_lossy(&out.stderr));
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let (mut rest, mut numbers) = (&out.stdout[24..], Vec::new());
    while !rest.is_empty() {
        numbers.push(word(rest, 0));
        rest = &rest[16 + word(rest, 8) as usize..];
    }
    numbers
}

#[test]
fn filters_choose_what_tcpdump_chooses() {
    let Some(mut bench) = bench() else { return };
    if std::process::Command::new("tcpdump").arg("--version").output().is_err() {
        eprintln!("skipped: tcpdump is not installed");
        return;
    }
    let mut n = Numbers(7);
    let frames: Vec<_> = (0..500).map(|_| frame(&mut n)).collect();
    let words = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, 1];
    let mut bytes: Vec<_> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (number, frame) in frames.iter().enumerate() {
        let words = [number as u32, 0, frame.len() as u32, frame.len() as u32];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(frame);
    }
    let file = std::env::temp_dir().join(format!("filters-{}.pcap", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let (mut some, mut expressions) =
        (0, ATOMS.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>());
    expressions.extend((0..120).map(|_| expression(&mut n, 3)));
    for expression in expressions {
        for optimizes in ["", "no-optimize "] {
            match bench.run(&format!("set bpf trace filter {optimizes}{{{expression}}}")) {
                // What can be no packet is found out by libpcap alone.
                Err(e) if e.contains("rejects all packets") => continue,
                done => done.unwrap(),
            };
            let program = bpf_trace_filter::program(&bench.router).unwrap();
            let ours: Vec<_> = (0..frames.len() as u32)
                .filter(|number| program.accepts(&frames[*number as usize]))
                .collect();
            assert_eq!(ours, tcpdump(&file, &expression, optimizes.is_empty()), "{expression}");
            some += usize::from(!ours.is_empty() && ours.len() < frames.len());
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert!(some > 100, "only {some} filters had a choice to make");
}
