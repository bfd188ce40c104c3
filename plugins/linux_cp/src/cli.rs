//! `lcp …`, `show lcp …`.

use control::cli::Task;
use net::prelude::*;

use super::pair::{self, Kind, Pair, Wanted};
use super::{Settings, settings};

/// Create a mirror of an interface in Linux.
#[derive(Command, Print, Debug, PartialEq)]
#[command("lcp create")]
#[stage(SubInterfaces)]
struct Create {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// device name
    host_if: String,
    /// network namespace of the device; default the default namespace
    #[values("netns")]
    netns: Option<String>,
    /// instance number of the host interface; default the lowest free one
    id: Option<u32>,
    /// carry IP packets without an Ethernet header
    tun: bool,
}

/// Delete the mirror of an interface in Linux.
#[derive(Command)]
#[command("lcp delete")]
struct Delete {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// `lcp default netns [NAME]`.
#[derive(Debug, PartialEq)]
struct Namespace(String);

impl Command for Namespace {
    const PATHS: &'static [&'static str] = &["lcp default netns"];
    const ABOUT: &'static str = "Set the default network namespace of host devices";
    const USAGE: &'static str = "[<namespace>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.is_empty() { Ok(Self(String::new())) } else { Ok(Self(args.value("namespace")?)) }
    }
}

impl Print for Namespace {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=lcp default netns";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0);
    }
}

/// Clear the default network namespace of host devices.
#[derive(Command)]
#[command("lcp default clear netns")]
struct ClearNamespace;

fn is_on(args: &mut Args<'_>) -> Result<bool, Error> {
    if args.keyword("on") || args.keyword("enable") {
        Ok(true)
    } else if args.keyword("off") || args.keyword("disable") {
        Ok(false)
    } else {
        Err(args.error("expected on or off"))
    }
}

/// Commands that switch something on or off.
macro_rules! switches {
    ($($name:ident, $path:literal, $about:literal;)*) => {$(
        #[derive(Debug, PartialEq)]
        struct $name(bool);

        impl Command for $name {
            const PATHS: &'static [&'static str] = &[$path];
            const ABOUT: &'static str = $about;
            const USAGE: &'static str = "on | enable | off | disable";

            fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
                is_on(args).map(Self)
            }
        }

        impl Print for $name {
            const STAGE: Stage = Stage::Settings;
            fn print(&self, line: &mut Line<'_>) {
                line.word(if self.0 { "on" } else { "off" });
            }
        }
    )*};
}

switches! {
    Sync, "lcp lcp-sync", "Copy the state, MTU and addresses of interfaces to their devices";
    AutoSub, "lcp lcp-auto-subint", "Create mirrors of sub-interfaces automatically";
    Unnumbered, "lcp lcp-sync-unnumbered", "Copy borrowed addresses to the devices of unnumbered \
        interfaces";
    DeleteStatic, "lcp param del-static-on-link-down",
        "Delete static Linux routes when their link goes down";
    DeleteDynamic, "lcp param del-dynamic-on-link-down",
        "Delete routes of routing daemons when their link goes down";
}

/// A number, decimal or hexadecimal, of a type of frames or a protocol.
fn number(args: &mut Args<'_>) -> Result<u16, Error> {
    let at = args.error("expected a number");
    let word = args.word().ok_or(at.clone())?;
    let hex = word.strip_prefix("0x").map(|digits| u16::from_str_radix(digits, 16));
    hex.unwrap_or_else(|| word.parse()).map_err(|_| at)
}

/// `lcp ethertype enable NUMBER`.
#[derive(Debug, PartialEq)]
struct EtherType(u16);

impl Command for EtherType {
    const PATHS: &'static [&'static str] = &["lcp ethertype enable"];
    const ABOUT: &'static str = "Pass frames of an EtherType between mirrors and interfaces";
    const USAGE: &'static str = "<type>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        number(args).map(Self)
    }
}

impl Print for EtherType {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "lcp ethertype disable {1}";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0);
    }
}

/// `lcp osi-proto enable NUMBER`.
#[derive(Debug, PartialEq)]
struct OsiProtocol(u8);

/// `lcp ethertype disable NUMBER`.
struct ForgetEtherType(u16);

impl Command for ForgetEtherType {
    const PATHS: &'static [&'static str] = &["lcp ethertype disable"];
    const ABOUT: &'static str = "Stop passing frames of an EtherType between mirrors and \
        interfaces";
    const USAGE: &'static str = "<type>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        number(args).map(Self)
    }
}

/// `lcp osi-proto disable NUMBER`.
struct ForgetOsi(OsiProtocol);

impl Command for ForgetOsi {
    const PATHS: &'static [&'static str] = &["lcp osi-proto disable"];
    const ABOUT: &'static str =
        "Stop passing frames of an OSI protocol between mirrors and interfaces";
    const USAGE: &'static str = "<protocol>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        OsiProtocol::parse(args).map(Self)
    }
}

impl Command for OsiProtocol {
    const PATHS: &'static [&'static str] = &["lcp osi-proto enable"];
    const ABOUT: &'static str = "Pass frames of an OSI protocol between mirrors and interfaces";
    const USAGE: &'static str = "<protocol>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let at = args.error("unknown OSI protocol");
        u8::try_from(number(args)?).map(Self).map_err(|_| at)
    }
}

impl Print for OsiProtocol {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "lcp osi-proto disable {1}";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0);
    }
}

/// Show mirrors and their settings.
#[derive(Command)]
#[command("show lcp")]
struct Show {
    /// only this interface
    phy: Option<InterfaceIndex>,
}

/// Show the neighbors shared with mirrors.
#[derive(Command)]
#[command("show lcp adj")]
struct ShowAdjacencies {
    /// accepted
    #[keyword("verbose")]
    _verbose: bool,
}

/// Show the EtherTypes passed between mirrors and interfaces.
#[derive(Command)]
#[command("show lcp ethertype")]
struct ShowEtherTypes;

/// Show the OSI protocols passed between mirrors and interfaces.
#[derive(Command)]
#[command("show lcp osi-proto")]
struct ShowOsi;

/// Pair two existing interfaces.
#[derive(Command)]
#[command("test lcp add")]
struct TestAdd {
    /// physical interface
    phy: InterfaceIndex,
    /// host interface
    host: InterfaceIndex,
}

/// Delete a pair made by test lcp add.
#[derive(Command)]
#[command("test lcp del")]
struct TestDel {
    /// physical interface
    phy: InterfaceIndex,
    /// host interface
    #[keyword("host")]
    _host: InterfaceIndex,
}

#[derive(Serialize)]
struct Row {
    number: usize,
    phy: String,
    host: String,
    device: String,
    vif: u32,
    kind: &'static str,
    namespace: String,
}

impl Row {
    fn of(router: &Router, (number, pair): (usize, &Pair)) -> Self {
        Self {
            number,
            phy: router.interfaces.name(pair.phy.0).to_owned(),
            host: router.interfaces.name(pair.host.0).to_owned(),
            device: pair.name.clone(),
            vif: pair.device,
            kind: if pair.kind == Kind::Tun { "tun" } else { "tap" },
            namespace: pair.namespace.clone(),
        }
    }
}

#[derive(Serialize)]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<ShownSettings>,
    pairs: Vec<Row>,
}

#[derive(Serialize)]
struct ShownSettings {
    default_netns: String,
    lcp_auto_subint: bool,
    lcp_sync: bool,
    lcp_sync_unnumbered: bool,
    del_static_on_link_down: bool,
    del_dynamic_on_link_down: bool,
}

impl ShownSettings {
    fn of(all: &Settings) -> Self {
        Self {
            default_netns: all.namespace.clone(),
            lcp_auto_subint: all.has_auto_subs,
            lcp_sync: all.is_synced,
            lcp_sync_unnumbered: !all.ignores_unnumbered,
            del_static_on_link_down: all.deletes_static,
            del_dynamic_on_link_down: all.deletes_dynamic,
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(s) = &self.settings {
            let word = |on: bool| if on { "on" } else { "off" };
            let name = if s.default_netns.is_empty() { "<unset>" } else { &s.default_netns };
            writeln!(f, "lcp default netns '{name}'")?;
            writeln!(f, "lcp lcp-auto-subint {}", word(s.lcp_auto_subint))?;
            writeln!(f, "lcp lcp-sync {}", word(s.lcp_sync))?;
            writeln!(f, "lcp lcp-sync-unnumbered {}", word(s.lcp_sync_unnumbered))?;
            writeln!(f, "lcp del-static-on-link-down {}", word(s.del_static_on_link_down))?;
            writeln!(f, "lcp del-dynamic-on-link-down {}", word(s.del_dynamic_on_link_down))?;
        }
        self.pairs.iter().try_for_each(|p| {
            write!(f, "itf-pair: [{}] {} {} {}", p.number, p.phy, p.host, p.device)?;
            write!(f, " {} type {}", p.vif, p.kind)?;
            if !p.namespace.is_empty() {
                write!(f, " netns {}", p.namespace)?;
            }
            writeln!(f)
        })
    }
}

fn write_numbers(rows: &[u16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|number| writeln!(f, "{number:#x}"))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = settings(router);
    if !all.namespace.is_empty() {
        lines.push(&Namespace(all.namespace.clone()));
    }
    if all.is_synced {
        lines.push(&Sync(true));
    }
    if all.has_auto_subs {
        lines.push(&AutoSub(true));
    }
    if all.ignores_unnumbered {
        lines.push(&Unnumbered(false));
    }
    if all.deletes_static {
        lines.push(&DeleteStatic(true));
    }
    if all.deletes_dynamic {
        lines.push(&DeleteDynamic(true));
    }
    super::ethertypes(router).for_each(|number| lines.push(&EtherType(number)));
    super::osi_protocols(router).for_each(|number| lines.push(&OsiProtocol(number)));
    for pair in super::all(router).filter(|pair| pair.device != 0) {
        let Some(host) = router.interfaces.at(pair.host) else { continue };
        let taps = router.state::<drivers::tap::Taps>().map_or(&[][..], |taps| &taps.list);
        let create = Create {
            interface: pair.phy,
            host_if: pair.name.clone(),
            netns: Some(pair.namespace.clone()).filter(|name| !name.is_empty()),
            id: taps.iter().find(|tap| tap.index == pair.host).map(|tap| tap.id),
            tun: pair.kind == Kind::Tun,
        };
        let (stage, place) = host.stage();
        lines.push_in(stage, Lines::behind(place), &create);
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, c: Create| {
        let kind = c.tun.then_some(Kind::Tun);
        let namespace = c.netns.unwrap_or_default();
        let wanted = Wanted { phy: c.interface, name: c.host_if, kind, namespace, id: c.id };
        let done = pair::begin::<_, Error>(router, wanted, |_| String::new())?;
        Ok(Box::new(done) as Box<dyn Task<Router>>)
    })
    .command(|router: &mut Router, c: Delete| Ok(pair::remove(router, c.interface)?))
    .command(|router: &mut Router, c: Namespace| Ok(super::set_namespace(router, &c.0)?))
    .command(|router: &mut Router, _: ClearNamespace| Ok(super::set_namespace(router, "")?));
    cli.command(|router: &mut Router, c: Sync| {
        super::set_sync(router, c.0);
        Ok(())
    })
    .command(|router: &mut Router, c: AutoSub| {
        router.own_mut::<super::Pairs>().settings.has_auto_subs = c.0;
        Ok(())
    })
    .command(|router: &mut Router, c: Unnumbered| {
        super::set_unnumbered(router, c.0);
        Ok(())
    })
    .command(|router: &mut Router, c: DeleteStatic| {
        router.own_mut::<super::Pairs>().settings.deletes_static = c.0;
        Ok(())
    })
    .command(|router: &mut Router, c: DeleteDynamic| {
        router.own_mut::<super::Pairs>().settings.deletes_dynamic = c.0;
        Ok(())
    })
    .command(|router: &mut Router, c: EtherType| Ok(super::enable_ethertype(router, c.0)?))
    .command(|router: &mut Router, c: OsiProtocol| Ok(super::enable_osi(router, c.0)?))
    .command(|router: &mut Router, c: ForgetEtherType| Ok(super::disable_ethertype(router, c.0)?))
    .command(|router: &mut Router, c: ForgetOsi| Ok(super::disable_osi(router, c.0.0)?));
    cli.command(|router: &mut Router, c: Show| {
        let is_meant = |(_, pair): &(usize, &Pair)| c.phy.is_none_or(|phy| phy == pair.phy);
        let rows = super::all(router).enumerate().filter(is_meant);
        let pairs = rows.map(|row| Row::of(router, row)).collect();
        let settings = c.phy.is_none().then(|| ShownSettings::of(settings(router)));
        Ok(Output::of(Shown { settings, pairs }))
    })
    .command(|router: &mut Router, _: ShowAdjacencies| {
        let pairs = super::all(router).enumerate().map(|row| Row::of(router, row)).collect();
        Ok(Output::of(Shown { settings: None, pairs }))
    })
    .command(|router: &mut Router, _: ShowEtherTypes| {
        Ok(Output::rows(super::ethertypes(router), write_numbers))
    })
    .command(|router: &mut Router, _: ShowOsi| {
        Ok(Output::rows(super::osi_protocols(router).map(u16::from), write_numbers))
    })
    .command(|router: &mut Router, c: TestAdd| {
        let is_ethernet = |index| {
            router.interfaces.at(index).is_some_and(|i| i.kind == net::interface::Kind::Ethernet)
        };
        let kind = if is_ethernet(c.host) { Kind::Tap } else { Kind::Tun };
        Ok(pair::add(router, Pair::new(c.phy, c.host, kind))?)
    })
    .command(|router: &mut Router, c: TestDel| Ok(pair::remove(router, c.phy)?));
}
