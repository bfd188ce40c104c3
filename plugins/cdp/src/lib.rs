//! CDP: interfaces announce themselves, and learn their neighbors.
//!
//! It is switched on for all Ethernet interfaces together. Each that is up speaks at once and then
//! every minute; what is heard is forgotten when its time to live is over.
#![forbid(unsafe_code)]

mod node;

use net::interface::Kind;
use net::neighbor;
use net::prelude::*;
use wire::cdp::{FRONT, GROUP, kind, message};

pub use node::{Heard, Input};

/// Seconds between two messages, and for which one holds.
const INTERVAL: f64 = 60.0;
const TTL: u8 = 180;
/// The process that speaks.
const PROCESS: &str = "cdp-process";
/// Able to route.
const ROUTER: [u8; 4] = [0, 0, 0, 1];

/// All that control keeps.
struct Discovery {
    /// By interface: what was heard last, and when in seconds.
    heard: BTreeMap<InterfaceIndex, (Heard, f64)>,
    /// Time of the next messages on all interfaces; `None` while it is off.
    next: Option<f64>,
    is_on: Shared<bool>,
}

/// Switches CDP on or off.
pub fn set(router: &mut Router, is_on: bool) {
    let now = router.now();
    let all = router.own_mut::<Discovery>();
    if is_on == all.next.is_some() {
        return;
    }
    all.next = is_on.then_some(now);
    all.heard.clear();
    all.is_on.publish(is_on);
    router.processes.signal(PROCESS, 0);
}

/// Says on an interface who this is.
fn say(router: &mut Router, interface: InterfaceIndex) {
    let Some(i) = router.interfaces.at(interface) else { return };
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut version = concat!("Ferrovia ", env!("CARGO_PKG_VERSION")).to_owned();
    let elements = |version: &str| {
        message(
            TTL,
            &[
                (kind::DEVICE_ID, host.trim().as_bytes()),
                (kind::PORT_ID, i.name.as_bytes()),
                (kind::CAPABILITIES, &ROUTER),
                (kind::VERSION, version.as_bytes()),
                (kind::PLATFORM, b"Ferrovia"),
            ],
        )
    };
    // Not all agree on the sum of an odd number of bytes.
    if elements(&version).len() % 2 == 1 {
        version.push(' ');
    }
    let message = elements(&version);
    let len = ((FRONT.len() + message.len()) as u16).to_be_bytes();
    let frame = [&GROUP.0[..], &i.mac.0, &len, &FRONT, &message].concat();
    neighbor::send(router, interface, frame);
}

/// Makes all interfaces announce when due, and deletes expired neighbors.
fn speak(router: &mut Router) -> Wake {
    let now = router.now();
    let all = router.own_mut::<Discovery>();
    all.heard.retain(|_, (heard, at)| now < *at + f64::from(heard.ttl));
    let Some(next) = all.next else { return Wake::OnEvent };
    let mut due = next;
    if next <= now {
        due = now + INTERVAL;
        all.next = Some(due);
        let speaks = |i: &&net::Interface| {
            i.kind == Kind::Ethernet && !i.is_sub() && i.admin_up && i.link_up
        };
        let who: Vec<_> = router.interfaces.iter().filter(speaks).map(|i| i.index).collect();
        who.into_iter().for_each(|interface| say(router, interface));
    }
    let forgotten = router.own::<Discovery>().heard.values();
    let first = forgotten.map(|(heard, at)| at + f64::from(heard.ttl)).fold(due, f64::min);
    Wake::AfterOrEvent(Duration::from_secs_f64((first - now).max(0.001)))
}

fn heard(router: &mut Router, heard: Heard) {
    let now = router.now();
    let all = router.own_mut::<Discovery>();
    if all.next.is_some() {
        all.heard.insert(heard.interface, (heard, now));
        // It wakes when this is to be forgotten.
        router.processes.signal(PROCESS, 0);
    }
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Deleting => drop(router.own_mut::<Discovery>().heard.remove(&interface)),
        // Who comes up speaks at once.
        Change::State if router.own::<Discovery>().next.is_some() => {
            let i = router.interfaces.at(interface);
            let speaks = i.is_some_and(|i| {
                i.kind == Kind::Ethernet && !i.is_sub() && i.admin_up && i.link_up
            });
            if speaks {
                say(router, interface);
            }
        }
        _ => (),
    }
}

/// `cdp enable | disable`.
#[derive(Debug, PartialEq)]
struct Set(bool);

impl Command for Set {
    const PATHS: &'static [&'static str] = &["cdp"];
    const ABOUT: &'static str = "Enable or disable CDP on all interfaces";
    const USAGE: &'static str = "enable | disable";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("enable") {
            Ok(Self(true))
        } else if args.keyword("disable") {
            Ok(Self(false))
        } else {
            Err(args.error("expected enable or disable"))
        }
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::Settings;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.0 { "enable" } else { "disable" });
    }
}

/// Show CDP neighbors.
#[derive(Command)]
#[command("show cdp")]
struct Show;

#[derive(Serialize)]
struct Row {
    our_port: String,
    peer_system: String,
    peer_port: String,
    platform: String,
    /// Seconds ago.
    last_heard: f64,
}

#[derive(Serialize)]
struct Shown {
    is_enabled: bool,
    neighbors: Vec<Row>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_enabled {
            return writeln!(f, "CDP is not enabled");
        }
        let heads = ("Our Port", "Peer System", "Peer Port", "Last Heard");
        let line = |f: &mut fmt::Formatter<'_>, names: [&str; 3], heard: &str| {
            let [ours, system, port] = names.map(|name| centred(name, 25));
            writeln!(f, "{ours} {system} {port} {}", centred(heard, 10))
        };
        line(f, [heads.0, heads.1, heads.2], heads.3)?;
        self.neighbors.iter().try_for_each(|row| {
            let Row { our_port, peer_system, peer_port, last_heard, .. } = row;
            line(f, [our_port, peer_system, peer_port], &format!("{last_heard:.1}"))
        })
    }
}

fn shown(router: &Router) -> Shown {
    let (all, now) = (router.own::<Discovery>(), router.now());
    let row = |(interface, (heard, at)): (&InterfaceIndex, &(Heard, f64))| Row {
        our_port: router.interfaces.name(interface.0).to_owned(),
        peer_system: heard.device.text(),
        peer_port: heard.port.text(),
        platform: heard.platform.text(),
        last_heard: now - at,
    };
    let neighbors = all.heard.iter().map(row).collect();
    Shown { is_enabled: all.next.is_some(), neighbors }
}

/// Enable or disable CDP.
#[derive(Message)]
pub struct CdpEnableDisable {
    /// true to enable, false to disable
    pub enable_disable: bool,
}

fn register_commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| {
        set(router, c.0);
        Ok(())
    });
    cli.command(|router: &mut Router, _: Show| Ok(Output::of(shown(router))));
}

fn register_messages(api: &mut Api<Router>) {
    api.plugin("cdp", "1.0.0").call(|router: &mut Router, m: CdpEnableDisable| {
        set(router, m.enable_disable);
        Ok(())
    });
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if router.own::<Discovery>().next.is_some() {
        lines.push(&Set(true));
    }
}

/// CDP.
pub const FEATURE: Feature = Feature {
    name: "cdp",
    about: "Cisco Discovery Protocol (CDP)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ethernet", "neighbor"],
    register,
    configuration: Configuration::Commands(configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let all = Discovery { heard: BTreeMap::new(), next: None, is_on: Shared::new(false) };
    let events = router.events.sender();
    router.engine.add(Input::new(all.is_on.reader(), events)).map_err(refuse)?;
    let [.., a, b, c, d, e] = FRONT;
    router.register_snap([a, b, c, d, e], node::NAME).map_err(refuse)?;
    router.insert(all);
    router.events.handle(heard);
    router.interfaces.observe(follow);
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| speak(router)));
    register_commands(&mut parts.cli);
    register_messages(&mut parts.api);
    Ok(())
}
