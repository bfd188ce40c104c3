//! Messages of the module `dns`.

use control::api::{Slice, Task};
use net::prelude::*;

use super::message::{Data, Question, checked, kind, reverse};
use super::resolver::{Found, look_up};
use super::{Dns, Error, add_server, enable, remove_server};

/// Interval at which a request checks for an answer.
const LOOK: Duration = Duration::from_millis(5);

/// Enable or disable the DNS resolver.
#[derive(Message)]
pub struct DnsEnableDisable {
    /// true to enable, false to disable
    pub enable: u8,
}

/// Add or delete a name server.
#[derive(Message)]
pub struct DnsNameServerAddDel {
    /// true for an IPv6 address
    pub is_ip6: u8,
    /// true to add, false to delete
    pub is_add: u8,
    /// address; an IPv4 address is in the first 4 bytes
    pub server_address: [u8; 16],
}

/// Look up the addresses of a name.
#[derive(Message)]
#[reply(DnsResolveNameReply)]
pub struct DnsResolveName {
    /// name, zero padded
    pub name: [u8; 256],
}

/// Addresses of a name.
#[derive(Debug, Message)]
pub struct DnsResolveNameReply {
    /// true if it has an IPv4 address
    pub ip4_set: u8,
    /// true if it has an IPv6 address
    pub ip6_set: u8,
    /// IPv4 address
    pub ip4_address: [u8; 4],
    /// IPv6 address
    pub ip6_address: [u8; 16],
}

/// Look up the name of an address.
#[derive(Message)]
#[reply(DnsResolveIpReply)]
pub struct DnsResolveIp {
    /// true for IPv6
    pub is_ip6: u8,
    /// address; an IPv4 address is in the first 4 bytes
    pub address: [u8; 16],
}

/// The name of an address.
#[derive(Debug, Message)]
pub struct DnsResolveIpReply {
    /// name, zero padded
    pub name: [u8; 256],
}

fn native(bytes: [u8; 16], is_ip6: u8) -> IpAddr {
    let [a, b, c, d, ..] = bytes;
    match is_ip6 {
        0 => Ipv4Addr::from([a, b, c, d]).into(),
        _ => Ipv6Addr::from(bytes).into(),
    }
}

/// Questions of a program that wait for answers.
struct Asking<R> {
    /// The subject of the request, for the error.
    about: String,
    questions: Vec<Question>,
    /// The reply to the data of the answers; `None` where they do not help.
    reply: fn(&[Data]) -> Option<R>,
}

impl<R> Asking<R> {
    fn start(
        router: &mut Router,
        about: String,
        questions: Vec<Question>,
        reply: fn(&[Data]) -> Option<R>,
    ) -> Result<Self, Error> {
        let dns = router.own::<Dns>();
        if !dns.is_on {
            return Err(Error::Disabled);
        }
        let has_servers = !dns.servers.is_empty();
        for question in &questions {
            if matches!(look_up(router, question, None), Found::Nothing) {
                return Err(if has_servers { Error::Busy } else { Error::NoServers });
            }
        }
        Ok(Self { about, questions, reply })
    }
}

impl<R> Task<Router> for Asking<R> {
    type Reply = R;

    fn step(&mut self, router: &mut Router) -> Slice<R> {
        let now = router.now();
        let dns = router.own::<Dns>();
        if self.questions.iter().any(|question| dns.pending.contains_key(question)) {
            return Slice::Sleep(LOOK);
        }
        let answers = self.questions.iter().filter_map(|question| dns.cache.find(question, now));
        let data: Vec<_> = answers.flat_map(|answer| answer.records).map(|r| r.data).collect();
        let none = || Error::NoAddresses(std::mem::take(&mut self.about)).into();
        Slice::Done((self.reply)(&data).ok_or_else(none))
    }
}

fn addresses(data: &[Data]) -> Option<DnsResolveNameReply> {
    let ip4 = data.iter().find_map(|data| match data {
        Data::Addr(IpAddr::V4(addr)) => Some(addr.octets()),
        _ => None,
    });
    let ip6 = data.iter().find_map(|data| match data {
        Data::Addr(IpAddr::V6(addr)) => Some(addr.octets()),
        _ => None,
    });
    ip4.map(|_| ()).or(ip6.map(|_| ()))?;
    Some(DnsResolveNameReply {
        ip4_set: ip4.is_some().into(),
        ip6_set: ip6.is_some().into(),
        ip4_address: ip4.unwrap_or_default(),
        ip6_address: ip6.unwrap_or_default(),
    })
}

fn name(data: &[Data]) -> Option<DnsResolveIpReply> {
    let text = data.iter().find_map(|data| match data {
        Data::Name(name) => Some(name),
        _ => None,
    })?;
    let mut name = [0; 256];
    name.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    Some(DnsResolveIpReply { name })
}

fn resolve_name(
    router: &mut Router,
    m: &DnsResolveName,
) -> Result<Asking<DnsResolveNameReply>, Retval> {
    let len = m.name.iter().position(|byte| *byte == 0).unwrap_or(m.name.len());
    let text = String::from_utf8_lossy(&m.name[..len]).into_owned();
    let name = checked(&text).ok_or(Error::Name(text))?;
    let question = |kind| Question { name: name.clone(), kind };
    let questions = vec![question(kind::A), question(kind::AAAA)];
    Ok(Asking::start(router, name, questions, addresses)?)
}

fn resolve_ip(router: &mut Router, m: &DnsResolveIp) -> Result<Asking<DnsResolveIpReply>, Retval> {
    let name_of = reverse(native(m.address, m.is_ip6));
    let questions = vec![Question { name: name_of.clone(), kind: kind::PTR }];
    Ok(Asking::start(router, name_of, questions, name)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("dns", "1.0.0")
        .call(|router: &mut Router, m: DnsEnableDisable| Ok(enable(router, m.enable != 0)?))
        .call(|router, m: DnsNameServerAddDel| {
            let addr = native(m.server_address, m.is_ip6);
            match m.is_add {
                0 => Ok(remove_server(router, addr)?),
                _ => Ok(add_server(router, addr)?),
            }
        })
        .task(|router: &mut Router, _, m: DnsResolveName| resolve_name(router, &m))
        .task(|router: &mut Router, _, m: DnsResolveIp| resolve_ip(router, &m));
}
