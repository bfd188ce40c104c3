//! Commands about policers.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print, PrintValue, Word};
use control::configuration::{Lines, Stage};
use infra::meter::Algorithm;
use serde::Serialize;

use super::show::{All, Shown};
use super::{Action, Applied, Config, Direction, Rounding, Unit};
use net::{InterfaceIndex, Router};

/// A usage line that ends in what a policer is to do.
macro_rules! usage {
    ($first:literal) => {
        concat!(
            $first,
            " [type 1r2c | 1r3c | 2r3c-2698 | 2r3c-4115 | 2r3c-mef5cf1] [color-aware] [cir <cir>]",
            " [cb <cb>] [eir <eir>] [eb <eb>] [rate kbps | pps] [round closest | up | down]",
            " [conform-action drop | transmit | mark-and-transmit <dscp>]",
            " [exceed-action drop | transmit | mark-and-transmit <dscp>]",
            " [violate-action drop | transmit | mark-and-transmit <dscp>]"
        )
    };
}

pub(super) const TYPES: [(&str, Algorithm); 5] = [
    ("1r2c", Algorithm::OneBucket),
    ("1r3c", Algorithm::SingleRate),
    ("2r3c-2698", Algorithm::TwoRate),
    ("2r3c-4115", Algorithm::Differentiated),
    ("2r3c-mef5cf1", Algorithm::Coupled),
];
pub(super) const RATES: [(&str, Unit); 2] = [("kbps", Unit::Kbps), ("pps", Unit::Pps)];
pub(super) const ROUNDINGS: [(&str, Rounding); 3] =
    [("closest", Rounding::Closest), ("up", Rounding::Up), ("down", Rounding::Down)];

/// One of some words.
fn one_of<T: Copy>(args: &mut Args<'_>, words: &[(&str, T)]) -> Result<T, Error> {
    let found = words.iter().find(|(word, _)| args.keyword(word));
    found.map(|(_, value)| *value).ok_or_else(|| args.unknown())
}

/// The word of a value.
pub(super) fn word_of<T: Copy + PartialEq>(value: T, words: &[(&'static str, T)]) -> &'static str {
    words.iter().find(|(_, v)| *v == value).map_or("", |(word, _)| word)
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drop => f.write_str("drop"),
            Self::Transmit => f.write_str("transmit"),
            Self::Mark(dscp) => write!(f, "mark-and-transmit {dscp}"),
        }
    }
}

fn action(args: &mut Args<'_>) -> Result<Action, Error> {
    if args.keyword("mark-and-transmit") {
        return args.value("dscp").map(Action::Mark);
    }
    one_of(args, &[("drop", Action::Drop), ("transmit", Action::Transmit)])
}

impl Config {
    /// Reads what a policer is to do, up to the end of the line or a word it does not know.
    fn take(&mut self, args: &mut Args<'_>) -> Result<bool, Error> {
        if args.keyword("type") {
            self.algorithm = one_of(args, &TYPES)?;
        } else if args.keyword("color-aware") {
            self.is_color_aware = true;
        } else if args.keyword("cir") {
            self.cir = args.value("cir")?;
        } else if args.keyword("cb") {
            self.cb = args.value("cb")?;
        } else if args.keyword("eir") {
            self.eir = args.value("eir")?;
        } else if args.keyword("eb") {
            self.eb = args.value("eb")?;
        } else if args.keyword("rate") {
            self.unit = one_of(args, &RATES)?;
        } else if args.keyword("round") {
            self.rounding = one_of(args, &ROUNDINGS)?;
        } else if args.keyword("conform-action") {
            self.actions[0] = action(args)?;
        } else if args.keyword("exceed-action") {
            self.actions[1] = action(args)?;
        } else if args.keyword("violate-action") {
            self.actions[2] = action(args)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

impl PrintValue for Config {
    fn print(&self, line: &mut Line<'_>) {
        let usual = Self::default();
        let mut option = |is_usual: bool, keyword: &str, value: &dyn fmt::Display| {
            line.option(keyword, Some(&value).filter(|_| !is_usual));
        };
        option(self.algorithm == usual.algorithm, "type", &word_of(self.algorithm, &TYPES));
        option(self.cir == 0, "cir", &self.cir);
        option(self.cb == 0, "cb", &self.cb);
        option(self.eir == 0, "eir", &self.eir);
        option(self.eb == 0, "eb", &self.eb);
        option(self.unit == usual.unit, "rate", &word_of(self.unit, &RATES));
        option(self.rounding == usual.rounding, "round", &word_of(self.rounding, &ROUNDINGS));
        let keywords = ["conform-action", "exceed-action", "violate-action"];
        for ((keyword, action), usual) in keywords.iter().zip(self.actions).zip(usual.actions) {
            option(action == usual, keyword, &action);
        }
        line.flag("color-aware", self.is_color_aware);
    }
}

impl PrintValue for Named {
    fn print(&self, line: &mut Line<'_>) {
        match self {
            Self::Name(name) => line.keyword("name", name),
            Self::Index(index) => line.keyword("index", index),
        };
    }
}

/// A policer by its name or its number.
#[derive(Debug, PartialEq)]
pub(super) enum Named {
    Name(Word),
    Index(u32),
}

impl Named {
    pub(super) fn take(args: &mut Args<'_>) -> Result<Option<Self>, Error> {
        if args.keyword("name") {
            return args.value("name").map(Self::Name).map(Some);
        }
        if args.keyword("index") {
            return args.value("index").map(Self::Index).map(Some);
        }
        Ok(None)
    }
    fn expected(args: &mut Args<'_>) -> Result<Self, Error> {
        Self::take(args)?.ok_or_else(|| args.error("expected name or index"))
    }
    pub(super) fn find(&self, router: &Router) -> Result<u32, Error> {
        match self {
            Self::Name(name) => super::named(router, name).ok_or_else(|| name.unknown("policer")),
            Self::Index(index) => Ok(super::at(router, *index).map(|_| *index)?),
        }
    }
}

/// `policer add name NAME ...`.
#[derive(Debug, PartialEq)]
struct Add {
    name: Word,
    /// Its number; the lowest free one if `None`.
    index: Option<u32>,
    config: Config,
}

impl Print for Add {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "policer del name {name}";
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("name", &self.name).option("index", self.index.as_ref()).value(&self.config);
    }
}

impl Command for Add {
    const PATHS: &'static [&'static str] = &["policer add"];
    const ABOUT: &'static str = "Make a policer";
    const USAGE: &'static str = usage!("name <name> [index <n>]");
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut name, mut index, mut config) = (None, None, Config::default());
        while !args.is_empty() {
            if args.keyword("name") {
                name = Some(args.value("name")?);
            } else if args.keyword("index") {
                index = Some(args.value("index")?);
            } else if !config.take(args)? {
                return Err(args.unknown());
            }
        }
        Ok(Self { name: name.ok_or_else(|| args.error("expected name"))?, index, config })
    }
}

/// `configure policer [name NAME | index INDEX] ...`.
struct Configure {
    policer: Named,
    config: Config,
}

impl Command for Configure {
    const PATHS: &'static [&'static str] = &["configure policer"];
    const ABOUT: &'static str = "Change the configuration of a policer";
    const USAGE: &'static str = usage!("[name <policer> | index <policer-index>]");
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut policer, mut config) = (None, Config::default());
        while !args.is_empty() {
            match Named::take(args)? {
                Some(named) => policer = Some(named),
                None if config.take(args)? => (),
                None => return Err(args.unknown()),
            }
        }
        let policer = policer.ok_or_else(|| args.error("expected name or index"))?;
        Ok(Self { policer, config })
    }
}

macro_rules! on_one {
    ($(#[doc = $about:literal] $name:ident: $path:literal;)*) => {$(
        struct $name(Named);

        impl Command for $name {
            const PATHS: &'static [&'static str] = &[$path];
            const ABOUT: &'static str = $about;
            const USAGE: &'static str = "[name <policer> | index <policer-index>]";
            fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
                Named::expected(args).map(Self)
            }
        }
    )*};
}

on_one! {
    #[doc = "Delete a policer"]
    Delete: "policer del";
    #[doc = "Fill the buckets of a policer"]
    Reset: "policer reset";
}

/// `policer bind [unbind] [name NAME | index INDEX] WORKER`.
#[derive(Debug, PartialEq)]
struct Bind {
    policer: Named,
    worker: Option<usize>,
}

impl Command for Bind {
    const PATHS: &'static [&'static str] = &["policer bind"];
    const ABOUT: &'static str = "Bind a policer to a worker, or to none";
    const USAGE: &'static str = "[unbind] [name <policer> | index <policer-index>] <worker>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_off = args.keyword("unbind");
        let policer = Named::expected(args)?;
        let worker = if is_off { args.optional() } else { Some(args.value("worker")?) };
        Ok(Self { policer, worker: worker.filter(|_| !is_off) })
    }
}

/// `policer input|output [unapply] [name NAME | index INDEX] INTERFACE`.
#[derive(Debug, PartialEq)]
struct Apply<const OUT: bool> {
    on: bool,
    policer: Named,
    interface: InterfaceIndex,
}

impl<const OUT: bool> Command for Apply<OUT> {
    const PATHS: &'static [&'static str] =
        if OUT { &["policer output"] } else { &["policer input"] };
    const ABOUT: &'static str = if OUT {
        "Police sent packets of an interface, routed or bridged"
    } else {
        "Police received packets of an interface, routed or bridged"
    };
    const USAGE: &'static str = "[unapply] [name <policer> | index <policer-index>] <interface>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let on = !args.keyword("unapply");
        let policer = Named::expected(args)?;
        Ok(Self { on, policer, interface: args.value("interface")? })
    }
}

impl<const OUT: bool> Apply<OUT> {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let index = self.policer.find(router)?;
        let direction = if OUT { Direction::Output } else { Direction::Input };
        Ok(super::apply(router, self.interface, direction, self.on.then_some(index))?)
    }
}

/// `ip punt policer [add|del] INDEX`.
#[derive(Debug, PartialEq)]
struct Punt<const IP6: bool> {
    on: bool,
    index: u32,
}

impl<const IP6: bool> Command for Punt<IP6> {
    const PATHS: &'static [&'static str] =
        if IP6 { &["ip6 punt policer"] } else { &["ip punt policer"] };
    const ABOUT: &'static str = "Police punted packets";
    const USAGE: &'static str = "[add|del] <policer-index>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let on = !args.keyword("del");
        args.keyword("add");
        Ok(Self { on, index: args.value("index")? })
    }
}

impl<const IP6: bool> Punt<IP6> {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        Ok(super::apply_to_punted(router, IP6, self.on.then_some(self.index))?)
    }
}

impl Print for Bind {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        line.flag("unbind", self.worker.is_none()).value(&self.policer).values(&self.worker);
    }
}

impl<const OUT: bool> Print for Apply<OUT> {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.flag("unapply", !self.on).value(&self.policer).value(&self.interface);
    }
}

impl<const IP6: bool> Print for Punt<IP6> {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.on { "add" } else { "del" }).value(&self.index);
    }
}

/// The policers, and the packets they are for.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (number, policer) in super::all(router) {
        let (name, config) = (policer.name.as_str().into(), policer.config);
        lines.push(&Add { name, index: Some(number), config });
        // Without workers thread 0 is the only one.
        if let Some(worker) = policer.thread().and_then(|thread| thread.checked_sub(1)) {
            lines.push(&Bind { policer: Named::Index(number), worker: Some(worker) });
        }
    }
    for (interface, applied) in router.settings::<Applied>() {
        let on = true;
        if let Some(policer) = applied.0[Direction::Input as usize].map(Named::Index) {
            lines.push(&Apply::<false> { on, policer, interface });
        }
        if let Some(policer) = applied.0[Direction::Output as usize].map(Named::Index) {
            lines.push(&Apply::<true> { on, policer, interface });
        }
    }
    if let Some(index) = super::of_punted(router, false) {
        lines.push(&Punt::<false> { on: true, index });
    }
    if let Some(index) = super::of_punted(router, true) {
        lines.push(&Punt::<true> { on: true, index });
    }
}

/// `show policer [name NAME | index INDEX]`.
struct Show(Option<Named>);

impl Command for Show {
    const PATHS: &'static [&'static str] = &["show policer"];
    const ABOUT: &'static str = "Show policers";
    const USAGE: &'static str = "[name <policer> | index <policer-index>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Named::take(args).map(Self)
    }
}

/// Show how many policers there are.
#[derive(Command)]
#[command("show policer pools")]
struct ShowPools;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("policer", |router: &Router| {
        super::all(router).map(|(_, policer)| policer.name.clone()).collect()
    });
    cli.values("policer-index", |router: &Router| {
        super::all(router).map(|(index, _)| index.to_string()).collect()
    });
    cli.command(|router: &mut Router, add: Add| {
        Ok(super::add_at(router, &add.name, add.index, add.config).map(drop)?)
    });
    cli.command(|router: &mut Router, c: Configure| {
        let index = c.policer.find(router)?;
        Ok(super::update(router, index, c.config)?)
    });
    cli.command(|router: &mut Router, c: Delete| {
        let index = c.0.find(router)?;
        Ok(super::remove(router, index)?)
    });
    cli.command(|router: &mut Router, c: Reset| {
        let index = c.0.find(router)?;
        Ok(super::reset(router, index)?)
    });
    cli.command(|router: &mut Router, c: Bind| {
        let index = c.policer.find(router)?;
        Ok(super::bind(router, index, c.worker)?)
    });
    cli.command(|router: &mut Router, c: Apply<false>| c.carry_out(router));
    cli.command(|router: &mut Router, c: Apply<true>| c.carry_out(router));
    cli.command(|router: &mut Router, c: Punt<false>| c.carry_out(router));
    cli.command(|router: &mut Router, c: Punt<true>| c.carry_out(router));
    cli.command(|router: &mut Router, show: Show| {
        let only = show.0.map(|named| named.find(router)).transpose()?;
        let all = super::all(router).filter(|(index, _)| only.is_none_or(|only| only == *index));
        let shown = all.map(|(index, policer)| Shown::of(router, index, policer));
        Ok(Output::of(All(shown.collect())))
    });
    cli.command(|router: &mut Router, _: ShowPools| {
        Ok(Output::of(Pools { policers: super::all(router).count() }))
    });
}

#[derive(Serialize)]
struct Pools {
    policers: usize,
}

impl fmt::Display for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "pool sizes: policers={}", self.policers)
    }
}
