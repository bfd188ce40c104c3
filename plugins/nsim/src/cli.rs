//! `set nsim`, `nsim …`, `show nsim`.

use net::prelude::*;

use super::{Late, Link, Peer, Simulator};

/// `set nsim delay TIME bandwidth BPS packet-size BYTES …`, or `set nsim disable` for `None`.
#[derive(Debug, PartialEq)]
struct Set(Option<Link>);

impl Command for Set {
    const PATHS: &'static [&'static str] = &["set nsim"];
    const ABOUT: &'static str = "Set the parameters of simulated links";
    const USAGE: &'static str = concat!(
        "[disable] [delay <time> [us|ms|s|sec]] ",
        "[bandwidth <bps> [bps|kbps|mbps|gbps|kbit|mbit|gbit|kbyte|mbyte|gbyte]] ",
        "[packet-size <nbytes>] [packets-per-drop <nn>] [drop-fraction <f>] ",
        "[packets-per-reorder <nn>] [reorder-fraction <f>] [reorder-delay <time>] ",
        "[buffer <time>] [burst-loss-prob <f>] [burst-duration <time>] ",
        "[drop-once after <time> for <time>] ",
        "[rate-stall bandwidth <bps> every <time> for <time>] [poll-main-thread]"
    );
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("disable") {
            return Ok(Self(None));
        }
        Link::parse(args).map(|link| Self(Some(link)))
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=set nsim disable";
    fn print(&self, line: &mut Line<'_>) {
        let Some(link) = &self.0 else {
            line.word("disable");
            return;
        };
        link.print(line);
    }
}

/// Cross-connect two interfaces over a simulated link, or disconnect them.
#[derive(Command, Print, Debug, PartialEq)]
#[command("nsim cross-connect enable-disable")]
#[stage(Attachments)]
struct Connect {
    /// one of the interfaces
    #[positional]
    interface: InterfaceIndex,
    /// peer
    #[positional]
    second: InterfaceIndex,
    /// disconnect them
    disable: bool,
}

/// Enable or disable a simulated link on an interface's output.
#[derive(Command, Print, Debug, PartialEq)]
#[command("nsim output-feature enable-disable")]
#[stage(Attachments)]
struct SetLate {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// delete
    disable: bool,
}

/// Show simulated links
#[derive(Command)]
#[command("show nsim")]
struct Show {
    /// accepted; the output is the same
    #[keyword("verbose")]
    _verbose: bool,
}

#[derive(Serialize)]
struct Shown {
    is_set: bool,
    delay_ms: f64,
    bandwidth_bps: u64,
    packet_size: u32,
    capacity: usize,
    drop_fraction: f64,
    reorder_fraction: f64,
    connected: Vec<[String; 2]>,
    late: Vec<String>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self;
        if !s.is_set {
            return writeln!(f, "Network simulator not configured");
        }
        writeln!(f, "configuration\n delay: {:.1} ms", s.delay_ms)?;
        match s.drop_fraction > 0.0 {
            true => writeln!(f, " loss model: uniform, drop fraction {:.5}", s.drop_fraction)?,
            false => writeln!(f, " loss model: none")?,
        }
        writeln!(f, " reorder fraction: {}", s.reorder_fraction)?;
        writeln!(f, " packet size: {}\n worker wheel size: {}", s.packet_size, s.capacity)?;
        writeln!(f, " throughput: {:.1} gbps\n", s.bandwidth_bps as f64 / 1e9)?;
        if s.connected.is_empty() && s.late.is_empty() {
            return writeln!(f, " nsim not enabled");
        }
        for [a, b] in &s.connected {
            writeln!(f, " cross-connect: {a} <-> {b}")?;
        }
        s.late.iter().try_for_each(|name| writeln!(f, " output feature: {name}"))
    }
}

/// Connected interfaces, each pair once.
fn connected(router: &Router) -> impl Iterator<Item = [InterfaceIndex; 2]> {
    let pairs = router.settings::<Peer>().filter_map(|(a, peer)| Some([a, peer.0?]));
    // Numbers may be others in a router that replays it, names are not.
    pairs.filter(|[a, b]| router.interfaces.name(a.0) < router.interfaces.name(b.0))
}

/// Interfaces with a link behind them.
fn late(router: &Router) -> impl Iterator<Item = InterfaceIndex> {
    router.settings::<Late>().filter(|(_, late)| late.0).map(|(interface, _)| interface)
}

fn show(router: &Router) -> Shown {
    let set = *router.own::<Simulator>().0.current();
    let name = |interface: InterfaceIndex| router.interfaces.name(interface.0).to_owned();
    let link = set.unwrap_or_default();
    Shown {
        is_set: set.is_some(),
        delay_ms: link.delay * 1e3,
        bandwidth_bps: link.bandwidth,
        packet_size: link.packet_size,
        capacity: set.map_or(0, |link| link.capacity()),
        drop_fraction: link.drop_fraction,
        reorder_fraction: link.reorder_fraction,
        connected: connected(router).map(|pair| pair.map(name)).collect(),
        late: late(router).map(name).collect(),
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(link) = router.own::<Simulator>().0.current() {
        lines.push(&Set(Some(*link)));
    }
    connected(router).for_each(|[interface, second]| {
        lines.push(&Connect { interface, second, disable: false });
    });
    late(router).for_each(|interface| lines.push(&SetLate { interface, disable: false }));
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, Set(link)| match link {
        Some(link) => Ok(super::set_link(router, link)?),
        None => Ok(super::forget_link(router)?),
    });
    cli.command(|router: &mut Router, c: Connect| {
        Ok(super::connect(router, [c.interface, c.second], !c.disable)?)
    });
    cli.command(|router: &mut Router, c: SetLate| {
        Ok(super::set_late(router, c.interface, !c.disable)?)
    });
    cli.command(|router: &mut Router, _: Show| Ok(Output::of(show(router))));
}
