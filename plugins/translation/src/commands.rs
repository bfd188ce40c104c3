//! Commands that kinds of NAT of IPv4 have in common, each at words of its own.

use std::cell::RefCell;
use std::rc::Rc;

use control::cli::Error as CliError;
use net::prelude::*;
use sessions::slices::{self, Gather};

use crate::error::Error;
use crate::mapping::Mapping;
use crate::mapping_words::{Form, mapping};
use crate::requests::SessionName;
use crate::session::{BYPASS, NatSession, STATIC};
use crate::state::{Kind, Nat, Settings};
use crate::words::{NewTimeouts, Sides, below, end, protocol};

/// Words that the commands of a kind begin with.
pub struct Words {
    /// First words of most commands.
    pub kind: &'static str,
    /// To enable it.
    pub plugin: &'static str,
    /// To have other packets pass.
    pub forwarding: &'static str,
    /// For sides of interfaces.
    pub sides: &'static str,
    /// To end a session.
    pub del_session: &'static str,
    /// For timeouts.
    pub timeout: &'static str,
    /// For the maximum segment size.
    pub mss: &'static str,
    /// To end all sessions.
    pub clear: &'static str,
    /// To show addresses, interfaces, those whose addresses packets get, mappings, timeouts and the
    /// maximum segment size.
    pub shows: [&'static str; 6],
}

/// The words of a kind whose commands begin with `$kind`, some with `$all` and that about its
/// sessions with `$each`.
#[macro_export]
macro_rules! words {
    ($kind:literal, $all:literal, $each:literal) => {
        $crate::commands::Words {
            kind: $kind,
            plugin: concat!($kind, " plugin"),
            forwarding: concat!($kind, " forwarding"),
            sides: concat!("set interface ", $kind),
            del_session: concat!($kind, " del session"),
            timeout: concat!("set ", $all, " timeout"),
            mss: concat!($all, " mss-clamping"),
            clear: concat!("clear ", $each, " sessions"),
            shows: [
                concat!("show ", $kind, " addresses"),
                concat!("show ", $kind, " interfaces"),
                concat!("show ", $kind, " interface address"),
                concat!("show ", $kind, " static mappings"),
                concat!("show ", $all, " timeouts"),
                concat!("show ", $all, " mss-clamping"),
            ],
        }
    };
}

/// A kind with these commands.
pub trait Commands: Kind {
    /// Their words.
    const WORDS: Words;
    /// Usage line of the command that enables it.
    const USAGE: &'static str;
    /// Spelling of a protocol in lists of mappings.
    const SPELL: fn(Protocol) -> String;

    /// Takes an option of the command that enables it, which others do not have.
    ///
    /// # Errors
    /// What is wrong with its value.
    fn option(_: &mut Self::More, _: &mut Args<'_>) -> Result<bool, CliError> {
        Ok(false)
    }
}

/// `nat44 plugin`: the settings; none to disable it.
struct Plugin<K: Kind>(Option<Box<Settings<K>>>);

impl<K: Commands> Command for Plugin<K> {
    const PATHS: &'static [&'static str] = &[];
    const ABOUT: &'static str = "Enable or disable NAT44; disabling deletes its settings and \
        sessions";
    const USAGE: &'static str = K::USAGE;

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut new, mut is_on) = (Settings::<K>::default(), None);
        while !args.is_empty() {
            if args.keyword("enable") {
                is_on = Some(true);
            } else if args.keyword("disable") {
                is_on = Some(false);
            } else if args.keyword("sessions") {
                new.sessions = args.value("sessions")?;
            } else if args.keyword("inside-vrf") {
                new.inside_vrf = args.value("inside-vrf")?;
            } else if args.keyword("outside-vrf") {
                new.outside_vrf = args.value("outside-vrf")?;
            } else if !K::option(&mut new.more, args)? {
                return Err(args.unknown());
            }
        }
        let is_on = is_on.ok_or_else(|| CliError::from("expected enable or disable"))?;
        Ok(Self(is_on.then(|| Box::new(new))))
    }
}

/// Enable or disable forwarding of packets without a translation
#[derive(Command)]
#[command()]
struct Forwarding {
    /// enable or disable
    #[positional]
    #[values("enable|disable")]
    state: String,
}

/// Set the inside and outside interfaces
#[derive(Command)]
#[command()]
struct SetInterface {
    #[flatten]
    sides: Sides,
}

/// `nat44 del session`.
struct DelSession<K>(SessionName, PhantomData<K>);

impl<K: Commands> Command for DelSession<K> {
    const PATHS: &'static [&'static str] = &[];
    const ABOUT: &'static str = "End a session";
    const USAGE: &'static str = "in|out <end> tcp|udp|icmp [vrf <table>] [external-host <end>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut is_inside, mut near, mut of, mut far, mut vrf) = (None, None, None, None, 0);
        while !args.is_empty() {
            if args.keyword("in") {
                is_inside = Some(true);
            } else if args.keyword("out") {
                is_inside = Some(false);
            } else if args.keyword("vrf") {
                vrf = args.value("vrf")?;
            } else if args.keyword("external-host") {
                let (addr, port) = end(args, "external-host")?;
                far = K::HAS_FAR_END.then_some((addr.octets(), port));
            } else if let Some(found) = protocol(args) {
                of = Some(found);
            } else if near.is_none() {
                let (addr, port) = end(args, "session")?;
                near = Some((addr.octets(), port));
            } else {
                return Err(args.unknown());
            }
        }
        let missing = |what: &str| CliError::from(format!("expected {what}"));
        let is_inside = is_inside.ok_or_else(|| missing("in or out"))?;
        let near = near.ok_or_else(|| missing("an address and a port: 192.0.2.1:80"))?;
        let protocol = of.ok_or_else(|| missing("tcp, udp or icmp"))?;
        Ok(Self(SessionName { is_inside, near, far, protocol, vrf }, PhantomData))
    }
}

/// Set session timeouts
#[derive(Command)]
#[command()]
struct SetTimeout {
    #[flatten]
    timeouts: NewTimeouts,
}

/// `nat mss-clamping`.
struct MssClamping(Option<u16>);

impl Command for MssClamping {
    const PATHS: &'static [&'static str] = &[];
    const ABOUT: &'static str = "Set or disable the TCP MSS clamp of translated connections";
    const USAGE: &'static str = "disable|<size:1-65535>";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        if args.keyword("disable") {
            return Ok(Self(None));
        }
        Ok(Self(Some(args.value("size")?)))
    }
}

/// Delete all sessions
#[derive(Command)]
#[command()]
struct ClearSessions {}

/// Show pool addresses
#[derive(Command)]
#[command()]
struct ShowAddresses {}

/// Show inside and outside interfaces
#[derive(Command)]
#[command()]
struct ShowInterfaces {}

/// Show interfaces whose addresses are used as the pool
#[derive(Command)]
#[command()]
struct ShowInterfaceAddresses {}

/// Show static mappings
#[derive(Command)]
#[command()]
struct ShowMappings {}

/// Show session timeouts
#[derive(Command)]
#[command()]
struct ShowTimeouts {}

/// Show the TCP MSS clamp
#[derive(Command)]
#[command()]
struct ShowMss {}

/// A command about a mapping: `kind add static mapping` and the like.
pub struct SetMapping<K>(Mapping, bool, PhantomData<K>);

impl<K: Commands> SetMapping<K> {
    /// From its words.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn parse(args: &mut Args<'_>, form: Form) -> Result<Self, CliError> {
        let (mapping, is_add) = mapping(args, form, K::HAS_FAR_END)?;
        Ok(Self(mapping, is_add, PhantomData))
    }
    /// Runs it; returns the number of ended sessions.
    ///
    /// # Errors
    /// The errors of the request.
    pub fn carry_out(self, router: &mut Router) -> Result<Output, CliError> {
        let is_add = self.1;
        let ended = Nat::<K>::put_mapping(router, self.0, is_add)?;
        let line = format!("{ended} conflicting sessions ended");
        Ok(Output::list(if is_add && ended > 0 { vec![line] } else { Vec::new() }))
    }
}

/// Adds the commands of a kind.
pub fn register<K: Commands>(cli: &mut Cli<Router>) {
    let words = K::WORDS;
    cli.command_at(words.plugin, |router: &mut Router, plugin: Plugin<K>| match plugin.0 {
        Some(settings) => Ok(Nat::enable(router, *settings)?),
        None => Ok(Nat::<K>::disable(router)?),
    });
    cli.command_at(words.forwarding, |router, f: Forwarding| {
        Ok(Nat::<K>::set_forwarding(router, f.state == "enable")?)
    });
    cli.command_at(words.sides, |router, set: SetInterface| {
        set.sides.check()?;
        Ok(Nat::<K>::set_interfaces(router, &set.sides)?)
    });
    cli.task_at(words.del_session, DelSession::<K>::ABOUT, |router, del: DelSession<K>| {
        let answer = |done: Result<(), _>| Ok(done.map(|()| Output::none())?);
        Ok(Box::new(Nat::<K>::remove_session(router, del.0, answer)?) as _)
    });
    cli.command_at(words.timeout, |router, set: SetTimeout| {
        let new = set.timeouts.after(Nat::<K>::settings(router)?.timeouts);
        Ok(Nat::<K>::set_timeouts(router, new)?)
    });
    cli.command_at(words.mss, |router, set: MssClamping| Ok(Nat::<K>::set_mss(router, set.0)?));
    cli.command_at(words.clear, |router, ClearSessions {}| {
        Nat::<K>::settings(router)?;
        Nat::<K>::remove_sessions(router, |_| true)?;
        Ok(())
    });
    register_shows::<K>(cli, words.shows);
}

fn register_shows<K: Commands>(cli: &mut Cli<Router>, words: [&'static str; 6]) {
    let [addresses, interfaces, of_interfaces, mappings, timeouts, mss] = words;
    cli.task_at(addresses, ShowAddresses::ABOUT, |router: &mut Router, ShowAddresses {}| {
        Ok(Box::new(all_addresses::<K>(router)) as _)
    });
    cli.command_at(interfaces, |router, ShowInterfaces {}| Ok(Output::list(sides::<K>(router))));
    cli.command_at(of_interfaces, |router: &mut Router, ShowInterfaceAddresses {}| {
        let s = Nat::<K>::known(router);
        let all = s.pool.interfaces.iter().map(|(interface, is_twice)| {
            let twice = if *is_twice { " twice-nat" } else { "" };
            format!(" {}{twice}", router.interfaces.name(interface.0))
        });
        Ok(Output::list(below("NAT44 pool address interfaces:", all)))
    });
    cli.command_at(mappings, |router: &mut Router, ShowMappings {}| {
        let all = Nat::<K>::resolved_mappings(router);
        let lines = all.iter().flat_map(|m| m.lines(router, K::SPELL));
        Ok(Output::list(below("NAT44 static mappings:", lines)))
    });
    cli.command_at(timeouts, |router, ShowTimeouts {}| {
        let t = Nat::<K>::known(router).timeouts;
        let line = |name: &str, seconds: u32| format!("{name} timeout: {seconds}sec");
        Ok(Output::list(vec![
            line("udp", t.udp),
            line("tcp-established", t.established),
            line("tcp-transitory", t.transitory),
            line("icmp", t.icmp),
        ]))
    });
    cli.command_at(mss, |router, ShowMss {}| {
        let mss = Nat::<K>::known(router).mss;
        let text = mss.map_or_else(|| "disabled".to_owned(), |mss| mss.to_string());
        Ok(Output::list(vec![format!("mss-clamping {text}")]))
    });
}

/// Busy ports by address and protocol: other, UDP, TCP, ICMP.
type Busy = HashMap<[u8; 4], [usize; 4]>;

fn count(busy: &mut Busy, addr: [u8; 4], protocol: Protocol) {
    let place = match protocol {
        Protocol::UDP => 1,
        Protocol::TCP => 2,
        Protocol::ICMP => 3,
        _ => 0,
    };
    busy.entry(addr).or_default()[place] += 1;
}

fn all_addresses<K: Commands>(router: &Router) -> Gather<(), Result<Output, CliError>> {
    let busy = Rc::new(RefCell::new(Busy::new()));
    let to = Rc::clone(&busy);
    let is_meant = |s: &NatSession| !K::HAS_FAR_END && !s.data.is(STATIC | BYPASS);
    let slices = slices::map(Nat::<K>::slices(router, is_meant), move |_, (_, s)| {
        count(&mut to.borrow_mut(), s.reverse.dst, s.forward.protocol());
    });
    Gather::all(slices, move |router, done| {
        done.map_err(|_| Error::NoAnswer)?;
        let mut busy = busy.take();
        for m in Nat::<K>::resolved_mappings(router) {
            if let (Some(protocol), None) = (m.protocol, m.interface) {
                count(&mut busy, m.external.octets(), protocol);
            }
        }
        Ok(Output::list(listed::<K>(router, &busy)))
    })
}

fn listed<K: Commands>(router: &Router, busy: &Busy) -> Vec<String> {
    let all = Nat::<K>::known(router).pool.all(router);
    let pools = [("NAT44 pool addresses:", false), ("NAT44 twice-nat pool addresses:", true)];
    let mut lines = Vec::new();
    for (head, is_twice) in pools.into_iter().filter(|(_, is_twice)| K::HAS_FAR_END || !is_twice) {
        lines.push(head.to_owned());
        for address in all.iter().filter(|a| a.is_twice == is_twice) {
            lines.push(address.addr.to_string());
            lines.push(match address.vrf {
                Some(vrf) => format!("  tenant VRF: {vrf}"),
                None => "  tenant VRF independent".to_owned(),
            });
            if !K::HAS_FAR_END {
                let counts = busy.get(&address.addr.octets()).copied().unwrap_or_default();
                let counts = ["other", "udp", "tcp", "icmp"].iter().zip(counts);
                lines.extend(counts.map(|(name, n)| format!("  {n} busy {name} ports")));
            }
        }
    }
    lines
}

fn sides<K: Commands>(router: &Router) -> Vec<String> {
    let mut lines = vec!["NAT44 interfaces:".to_owned()];
    for (interface, role) in Nat::<K>::roles(router) {
        let name = router.interfaces.name(interface.0);
        if !role.word().is_empty() {
            lines.push(format!(" {name} {}", role.word()));
        }
        if role.is_output {
            lines.push(format!(" {name} output-feature in out"));
        }
    }
    lines
}
