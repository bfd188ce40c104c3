//! Installation of child SAs: ESP SAs, and the tunnel that they protect.

use ::crypto::Hidden;
use ipip::Ipip;
use net::prelude::*;
use net::tunnel::Outer;

use super::Ikev2;
use super::crypto::keys::ChildKey;
use super::crypto::suite::{gmac, integ};
use super::machine::{Install, NATT_PORT};

/// Size of the anti-replay window.
const WINDOW: u32 = 128;

/// A tunnel and the child SAs that protect it.
#[derive(Clone, Debug)]
pub struct Group {
    tunnel: InterfaceIndex,
    /// Whether the tunnel was created here; then it is deleted with its last child SA.
    is_made: bool,
    /// Number of the outbound SA.
    out: u32,
    /// The child SA whose keys the outbound SA uses.
    seals: u32,
    /// Bytes that were sealed before with other keys.
    sealed_before: u64,
    /// Child SAs, the newest last.
    children: Vec<Member>,
}

/// A child SA of a group.
#[derive(Clone, Debug)]
struct Member {
    child: u32,
    replaces: Option<u32>,
    /// Number of its inbound SA.
    opens: u32,
    /// Bytes for which its keys may be used; 0 for any number.
    most_bytes: u64,
    /// Configuration of the outbound SA, for when this child SA starts sending.
    sealing: ipsec::Config,
}

/// Configuration of the SA for one direction.
fn config(
    child: &Install,
    id: u32,
    is_inbound: bool,
    (port, selectors): (u16, &Selectors),
) -> ipsec::Config {
    let (key, spi) = match is_inbound {
        true => (&child.keys.0, child.spis.0),
        false => (&child.keys.1, child.spis.1),
    };
    let ChildKey { encr, salt, integ: hash } = key;
    let by_gmac = child.suite.integ.and_then(gmac);
    let (cipher, cipher_key) = match by_gmac {
        Some((_, cipher)) => (cipher, hash),
        None => (child.suite.encr.cipher, encr),
    };
    let mac = child.suite.integ.and_then(integ).and_then(|(.., esp)| esp).unwrap_or(0);
    let (local, remote) = match child.ends.local.1 {
        NATT_PORT => (NATT_PORT, child.ends.remote.1),
        _ => (port, port),
    };
    let ports = if is_inbound { (remote, local) } else { (local, remote) };
    ipsec::Config {
        id,
        spi,
        protocol: Protocol::ESP,
        cipher,
        cipher_key: cipher_key.clone(),
        mac,
        mac_key: if by_gmac.is_some() { Hidden::default() } else { hash.clone() },
        salt: salt.0.first_chunk().map_or(0, |salt| u32::from_be_bytes(*salt)),
        has_esn: child.suite.has_esn,
        has_anti_replay: true,
        is_inbound,
        is_async: false,
        udp: child.has_udp.then_some(ports),
        tunnel: None,
        window: WINDOW,
        selectors: selectors.clone(),
        is_derived: true,
    }
}

/// Traffic selectors of a child SA; `None` for all packets.
type Selectors = Option<Arc<ipsec::Selectors>>;

/// The traffic selectors of a child SA of a tunnel. Those of a GRE tunnel may select the tunnel's
/// own packets, as for transport mode, instead of those inside.
fn selectors(router: &Router, child: &Install, tunnel: InterfaceIndex) -> Selectors {
    let all = ipsec::Selectors::new(&child.ts.0, &child.ts.1);
    let is_gre = router.interfaces.at(tunnel).is_some_and(|i| i.hardware == ipsec::GRE);
    let outer = router.outer_of_tunnel(tunnel).filter(|_| is_gre);
    let has_own = outer.is_some_and(|o| all.has_between(Protocol::GRE, o.src, o.dst));
    (!all.open().is_all() && !has_own).then(|| Arc::new(all))
}

fn new_id(router: &mut Router) -> u32 {
    loop {
        let all = router.own_mut::<Ikev2>();
        let id = all.next_sa;
        all.next_sa = id.wrapping_add(1) | 0x8000_0000;
        if ipsec::index(router, id).is_err() {
            return id;
        }
    }
}

fn warn(router: &mut Router, child: &Install, why: impl std::fmt::Display) {
    let text = format!("{}: {}: {why}", child.profile, child.ends.remote.0);
    router.log.class("ikev2", "").warn(text);
}

/// Installs a child. One that cannot be is deleted, so that the other end knows.
pub(super) fn add(router: &mut Router, child: &Install) {
    let all = router.own::<Ikev2>();
    let known = child.replaces.and_then(|old| all.children.get(&old).copied());
    let profile = all.machine.profiles.get(&child.profile);
    let port = profile.and_then(|p| p.udp_port).unwrap_or(NATT_PORT);
    let tunnel = profile.and_then(|p| p.tunnel).map(InterfaceIndex);
    let done = match known {
        Some(group) => join(router, child, group, port, child.is_ready),
        None => begin(router, child, tunnel, port),
    };
    if let Err(why) = done {
        warn(router, child, why);
        let now = router.now();
        router.own_mut::<Ikev2>().machine.reject_child(now, child.child);
    }
}

/// Holds the tunnels that profiles name, so that they carry nothing without keys, and releases
/// others.
pub(super) fn hold(router: &mut Router) {
    let all = router.own_mut::<Ikev2>();
    let named = all.machine.profiles.values().filter_map(|p| p.tunnel).map(InterfaceIndex);
    let new: BTreeSet<_> = named.chain(all.found.iter().map(|(_, tunnel)| *tunnel)).collect();
    let old = std::mem::replace(&mut all.held, new.clone());
    old.difference(&new).for_each(|tunnel| ipsec::hold(router, *tunnel, false));
    new.iter().for_each(|tunnel| ipsec::hold(router, *tunnel, true));
}

/// A profile whose tunnel goes has none.
pub(super) fn changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    let all = router.own_mut::<Ikev2>();
    for profile in all.machine.profiles.values_mut() {
        profile.tunnel = profile.tunnel.filter(|tunnel| *tunnel != interface.0);
    }
    all.found.retain(|(_, tunnel)| *tunnel != interface);
    all.held.remove(&interface);
}

/// Children whose keys are used up to three quarters: by numbers, or by the bytes that their
/// profile allows.
pub(super) fn spent(router: &Router) -> Vec<u32> {
    let is_near = |used: u64, most: u64| most > 0 && used >= most - most / 4;
    let is_spent = |group: &Group, member: &Member| {
        let used = |id| ipsec::used(router, id).unwrap_or_default();
        let (opened, mut sealed) = (used(member.opens), ipsec::Used::default());
        if group.seals == member.child {
            sealed = used(group.out);
        }
        let bytes = opened.bytes + sealed.bytes.saturating_sub(group.sealed_before);
        is_near(opened.number, opened.most)
            || is_near(sealed.number, sealed.most)
            || is_near(bytes, member.most_bytes)
    };
    let groups = router.own::<Ikev2>().groups.values();
    let all = groups.flat_map(|group| group.children.iter().map(move |member| (group, member)));
    all.filter(|(group, member)| is_spent(group, member)).map(|(_, member)| member.child).collect()
}

fn begin(
    router: &mut Router,
    child: &Install,
    tunnel: Option<InterfaceIndex>,
    port: u16,
) -> Result<(), String> {
    let text = |why: &dyn std::fmt::Display| why.to_string();
    let (tunnel, is_made) = match tunnel {
        Some(tunnel) => (tunnel, false),
        None => tunnel_of(router, child).map_err(|e| text(&e))?,
    };
    if !is_made {
        let all = router.own_mut::<Ikev2>();
        let is_made_here = all.groups.values().any(|group| group.tunnel == tunnel && group.is_made);
        if !is_made_here {
            all.found.insert((child.profile.clone(), tunnel));
            hold(router);
        }
        // The associations that protect a tunnel share it: the youngest seals.
        let of = router.own::<Ikev2>().groups.iter().find(|(_, group)| group.tunnel == tunnel);
        if let Some(number) = of.map(|(number, _)| *number) {
            return join(router, child, number, port, true);
        }
    }
    let [out, opens] = [new_id(router), new_id(router)];
    let selectors = selectors(router, child, tunnel);
    let add = |router: &mut Router, id, is_inbound| {
        ipsec::add_sa(router, config(child, id, is_inbound, (port, &selectors))).map(drop)
    };
    let done = add(router, out, false)
        .and_then(|()| add(router, opens, true))
        .and_then(|()| ipsec::protect(router, tunnel, next_hop(router, tunnel), out, &[opens]));
    if let Err(why) = done {
        let _ = ipsec::remove_sa(router, out);
        let _ = ipsec::remove_sa(router, opens);
        if is_made {
            let _ = router.remove_tunnel::<Ipip>(tunnel);
        }
        return Err(text(&why));
    }
    let member = member(router, child, (out, opens), (port, &selectors));
    let all = router.own_mut::<Ikev2>();
    let number = all.next_group;
    all.next_group += 1;
    let (seals, children) = (child.child, vec![member]);
    let group = Group { tunnel, is_made, out, seals, sealed_before: 0, children };
    all.groups.insert(number, group);
    all.children.insert(child.child, number);
    Ok(())
}

fn member(
    router: &Router,
    child: &Install,
    (out, opens): (u32, u32),
    of: (u16, &Selectors),
) -> Member {
    let profile = router.own::<Ikev2>().machine.profiles.get(&child.profile);
    let most_bytes = profile.map_or(0, |profile| profile.lifetime.most_bytes);
    let sealing = config(child, out, false, of);
    Member { child: child.child, replaces: child.replaces, opens, most_bytes, sealing }
}

/// The tunnel between the two ends: an existing one, or a new one.
fn tunnel_of(
    router: &mut Router,
    child: &Install,
) -> Result<(InterfaceIndex, bool), net::tunnel::Error> {
    let (local, remote) = (child.ends.local.0, child.ends.remote.0);
    let outer = Outer::new(local, remote, TableIndex(child.ends.table));
    if let Ok(known) = router.find_tunnel(&outer, &Ipip::default()) {
        return Ok((known, false));
    }
    let tunnel = router.add_tunnel(None, outer, Ipip::default())?;
    router.set_admin(tunnel, true);
    for version in [IpVersion::V4, IpVersion::V6] {
        // It receives packets without having an address.
        let _ = router.hold_ip(tunnel, version, true);
    }
    Ok((tunnel, true))
}

/// Replaces a child SA. The new one receives at once, but sends only when the peer has installed
/// it: the responder waits for the deletion of the old one (RFC 7296 section 2.8).
fn join(
    router: &mut Router,
    child: &Install,
    number: u64,
    port: u16,
    is_ready: bool,
) -> Result<(), String> {
    let opens = new_id(router);
    let Some(group) = router.own::<Ikev2>().groups.get(&number).cloned() else {
        return Err("its tunnel no longer exists".to_owned());
    };
    let selectors = selectors(router, child, group.tunnel);
    let of = (port, &selectors);
    ipsec::add_sa(router, config(child, opens, true, of)).map_err(|e| e.to_string())?;
    let member = member(router, child, (group.out, opens), of);
    let all = router.own_mut::<Ikev2>();
    all.children.insert(child.child, number);
    if let Some(group) = all.groups.get_mut(&number) {
        group.children.push(member);
    }
    let done = protect(router, number).map_err(|e| e.to_string());
    let seal = |()| if is_ready { seal(router, number, child.child) } else { Ok(()) };
    done.and_then(seal).inspect_err(|_| remove(router, child.child))
}

/// Switches the outbound SA to the keys of a child SA.
fn seal(router: &mut Router, number: u64, child: u32) -> Result<(), String> {
    let group = router.own_mut::<Ikev2>().groups.get_mut(&number);
    let Some(group) = group else { return Ok(()) };
    let Some(member) = group.children.iter().find(|m| m.child == child) else { return Ok(()) };
    group.seals = child;
    let (out, sealing) = (group.out, member.sealing.clone());
    let before = ipsec::used(router, out).unwrap_or_default().bytes;
    if let Some(group) = router.own_mut::<Ikev2>().groups.get_mut(&number) {
        group.sealed_before = before;
    }
    ipsec::replace_sa(router, sealing).map_err(|e| e.to_string())
}

fn protect(router: &mut Router, number: u64) -> Result<(), ipsec::Error> {
    let Some(group) = router.own::<Ikev2>().groups.get(&number).cloned() else { return Ok(()) };
    let ins: Vec<_> = group.children.iter().map(|m| m.opens).collect();
    let next_hop = next_hop(router, group.tunnel);
    ipsec::protect(router, group.tunnel, next_hop, group.out, &ins)
}

fn next_hop(router: &Router, tunnel: InterfaceIndex) -> std::net::IpAddr {
    let is_6 = router.outer_of_tunnel(tunnel).is_some_and(|outer| outer.src.is_ipv6());
    match is_6 {
        true => std::net::Ipv6Addr::UNSPECIFIED.into(),
        false => std::net::Ipv4Addr::UNSPECIFIED.into(),
    }
}

/// Removes a child SA. Its successor, or else the newest one, sends from then on; the group is
/// deleted with the last one.
pub(super) fn remove(router: &mut Router, child: u32) {
    let all = router.own_mut::<Ikev2>();
    let Some(number) = all.children.remove(&child) else { return };
    let Some(group) = all.groups.get_mut(&number) else { return };
    let Some(at) = group.children.iter().position(|m| m.child == child) else { return };
    let gone = group.children.remove(at);
    let next = group.children.iter().find(|m| m.replaces == Some(child));
    if let Some(next) = next.or(group.children.last()).map(|m| m.child) {
        let is_turn = group.seals == child;
        let done = protect(router, number).map_err(|e| e.to_string());
        let done = done.and_then(|()| if is_turn { seal(router, number, next) } else { Ok(()) });
        if let Err(why) = done {
            router.log.class("ikev2", "").warn(why);
        }
    } else if let Some(group) = all.groups.remove(&number) {
        let next_hop = next_hop(router, group.tunnel);
        let _ = ipsec::unprotect(router, group.tunnel, next_hop);
        let _ = ipsec::remove_sa(router, group.out);
        if group.is_made {
            let _ = router.remove_tunnel::<Ipip>(group.tunnel);
        }
    }
    let _ = ipsec::remove_sa(router, gone.opens);
}

#[cfg(test)]
mod tests {
    use net::testing::Rig;
    use net::tunnel::testing::{send, settle};

    use super::*;
    use crate::codec::{Proposal, Selector};
    use crate::crypto::suite::{EspSuite, EspWish};
    use crate::machine::{Ends, PORT};

    fn rig() -> Rig {
        let mut rig = Rig::new(&[
            net::fast_path::FEATURE,
            net::fib::FEATURE,
            net::address::FEATURE,
            net::ip4::FEATURE,
            net::ip6::FEATURE,
            net::mfib::FEATURE,
            net::icmp::FEATURE,
            net::fragment::FEATURE,
            net::reassembly::FEATURE,
            net::neighbor::FEATURE,
            net::path_mtu::FEATURE,
            net::tunnel::FEATURE,
            net::teib::FEATURE,
            net::punt::FEATURE,
            mpls::FEATURE,
            ping::FEATURE,
            dns::FEATURE,
            ::crypto::FEATURE,
            ipsec::FEATURE,
            ipip::FEATURE,
            crate::FEATURE,
        ]);
        rig.add_networks(2);
        rig.set("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2");
        rig.set("ikev2 profile add p");
        rig
    }

    fn tunnel(rig: &mut Rig) {
        rig.run("create ipip tunnel src 10.0.1.1 dst 10.0.1.2");
        rig.set("set interface state ipip0 up");
        rig.set("enable ip4 interface ipip0");
        rig.set("ip route add 30.0.0.0/8 via ipip0");
        settle(rig);
    }

    /// The first child of an association; with keys and SPIs of its own.
    fn child(number: u32) -> Install {
        let offer: Vec<Proposal> =
            EspWish { encr: 20, bits: 128, integ: 0 }.offer(1, None).unwrap();
        let suite = EspSuite::choose(&offer[0], None, |_| true).unwrap();
        let (encr, salt, _) = suite.lens();
        let key = || ChildKey {
            encr: Hidden(vec![number as u8; encr]),
            salt: Hidden(vec![7; salt]),
            integ: Hidden::default(),
        };
        let ends = Ends {
            local: ("10.0.1.1".parse().unwrap(), PORT),
            remote: ("10.0.1.2".parse().unwrap(), PORT),
            table: 0,
            interface: 0,
            node: 0,
        };
        Install {
            child: number,
            profile: "p".to_owned(),
            ends,
            has_udp: false,
            spis: (1000 + number, 2000 + number),
            suite,
            keys: (key(), key()),
            ts: (
                IpVersion::ALL.map(Selector::any).to_vec(),
                IpVersion::ALL.map(Selector::any).to_vec(),
            ),
            replaces: None,
            is_ready: true,
        }
    }

    /// The SPI by which packets leave; `None` where they are dropped, 0 in the clear.
    fn spi(rig: &mut Rig) -> Option<u32> {
        let packet = net::testing::packets::udp4("10.0.0.2", "30.1.1.1", 7, b"data");
        let out = send(rig, "ip4-input", &[packet]);
        let bytes = &out.iter().find(|caught| caught.at == "sent")?.bytes[14..];
        let is_sealed = bytes[9] == 50;
        Some(if is_sealed { u32::from_be_bytes(*bytes[20..].first_chunk()?) } else { 0 })
    }

    #[test]
    fn associations_share_a_tunnel_and_the_last_child_ends_its_protection() {
        for is_named in [true, false] {
            let mut rig = rig();
            tunnel(&mut rig);
            if is_named {
                rig.set("ikev2 profile set p tunnel ipip0");
            }
            for number in 1..=3 {
                rig.control(|router| add(router, &child(number)));
                assert_eq!(spi(&mut rig), Some(2000 + number), "the youngest seals");
            }
            for (gone, left) in [(1, Some(2003)), (3, Some(2002)), (2, None)] {
                rig.control(|router| remove(router, gone));
                assert_eq!(spi(&mut rig), left, "without {gone}");
            }
            // Protection starts again.
            rig.control(|router| add(router, &child(4)));
            assert_eq!(spi(&mut rig), Some(2004));
            rig.control(|router| remove(router, 4));
            rig.set("ikev2 profile del p");
            assert_eq!(spi(&mut rig), Some(0));
            assert_eq!(rig.run("show ipsec sa"), "");
        }
    }

    #[test]
    fn a_tunnel_made_for_an_association_stays_for_the_next_one() {
        let mut rig = rig();
        rig.control(|router| add(router, &child(1)));
        rig.set("ip route add 30.0.0.0/8 via ipip0");
        settle(&mut rig);
        rig.control(|router| add(router, &child(2)));
        assert_eq!(spi(&mut rig), Some(2002));
        rig.control(|router| remove(router, 1));
        assert_eq!(spi(&mut rig), Some(2002));
        rig.control(|router| remove(router, 2));
        assert_eq!(spi(&mut rig), None);
        assert!(!rig.run("show ipip tunnel").contains("ipip0"));
    }

    #[test]
    fn keys_used_up_by_bytes_are_noticed() {
        let mut rig = rig();
        tunnel(&mut rig);
        rig.set("ikev2 profile set p sa-lifetime 3600 0 0 1000");
        rig.control(|router| add(router, &child(1)));
        let spent = |rig: &mut Rig| rig.control(|router| spent(router));
        let mut sent = 0;
        while spent(&mut rig).is_empty() {
            assert_eq!(spi(&mut rig), Some(2001));
            sent += 1;
        }
        assert!((10..=30).contains(&sent), "{sent} packets");
        // Bytes of those before do not count for the next ones.
        let next = Install { replaces: Some(1), ..child(2) };
        rig.control(|router| add(router, &next));
        rig.control(|router| remove(router, 1));
        assert_eq!(spi(&mut rig), Some(2002));
        assert!(spent(&mut rig).is_empty());
    }

    fn range(from: &str, to: &str) -> Selector {
        let addrs = (from.parse().unwrap(), to.parse().unwrap());
        Selector { addrs, ..Selector::any(IpVersion::V4) }
    }

    /// Sends packets to 30.1.0.0/16 and 30.2.0.0/16 in turn; the encrypted ones.
    fn sealed(rig: &mut Rig, count: usize) -> Vec<Vec<u8>> {
        let packet = |n: usize| {
            let to = format!("30.{}.1.{}", 1 + n % 2, n % 250);
            net::testing::packets::udp4("10.0.0.2", &to, 7, b"data")
        };
        let packets: Vec<_> = (0..count).map(packet).collect();
        let out = send(rig, "ip4-input", &packets);
        let sent = out.into_iter().filter(|caught| caught.at == "sent");
        sent.map(|caught| caught.bytes[14..].to_vec()).collect()
    }

    #[test]
    fn packets_outside_the_traffic_selectors_neither_leave_nor_enter() {
        let counters = |rig: &mut Rig, node: &str| {
            let moved = rig.graph.moved_counters();
            let found = moved.iter().find(|(at, what, _)| at == node && *what == "not_selected");
            found.map_or(0, |(.., count)| *count as usize)
        };
        // The same SPI both ways, so that what is sent can be received.
        let both = |number, ts| Install { spis: (2000, 2000), ts, ..child(number) };
        let any = vec![Selector::any(IpVersion::V4)];
        let half = vec![range("30.1.0.0", "30.1.255.255")];
        for count in [1_usize, 2, 3, 4, 255, 256] {
            let selected = count.div_ceil(2);
            let mut rig = rig();
            tunnel(&mut rig);
            let narrow = both(1, (any.clone(), half.clone()));
            rig.control(|router| add(router, &narrow));
            assert_eq!(sealed(&mut rig, count).len(), selected);
            assert_eq!(counters(&mut rig, "esp4-encrypt-tun"), count - selected);
            assert!(
                rig.run("show ipsec sa detail").contains("remote traffic selector addr 30.1.0.0")
            );
            // All of them, to another router that selects their destination, or their source.
            let mut from = self::rig();
            tunnel(&mut from);
            let whole = both(1, (any.clone(), any.clone()));
            from.control(|router| add(router, &whole));
            let mut packets = sealed(&mut from, count);
            assert_eq!(packets.len(), count);
            assert!(!from.run("show ipsec sa detail").contains("local traffic selector addr 30"));
            for packet in &mut packets {
                let (src, dst) = packet[12..20].split_at_mut(4);
                src.swap_with_slice(dst);
            }
            for (local, passes) in [(&half, selected), (&any, count)] {
                let mut to = self::rig();
                tunnel(&mut to);
                let narrow = both(1, (local.clone(), any.clone()));
                to.control(|router| add(router, &narrow));
                let out = send(&mut to, "ip4-input", &packets);
                let opened = out.iter().filter(|caught| !caught.error.is_empty());
                let dropped = counters(&mut to, "esp4-decrypt-tun");
                assert_eq!(dropped, count - passes, "{:?}", opened.take(3).collect::<Vec<_>>());
                let shown = to.run("show ipsec sa detail");
                let none = "\"not of the traffic selectors\":[packets:0]";
                assert_eq!(shown.contains(none), dropped == 0, "{shown}");
            }
        }
    }

    #[test]
    fn selectors_of_a_replaced_child_are_those_of_its_successor() {
        let mut rig = rig();
        tunnel(&mut rig);
        let any = vec![Selector::any(IpVersion::V4)];
        let first = Install { ts: (any.clone(), any.clone()), ..child(1) };
        rig.control(|router| add(router, &first));
        assert_eq!(sealed(&mut rig, 2).len(), 2);
        let ts = (any, vec![range("30.2.0.0", "30.2.255.255")]);
        let next = Install { replaces: Some(1), ts, ..child(2) };
        rig.control(|router| add(router, &next));
        assert_eq!(sealed(&mut rig, 2).len(), 1);
        rig.control(|router| remove(router, 1));
        assert_eq!(sealed(&mut rig, 2).len(), 1);
    }
}
