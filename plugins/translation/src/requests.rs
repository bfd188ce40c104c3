//! Requests of operators and clients to a kind of NAT.

use net::prelude::*;
use sessions::slices::Gather;

use crate::address_of;
use crate::error::Error;
use crate::mapping::{self, Mapping};
use crate::pool::PoolAddress;
use crate::role::{self, Side};
use crate::session::{NatSession, Timeouts};
use crate::state::{Kind, Nat};
use crate::words::Sides;

/// A session as clients name it.
#[derive(Clone, Copy, Debug)]
pub struct SessionName {
    /// Whether the address is that of the host, not the one it gets.
    pub is_inside: bool,
    /// Address and port.
    pub near: ([u8; 4], u16),
    /// The far end as seen from there, if it counts.
    pub far: Option<([u8; 4], u16)>,
    /// Protocol.
    pub protocol: Protocol,
    /// The table of the host, if it is named by its host.
    pub vrf: u32,
}

/// Requests; with an [`Error`] nothing has changed.
impl<K: Kind> Nat<K> {
    /// Adds a side to an interface, or removes it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn set_interface(
        router: &mut Router,
        interface: InterfaceIndex,
        side: Side,
        is_add: bool,
    ) -> Result<(), Error> {
        Self::settings(router)?;
        let hands_off = router.engine.data_threads().len() > 1;
        let role = role::changed(router, interface, side, is_add, hands_off)?;
        Self::set_role(router, interface, role)
    }
    /// Adds sides to interfaces, or takes them away.
    ///
    /// # Errors
    /// [`Error`]; those before have changed then.
    pub fn set_interfaces(router: &mut Router, set: &Sides) -> Result<(), Error> {
        for interface in &set.inside {
            Self::set_interface(router, *interface, Side::Inside, !set.del)?;
        }
        for interface in &set.outside {
            let side = if set.output_feature { Side::Output } else { Side::Outside };
            Self::set_interface(router, *interface, side, !set.del)?;
        }
        Ok(())
    }
    /// Adds addresses to a pool, or takes them out.
    ///
    /// # Errors
    /// [`Error`].
    pub fn set_addresses(
        router: &mut Router,
        range: [Ipv4Addr; 2],
        vrf: Option<u32>,
        is_twice: bool,
        is_add: bool,
    ) -> Result<(), Error> {
        let gone = Self::change(router, |s| s.pool.set(range, vrf, is_twice, is_add))?;
        Self::release_addresses(router, &gone);
        Ok(())
    }
    /// Uses an interface's address as the pool, or stops.
    ///
    /// # Errors
    /// [`Error`].
    pub fn set_interface_address(
        router: &mut Router,
        interface: InterfaceIndex,
        is_twice: bool,
        is_add: bool,
    ) -> Result<(), Error> {
        Self::settings(router)?;
        router.interfaces.at(interface).ok_or(Error::NoInterface)?;
        Self::change(router, |s| s.pool.set_interface(interface, is_twice, is_add))?;
        if let Some(addr) = address_of(router, interface).filter(|_| !is_add) {
            let from = Some(interface.0);
            let gone = PoolAddress { addr, vrf: None, is_twice, from };
            Self::release_addresses(router, &[gone]);
        }
        Ok(())
    }
    /// Adds a mapping, or deletes it with its sessions: the one of the same outside end, with the
    /// same hosts if it is not balanced.
    ///
    /// # Errors
    /// [`Error`].
    pub fn set_mapping(router: &mut Router, mapping: Mapping, is_add: bool) -> Result<(), Error> {
        Self::put_mapping(router, mapping, is_add).map(drop)
    }
    /// As [`Nat::set_mapping`]; how many sessions ended. A mapping that is added ends those of its
    /// hosts that have another translation.
    ///
    /// # Errors
    /// [`Error`].
    pub fn put_mapping(
        router: &mut Router,
        mapping: Mapping,
        is_add: bool,
    ) -> Result<usize, Error> {
        Self::settings(router)?;
        if is_add {
            mapping::check(router, &mapping)?;
            K::check_mapping(router, &mapping)?;
            Self::change(router, |s| mapping::add(&mut s.mappings, mapping.clone()))?;
            return Self::take_over(router, &mapping);
        }
        let gone = Self::change(router, |s| mapping::remove(&mut s.mappings, &mapping))?;
        Self::release_mapping(router, &gone)
    }
    /// Enables or disables forwarding of packets without a translation. Sessions of such packets
    /// stay until their timeout, as in VPP.
    ///
    /// # Errors
    /// [`Error`].
    pub fn set_forwarding(router: &mut Router, is_forwarding: bool) -> Result<(), Error> {
        Self::change(router, |s| {
            s.is_forwarding = is_forwarding;
            Ok(())
        })
    }
    /// Sets the maximum segment size of TCP; 0 is none.
    ///
    /// # Errors
    /// [`Error`].
    pub fn set_mss(router: &mut Router, mss: Option<u16>) -> Result<(), Error> {
        Self::change(router, |s| {
            s.mss = mss.filter(|mss| *mss != 0);
            Ok(())
        })
    }
    /// The frame queue size, after setting it: to a power of two, while the kind is disabled.
    ///
    /// # Errors
    /// [`Error`].
    pub fn frame_queue(router: &mut Router, size: Option<u32>) -> Result<u32, Error> {
        let nat = router.own_mut::<Self>();
        if let Some(size) = size {
            if nat.settings.is_some() {
                return Err(Error::Enabled);
            }
            if !size.is_power_of_two() {
                return Err(Error::BadSize);
            }
            nat.frame_queue = size;
        }
        Ok(nat.frame_queue)
    }
    /// Sets the timeouts; sessions have the new ones at once.
    ///
    /// # Errors
    /// [`Error`].
    pub fn set_timeouts(router: &mut Router, new: Timeouts) -> Result<(), Error> {
        Self::change(router, |s| {
            s.timeouts = new;
            Ok(())
        })?;
        let sessions = router.own::<Self>().sessions.current().clone();
        let Some(sessions) = sessions else { return Ok(()) };
        sessions.set_classes(router, new.classes()).map_err(|_| Error::NoAnswer)
    }
    /// Ends a session; `answer` makes the answer.
    ///
    /// # Errors
    /// [`Error`].
    pub fn remove_session<R: 'static>(
        router: &Router,
        name: SessionName,
        answer: impl FnOnce(Result<(), Error>) -> R + 'static,
    ) -> Result<Gather<(), R>, Error> {
        Self::settings(router)?;
        let table = router.fib.table::<Ip4>(name.vrf).ok_or(Error::Unknown)?;
        let is_meant = move |s: &NatSession| {
            let (near, far) = match name.is_inside {
                true => ((s.forward.src, s.forward.src_port), (s.forward.dst, s.forward.dst_port)),
                false => ((s.reverse.dst, s.reverse.dst_port), (s.reverse.src, s.reverse.src_port)),
            };
            near == name.near
                && name.far.is_none_or(|f| f == far)
                && s.forward.protocol() == name.protocol
                && (!name.is_inside || s.data.in_fib == table.0)
        };
        Ok(Self::ended(router, is_meant, answer))
    }
}
