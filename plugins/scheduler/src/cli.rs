//! `scheduler …`: the settings as commands.

mod configuration;

use std::str::FromStr;

use infra::meter::Color;
use net::prelude::*;
use qos::Source;

use super::plan::{Config, Level, Place, Profile, QUEUES, Rate, Shape, Target};
use super::red::Red;
use super::{PortSettings, change};

pub(super) use configuration::configuration;

/// Packet colors set by policers.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum ColorWord {
    /// Within the committed rate, or not policed.
    Green,
    /// Beyond it.
    Yellow,
    /// Beyond what is allowed in excess.
    Red,
}

impl ColorWord {
    const ALL: [Self; 3] = [Self::Green, Self::Yellow, Self::Red];
    fn color(self) -> Color {
        match self {
            Self::Green => Color::Green,
            Self::Yellow => Color::Yellow,
            Self::Red => Color::Red,
        }
    }
}

/// Weights of the queues of a class: `1:2:4:8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Weights([u8; QUEUES]);

impl FromStr for Weights {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = "expected weights such as 1:2:4:8";
        let mut weights = [0; QUEUES];
        let mut words = text.split(':');
        for weight in &mut weights {
            *weight = words.next().and_then(|w| w.parse().ok()).ok_or(bad)?;
        }
        if words.next().is_some() { Err(bad) } else { Ok(Self(weights)) }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "{a}:{b}:{c}:{d}")
    }
}

/// Add, change or delete the scheduler of an interface
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler port")]
#[stage(Attachments)]
struct SetPort {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// bits per second, such as 10m; default no limit
    rate: Option<Rate>,
    /// burst in bytes; default 5 ms at the rate
    burst: Option<u32>,
    /// layer 1 overhead per packet in bytes; default 24
    overhead: Option<u32>,
    /// queue length in packets; default 64
    queue_length: Option<u32>,
    /// packets in all queues; default 4096
    packets: Option<u32>,
    /// number of pipes; default 64
    pipes: Option<u32>,
    /// delete
    del: bool,
}

/// Add, change or delete a scheduler subport
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler subport")]
#[stage(Attachments)]
#[undo("scheduler subport {1} {2} del")]
struct SetSubport {
    /// port
    #[positional]
    interface: InterfaceIndex,
    /// subport
    #[positional]
    subport: u16,
    /// bits per second; default no limit
    rate: Option<Rate>,
    /// burst in bytes; default 5 ms at the rate
    burst: Option<u32>,
    /// bits per second of class 0
    tc0: Option<Rate>,
    /// bits per second of class 1
    tc1: Option<Rate>,
    /// bits per second of class 2
    tc2: Option<Rate>,
    /// bits per second of class 3
    tc3: Option<Rate>,
    /// delete
    del: bool,
}

/// Add, change or delete a scheduler pipe profile
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler profile")]
#[stage(Objects)]
#[undo("scheduler profile {1} del")]
struct SetProfile {
    /// profile
    #[positional]
    profile: u32,
    /// bits per second; default no limit
    rate: Option<Rate>,
    /// burst in bytes; default 5 ms at the rate
    burst: Option<u32>,
    /// bits per second of class 0
    tc0: Option<Rate>,
    /// bits per second of class 1
    tc1: Option<Rate>,
    /// bits per second of class 2
    tc2: Option<Rate>,
    /// bits per second of class 3
    tc3: Option<Rate>,
    /// queue weights of class 0, such as 1:2:4:8
    tc0_weights: Option<Weights>,
    /// queue weights of class 1
    tc1_weights: Option<Weights>,
    /// queue weights of class 2
    tc2_weights: Option<Weights>,
    /// queue weights of class 3
    tc3_weights: Option<Weights>,
    /// delete
    del: bool,
}

/// Add, change or delete a scheduler pipe
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler pipe")]
#[stage(Attachments)]
struct SetPipe {
    /// port
    #[positional]
    interface: InterfaceIndex,
    /// subport
    #[positional]
    subport: u16,
    /// pipe
    #[positional]
    pipe: u16,
    /// profile; default 0
    profile: Option<u32>,
    /// delete
    del: bool,
}

/// Set the class and queue of packets with a recorded or stored mark (see `qos`)
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler map")]
#[stage(Attachments)]
#[undo("=scheduler map {1} {2} from {from} [to {to}] tc 3 queue 0")]
struct SetMap {
    /// port
    #[positional]
    interface: InterfaceIndex,
    /// QoS source of the mark
    #[positional]
    source: Source,
    /// first mark
    from: u8,
    /// last mark; default the first
    to: Option<u8>,
    /// traffic class, 0 to 3
    tc: u8,
    /// queue within the class, 0 to 3
    queue: u8,
}

/// Set the pipe, and optionally class and queue, of a classifier value
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler class")]
#[stage(Attachments)]
struct SetTarget {
    /// port
    #[positional]
    interface: InterfaceIndex,
    /// opaque index of classifier sessions, 0 to 255
    #[positional]
    number: u32,
    /// subport
    subport: Option<u16>,
    /// pipe
    pipe: Option<u16>,
    /// traffic class, 0 to 3; default by the packet's mark
    tc: Option<u8>,
    /// queue within the class, 0 to 3
    queue: Option<u8>,
    /// delete
    del: bool,
}

/// Set or remove the classifier table of a scheduler
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler classify")]
#[stage(Attachments)]
struct SetTable {
    /// port
    #[positional]
    interface: InterfaceIndex,
    /// first table
    table: Option<u32>,
    /// delete
    del: bool,
}

/// Set or delete the pipe of a VLAN
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler vlan")]
#[stage(Attachments)]
struct SetVlan {
    /// port
    #[positional]
    interface: InterfaceIndex,
    /// outer VLAN ID
    #[positional]
    vlan: u16,
    /// subport
    subport: Option<u16>,
    /// pipe
    pipe: Option<u16>,
    /// delete
    del: bool,
}

/// Set or delete the pipe of a sub-interface
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler sub-interface")]
#[stage(Attachments)]
struct Bind {
    /// sub-interface
    #[positional]
    interface: InterfaceIndex,
    /// subport
    subport: Option<u16>,
    /// pipe
    pipe: Option<u16>,
    /// delete
    del: bool,
}

/// Enable or disable random early detection on a scheduler
#[derive(Command, Print, Debug, PartialEq)]
#[command("scheduler red")]
#[stage(Attachments)]
#[undo("scheduler red {1} tc {tc} {4} del")]
struct SetRed {
    /// port
    #[positional]
    interface: InterfaceIndex,
    /// traffic class, 0 to 3
    tc: u8,
    /// packet color set by a policer
    #[positional]
    #[words]
    color: ColorWord,
    /// minimum threshold: average queue length in packets
    min: Option<u32>,
    /// maximum threshold: average queue length in packets
    max: Option<u32>,
    /// inverse of the drop probability just below the maximum; default 10
    inverse: Option<u32>,
    /// averaging weight: 1 / 2^weight per packet; default 9
    weight: Option<u8>,
    /// delete
    del: bool,
}

/// One packet of so many that is dropped, and the weight of averages, unless it is said.
const USUAL_RED: (u32, u8) = (10, 9);

/// Options that are not as usual.
fn unless<T: PartialEq>(value: T, usual: T) -> Option<T> {
    (value != usual).then_some(value)
}

fn shape(rate: Option<Rate>, burst: Option<u32>) -> Shape {
    Shape { rate: rate.unwrap_or_default(), burst: burst.unwrap_or_default() }
}

/// The pipe of a command that names one.
fn pipe(subport: Option<u16>, pipe: Option<u16>, del: bool) -> Result<Option<(u16, u16)>, Error> {
    match (subport, pipe) {
        _ if del => Ok(None),
        (Some(subport), Some(pipe)) => Ok(Some((subport, pipe))),
        (None, _) => Err(Error::new("missing subport")),
        (_, None) => Err(Error::new("missing pipe")),
    }
}

impl SetPort {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        if self.del {
            return Ok(change::remove_port(router, self.interface)?);
        }
        let usual = match change::port(router, self.interface) {
            Some(c) => {
                PortSettings { packets: c.packets, pipes: c.most_pipes, ..PortSettings::default() }
            }
            None => PortSettings::default(),
        };
        let settings = PortSettings {
            shape: shape(self.rate, self.burst),
            overhead: self.overhead.unwrap_or(usual.overhead),
            queue_length: self.queue_length.unwrap_or(usual.queue_length),
            packets: self.packets.unwrap_or(usual.packets),
            pipes: self.pipes.unwrap_or(usual.pipes),
        };
        Ok(change::set_port(router, self.interface, settings)?)
    }
    fn of(interface: InterfaceIndex, c: &Config) -> Self {
        let usual = PortSettings::default();
        Self {
            interface,
            rate: unless(c.shape.rate, Rate(0)),
            burst: unless(c.shape.burst, 0),
            overhead: unless(c.overhead, usual.overhead),
            queue_length: unless(c.queue_length, usual.queue_length),
            packets: unless(c.packets, usual.packets),
            pipes: unless(c.most_pipes, usual.pipes),
            del: false,
        }
    }
}

impl SetSubport {
    fn level(&self) -> Level {
        let classes = [self.tc0, self.tc1, self.tc2, self.tc3].map(Option::unwrap_or_default);
        Level { shape: shape(self.rate, self.burst), classes }
    }
    fn of(interface: InterfaceIndex, subport: u16, level: &Level) -> Self {
        let [tc0, tc1, tc2, tc3] = level.classes.map(|rate| unless(rate, Rate(0)));
        let (rate, burst) = (unless(level.shape.rate, Rate(0)), unless(level.shape.burst, 0));
        Self { interface, subport, rate, burst, tc0, tc1, tc2, tc3, del: false }
    }
}

impl SetProfile {
    fn profile(&self) -> Profile {
        let classes = [self.tc0, self.tc1, self.tc2, self.tc3].map(Option::unwrap_or_default);
        let weights = [self.tc0_weights, self.tc1_weights, self.tc2_weights, self.tc3_weights];
        Profile {
            level: Level { shape: shape(self.rate, self.burst), classes },
            weights: weights.map(|w| w.map_or([1; QUEUES], |w| w.0)),
        }
    }
    fn of(number: u32, profile: &Profile) -> Self {
        let Profile { level, weights } = profile;
        let [tc0, tc1, tc2, tc3] = level.classes.map(|rate| unless(rate, Rate(0)));
        let weights = weights.map(|w| unless(w, [1; QUEUES]).map(Weights));
        let [tc0_weights, tc1_weights, tc2_weights, tc3_weights] = weights;
        let (rate, burst) = (unless(level.shape.rate, Rate(0)), unless(level.shape.burst, 0));
        Self {
            profile: number,
            rate,
            burst,
            tc0,
            tc1,
            tc2,
            tc3,
            tc0_weights,
            tc1_weights,
            tc2_weights,
            tc3_weights,
            del: false,
        }
    }
}

impl SetTarget {
    fn target(&self) -> Result<Option<Target>, Error> {
        let pipe = pipe(self.subport, self.pipe, self.del)?;
        if self.tc.is_none() && self.queue.is_some() {
            return Err(Error::new("missing tc"));
        }
        let place = self.tc.map(|class| Place { class, queue: self.queue.unwrap_or(0) });
        Ok(pipe.map(|pipe| Target { pipe, place }))
    }
}

impl SetRed {
    fn red(&self) -> Result<Option<Red>, Error> {
        if self.del {
            return Ok(None);
        }
        let (inverse, weight) = USUAL_RED;
        Ok(Some(Red {
            min: self.min.ok_or_else(|| Error::new("missing min"))?,
            max: self.max.ok_or_else(|| Error::new("missing max"))?,
            inverse: self.inverse.unwrap_or(inverse),
            weight: self.weight.unwrap_or(weight),
        }))
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetPort| c.carry_out(router));
    cli.command(|router: &mut Router, c: SetSubport| {
        let level = (!c.del).then(|| c.level());
        Ok(change::set_subport(router, c.interface, c.subport, level)?)
    });
    cli.command(|router: &mut Router, c: SetProfile| {
        let profile = (!c.del).then(|| c.profile());
        Ok(change::set_profile(router, c.profile, profile)?)
    });
    cli.command(|router: &mut Router, c: SetPipe| {
        let profile = (!c.del).then(|| c.profile.unwrap_or_default());
        Ok(change::set_pipe(router, c.interface, (c.subport, c.pipe), profile)?)
    });
    cli.command(|router: &mut Router, c: SetMap| {
        let marks = c.from..=c.to.unwrap_or(c.from);
        let place = Place { class: c.tc, queue: c.queue };
        Ok(change::set_map(router, c.interface, c.source, marks, place)?)
    });
    cli.command(|router: &mut Router, c: SetTarget| {
        let target = c.target()?;
        Ok(change::set_target(router, c.interface, c.number, target)?)
    });
    cli.command(|router: &mut Router, c: SetTable| {
        if c.table.is_some() == c.del {
            return Err(Error::new("expected table <table> or del"));
        }
        Ok(change::set_table(router, c.interface, c.table)?)
    });
    cli.command(|router: &mut Router, c: SetVlan| {
        let pipe = pipe(c.subport, c.pipe, c.del)?;
        Ok(change::set_vlan(router, c.interface, c.vlan, pipe)?)
    });
    cli.command(|router: &mut Router, c: Bind| {
        let pipe = pipe(c.subport, c.pipe, c.del)?;
        Ok(change::bind(router, c.interface, pipe)?)
    });
    cli.command(|router: &mut Router, c: SetRed| {
        let red = c.red()?;
        Ok(change::set_red(router, c.interface, (c.tc, c.color.color()), red)?)
    });
    super::show::register(cli);
}
