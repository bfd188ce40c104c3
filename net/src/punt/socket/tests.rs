//! Packets to programs and back.

use std::os::unix::net::UnixDatagram;

use control::api::Retval;
use graph::Flags;
use wire::IpVersion;

use super::*;
use crate::ip::testing::Bench;
use crate::ip::testing::packets::*;

/// A folder of its own, gone with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("punt-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    /// A program's socket.
    fn program(&self, name: &str) -> UnixDatagram {
        let socket = UnixDatagram::bind(self.path(name)).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }
    fn bench(&self) -> Bench {
        let socket = Some(self.path("router"));
        let set = |router: &mut Router| router.insert(Settings { socket });
        Bench::made(1, set, |_| ())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The datagrams that wait, without their descriptors, which are checked.
fn received(socket: &UnixDatagram, interface: u32) -> Vec<Vec<u8>> {
    let mut room = [0; 70_000];
    let mut all = Vec::new();
    while let Ok(len) = socket.recv(&mut room) {
        let (head, rest) = Descriptor::read_from_prefix(&room[..len]).unwrap();
        assert_eq!(head, Descriptor { interface, action: Descriptor::L2 });
        all.push(rest.to_vec());
    }
    all
}

/// A packet behind an Ethernet header, as a node finds it that is given the IP packet.
fn framed(packet: &[u8]) -> (Vec<u8>, impl Fn(&mut Buffer<'_>) + Clone + Send + 'static) {
    let frame = [&[0x5a; 14][..], packet].concat();
    let prepare = |p: &mut Buffer<'_>| {
        let offset = p.offset();
        p.set_l2_offset(offset);
        p.set_l3_offset(offset + 14);
        p.add_flags(Flags::L2.with(Flags::L3));
        p.advance(14).unwrap();
    };
    (frame, prepare)
}

#[test]
fn packets_to_a_port_reach_the_program_with_their_layer_2_header() {
    let folder = Folder::new("port");
    let mut bench = folder.bench();
    let (one, other) = (folder.program("one"), folder.program("other"));
    for (version, us, host) in [(4, "10.0.0.1", HOST4), (6, "2001:db8::1", HOST6)] {
        let packet = |port| match version {
            4 => udp4(host, us, port, b"x"),
            _ => udp6(host, us, port, b"x"),
        };
        let (receive, punt) =
            (format!("ip{version}-receive"), format!("ip{version}-udp-punt-socket"));
        let path = |name| folder.path(name).display().to_string();
        let register = |bench: &mut Bench, port, name| {
            let line =
                format!("punt socket register ipv{version} udp {port} socket {}", path(name));
            bench.run(&line).unwrap();
        };
        register(&mut bench, 1111, "one");
        register(&mut bench, 2222, "other");
        for n in [1, 3, 4, 255, 256] {
            let (frame, prepare) = framed(&packet(1111));
            // As many as the socket holds wait; the rest is refused and counted.
            assert!(bench.send_as(&receive, &vec![frame.clone(); n], prepare).is_empty());
            let got = received(&one, bench.pg0.0);
            assert!(got.iter().all(|bytes| *bytes == frame));
            let sent = (punt.as_str(), "Socket TX", got.len() as u64);
            let refused = (punt.as_str(), "Socket TX error", (n - got.len()) as u64);
            let moved = [sent, refused];
            bench.expect(if got.len() < n { &moved } else { &moved[..1] });
        }
        let (frame, prepare) = framed(&packet(2222));
        bench.send_as(&receive, &[frame], prepare);
        assert_eq!((received(&one, 0).len(), received(&other, bench.pg0.0).len()), (0, 1));
        bench.expect(&[(&punt, "Socket TX", 1)]);
        register(&mut bench, 1111, "nowhere");
        let shown = bench.run("show punt socket registrations l4").unwrap();
        assert_eq!(bench.run("show punt socket registrations ip l4").unwrap(), shown);
        assert_eq!(bench.run("show punt socket registrations exception").unwrap(), "");
        assert!(shown.contains(&format!("ip{version} UDP port:1111 path:{}", path("nowhere"))));
        let (frame, prepare) = framed(&packet(1111));
        bench.send_as(&receive, &[frame], prepare);
        bench.expect(&[(&punt, "Socket TX error", 1)]);
        for port in [1111, 2222] {
            bench.run(&format!("punt socket deregister ipv{version} udp {port}")).unwrap();
        }
        // No listener: the sender gets an error again.
        assert_eq!(bench.send(&receive, &[packet(1111)]).len(), 1);
        let (lookup, error) =
            (format!("ip{version}-udp-lookup"), format!("ip{version}-icmp-error"));
        bench.expect(&[(&lookup, "no_listener", 1), (&error, "dest_unreach_sent", 1)]);
    }
    assert_eq!(bench.run("show punt socket registrations").unwrap(), "");
}

#[test]
fn protocols_and_icmp6_types_reach_programs_and_go_back_to_who_had_them() {
    let folder = Folder::new("protocol");
    let mut bench = folder.bench();
    let program = folder.program("program");
    let path = folder.path("program");
    let ospf = Punted::Protocol { version: IpVersion::V4, protocol: Protocol(89) };
    let echo = Port { version: IpVersion::V6, protocol: Protocol::ICMP6, port: Some(128) };
    let echo = Punted::Port(echo);
    for what in [ospf, echo] {
        bench.control(|r| r.register_punt_socket(what, HEADER_VERSION, &path)).unwrap();
    }
    let (frame, prepare) = framed(&ip4(HOST4, "10.0.0.1", Protocol(89), b"hello"));
    assert!(bench.send_as("ip4-receive", std::slice::from_ref(&frame), prepare).is_empty());
    assert_eq!(received(&program, bench.pg0.0), [frame]);
    let ping = icmp6(HOST6, "2001:db8::1", wire::icmp6::Type::ECHO_REQUEST, &[0; 8]);
    let (frame, prepare) = framed(&ping);
    assert!(bench.send_as("ip6-receive", std::slice::from_ref(&frame), prepare).is_empty());
    assert_eq!(received(&program, bench.pg0.0), [frame]);
    bench.expect(&[
        ("ip6-icmp-input", "echo_replies_sent", 1),
        ("ip4-proto-punt-socket", "Socket TX", 1),
        ("ip6-icmp-punt-socket", "Socket TX", 1),
    ]);
    bench.control(|r| r.deregister_punt_socket(echo)).unwrap();
    assert_eq!(bench.send("ip6-receive", &[ping]).len(), 1, "answered as before");
}

#[test]
fn a_port_that_is_punted_goes_to_a_program_first() {
    let folder = Folder::new("both");
    let mut bench = folder.bench();
    let program = folder.program("program");
    let packet = udp4(HOST4, "10.0.0.1", 1111, b"x");
    let register =
        format!("punt socket register ipv4 udp 1111 socket {}", folder.path("program").display());
    let got = |bench: &mut Bench, sends_error: usize| {
        let before = bench.router.interfaces.values(bench.pg0).punt;
        let out = bench.send("ip4-receive", std::slice::from_ref(&packet));
        assert_eq!(out.len(), sends_error);
        let punted = bench.router.interfaces.values(bench.pg0).punt - before;
        (received(&program, bench.pg0.0).len(), punted)
    };
    bench.run("set punt udp 1111").unwrap();
    assert_eq!(got(&mut bench, 0), (0, 1));
    bench.run(&register).unwrap();
    assert_eq!(got(&mut bench, 0), (1, 0));
    bench.run("punt socket deregister ipv4 udp 1111").unwrap();
    assert_eq!(got(&mut bench, 0), (0, 1));
    bench.run(&register).unwrap();
    bench.run("set punt udp del 1111").unwrap();
    assert_eq!(got(&mut bench, 0), (1, 0));
    bench.run("punt socket deregister ipv4 udp 1111").unwrap();
    assert_eq!(got(&mut bench, 1), (0, 0));
}

#[test]
fn a_protocol_that_is_punted_goes_to_a_program_first_whoever_came_first() {
    let folder = Folder::new("protocols");
    let mut bench = folder.bench();
    let program = folder.program("program");
    let path = folder.path("program");
    let mut ospf = ip4(HOST4, "10.0.0.1", Protocol(89), b"hello");
    let mut got = |bench: &mut Bench, protocol: Protocol| {
        ospf[9] = protocol.0;
        ospf[10..12].fill(0);
        let sum = wire::checksum::Sum::ZERO.add_bytes(&ospf[..20]).checksum();
        ospf[10..12].copy_from_slice(sum.as_bytes());
        let before = bench.router.interfaces.values(bench.pg0).punt;
        bench.send("ip4-receive", std::slice::from_ref(&ospf));
        let punted = bench.router.interfaces.values(bench.pg0).punt - before;
        (received(&program, bench.pg0.0).len(), punted)
    };
    for protocol in [Protocol(89), Protocol(103)] {
        let what = Punted::Protocol { version: IpVersion::V4, protocol };
        let punt = |bench: &mut Bench, on| {
            bench.control(|r| r.set_punt_protocol(IpVersion::V4, protocol, on)).unwrap();
        };
        let register = |bench: &mut Bench| {
            bench.control(|r| r.register_punt_socket(what, HEADER_VERSION, &path)).unwrap();
        };
        let deregister = |bench: &mut Bench| {
            bench.control(|r| r.deregister_punt_socket(what)).unwrap();
        };
        assert_eq!(got(&mut bench, protocol), (0, 0));
        register(&mut bench);
        punt(&mut bench, true);
        assert_eq!(got(&mut bench, protocol), (1, 0));
        punt(&mut bench, false);
        assert_eq!(got(&mut bench, protocol), (1, 0));
        punt(&mut bench, true);
        register(&mut bench);
        deregister(&mut bench);
        assert_eq!(got(&mut bench, protocol), (0, 1));
        register(&mut bench);
        punt(&mut bench, false);
        assert_eq!(got(&mut bench, protocol), (1, 0));
        deregister(&mut bench);
        assert_eq!(got(&mut bench, protocol), (0, 0));
    }
}

#[test]
fn a_file_that_is_no_socket_stays() {
    let folder = Folder::new("file");
    let path = folder.path("router");
    std::fs::write(&path, "precious").unwrap();
    assert!(open(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    std::fs::remove_file(&path).unwrap();
    drop(open(&path).unwrap());
    assert!(open(&path).is_ok(), "what an earlier router left is in nobody's way");
}

#[test]
fn what_features_punt_goes_to_sockets_and_to_ip() {
    let folder = Folder::new("reason");
    let mut bench = folder.bench();
    let program = folder.program("program");
    let path = folder.path("program");
    let reason = bench.router.punt_reason_named("ipsec6-no-such-tunnel").unwrap();
    let packet = udp6(HOST6, "2001:db8::1", 500, b"x");
    let send = |bench: &mut Bench, reason: Reason, n| {
        let (frame, prepare) = framed(&packet);
        let out = bench.send_as("punt-dispatch", &vec![frame; n], move |p| {
            prepare(p);
            p.set_payload(reason);
        });
        assert!(out.is_empty());
    };
    send(&mut bench, reason, 2);
    send(&mut bench, Reason(77), 1);
    bench.expect(&[
        ("punt-dispatch", "No registrations", 2),
        ("punt-dispatch", "No such punt reason", 1),
    ]);
    let what = Punted::Reason(reason);
    bench.control(|r| r.register_punt_socket(what, HEADER_VERSION, &path)).unwrap();
    send(&mut bench, reason, 2);
    assert_eq!(received(&program, bench.pg0.0).len(), 2);
    bench.control(|r| r.set_punt_reason(reason, true)).unwrap();
    send(&mut bench, reason, 2);
    assert_eq!(received(&program, bench.pg0.0).len(), 2);
    assert_eq!(bench.router.interfaces.values(bench.pg0).punt, 2);
    bench.expect(&[("punt-dispatch", "dispatched", 6), ("exception-punt-socket", "Socket TX", 4)]);
    let db = bench.run("show punt db").unwrap();
    assert!(db.contains(
        " [3] ipsec6-no-such-tunnel flags: ip6-packet \n   [exception-punt-socket, ip6-punt]\n"
    ));
    let stats = bench.run("show punt stats").unwrap();
    assert!(
        stats.contains("[3] ipsec6-no-such-tunnel flags: ip6-packet  packets:6 bytes:"),
        "{stats}"
    );
    let reasons = bench.run("show punt reasons").unwrap();
    assert!(
        reasons.starts_with("[1] ipsec4-spi-o-udp-0 flags: ip4-packet  from:[ipsec ]\n"),
        "{reasons}"
    );
    assert!(bench.run("show punt client").unwrap().starts_with("ipsec\n  [1] ipsec4-spi"));
}

#[test]
fn programs_send_frames_and_have_packets_routed() {
    let folder = Folder::new("back");
    let mut bench = folder.bench();
    bench.control(receive_somewhere);
    let program = folder.program("program");
    let (pg0, pg1) = (bench.pg0.0, bench.pg1.0);
    let mut send = |interface, action, bytes: &[u8]| {
        let head = Descriptor { interface, action };
        program.send_to(&[head.as_bytes(), bytes].concat(), folder.path("router")).unwrap();
        // No thread watches the socket here.
        let node = bench.graph.engine.index_of("punt-socket-rx").unwrap();
        bench.graph.engine.set_input_state(0, node, InputState::Adaptive);
        let out = bench.graph.run();
        out.into_iter().map(|c| (c.at, c.rx, c.tx, c.bytes)).collect::<Vec<_>>()
    };
    let frame = vec![7; 5000];
    assert_eq!(send(pg1, Descriptor::L2, &frame), [("sent".to_owned(), pg1, pg1, frame)]);
    let four = udp4("10.0.0.9", "10.0.1.2", 99, b"x");
    let sent = send(pg0, Descriptor::IP4, &four);
    assert_eq!(sent, [("ip4-lookup".to_owned(), pg0, u32::MAX, four.clone())]);
    let six = udp6(HOST6, "2001:db8:1::2", 99, b"x");
    let sent = send(pg0, Descriptor::IP6, &six);
    assert_eq!(sent, [("ip6-lookup".to_owned(), pg0, u32::MAX, six)]);
    assert_eq!(send(pg0, 9, &four), []);
    assert_eq!(send(99, Descriptor::IP4, &four), []);
    assert_eq!(send(pg0, Descriptor::L2, &four[..5]), []);
    program.send_to(&[1, 2], folder.path("router")).unwrap();
    bench.graph.run();
    bench.expect(&[
        ("punt-socket-rx", "invalid packet descriptor", 4),
        ("punt-socket-rx", "Socket RX", 3),
    ]);
}

#[test]
fn what_cannot_be_registered_is_refused() {
    let mut without = Bench::new();
    let error = without.run("punt socket register ipv4 udp 1 socket /x").unwrap_err();
    assert!(error.contains("not configured"), "{error}");
    let folder = Folder::new("refused");
    let mut bench = folder.bench();
    for (line, word) in [
        ("punt socket register ipv4 udp all socket /x", "port number required"),
        ("punt socket register ipv4 tcp 80 socket /x", "only UDP"),
        ("punt socket register ipv4 udp 80", "expected socket"),
        ("punt socket register ipv4 udp socket /x", "port"),
        ("punt socket register ipv4 sctp 80 socket /x", "sctp"),
        ("punt socket deregister ipv4 udp all", "port number"),
    ] {
        let error = bench.run(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
    let long = PathBuf::from("x".repeat(108));
    let port =
        Punted::Port(Port { version: IpVersion::V4, protocol: Protocol::UDP, port: Some(1) });
    let mut refused = |what, version, path: &Path| {
        bench.control(|r| r.register_punt_socket(what, version, path)).unwrap_err()
    };
    assert_eq!(refused(port, 2, Path::new("/x")), Error::Version(2));
    assert_eq!(refused(port, 1, &long), Error::Path(long.clone()));
    assert_eq!(refused(Punted::Reason(Reason(99)), 1, Path::new("/x")), Error::NoReason);
    assert_eq!(Retval::from(Error::NoReason), Retval::UNSPECIFIED);
    let bench_is_clean = bench.router.punt_clients().next().is_none();
    assert!(bench_is_clean);
}

/// A socket that takes a minute to close: its peer reads nothing.
fn slow() -> std::net::TcpStream {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    std::mem::forget(listener.accept().unwrap());
    let minute = Some(std::time::Duration::from_secs(60));
    rustix::net::sockopt::set_socket_linger(&socket, minute).unwrap();
    socket.set_nonblocking(true).unwrap();
    while std::io::Write::write(&mut socket, &[0; 65_536]).is_ok() {}
    socket
}

#[test]
fn descriptors_that_programs_send_along_keep_no_thread() {
    let folder = Folder::new("descriptors");
    let mut bench = folder.bench();
    let program = folder.program("program");
    program.connect(folder.path("router")).unwrap();
    let node = bench.graph.engine.index_of("punt-socket-rx").unwrap();
    #[allow(clippy::disallowed_methods, reason = "how long it takes is real time")]
    let start = std::time::Instant::now();
    for _ in 0..4 {
        control::socket::send_with(&program, b"?", slow()).unwrap();
    }
    bench.graph.engine.set_input_state(0, node, InputState::Adaptive);
    bench.graph.run();
    bench.expect(&[("punt-socket-rx", "invalid packet descriptor", 4)]);
    assert!(start.elapsed() < std::time::Duration::from_secs(30));
}
