//! Messages of clients and answers of servers (RFC 8415 sections 16 and 18.2).

use wire::dhcp6::{self, Association, Header, Lease, kind, option, status};

use super::Ia;
use super::node::Lost;

/// Leases of one answer that are looked at.
pub const MOST_LEASES: usize = 16;

impl Ia {
    /// The option that holds it.
    pub fn option(self) -> u16 {
        match self {
            Self::Address => option::IA_NA,
            Self::Prefix => option::IA_PD,
        }
    }
    fn put(self, lease: &Lease, bytes: &mut Vec<u8>) {
        match self {
            Self::Address => lease.put_address(bytes),
            Self::Prefix => lease.put_prefix(bytes),
        }
    }
    /// The leases of an association that are given.
    fn leases(self, options: &[u8]) -> impl Iterator<Item = Lease> + '_ {
        dhcp6::options(options).filter_map(move |(code, value)| {
            let read = match (self, code) {
                (Self::Address, option::IA_ADDRESS) => Lease::read_address(value),
                (Self::Prefix, option::IA_PREFIX) => Lease::read_prefix(value),
                _ => None,
            };
            read.filter(|(_, code)| *code == status::SUCCESS).map(|(lease, _)| lease)
        })
    }
}

/// The option with servers of names (RFC 3646).
const DNS_SERVERS: u16 = 23;

/// A message of a client.
pub struct Written<'a> {
    /// Type and number of the exchange.
    pub header: Header,
    /// This client.
    pub client: &'a [u8],
    /// The server that is asked; `None` for all.
    pub server: Option<&'a [u8]>,
    /// Hundredths of a second since the exchange began.
    pub elapsed: u16,
    /// Kind of the leases.
    pub ia: Ia,
    /// Number, times of the association.
    pub association: (u32, u32, u32),
    /// Leases.
    pub leases: &'a [Lease],
}

impl Written<'_> {
    /// Bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.bytes().to_vec();
        dhcp6::put(&mut bytes, option::CLIENT_ID, &[self.client]);
        if let Some(server) = self.server {
            dhcp6::put(&mut bytes, option::SERVER_ID, &[server]);
        }
        dhcp6::put(&mut bytes, option::ELAPSED, &[&self.elapsed.to_be_bytes()]);
        let asks = [kind::SOLICIT, kind::REQUEST, kind::RENEW, kind::REBIND];
        if asks.contains(&self.header.kind) {
            let max_rt = option::SOL_MAX_RT.to_be_bytes();
            // As in the original, a client of addresses asks for name servers, too.
            let names = DNS_SERVERS.to_be_bytes();
            let wanted: &[&[u8]] = match self.ia {
                Ia::Address => &[&names, &max_rt],
                Ia::Prefix => &[&max_rt],
            };
            dhcp6::put(&mut bytes, option::REQUESTED, wanted);
        }
        if self.header.kind != kind::INFORMATION_REQUEST {
            let mut leases = Vec::new();
            self.leases.iter().for_each(|lease| self.ia.put(lease, &mut leases));
            let (id, t1, t2) = self.association;
            Association { id, t1, t2, options: &leases }.put(&mut bytes, self.ia.option());
        }
        bytes
    }
}

/// An answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its type.
    pub kind: u8,
    /// Server.
    pub server: Vec<u8>,
    /// Status of the reply.
    pub status: u16,
    /// Server preference.
    pub preference: u8,
    /// Most seconds between two messages that look for servers.
    pub max_rt: Option<u32>,
    /// The association, if it is in it.
    pub given: Option<Given>,
}

/// An association of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Seconds until the server is asked for more time; 0 leaves it to the client.
    pub t1: u32,
    /// Seconds until any server is.
    pub t2: u32,
    /// Status.
    pub status: u16,
    /// Leases.
    pub leases: Vec<Lease>,
}

/// Whether a lease is not preferred for longer than it is valid.
pub fn is_in_order(lease: &Lease) -> bool {
    lease.preferred <= lease.valid
}

impl Given {
    /// Whether it can be used: its times are in their order (RFC 8415 sections 21.4 and 21.21), and
    /// so are those of a lease, unless there is none and the client is to ask again later.
    pub fn is_good(&self) -> bool {
        let has_good = self.leases.iter().any(is_in_order);
        self.is_in_order() && self.status == status::SUCCESS && (has_good || self.is_later())
    }
    /// Whether its times are in their order.
    pub fn is_in_order(&self) -> bool {
        self.t1 == 0 || self.t2 == 0 || self.t1 <= self.t2
    }
    /// Whether it is for a lease that lasts, or for asking again later.
    pub fn gives(&self) -> bool {
        let lasts = |lease: &Lease| is_in_order(lease) && lease.valid > 0;
        self.leases.iter().any(lasts) || self.is_later()
    }
    /// Whether there is nothing in it but the time at which the client is to ask again.
    pub fn is_later(&self) -> bool {
        self.leases.is_empty() && self.t1 > 0
    }
}

impl Answer {
    /// Reads one for this client and its association.
    ///
    /// # Errors
    /// [`Lost`].
    pub fn read(bytes: &[u8], client: &[u8], ia: Ia, id: u32) -> Result<Self, Lost> {
        let (header, options) = dhcp6::read(bytes).ok_or(Lost::Malformed)?;
        let server = dhcp6::find(options, option::SERVER_ID).ok_or(Lost::Malformed)?;
        let named = dhcp6::find(options, option::CLIENT_ID).ok_or(Lost::Malformed)?;
        if named != client {
            return Err(Lost::OtherClient);
        }
        let all = dhcp6::options(options).filter(|(code, _)| *code == ia.option());
        let mut all = all.filter_map(|(_, value)| Association::read(value));
        let given = all.find(|association| association.id == id).map(|association| Given {
            t1: association.t1,
            t2: association.t2,
            status: dhcp6::status_of(association.options),
            leases: ia.leases(association.options).take(MOST_LEASES).collect(),
        });
        let preference = dhcp6::find(options, option::PREFERENCE);
        Ok(Self {
            kind: header.kind,
            server: server.to_vec(),
            status: dhcp6::status_of(options),
            preference: preference.and_then(|value| value.first()).copied().unwrap_or(0),
            max_rt: dhcp6::number(options, option::SOL_MAX_RT),
            given,
        })
    }
}
