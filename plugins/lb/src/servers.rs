//! Requests about servers of a VIP.

use infra::table::exact::Change;
use net::prelude::*;

use crate::core::{ServerView, answer_key};
use crate::maglev::places;
use crate::state::{Declared, Lb, Server, view};
use crate::vip::{Error, FULL_WEIGHT, Key, NAT, Vip};

/// Where a server of a VIP answers from, if it translates.
fn answers_from(vip: &Vip, addr: IpAddr) -> Option<u64> {
    let (protocol, _) = vip.key.port.filter(|_| vip.encap.kind() == NAT)?;
    Some(answer_key(addr, vip.target_port, protocol))
}

/// Redistributes new flows of a VIP over its current servers.
fn spread_anew(router: &mut Router, key: &Key) -> Result<(), Error> {
    let lb = router.own_mut::<Lb>();
    let Declared { number, vip, servers } = lb.vips.get(key).ok_or(Error::NoVip)?;
    let used = servers.iter().filter(|(_, server)| server.is_used);
    let used = used.map(|(addr, server)| (server.number, *addr, server.weight));
    lb.tables.vips.replace(*number, view(vip, places(used, vip.places)));
    Ok(())
}

/// Adds servers to a VIP; those that are leaving stay.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, key: &Key, addrs: &[IpAddr], weight: u8) -> Result<(), Error> {
    let lb = router.own_mut::<Lb>();
    if weight > FULL_WEIGHT {
        return Err(Error::Weight(weight));
    }
    let declared = lb.vips.get(key).ok_or(Error::NoVip)?;
    let vip = declared.vip;
    for (n, addr) in addrs.iter().enumerate() {
        if addr.is_ipv4() != vip.encap.is_to_ip4() {
            return Err(Error::ServerVersion(*addr));
        }
        let known = declared.servers.get(addr);
        if known.is_some_and(|server| server.is_used) || addrs[..n].contains(addr) {
            return Err(Error::ServerExists(*addr));
        }
        let answers = answers_from(&vip, *addr).filter(|_| known.is_none());
        if answers.is_some_and(|key| lb.tables.answers.view().find(key) != 0) {
            return Err(Error::Answers(*addr));
        }
    }
    for (n, addr) in addrs.iter().enumerate() {
        if let Err(why) = add_one(router, key, *addr, weight) {
            for added in &addrs[..n] {
                remove(router, key, &[*added], true)?;
            }
            return Err(why);
        }
    }
    spread_anew(router, key)
}

fn add_one(router: &mut Router, key: &Key, addr: IpAddr, weight: u8) -> Result<(), Error> {
    let since = router.now();
    let lb = router.own_mut::<Lb>();
    let Declared { number: vip_number, vip, servers } = lb.vip_mut(key)?;
    if let Some(server) = servers.get_mut(&addr) {
        (server.weight, server.is_used, server.since) = (weight, true, since);
        return Ok(());
    }
    let (vip_number, answers) = (*vip_number, answers_from(vip, addr));
    let link = if addr.is_ipv4() { Link::Ip4 } else { Link::Ip6 };
    let followed = router.follow(link, TableIndex(0), addr, None).map_err(|_| Error::NoRoute)?;
    let lb = router.own_mut::<Lb>();
    lb.generation = lb.generation.wrapping_add(1);
    let (generation, balance) = (lb.generation, followed.load_balance());
    let new = ServerView { addr, balance, generation, vip: vip_number };
    let Ok(number) = lb.tables.servers.insert(new) else {
        router.unfollow(followed);
        return Err(Error::Full);
    };
    if let Some(key) = answers {
        let done = lb.tables.answers.change(key, |_| Change::Set(u64::from(number) + 1));
        if done.is_err() {
            lb.tables.servers.remove(number);
            router.unfollow(followed);
            return Err(Error::Full);
        }
    }
    let server = Server { number, weight, is_used: true, since, followed };
    lb.vip_mut(key)?.servers.insert(addr, server);
    Ok(())
}

/// Deletes servers of a VIP. Known flows stay with them until they are over, or end as well.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(
    router: &mut Router,
    key: &Key,
    addrs: &[IpAddr],
    with_flows: bool,
) -> Result<(), Error> {
    let declared = router.own_mut::<Lb>().vip_mut(key)?;
    for addr in addrs {
        // One that is leaving may be hurried.
        let is_there = |server: &Server| server.is_used || with_flows;
        if !declared.servers.get(addr).is_some_and(is_there) {
            return Err(Error::NoServer(*addr));
        }
    }
    for addr in addrs {
        if let Some(server) = declared.servers.get_mut(addr) {
            server.is_used = false;
        }
    }
    spread_anew(router, key)?;
    for addr in addrs.iter().filter(|_| with_flows) {
        let declared = router.own_mut::<Lb>().vip_mut(key)?;
        let vip = declared.vip;
        if let Some(server) = declared.servers.remove(addr) {
            // Nodes find it until all threads have moved on.
            end_flows(router, server.number);
            forget(router, &vip, *addr, server);
        }
    }
    Ok(())
}

/// Sets the share of a server in new flows.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_weight(
    router: &mut Router,
    key: &Key,
    addr: IpAddr,
    weight: u8,
    ends_flows: bool,
) -> Result<(), Error> {
    if weight > FULL_WEIGHT {
        return Err(Error::Weight(weight));
    }
    let declared = router.own_mut::<Lb>().vip_mut(key)?;
    let server = declared.servers.get_mut(&addr).filter(|server| server.is_used);
    let server = server.ok_or(Error::NoServer(addr))?;
    server.weight = weight;
    let number = server.number;
    spread_anew(router, key)?;
    if ends_flows {
        end_flows(router, number);
    }
    Ok(())
}

/// Ends the known flows of VIPs: of one, or of all of a prefix.
///
/// # Errors
/// [`Error::NoVip`].
pub fn flush(router: &mut Router, key: &Key) -> Result<(), Error> {
    let mut numbers = Vec::new();
    let mut is_any = false;
    for declared in router.own::<Lb>().of_prefix(key) {
        is_any = true;
        numbers.extend(declared.servers.values().map(|server| server.number));
    }
    if !is_any {
        return Err(Error::NoVip);
    }
    numbers.into_iter().for_each(|number| end_flows(router, number));
    Ok(())
}

/// Ends the known flows of a server.
fn end_flows(router: &mut Router, number: u32) {
    let lb = router.own_mut::<Lb>();
    lb.generation = lb.generation.wrapping_add(1);
    let generation = lb.generation;
    if let Some(server) = lb.tables.servers.at(number).copied() {
        lb.tables.servers.replace(number, ServerView { generation, ..server });
    }
}

/// Takes a server from the nodes that no VIP has any more.
pub fn forget(router: &mut Router, vip: &Vip, addr: IpAddr, server: Server) {
    let lb = router.own_mut::<Lb>();
    if let Some(key) = answers_from(vip, addr) {
        // What is there needs no room to go.
        let _ = lb.tables.answers.change(key, |_| Change::Remove);
    }
    lb.tables.servers.remove(server.number);
    router.unfollow(server.followed);
}
