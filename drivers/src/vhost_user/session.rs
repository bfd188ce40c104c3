//! The back end's side of a connection, without socket and threads: a request in, an answer out.
//! Memory and rings are checked and kept here as the front end describes them.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use control::socket::close_of_others;
use wire::vhost_user::{
    Body, MemoryRegion, NO_FILE, Request, RingPlace, RingState, protocol, request as r,
};
use wire::virtio_net::COUNTED;
use wire::virtio_ring::{MOST, feature};

use super::memory::{Area, MOST_AREAS, Table};
use super::queue::Line;
use super::ring::Ring;
pub use crate::host::turn::Refused;
use crate::shared::Bell;

/// Pairs of queues at most.
pub const MOST_PAIRS: usize = 64;
/// Features of the protocol that there are here.
pub const PROTOCOL: u64 = protocol::MQ | protocol::REPLY_ACK | protocol::CONFIGURE_MEM_SLOTS;

/// Features to offer to the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Checksum and segmentation offload.
    pub gso: bool,
    /// Packed rings.
    pub packed: bool,
    /// Interrupts at places that each side chooses.
    pub event_idx: bool,
    /// Features that are not offered.
    pub hidden: u64,
}

impl Offer {
    /// The bits of features.
    pub fn features(self) -> u64 {
        use feature as f;
        const ALWAYS: [u32; 8] = [
            f::MRG_RXBUF,
            f::CTRL_VQ,
            f::GUEST_ANNOUNCE,
            f::MQ,
            f::ANY_LAYOUT,
            f::INDIRECT_DESC,
            f::PROTOCOL_FEATURES,
            f::VERSION_1,
        ];
        const GSO: [u32; 8] = [
            f::CSUM,
            f::GUEST_CSUM,
            f::GUEST_TSO4,
            f::GUEST_TSO6,
            f::GUEST_ECN,
            f::HOST_TSO4,
            f::HOST_TSO6,
            f::HOST_ECN,
        ];
        let bits = |list: &[u32], is_offered: bool| {
            list.iter().filter(|_| is_offered).fold(0, |all, bit| all | 1 << bit)
        };
        let all = bits(&ALWAYS, true)
            | bits(&GSO, self.gso)
            | bits(&[f::RING_PACKED], self.packed)
            | bits(&[f::EVENT_IDX], self.event_idx);
        all & !self.hidden
    }
}

/// State of a ring as the front end has set it.
#[derive(Clone, Debug, Default)]
pub struct Vring {
    /// Descriptors.
    pub size: u32,
    /// Position of the ring.
    pub place: Option<RingPlace>,
    /// Entry it goes on at.
    pub base: u32,
    /// Wakes the router; a ring without is stopped.
    pub kick: Option<Bell>,
    /// Whether the front end has nothing to wake the router with: it has to look by itself.
    pub is_silent: bool,
    /// Wakes the driver.
    pub call: Option<Bell>,
    /// True if enabled.
    pub is_enabled: bool,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    offer: Offer,
    /// Features accepted by the driver.
    pub features: u64,
    /// Features of the protocol that are used.
    pub protocol: u64,
    /// The memory.
    pub table: Arc<Table>,
    /// Rings by number.
    pub rings: BTreeMap<usize, Vring>,
}

impl Session {
    /// A new one, in which this is offered.
    pub fn new(offer: Offer) -> Self {
        let (table, rings) = (Arc::default(), BTreeMap::new());
        Self { offer, features: 0, protocol: 0, table, rings }
    }
    /// Whether the driver uses a feature.
    pub fn has(&self, bit: u32) -> bool {
        self.features >> bit & 1 != 0
    }
    /// Bytes of the header before each packet.
    pub fn header(&self) -> usize {
        let is_counted = self.has(feature::MRG_RXBUF) || self.has(feature::VERSION_1);
        if is_counted { COUNTED } else { size_of::<wire::virtio_net::Header>() }
    }
    /// Whether no thread may use the rings while this is done.
    pub fn disturbs(request: &Request) -> bool {
        const HARMLESS: [u32; 8] = [
            r::GET_FEATURES,
            r::SET_OWNER,
            r::GET_PROTOCOL_FEATURES,
            r::GET_QUEUE_NUM,
            r::GET_MAX_MEM_SLOTS,
            r::SET_VRING_ERR,
            r::SEND_RARP,
            r::NET_SET_MTU,
        ];
        request.body != Body::Unknown && !HARMLESS.contains(&request.number)
    }
    /// Takes a request; its answer, if it has one.
    ///
    /// # Errors
    /// Why the connection cannot go on.
    pub fn take(
        &mut self,
        request: &Request,
        mut files: Vec<OwnedFd>,
    ) -> Result<Option<Vec<u8>>, Refused> {
        let done = self.carry_out(request, &mut files);
        if !files.is_empty() {
            // They may be anything, and take long to close.
            close_of_others(files);
        }
        let acknowledges = request.wants_reply && self.protocol & protocol::REPLY_ACK != 0;
        let refusal = u64::from(request.body == Body::Unknown);
        Ok(match done? {
            Some(body) => Some(request.reply(&body)),
            None if acknowledges => Some(request.reply(&refusal.to_le_bytes())),
            None => None,
        })
    }
    fn carry_out(
        &mut self,
        request: &Request,
        files: &mut Vec<OwnedFd>,
    ) -> Result<Option<Vec<u8>>, Refused> {
        let number = |n: u64| Ok(Some(n.to_le_bytes().to_vec()));
        match (request.number, &request.body) {
            (r::GET_FEATURES, _) => return number(self.offer.features()),
            (r::GET_PROTOCOL_FEATURES, _) => return number(PROTOCOL),
            (r::GET_QUEUE_NUM, _) => return number(MOST_PAIRS as u64),
            (r::GET_MAX_MEM_SLOTS, _) => return number(MOST_AREAS as u64),
            (r::SET_FEATURES, Body::Number(bits)) => {
                if bits & !self.offer.features() != 0 {
                    return Err("a feature that was not offered".into());
                }
                self.features = *bits;
            }
            (r::SET_PROTOCOL_FEATURES, Body::Number(bits)) => self.protocol = bits & PROTOCOL,
            (r::RESET_OWNER, _) => self.rings.clear(),
            (r::SET_MEM_TABLE, Body::Table(regions)) => self.set_table(regions, files)?,
            (r::ADD_MEM_REG, Body::Region(region)) => self.add_area(*region, files)?,
            (r::REM_MEM_REG, Body::Region(region)) => {
                let is_meant = |area: &Area| {
                    let said = area.said;
                    (said.guest, said.user, said.size) == (region.guest, region.user, region.size)
                };
                let table = Arc::make_mut(&mut self.table);
                table.0.retain(|area| !is_meant(area));
            }
            (r::GET_VRING_BASE, Body::Ring(state)) => {
                let ring = self.ring(state.index.get().into())?;
                (ring.kick, ring.call) = (None, None);
                let base = RingState { index: state.index, number: ring.base.into() };
                return Ok(Some(wire::zerocopy::IntoBytes::as_bytes(&base).to_vec()));
            }
            (_, Body::Ring(state)) => self.set_ring(request.number, *state)?,
            (r::SET_VRING_ADDR, Body::Place(place)) => {
                self.ring(place.index.get().into())?.place = Some(*place);
            }
            (r::SET_VRING_KICK | r::SET_VRING_CALL, Body::Number(n)) => {
                let file = if n & NO_FILE == 0 { files.pop() } else { None };
                let bell = file.map(Bell::of).transpose()?;
                let is_kick = request.number == r::SET_VRING_KICK;
                let ring = self.ring(n & !NO_FILE)?;
                match is_kick {
                    true => {
                        ring.is_silent = bell.is_none();
                        ring.kick = Some(bell.map_or_else(Bell::new, Ok)?);
                    }
                    false => ring.call = bell,
                }
            }
            _ => (),
        }
        Ok(None)
    }
    fn ring(&mut self, number: u64) -> Result<&mut Vring, Refused> {
        let number = usize::try_from(number).ok().filter(|n| *n < 2 * MOST_PAIRS);
        Ok(self.rings.entry(number.ok_or("no such ring")?).or_default())
    }
    fn set_ring(&mut self, request: u32, state: RingState) -> Result<(), Refused> {
        let (is_packed, number) = (self.has(feature::RING_PACKED), state.number.get());
        let ring = self.ring(state.index.get().into())?;
        match request {
            r::SET_VRING_NUM => {
                if !(1..=MOST).contains(&number) || !is_packed && !number.is_power_of_two() {
                    return Err("invalid ring size".into());
                }
                ring.size = number;
            }
            r::SET_VRING_BASE => ring.base = number,
            r::SET_VRING_ENABLE => ring.is_enabled = number != 0,
            _ => (),
        }
        Ok(())
    }
    fn set_table(
        &mut self,
        regions: &[MemoryRegion],
        files: &mut Vec<OwnedFd>,
    ) -> Result<(), Refused> {
        if files.len() != regions.len() {
            return Err("memory without a file".into());
        }
        // Before the new one: there may not be room for both.
        self.table = Arc::default();
        let mut areas = Vec::new();
        for (region, file) in regions.iter().zip(&*files) {
            areas.push(Area::new(*region, file)?);
        }
        self.table = Arc::new(Table(areas));
        Ok(())
    }
    fn add_area(&mut self, region: MemoryRegion, files: &[OwnedFd]) -> Result<(), Refused> {
        let [file] = files else { return Err("memory without a file".into()) };
        if self.table.0.len() == MOST_AREAS {
            return Err("too many memory regions".into());
        }
        let area = Area::new(region, file)?;
        Arc::make_mut(&mut self.table).0.push(area);
        Ok(())
    }
    /// A ring with what it takes to use it, if all is known of it and it is used.
    pub fn line(&self, number: usize) -> Option<Line> {
        let ring = self.rings.get(&number)?;
        let is_enabled = ring.is_enabled || !self.has(feature::PROTOCOL_FEATURES);
        let (place, kick) = (ring.place.as_ref()?, ring.kick.clone()?);
        let sized = (ring.size, ring.base);
        let made = is_enabled.then(|| Ring::new(&self.table, sized, place, self.features));
        Some(Line {
            number,
            ring: made??,
            table: Arc::clone(&self.table),
            header: self.header(),
            merges: self.has(feature::MRG_RXBUF),
            call: ring.call.clone(),
            kick,
        })
    }
}

#[cfg(test)]
mod tests;
