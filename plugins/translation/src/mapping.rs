//! Mappings that stay: between hosts, or their ports, and what is outside.

use net::prelude::*;

use crate::address_of;
use crate::error::Error;

/// Translation of the far end of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Twice {
    /// No.
    #[default]
    No,
    /// Always.
    Always,
    /// Only if the destination is the local host itself.
    ToItself,
}

/// A host that packets of a mapping go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// The address.
    pub addr: Ipv4Addr,
    /// The port; 0 with mappings of addresses.
    pub port: u16,
    /// Its part, with several.
    pub probability: u8,
    /// Table.
    pub vrf: u32,
}

/// A mapping that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The inside hosts: one, or several that share the load.
    pub locals: Vec<Local>,
    /// Whether the hosts share the load, even if it is one.
    pub is_balanced: bool,
    /// The address outside; unspecified while the interface has none.
    pub external: Ipv4Addr,
    /// The port outside; 0 with mappings of addresses.
    pub port: u16,
    /// Of this protocol only; `None` with mappings of addresses.
    pub protocol: Option<Protocol>,
    /// The interface whose address is the external one.
    pub interface: Option<u32>,
    /// Whether addresses stay as they are.
    pub is_identity: bool,
    /// Whether only packets from outside begin sessions.
    pub is_out2in_only: bool,
    /// External host.
    pub twice: Twice,
    /// Client affinity timeout in seconds; 0 for no affinity.
    pub affinity: u32,
    /// The pool address for the far end, if it has to be a certain one.
    pub pool: Option<Ipv4Addr>,
    /// Name given by the operator.
    pub tag: String,
}

/// A mapping of an address, without a host yet.
impl Default for Mapping {
    fn default() -> Self {
        Self {
            locals: vec![Local { addr: Ipv4Addr::UNSPECIFIED, port: 0, probability: 0, vrf: 0 }],
            is_balanced: false,
            external: Ipv4Addr::UNSPECIFIED,
            port: 0,
            protocol: None,
            interface: None,
            is_identity: false,
            is_out2in_only: false,
            twice: Twice::No,
            affinity: 0,
            pool: None,
            tag: String::new(),
        }
    }
}

impl Mapping {
    /// Whether all ports of an address are meant.
    pub fn is_of_address(&self) -> bool {
        self.protocol.is_none()
    }
    /// The address outside if it is neither a host's own nor an interface's.
    pub fn foreign(&self) -> Option<Ipv4Addr> {
        let is_own = self.locals.iter().any(|local| local.addr == self.external);
        let is_foreign = !self.is_identity && self.interface.is_none() && !is_own;
        is_foreign.then_some(self.external)
    }
    /// The mapping with the address that its interface has now; `None` while it has none.
    pub fn resolved(&self, router: &Router) -> Option<Self> {
        let mut new = self.clone();
        if let Some(interface) = new.interface {
            new.external = address_of(router, InterfaceIndex(interface))?;
            if new.is_identity {
                new.locals.iter_mut().for_each(|local| local.addr = new.external);
            }
        }
        Some(new)
    }
}

/// An end outside or inside: address, port and protocol; 0 for all.
pub type End = (Ipv4Addr, u16, u8);

/// Whether two mappings stand for the same thing outside.
pub fn collide(a: &Mapping, b: &Mapping) -> bool {
    let place = |m: &Mapping| (m.interface, m.port, m.protocol);
    place(a) == place(b) && (a.interface.is_some() || a.external == b.external)
}

/// Whether packets of one host would have two translations by mappings, which share no load.
fn share_host(a: &Mapping, b: &Mapping) -> bool {
    let counts = |m: &Mapping| !m.is_balanced && !m.is_out2in_only;
    let is_same = |a: &Local, b: &Local| {
        (a.addr, a.port, a.vrf) == (b.addr, b.port, b.vrf) && !a.addr.is_unspecified()
    };
    let locals = || a.locals.iter().any(|a| b.locals.iter().any(|b| is_same(a, b)));
    counts(a) && counts(b) && a.protocol == b.protocol && locals()
}

/// Whether a mapping can be added.
///
/// # Errors
/// A missing interface, a protocol without ports, no port or too few hosts.
pub fn check(router: &Router, new: &Mapping) -> Result<(), Error> {
    if let Some(interface) = new.interface {
        router.interfaces.at(InterfaceIndex(interface)).ok_or(Error::NoInterface)?;
    }
    let has_ports = [Protocol::TCP, Protocol::UDP, Protocol::ICMP];
    if new.protocol.is_some_and(|p| !has_ports.contains(&p)) {
        return Err(Error::BadProtocol);
    }
    let has_no_port = new.port == 0 || new.locals.iter().any(|local| local.port == 0);
    if new.protocol.is_some() && has_no_port {
        return Err(Error::NoPort);
    }
    if new.is_balanced && new.locals.len() < 2 {
        return Err(Error::TooFewHosts);
    }
    Ok(())
}

/// Adds a mapping. One identity may hold in several tables.
///
/// # Errors
/// [`Error::Exists`].
pub fn add(all: &mut Vec<Mapping>, new: Mapping) -> Result<(), Error> {
    if new.is_identity
        && let Some(known) = all.iter_mut().find(|m| m.is_identity && collide(m, &new))
    {
        if known.locals.iter().any(|l| new.locals.iter().any(|n| n.vrf == l.vrf)) {
            return Err(Error::Exists);
        }
        known.locals.extend(new.locals);
        return Ok(());
    }
    if all.iter().any(|m| collide(m, &new) || share_host(m, &new)) {
        return Err(Error::Exists);
    }
    all.push(new);
    Ok(())
}

/// Takes a mapping away: the one that stands for the same outside, with the same hosts if it is not
/// balanced. Returns it.
///
/// # Errors
/// [`Error::Unknown`].
pub fn remove(all: &mut Vec<Mapping>, old: &Mapping) -> Result<Mapping, Error> {
    let is_meant = |m: &Mapping| {
        let same = |l: &Local| old.locals.iter().any(|o| (o.addr, o.vrf) == (l.addr, l.vrf));
        let hosts = old.is_balanced || old.is_identity || m.locals.iter().all(same);
        let kind = (m.is_identity, m.is_balanced) == (old.is_identity, old.is_balanced);
        collide(m, old) && kind && hosts
    };
    let at = all.iter().position(is_meant).ok_or(Error::Unknown)?;
    if old.is_identity && all[at].locals.len() > 1 {
        let locals = &mut all[at].locals;
        let vrf = old.locals.first().map_or(0, |l| l.vrf);
        let of = locals.iter().position(|l| l.vrf == vrf).ok_or(Error::Unknown)?;
        locals.remove(of);
        return Ok(old.clone());
    }
    Ok(all.remove(at))
}

/// Mappings as nodes find them.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    /// Hosts with the positions of their tables.
    all: Vec<(Mapping, Vec<u16>)>,
    by_external: HashMap<End, usize>,
    /// In the table of the host.
    by_local: HashMap<(End, u16), usize>,
}

impl Mappings {
    /// All that have an address now: those of interfaces have theirs.
    pub fn of(router: &Router, all: &[Mapping]) -> Self {
        let mut found = Self::default();
        for mapping in all {
            let Some(mapping) = mapping.resolved(router) else { continue };
            let fib = |vrf: u32| router.fib.table::<Ip4>(vrf).map_or(u16::MAX, |table| table.0);
            let fibs: Vec<u16> = mapping.locals.iter().map(|local| fib(local.vrf)).collect();
            let at = found.all.len();
            let protocol = mapping.protocol.map_or(0, |p| p.0);
            found.by_external.insert((mapping.external, mapping.port, protocol), at);
            for (local, fib) in mapping.locals.iter().zip(&fibs) {
                found.by_local.insert(((local.addr, local.port, protocol), *fib), at);
            }
            found.all.push((mapping, fibs));
        }
        found
    }
    /// A mapping, with the positions of its hosts' tables.
    pub fn at(&self, at: usize) -> Option<&(Mapping, Vec<u16>)> {
        self.all.get(at)
    }
    /// The mapping for packets to an end outside.
    pub fn to_external(&self, addr: [u8; 4], port: u16, protocol: Protocol) -> Option<usize> {
        let addr = Ipv4Addr::from(addr);
        let exact = self.by_external.get(&(addr, port, protocol.0));
        exact.or_else(|| self.by_external.get(&(addr, 0, 0))).copied()
    }
    /// The end outside that a mapping gives an end of a host; `None` if it is not of that end.
    pub fn translated(
        mapping: &Mapping,
        external: Ipv4Addr,
        local: &Local,
        (port, protocol): (u16, Protocol),
    ) -> Option<([u8; 4], u16)> {
        let external = if mapping.is_identity { local.addr } else { external };
        match mapping.protocol {
            None => Some((external.octets(), port)),
            Some(of) if of == protocol && local.port == port => {
                Some((external.octets(), mapping.port))
            }
            Some(_) => None,
        }
    }
    /// The addresses outside, of interfaces the ones they have now.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> + '_ {
        self.all.iter().map(|(mapping, _)| mapping.external)
    }
    /// Whether a mapping of a port has an end outside.
    pub fn has_port(&self, addr: [u8; 4], port: u16, protocol: Protocol) -> bool {
        self.by_external.contains_key(&(addr.into(), port, protocol.0))
    }
    /// The mapping for packets from a host.
    pub fn of_local(
        &self,
        addr: [u8; 4],
        port: u16,
        protocol: Protocol,
        fib: u16,
    ) -> Option<usize> {
        let addr = Ipv4Addr::from(addr);
        let exact = self.by_local.get(&((addr, port, protocol.0), fib));
        exact.or_else(|| self.by_local.get(&((addr, 0, 0), fib))).copied()
    }
}
