//! The command `arping`.

use control::cli::{Step, Task};
use net::prelude::*;

use super::task::{Arping, Outcome, Plan};

/// `arping`, as typed.
struct ArpingCommand {
    is_gratuitous: bool,
    addr: IpAddr,
    interface: InterfaceIndex,
    interval: f64,
    repeat: u32,
}

impl Command for ArpingCommand {
    const PATHS: &'static [&'static str] = &["arping"];
    const ABOUT: &'static str = "Ask a neighbor by ARP or ND, or announce an address";
    const USAGE: &'static str = "[gratuitous] <addr> <interface> [interval <sec>] [repeat <cnt>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_gratuitous = args.keyword("gratuitous");
        let (addr, interface) = (args.value("addr")?, args.value("interface")?);
        let (mut interval, mut repeat) = (1.0, 1);
        while !args.is_empty() {
            if args.keyword("interval") {
                interval = args.value("interval")?;
            } else if args.keyword("repeat") {
                repeat = args.value("repeat")?;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self { is_gratuitous, addr, interface, interval, repeat })
    }
}

/// Output of `arping` when it begins to send.
#[derive(Serialize)]
struct Sending {
    count: u32,
    is_gratuitous: bool,
    to: IpAddr,
}

impl fmt::Display for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.to.is_ipv4(), self.is_gratuitous) {
            (true, false) => "ARP Request",
            (true, true) => "GARP",
            (false, false) => "Neighbor Solicitation",
            (false, true) => "Unsolicited Neighbor Advertisement",
        };
        write!(f, "Sending {} {what} to {}", self.count, self.to)
    }
}

/// Answers received.
#[derive(Serialize)]
struct Received {
    replies: u32,
    from: Option<String>,
    addr: IpAddr,
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what =
            if self.addr.is_ipv4() { "ARP Replies" } else { "ICMP6 neighbor advertisements" };
        write!(f, "Received {} {what}", self.replies)?;
        self.from.as_ref().map_or(Ok(()), |mac| write!(f, " from {mac} ({})", self.addr))
    }
}

/// One that says what it does.
struct CommandTask {
    arping: Arping,
    is_begun: bool,
}

impl CommandTask {
    fn end(&self, outcome: Outcome, out: &mut Output) {
        let Plan { addr, is_gratuitous, .. } = self.arping.plan;
        let (replies, from) = (outcome.replies, outcome.from.map(|mac| mac.to_string()));
        if !is_gratuitous {
            out.append(Output::of(Received { replies, from, addr }));
        }
    }
}

impl Task<Router> for CommandTask {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        if !std::mem::replace(&mut self.is_begun, true) {
            let Plan { repeat: count, is_gratuitous, addr: to, .. } = self.arping.plan;
            out.append(Output::of(Sending { count, is_gratuitous, to }));
        }
        match self.arping.step(router) {
            Ok(time) => Step::Sleep(time),
            Err(outcome) => {
                self.end(outcome, out);
                Step::Done(Ok(()))
            }
        }
    }
    fn cancel(&mut self, router: &mut Router, out: &mut Output) {
        let outcome = self.arping.finish(router);
        self.end(outcome, out);
    }
}

fn arping(router: &mut Router, c: ArpingCommand) -> Result<Box<dyn Task<Router>>, Error> {
    let ArpingCommand { is_gratuitous, addr, interface, interval, repeat } = c;
    let plan = Plan { interface, addr, is_gratuitous, repeat, interval };
    Ok(Box::new(CommandTask { arping: Arping::start(plan, router)?, is_begun: false }))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(arping);
}
