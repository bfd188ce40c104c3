//! `lb-nat4-in2out`, `lb-nat6-in2out`: answers of servers that packets were translated for come
//! from the VIP.

use net::prelude::*;
use sessions::{Direction, Look};
use translation::rewrite::rewrite;

use crate::core::Core;
use crate::packet::Spreadable;
use crate::vip::Error;

/// Names of the nodes, by version.
pub const NODES: [&str; 2] = ["lb-nat4-in2out", "lb-nat6-in2out"];

/// Whether answers that an interface receives are translated, of IPv4 and of IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Translating(pub [bool; 2]);

/// Enables or disables translation of server replies on an interface.
///
/// # Errors
/// [`Error::NoInterface`]; nothing has changed then.
pub fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    family: usize,
    is_on: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let mut on = router.setting::<Translating>(interface);
    if on.0[family] == is_on {
        return Ok(());
    }
    on.0[family] = is_on;
    router.put(interface, on)?;
    let needed = router.need_fragment_ports(interface, family, is_on);
    needed.map_err(|_| Error::NoInterface)
}

/// Translates answers.
#[derive(Clone)]
pub struct Answers<V> {
    version: PhantomData<V>,
    core: Core,
}

impl<V: Spreadable> Answers<V> {
    /// Node.
    pub fn new(core: &Core) -> Self {
        Self { version: PhantomData, core: core.clone() }
    }
}

/// Counters of [`Answers`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// no error.
    #[name("no error")]
    Translated,
}

impl<V: Spreadable> Node for Answers<V> {
    const NAME: &'static str = NODES[V::INDEX];
    type Next = Continue;
    type Error = Infallible;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (core, epoch) = (&self.core, frame.epoch());
        let mut translated = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let Some(seen) = V::Address::look(p.bytes(), p.ports(), 0) else {
                    return Ok(Continue);
                };
                let flow = &seen.flow;
                let from = (V::any(flow.src), flow.src_port);
                let vip = core.answering(from, flow.protocol(), epoch);
                let new = vip.and_then(|vip| {
                    let (addr, port) = vip.answers_from;
                    Some((V::address(addr)?, port))
                });
                p.trace(|_| Answered { from, vip: vip.map(|vip| vip.answers_from) });
                let Some(new) = new else { return Ok(Continue) };
                let mut to = *flow;
                (to.src, to.src_port) = new;
                if rewrite(p, 0, &seen, &to, Direction::Reverse).is_some() {
                    translated += 1;
                }
                Ok(Continue)
            },
        );
        frame.count(Count::Translated, translated);
    }
}

/// The trace record of [`Answers`].
struct Answered {
    from: (IpAddr, u16),
    vip: Option<(IpAddr, u16)>,
}

impl Record for Answered {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (addr, port) = self.from;
        match self.vip {
            Some((vip, vip_port)) => {
                write!(f, "  lb as {addr} port {port} answers as {vip} port {vip_port}")
            }
            None => write!(f, "  {addr} port {port} is no lb as"),
        }
    }
}
