use wire::{Protocol, icmp6};

use crate::ip::testing::packets::*;
use crate::ip::testing::{Bench, NEIGHBOR};

#[test]
fn punted_ports_are_redirected_to_a_neighbor() {
    for (version, us, host, hop) in
        [(4, "10.0.0.1", HOST4, "10.0.1.2"), (6, "2001:db8::1", HOST6, "2001:db8:1::2")]
    {
        let packet =
            if version == 4 { udp4(host, us, 7654, b"x") } else { udp6(host, us, 7654, b"x") };
        let receive = format!("ip{version}-receive");
        let (punt, redirect) =
            (format!("ip{version}-udp-punt"), format!("ip{version}-punt-redirect"));
        let six = if version == 6 { "6" } else { "" };
        let mut bench = Bench::new();
        bench
            .run(&format!("set punt ip{} udp 7654", if version == 4 { "v4" } else { "6" }))
            .unwrap();
        assert!(bench.send(&receive, std::slice::from_ref(&packet)).is_empty());
        bench.expect(&[(&punt, "udp port punt", 1)]);
        bench.neighbor(hop, true);
        bench.run(&format!("ip{six} punt redirect add rx all via {hop} pg1")).unwrap();
        for n in [1, 3, 4, 255, 256] {
            let out = bench.send(&receive, &vec![packet.clone(); n]);
            assert_eq!(out.len(), n);
            assert!(out.iter().all(|c| c.at == "sent" && c.bytes[..6] == NEIGHBOR.0));
            assert!(out.iter().all(|c| c.bytes[14..] == packet[..]), "as it came");
            bench.expect(&[(&punt, "udp port punt", n as u64)]);
        }
        bench.run(&format!("ip{six} punt redirect add rx pg1 via {hop} pg1")).unwrap();
        bench.run(&format!("ip{six} punt redirect del rx all")).unwrap();
        let shown = bench.run(&format!("show ip{six} punt redirect")).unwrap();
        assert_eq!(shown, format!("rx pg1 redirect via {hop} pg1\n"));
        assert!(bench.send(&receive, std::slice::from_ref(&packet)).is_empty());
        let name = format!("{} drop", redirect.replace('-', " "));
        bench.expect(&[(&redirect, &name, 1), (&punt, "udp port punt", 1)]);
    }
}

#[test]
fn a_redirect_without_a_path_leads_nowhere() {
    let mut bench = Bench::new();
    bench.run("set punt ipv4 udp 7654").unwrap();
    bench.neighbor("10.0.1.2", true);
    bench.run("ip punt redirect add rx all via 10.0.1.2 pg1").unwrap();
    let (pg0, packet) = (bench.pg0, udp4(HOST4, "10.0.0.1", 7654, b"x"));
    let send = |bench: &mut Bench| bench.send("ip4-receive", std::slice::from_ref(&packet)).len();
    assert_eq!(send(&mut bench), 1);
    bench.control(|r| r.set_punt_redirect::<crate::ip::V4>(Some(pg0), None).unwrap());
    assert_eq!(send(&mut bench), 0);
    let shown = bench.run("show ip punt redirect").unwrap();
    assert_eq!(shown, "rx all redirect via 10.0.1.2 pg1\nrx pg0 redirect nowhere\n");
    bench.run("ip punt redirect del rx pg0").unwrap();
    assert_eq!(send(&mut bench), 1);
}

#[test]
fn protocols_that_nobody_takes_are_redirected_too() {
    let mut bench = Bench::new();
    for (six, hop, local, packet) in [
        ("", "10.0.1.2", "ip4-local", ip4(HOST4, "10.0.0.1", Protocol(253), &[7; 8])),
        ("6", "2001:db8:1::2", "ip6-input", ip6(HOST6, "2001:db8::1", Protocol(253), &[7; 8])),
    ] {
        let receive = format!("ip{}-receive", packet[0] >> 4);
        bench.neighbor(hop, true);
        bench.run(&format!("ip{six} punt redirect add rx pg0 via {hop} pg1")).unwrap();
        for n in [1, 3, 4, 255, 256] {
            let out = bench.send(&receive, &vec![packet.clone(); n]);
            assert_eq!(out.len(), n);
            assert!(out.iter().all(|c| c.at == "sent" && c.bytes[..6] == NEIGHBOR.0));
            assert!(out.iter().all(|c| c.bytes[14..] == packet[..]), "as it came");
            bench.expect(&[(local, "unknown_protocol", n as u64)]);
        }
        bench.run(&format!("ip{six} punt redirect del rx pg0")).unwrap();
        // Now its sender gets an error.
        let out = bench.send(&receive, &[packet]);
        assert!(out.len() == 1 && out[0].at != "sent");
        let (error, sent) = match six {
            "" => ("ip4-icmp-error", "dest_unreach_sent"),
            _ => ("ip6-icmp-error", "param_problem_sent"),
        };
        bench.expect(&[(local, "unknown_protocol", 1), (error, sent, 1)]);
    }
}

#[test]
fn messages_of_unknown_types_are_redirected_too() {
    let mut bench = Bench::new();
    for (six, hop, packet) in [
        ("", "10.0.1.2", ip4(HOST4, "10.0.0.1", Protocol::ICMP, &[11, 0, 0xf4, 0xff, 0, 0, 0, 0])),
        ("6", "2001:db8:1::2", icmp6(HOST6, "2001:db8::1", icmp6::Type(3), &[0; 4])),
    ] {
        let (v, receive) = (packet[0] >> 4, format!("ip{}-receive", packet[0] >> 4));
        bench.neighbor(hop, true);
        bench.run(&format!("ip{six} punt redirect add rx pg0 via {hop} pg1")).unwrap();
        for n in [1, 3, 4, 255, 256] {
            let out = bench.send(&receive, &vec![packet.clone(); n]);
            assert_eq!(out.len(), n);
            assert!(out.iter().all(|c| c.at == "sent" && c.bytes[14..] == packet[..]));
            bench.expect(&[(&format!("ip{v}-icmp-input"), "unknown_type", n as u64)]);
        }
        bench.run(&format!("ip{six} punt redirect del rx pg0")).unwrap();
        assert!(bench.send(&receive, &[packet]).is_empty());
        bench.expect(&[(&format!("ip{v}-icmp-input"), "unknown_type", 1)]);
    }
}

#[test]
fn what_nobody_listens_on_is_punted_or_told() {
    let mut bench = Bench::new();
    let packet = udp4(HOST4, "10.0.0.1", 99, &[]);
    bench.run("set punt udp all").unwrap();
    assert!(bench.send("ip4-receive", std::slice::from_ref(&packet)).is_empty());
    bench.expect(&[("ip4-udp-punt", "udp port punt", 1)]);
    bench.run("set punt udp del all").unwrap();
    assert_eq!(bench.send("ip4-receive", &[packet])[0].bytes[20..22], [3, 3]);
    let mut header = wire::tcp::Header::new(1, 2, 3, 4, wire::tcp::Flags::SYN);
    header.data_offset = 5 << 4;
    let tcp = ip4(HOST4, "10.0.0.1", Protocol::TCP, zerocopy::IntoBytes::as_bytes(&header));
    let mut tcp = tcp;
    let sum = sum4(&tcp).checksum();
    tcp[36..38].copy_from_slice(zerocopy::IntoBytes::as_bytes(&sum));
    assert!(bench.send("ip4-receive", std::slice::from_ref(&tcp)).is_empty());
    bench.expect(&[
        ("ip4-local", "unknown_protocol", 1),
        ("ip4-udp-lookup", "no_listener", 1),
        ("ip4-icmp-error", "dest_unreach_sent", 1),
    ]);
    bench.run("set punt tcp all").unwrap();
    assert!(bench.send("ip4-receive", &[tcp]).is_empty());
    assert_eq!(bench.router.interfaces.values(bench.pg0).punt, 2);
}

#[test]
fn commands_name_what_is_wrong_and_show_who_takes_what() {
    let mut bench = Bench::new();
    for (line, word) in [
        ("set punt tcp 80", "TCP"),
        ("set punt udp del 80", "not being punted"),
        ("set punt udp", "port"),
        ("set punt udp eighty", "eighty"),
        ("ip punt redirect add rx nowhere via 10.0.1.2 pg1", "nowhere"),
        ("ip punt redirect add rx all via 2001:db8::1 pg1", "other IP version"),
        ("ip punt redirect add via pg1", "rx"),
        ("ip punt redirect del rx all", "no such redirect"),
    ] {
        let error = bench.run(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
    bench.run("set punt ip6 udp 53").unwrap();
    let shown = bench.run("show udp ports").unwrap();
    let rows = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows[0], ["port", "proto", "node"], "{shown}");
    assert!(rows.contains(&vec!["53", "ip6", "ip6-udp-punt"]), "{shown}");
    assert_eq!(bench.run("show udp ports ip6 53").unwrap().lines().count(), 2);
    assert_eq!(bench.run("show udp ports 53 ip4").unwrap().lines().count(), 1);
    bench.run("set punt ip6 udp 67\nset punt ipv4 udp all").unwrap();
    let text = bench.run("show udp punt").unwrap();
    assert_eq!(text, "IPV4 UDP ports punt : all\nIPV6 UDP ports punt : 53, 67\n");
    bench.run("set punt ipv4 udp del all").unwrap();
    let text = bench.run("show udp punt ipv4").unwrap();
    assert_eq!(text, "IPV4 UDP ports punt : none\n");
    let shown = bench.run("show ip local").unwrap();
    assert!(shown.starts_with("Protocols handled by ip4_local\n"), "{shown}");
    assert!(shown.contains("\nUDP: ip4-udp-lookup\n"), "{shown}");
    let shown = bench.run("show ip6 local").unwrap();
    assert!(shown.starts_with("Protocols handled by ip6_local\n"), "{shown}");
    assert!(shown.contains("\n17: ip6-udp-lookup\n"), "{shown}");
}

#[test]
fn punting_is_tried_out_with_neighbors_that_get_what_is_punted() {
    let mut bench = Bench::new();
    let packets = |is_4: bool, n| {
        let (four, six) = (udp4("1.1.1.1", "1.1.1.2", 7, b"x"), udp6("1::1", "1::2", 7, b"x"));
        vec![if is_4 { four } else { six }; n]
    };
    assert!(bench.router.punt_reason_named("reason-v4").is_none());
    bench.run("test punt pg0").unwrap();
    for (is_4, at, reason, hop, own) in [
        (true, "ip4-input", "reason-v4", "10.0.1.2", "10.0.1.1"),
        (false, "ip6-input", "reason-v6", "2001:db8:1::2", "2001:db8:1::1"),
    ] {
        let to_us = if is_4 { udp4(HOST4, own, 7, b"x") } else { udp6(HOST6, own, 7, b"x") };
        assert!(bench.send(at, &[to_us])[0].at.ends_with("-lookup"), "others go on");
        assert!(bench.send(at, &packets(is_4, 3)).is_empty());
        bench.expect(&[("punt-dispatch", "No registrations", 3)]);
        bench.neighbor(hop, true);
        bench.run(&format!("test punt pg1 {hop}")).unwrap();
        let again = bench.run(&format!("test punt pg1 {hop}")).unwrap_err();
        assert!(again.contains(hop), "{again}");
        let mut total = 3;
        for n in [1, 3, 4, 255, 256] {
            let out = bench.send(at, &packets(is_4, n));
            assert_eq!(out.len(), n);
            let whole = packets(is_4, 1).remove(0);
            assert!(out.iter().all(|c| c.at == "sent" && c.bytes[14..] == whole), "as it was");
            bench.expect(&[("punt-dispatch", "dispatched", n as u64)]);
            total += n as u64;
        }
        let punted = |bench: &Bench| {
            let (_, _, takers, volume) =
                bench.router.punt_reasons().find(|(_, info, ..)| info.name == reason).unwrap();
            (takers.nodes().len(), volume.packets)
        };
        assert_eq!(punted(&bench), (1, total));
        // Another neighbour gets copies.
        let other = if is_4 { "10.0.1.9" } else { "2001:db8:1::9" };
        bench.neighbor(other, true);
        bench.run(&format!("test punt pg1 {other}")).unwrap();
        assert_eq!(bench.send(at, &packets(is_4, 4)).len(), 8);
        bench.expect(&[("punt-dispatch", "dispatched", 8)]);
        assert!(bench.run("show punt db").unwrap().contains(&format!("{hop}, ")));
    }
    let pg1 = bench.pg1;
    bench.control(|r| r.remove_interface(pg1));
    assert!(bench.send("ip4-input", &packets(true, 1)).is_empty());
    bench.expect(&[("punt-dispatch", "No registrations", 1)]);
    let error = bench.run("test punt nowhere").unwrap_err();
    assert!(error.contains("nowhere"), "{error}");
    let error = bench.run("test punt pg0 ten").unwrap_err();
    assert!(error.contains("ten"), "{error}");
}
