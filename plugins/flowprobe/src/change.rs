//! Requests, and control's state.

use net::prelude::*;
use sessions::{Class, Place, Walked};

use crate::flow::{Flows, IP4, IP6, Kind, L2, OfFlow, Params};
use crate::node::{RX, TX};
use crate::record::{DOMAIN, fields};

/// Probed flow types of an interface, and directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probed(pub [Option<Direction>; 3]);

impl Probed {
    /// Whether packets of a kind and direction are counted.
    pub fn is_on(&self, which: usize, way: usize) -> bool {
        self.0[which].is_some_and(|direction| match direction {
            Direction::Rx => way == RX,
            Direction::Tx => way == TX,
            Direction::Both => true,
        })
    }
}

/// Direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    Rx,
    /// Sent.
    Tx,
    /// Both.
    Both,
}

/// Words for what interfaces are probed for, by place.
pub const WHICH: [&str; 3] = ["ip4", "ip6", "l2"];
/// Words for directions.
pub const DIRECTIONS: [(&str, Direction); 3] =
    [("rx", Direction::Rx), ("tx", Direction::Tx), ("both", Direction::Both)];

/// Control's state.
pub struct Flowprobe {
    /// Recorded fields and timers.
    pub params: Shared<Params>,
    /// Flows.
    pub flows: Flows,
    /// Streams of records by kind, while interfaces are probed.
    pub streams: [Option<u32>; 5],
    /// Records that were exported.
    pub exported: u64,
    /// Where the look at all flows has got to, and whether it has exported some.
    pub look: Option<Place>,
    pub has_exported: bool,
}

impl Flowprobe {
    /// Nothing is probed.
    pub fn new(params: Shared<Params>, flows: Flows) -> Self {
        Self { params, flows, streams: [None; 5], exported: 0, look: None, has_exported: false }
    }
}

/// Reasons why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// parameters can only be changed while no interface is enabled
    #[retval(UNSUPPORTED)]
    InUse,
    /// active {0} is more than passive {1}
    #[retval(INVALID_VALUE)]
    Timers(u32, u32),
    /// no fields selected: flowprobe params record l2, l3 or l4
    #[retval(CANNOT_ENABLE_DISABLE_FEATURE)]
    NothingRecorded,
    /// already enabled on the interface
    #[retval(VALUE_EXIST)]
    Probed,
    /// not enabled on the interface
    #[retval(NO_SUCH_ENTRY)]
    NotProbed,
    /// a thread does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
}

/// Sets what is recorded, and when.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_params(router: &mut Router, new: Params) -> Result<(), Error> {
    if new == *router.own::<Flowprobe>().params.current() {
        return Ok(());
    }
    if router.settings::<Probed>().next().is_some() {
        return Err(Error::InUse);
    }
    if new.passive > 0 && new.active > new.passive {
        return Err(Error::Timers(new.active, new.passive));
    }
    let flows = router.own::<Flowprobe>().flows.clone();
    let class = Class { timeout: new.silence(), may_be_evicted: true, goes_first: false };
    flows.set_classes(router, vec![class]).map_err(|_| Error::NoAnswer)?;
    router.own_mut::<Flowprobe>().params.publish(new);
    Ok(())
}

/// Enables or disables recording of a flow type on an interface; its flows are deleted.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_probed(
    router: &mut Router,
    interface: InterfaceIndex,
    which: usize,
    direction: Direction,
    is_on: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let mut probed = router.setting::<Probed>(interface);
    match (is_on, probed.0[which]) {
        (true, Some(_)) => return Err(Error::Probed),
        (false, old) if old != Some(direction) => return Err(Error::NotProbed),
        (true, None) if router.own::<Flowprobe>().params.current().record == 0 => {
            return Err(Error::NothingRecorded);
        }
        _ => (),
    }
    probed.0[which] = is_on.then_some(direction);
    router.put(interface, probed)?;
    follow_streams(router);
    if !is_on {
        forget_flows(router, interface, which);
    }
    Ok(())
}

/// Follows an interface that is being deleted.
pub fn interface_goes(router: &mut Router, interface: InterfaceIndex) {
    let Probed(probed) = router.setting::<Probed>(interface);
    if probed == [None; 3] {
        return;
    }
    let _ = router.put(interface, Probed::default());
    follow_streams(router);
    for which in [IP4, IP6, L2].into_iter().filter(|which| probed[*which].is_some()) {
        forget_flows(router, interface, which);
    }
}

/// Makes the streams of what is probed, and ends those of what is not.
fn follow_streams(router: &mut Router) {
    let params = *router.own::<Flowprobe>().params.current();
    let mut is_probed = [false; 3];
    for (_, Probed(probed)) in router.settings::<Probed>() {
        (0..3).for_each(|which| is_probed[which] |= probed[which].is_some());
    }
    for kind in Kind::ALL {
        let is_wanted = is_probed[kind.which()] && kind.is_made(params.record);
        let place = kind as usize;
        match (router.own::<Flowprobe>().streams[place], is_wanted) {
            (None, true) => {
                let made = ipfix::add_stream(router, DOMAIN, ipfix::PORT, fields(kind, &params));
                router.own_mut::<Flowprobe>().streams[place] = Some(made);
            }
            (Some(stream), false) => {
                ipfix::remove_stream(router, stream);
                router.own_mut::<Flowprobe>().streams[place] = None;
            }
            _ => (),
        }
    }
}

/// Forgets the flows of an interface.
fn forget_flows(router: &mut Router, interface: InterfaceIndex, which: usize) {
    let flows = router.own::<Flowprobe>().flows.clone();
    // A thread that does not answer ends its flows by itself, without records.
    let judge = move |_, flow: &mut OfFlow| {
        let key = &flow.forward;
        let is_sent = key.direction != 0;
        let at = if is_sent { key.tx } else { key.rx };
        let is_of = |kind: &Kind| *kind as u8 == key.kind && kind.which() == which;
        let is_it = at == interface.0 && Kind::ALL.iter().any(is_of);
        if is_it { Walked::<()>::remove(None) } else { Walked::keep(None) }
    };
    let _ = flows.sweep(router, judge, |_, _| ());
}
