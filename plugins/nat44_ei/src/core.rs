//! Data shared by the nodes: sessions, hosts, configuration, counters.

use std::collections::HashSet;

use infra::counter::{Counter, Rows};
use net::interface::Port;
use net::ip::ReversePaths;
use net::prelude::*;
use sessions::{Affinity as Path, Flow4};
use translation::mapping::Mappings;
use translation::pool::Offers;
use translation::ports::PortSet;
use translation::session::{self, Counters, NatSession, NatSessions, NatTable, STATIC};
use translation::users::{Counts, Host, Users, came};
use translation::workers::Workers;

use crate::node::Traffic;
use crate::slow;

/// The configuration of the nodes: published whole whenever it changes.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// True if packets without a translation are forwarded.
    pub is_forwarding: bool,
    /// Whether only mappings that stay are used.
    pub is_static_only: bool,
    /// TCP MSS.
    pub mss: Option<u16>,
    /// Addresses that packets get.
    pub pool: Offers,
    /// The same addresses.
    pub pooled: HashSet<[u8; 4]>,
    /// The ports that they get.
    pub ports: PortSet,
    /// Mappings that stay.
    pub mappings: Mappings,
    /// The tables of interfaces outside.
    pub outside_fibs: Vec<u16>,
    /// Interfaces outside.
    pub outside: Vec<u32>,
    /// Interfaces inside only.
    pub inside: Vec<u32>,
    /// Hosts of a thread at most.
    pub most_users: u32,
    /// Sessions of a host at most.
    pub most_per_user: u32,
    /// The threads that have sessions.
    pub workers: Workers,
}

impl Config {
    /// The mapping of the end outside that packets of a flow go to.
    #[inline(always)]
    pub fn mapping_of(&self, flow: &Flow4) -> Option<usize> {
        self.mappings.to_external(flow.dst, flow.dst_port, flow.protocol())
    }
    /// Whether hosts inside may have the end outside that packets of a flow go to.
    #[inline(always)]
    pub fn is_external(&self, flow: &Flow4) -> bool {
        self.pooled.contains(&flow.dst) || self.mapping_of(flow).is_some()
    }
}

/// Data shared by the nodes.
#[derive(Clone)]
pub struct Core {
    /// Sessions; `None` while NAT is disabled.
    pub sessions: Reader<Option<NatSessions>>,
    /// Sessions by host.
    pub users: Users,
    /// Configuration.
    pub config: Reader<Config>,
    /// Routes.
    pub paths: ReversePaths<Ip4>,
    /// Interfaces.
    pub ports: SlabReader<Port>,
    /// By direction (in to out, out to in) and path (fast, slow).
    pub counters: [[Counters; 2]; 2],
    /// Sessions, hosts, and hosts for which there was no room, by thread.
    pub totals: [Rows<Counter>; 3],
    /// Packets between hosts inside, by interface.
    pub hairpinning: Rows<Counter>,
}

impl Core {
    /// Notes the end of a session.
    pub fn ended(&self, users: &mut Counts, gone: &NatSession) {
        slow::ended(users, gone);
    }
    /// As [`Core::ended`], of a thread's own.
    pub fn ended_on(&self, thread: usize, gone: &NatSession) {
        if let Some(mut users) = self.users.lend(thread) {
            self.ended(&mut users, gone);
        }
    }
    /// Notes that a session came over to a thread.
    pub fn came(&self, thread: usize, session: &NatSession) {
        if let Some(mut users) = self.users.lend(thread) {
            came(&mut users, host_of(session), session.data.is(STATIC), session.forward);
        }
    }
    /// Says how many sessions and hosts a thread has.
    pub fn show_totals(&self, thread: usize, table: &NatTable, users: &Counts) {
        session::show_totals(&self.totals, thread, &[table.usage().sessions, users.len()]);
    }
    /// Counts a host for which there was no room.
    pub fn count_user_limit(&self, thread: usize) {
        if let Some(counter) = self.totals[2].row(thread).first() {
            counter.add(1);
        }
    }
    /// Counts a packet of an interface.
    #[inline(always)]
    pub fn count(
        &self,
        traffic: Traffic,
        is_slow: bool,
        what: usize,
        thread: usize,
        interface: u32,
    ) {
        let rows = &self.counters[usize::from(!traffic.is_outward())][usize::from(is_slow)][what];
        if let Some(counter) = rows.row(thread).get(interface as usize) {
            counter.add(1);
        }
    }
    /// Counts a packet between hosts inside.
    pub fn count_hairpin(&self, thread: usize, interface: u32) {
        if let Some(counter) = self.hairpinning.row(thread).get(interface as usize) {
            counter.add(1);
        }
    }
    /// The table in which packets to a far end are looked up, when there are several outside.
    pub fn outside_fib(&self, config: &Config, fib: u16, dst: [u8; 4], epoch: Epoch<'_>) -> u16 {
        let outside = (&config.outside_fibs[..], &config.outside[..]);
        translation::outside_fib(&self.paths, outside, fib, dst, epoch)
    }
}

/// The host of a session.
pub fn host_of(session: &NatSession) -> Host {
    (session.data.in_fib, session.forward.src)
}

/// The path of packets of a host, whose sessions are all on one thread.
pub fn affinity_of_host(host: [u8; 4], seed: u64) -> Path {
    affinity_of_end((host, 0), Protocol(0), seed)
}

/// The path of packets to an end outside, which goes by the thread of its host.
pub fn affinity_of_end(end: ([u8; 4], u16), protocol: Protocol, seed: u64) -> Path {
    Path::of(Flow4::new(end, end, protocol, 0).meeting(seed))
}
