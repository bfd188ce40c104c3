//! `sflow …`, `show sflow`.

use net::prelude::*;

use super::report::{ChannelState, Reporter};
use super::{Settings, set, settings, watch, watched};

/// The direction of sampled packets.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// Received packets.
    Rx,
    /// Sent packets.
    Tx,
    /// Both.
    Both,
}

/// Whether something is done.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Switch {
    /// Enabled.
    Enable,
    /// Disabled.
    Disable,
}

impl Direction {
    fn of(settings: &Settings) -> Self {
        match (settings.rx, settings.tx) {
            (true, true) => Self::Both,
            (false, true) => Self::Tx,
            _ => Self::Rx,
        }
    }
}

/// Set the sampling rate: one in so many packets
#[derive(Command, Print, Debug, PartialEq)]
#[command("sflow sampling-rate")]
#[undo("=sflow sampling-rate 10000")]
#[stage(Objects)]
struct SetRate {
    /// packets per sample; 0 to disable
    #[positional]
    rate: u32,
}

/// Set the counter polling interval
#[derive(Command, Print, Debug, PartialEq)]
#[command("sflow polling-interval")]
#[undo("=sflow polling-interval 20")]
#[stage(Objects)]
struct SetPolling {
    /// seconds; 0 for never
    #[positional]
    seconds: u32,
}

/// Set the number of header bytes in samples
#[derive(Command, Print, Debug, PartialEq)]
#[command("sflow header-bytes")]
#[undo("=sflow header-bytes 128")]
#[stage(Objects)]
struct SetHeader {
    /// bytes, 64 to 256 (the nearest counts), rounded up to a multiple of 32
    #[positional]
    bytes: u32,
}

/// Set the direction of sampled packets: received, transmitted or both
#[derive(Command, Print, Debug, PartialEq)]
#[command("sflow direction")]
#[undo("=sflow direction rx")]
#[stage(Objects)]
struct SetDirection {
    /// rx, tx or both
    #[positional]
    direction: Direction,
}

/// Enable or disable reporting of dropped packets
#[derive(Command, Print, Debug, PartialEq)]
#[command("sflow drop-monitoring")]
#[undo("=sflow drop-monitoring disable")]
#[stage(Objects)]
struct SetDrops {
    /// enable or disable
    #[positional]
    switch: Switch,
}

/// Enable or disable sampling on an interface
#[derive(Command, Print, Debug, PartialEq)]
#[command("sflow enable-disable")]
#[stage(Attachments)]
struct SetInterface {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// enable; the default
    #[keyword("enable")]
    _enable: bool,
    /// disable
    disable: bool,
}

/// Show sampling settings and the export state
#[derive(Command)]
#[command("show sflow")]
struct Show;

#[derive(Serialize)]
struct Shown {
    sampling_rate: u32,
    direction: Direction,
    polling_interval: u32,
    header_bytes: u32,
    drop_monitoring: bool,
    interfaces: Vec<String>,
    samples: ShownChannel,
    discards: ShownChannel,
    counters: ShownChannel,
}

/// Traffic of one direction.
#[derive(Serialize)]
struct ShownChannel {
    sent: u64,
    failed: u64,
    problem: Option<String>,
}

impl ShownChannel {
    fn of(channel: &ChannelState) -> Self {
        Self { sent: channel.sent, failed: channel.failed, problem: channel.problem.clone() }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sflow sampling-rate {}", self.sampling_rate)?;
        writeln!(f, "sflow direction {}", self.direction)?;
        writeln!(f, "sflow polling-interval {}", self.polling_interval)?;
        writeln!(f, "sflow header-bytes {}", self.header_bytes)?;
        let drops = if self.drop_monitoring { "enable" } else { "disable" };
        writeln!(f, "sflow drop-monitoring {drops}")?;
        self.interfaces.iter().try_for_each(|name| writeln!(f, "sflow enable {name}"))?;
        writeln!(f, "Status\n  interfaces enabled: {}", self.interfaces.len())?;
        let channels = [
            ("packet samples", &self.samples),
            ("counter samples", &self.counters),
            ("drop samples", &self.discards),
        ];
        for (what, ShownChannel { sent, failed, problem }) in channels {
            writeln!(f, "  {what} sent: {sent}")?;
            writeln!(f, "  {what} dropped: {failed}")?;
            if let Some(problem) = problem {
                writeln!(f, "    {problem}")?;
            }
        }
        Ok(())
    }
}

fn show(router: &Router) -> Shown {
    let (s, reporter) = (settings(router), router.own::<Reporter>());
    let name = |interface: InterfaceIndex| router.interfaces.name(interface.0).to_owned();
    Shown {
        sampling_rate: s.rate,
        direction: Direction::of(&s),
        polling_interval: s.polling,
        header_bytes: s.header_bytes,
        drop_monitoring: s.drops,
        interfaces: watched(router).map(name).collect(),
        samples: ShownChannel::of(&reporter.samples),
        discards: ShownChannel::of(&reporter.drops),
        counters: ShownChannel::of(&reporter.counters),
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let (s, usual) = (settings(router), Settings::default());
    if s.rate != usual.rate {
        lines.push(&SetRate { rate: s.rate });
    }
    if s.polling != usual.polling {
        lines.push(&SetPolling { seconds: s.polling });
    }
    if s.header_bytes != usual.header_bytes {
        lines.push(&SetHeader { bytes: s.header_bytes });
    }
    if s.direction() != usual.direction() {
        lines.push(&SetDirection { direction: Direction::of(&s) });
    }
    if s.drops != usual.drops {
        lines.push(&SetDrops { switch: Switch::Enable });
    }
    watched(router).for_each(|interface| {
        lines.push(&SetInterface { interface, _enable: false, disable: false })
    });
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetRate| Ok(set(router, |s| s.rate = c.rate)?));
    cli.command(|router: &mut Router, c: SetPolling| Ok(set(router, |s| s.polling = c.seconds)?));
    cli.command(|router: &mut Router, c: SetHeader| Ok(set(router, |s| s.header_bytes = c.bytes)?));
    cli.command(|router: &mut Router, c: SetDirection| {
        let (rx, tx) = (c.direction != Direction::Tx, c.direction != Direction::Rx);
        Ok(set(router, |s| (s.rx, s.tx) = (rx, tx))?)
    });
    cli.command(|router: &mut Router, c: SetDrops| {
        Ok(set(router, |s| s.drops = c.switch == Switch::Enable)?)
    });
    cli.command(|router: &mut Router, c: SetInterface| Ok(watch(router, c.interface, !c.disable)?));
    cli.command(|router: &mut Router, _: Show| Ok(Output::of(show(router))));
}
