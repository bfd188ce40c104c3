//! Neighbour discovery for others, from outside.

use wire::nd::NdOption;
use wire::{MacAddr, nd};
use zerocopy::{FromBytes, IntoBytes};

use crate::neighbor::NdFrame;
use crate::neighbor::testing::*;

fn answer(caught: &graph::testing::Caught) -> NdFrame {
    NdFrame::read_from_bytes(&caught.bytes).unwrap()
}

/// From a host in `pg0`'s network that is behind `pg1`, for an address of `pg1`.
fn from_behind() -> Vec<u8> {
    let mut frame = solicitation("2001:db8::9", "2001:db8:1::1");
    frame.ethernet.src = OTHER;
    frame.option = nd::LinkLayer::source(OTHER);
    summed(&frame, 0)
}

#[test]
fn a_proxied_host_is_a_neighbour_where_it_is_and_answered_for_elsewhere() {
    let mut b = Bench::new();
    let (behind, ahead) = (from_behind(), summed(&solicitation("2001:db8::2", "2001:db8::9"), 0));
    let mut known = NdFrame::read_from_bytes(&ahead).unwrap();
    // Asked for itself, as of a neighbour that is known.
    (known.ethernet.dst, known.ip.dst) = (PG0, known.target);
    let known = summed(&known, 0);
    assert_eq!(b.receive(b.pg1, std::slice::from_ref(&behind)).len(), 1);
    assert!(!b.cli("show ip6 neighbors").contains("2001:db8::9"), "it is not on that link");
    b.expect(&[("ip6-icmp-input", "neighbor_advertisements_tx", 1)]);
    assert!(b.receive(b.pg0, std::slice::from_ref(&ahead)).is_empty());
    b.expect(&[("ip6-icmp-input", "neighbor_solicitation_source_unknown", 1)]);

    assert_eq!(b.cli("set ip6 nd proxy pg1 2001:db8::9"), "");
    for n in [1usize, 3, 255, 256] {
        let out = b.receive(b.pg1, &vec![behind.clone(); n]);
        assert_eq!(out.len(), n);
        assert_eq!(answer(&out[0]).ip.dst_addr(), ip6("2001:db8::9"));
        let out = b.receive(b.pg0, &vec![ahead.clone(); n]);
        let told = answer(&out[n - 1]);
        assert_eq!((out.len(), told.target), (n, ip6("2001:db8::9").octets()));
        assert_eq!((told.ethernet.dst, told.option), (HOST, nd::LinkLayer::target(PG0)));
        assert_eq!(answer(&b.receive(b.pg0, std::slice::from_ref(&known))[0]), told);
        b.expect(&[("ip6-icmp-input", "neighbor_advertisements_tx", 2 * n as u64 + 1)]);
    }
    let out = b.receive(b.pg0, &[packet6("2001:db8::9")]);
    assert_eq!((out[0].tx, &out[0].bytes[..6]), (b.pg1.0, &OTHER.0[..]));
    // On its own link others find it as well, and its address is not defended.
    let mut near = solicitation("2001:db8:1::7", "2001:db8::9");
    near.ethernet.src = OTHER;
    let detection = summed(&solicitation("::", "2001:db8::9"), 8);
    assert!(b.receive(b.pg1, &[detection]).is_empty());
    let told = answer(&b.receive(b.pg1, &[summed(&near, 0)])[0]);
    assert_eq!((told.target, told.ethernet.src), (near.target, PG1));
    // It believes to be on the link of `pg0`, and asks for our address there.
    let mut frame = solicitation("2001:db8::9", "2001:db8::1");
    frame.ethernet.src = OTHER;
    frame.option = nd::LinkLayer::source(OTHER);
    let of_link = summed(&frame, 0);
    let told = answer(&b.receive(b.pg1, std::slice::from_ref(&of_link))[0]);
    assert_eq!((told.target, told.ethernet.src), (frame.target, PG1));

    assert_eq!(b.cli("set ip6 nd proxy pg1 del 2001:db8::9"), "");
    assert!(!b.cli("show ip6 neighbors").contains("2001:db8::9"));
    assert!(b.receive(b.pg1, &[of_link]).is_empty());
    assert!(b.receive(b.pg0, &[ahead]).is_empty());
    let out = b.receive(b.pg0, &[packet6("2001:db8::9")]);
    assert_eq!((out.len(), out[0].tx), (1, b.pg0.0), "asked for where its network is");
    let text = b.cli("set ip6 nd proxy pg1 del 2001:db8::9");
    assert_eq!(text, "set ip6 nd proxy: no such proxy\n");
}

#[test]
fn a_mirror_answers_for_everybody_else() {
    let mut b = Bench::new();
    let mut frame = solicitation("2001:db8:77::9", "2001:db8:88::1");
    frame.ip.dst = wire::ip6::solicited_node(ip6("2001:db8::1")).octets();
    let asked = summed(&frame, 0);
    assert!(b.receive(b.pg0, std::slice::from_ref(&asked)).is_empty());
    b.expect(&[("ip6-icmp-input", "neighbor_solicitation_source_not_on_link", 1)]);
    assert_eq!(b.cli("set interface ip6-nd proxy pg0 enable"), "");
    for n in [1usize, 3, 255, 256] {
        let out = b.receive(b.pg0, &vec![asked.clone(); n]);
        let told = answer(&out[n - 1]);
        assert_eq!((out.len(), told.target), (n, frame.target));
        assert_eq!(told.ip.dst_addr(), ip6("2001:db8:77::9"));
        b.expect(&[("ip6-icmp-input", "neighbor_advertisements_tx", n as u64)]);
    }
    let mut broken = asked.clone();
    broken[57] ^= 1;
    assert!(b.receive(b.pg0, &[broken]).is_empty());
    b.graph.expect_counters(&[("ip6-input", "icmp_checksum", 1)]);
    let detection = summed(&solicitation("::", "2001:db8:88::1"), 8);
    assert!(b.receive(b.pg0, &[detection]).is_empty(), "nobody is kept from an address");
    assert_eq!(b.cli("set interface ip6-nd proxy pg0 disable"), "");
    assert!(b.receive(b.pg0, &[asked]).is_empty());
}

#[test]
fn proxies_go_with_their_interface() {
    let mut b = Bench::new();
    b.cli("set ip6 nd proxy pg1 2001:db8::9");
    b.cli("set interface ip6-nd proxy pg1");
    b.control(|router, _| {
        router.remove_interface(router.interfaces.named("pg1").unwrap().index);
        assert!(router.nd_proxied().is_empty() && router.nd_mirrored().is_empty());
    });
    assert!(!b.cli("show ip6 fib").contains("2001:db8::9/128"));
}

#[test]
fn an_option_of_zero_length_ends_a_message() {
    let mut options = nd::options(&[1, 0]);
    assert_eq!(options.next(), Some(Err(nd::Malformed)));
    let source = nd::LinkLayer::source(MacAddr([2; 6]));
    let read = nd::options(source.as_bytes()).next();
    assert_eq!(read, Some(Ok(NdOption::SourceLinkLayer(MacAddr([2; 6])))));
}

/// The host behind `pg1`, which uses the addresses of `pg0`, has the router's own address: packets
/// without a handler go to it, and its solicitations are answered.
#[test]
fn a_mirror_serves_the_host_that_has_our_own_address() {
    for (six, ours, far) in [("", "10.0.0.1", "10.0.0.2"), ("6", "2001:db8::1", "2001:db8::2")] {
        let mut b = Bench::new();
        let (pg0, pg1) = (b.pg0, b.pg1);
        for line in [
            "set interface ip address del pg1 10.0.1.1/24",
            "set interface ip address del pg1 2001:db8:1::1/64",
            "set interface unnumbered pg1 use pg0",
            "set arp proxy start 10.0.0.0 end 10.0.0.255",
            "set interface proxy-arp pg1",
            "set interface ip6-nd proxy pg1 enable",
            &format!("ip{six} punt redirect add rx pg0 via {ours} pg1"),
            &format!("set ip neighbor pg0 {far} 02:00:00:00:00:01"),
        ] {
            b.set(line);
        }
        b.wait(0.0);
        let mut asked = match six {
            "" => bytes(request(OTHER, ours, far)),
            _ => {
                let mut frame = solicitation(ours, far);
                frame.option = nd::LinkLayer::source(OTHER);
                summed(&frame, 0)
            }
        };
        asked[6..12].copy_from_slice(&OTHER.0);
        let out = b.receive(pg1, &[asked]);
        assert_eq!((out.len(), out[0].tx), (1, pg1.0), "{ours}");
        assert_eq!((&out[0].bytes[..6], &out[0].bytes[6..12]), (&OTHER.0[..], &PG1.0[..]));
        assert!(!b.cli("show ip neighbors").contains(&format!(" {ours} ")));
        // Protocols without a handler.
        let mut frame = if six.is_empty() { packet(ours) } else { packet6(ours) };
        if six.is_empty() {
            frame[23] = 253;
            frame[24..26].fill(0);
            let sum = wire::checksum::Sum::ZERO.add_bytes(&frame[14..34]).checksum();
            frame[24..26].copy_from_slice(sum.as_bytes());
        }
        let out = b.receive(pg0, std::slice::from_ref(&frame));
        assert_eq!((out.len(), out[0].tx), (1, pg1.0), "it is asked for: {out:?}");
        b.set(&format!("set ip neighbor pg1 {ours} 02:00:00:00:00:02"));
        let out = [b.wait(0.0), b.receive(pg0, &[frame])].concat();
        assert!(!out.is_empty());
        assert!(out.iter().all(|c| c.tx == pg1.0 && c.bytes[..6] == OTHER.0), "{out:?}");
    }
}
