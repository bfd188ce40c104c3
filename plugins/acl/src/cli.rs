//! Commands that make and apply access lists.

use control::cli::{Step, Task};
use net::prelude::*;

use super::words::{self, Named};
use super::{Direction, Making, Rule, apply_one, delete};

/// `set acl-plugin acl [index N] RULE, RULE … [tag TEXT]`.
#[derive(Debug, PartialEq)]
pub(super) struct SetList(pub Named<Rule>);

impl Command for SetList {
    const PATHS: &'static [&'static str] = &["set acl-plugin acl"];
    const ABOUT: &'static str = "Add or replace an access list";
    const USAGE: &'static str = "[index <idx> [create]] [count <n>] \
        <permit|deny|permit+reflect|action N> \
        src <PREFIX> dst <PREFIX> [proto X] [sport X[-Y]] [dport X[-Y]] \
        [tcpflags <int> mask <int>] [tag FOO] {use comma separated list for multiple rules}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        words::list(args, words::rule).map(Self)
    }
}

impl Print for SetList {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=delete acl-plugin acl index {index}";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0);
    }
}

/// A list on its way.
struct Make(Making);

impl Task<Router> for Make {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        if !self.0.step() {
            return Step::Again;
        }
        Step::Done(match self.0.finish(router) {
            Ok(index) => {
                out.append(Output::text(format!("ACL index:{index}")));
                Ok(())
            }
            Err(why) => Err(why.into()),
        })
    }
}

/// Delete an access list.
#[derive(Command)]
#[command("delete acl-plugin acl")]
struct Delete {
    /// access list
    index: u32,
}

/// `set acl-plugin interface INTERFACE input|output acl N [del]`.
#[derive(Debug, PartialEq)]
pub(super) struct Apply {
    pub interface: InterfaceIndex,
    pub is_output: bool,
    pub list: u32,
    pub del: bool,
}

impl Command for Apply {
    const PATHS: &'static [&'static str] = &["set acl-plugin interface"];
    const ABOUT: &'static str = "Add or remove an access list of an interface";
    const USAGE: &'static str = "<interface> <input|output> <acl INDEX> [add|del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut direction, mut list, mut del, mut interface) = (None, None, false, None);
        while !args.is_empty() {
            if args.keyword("input") {
                direction = Some(false);
            } else if args.keyword("output") {
                direction = Some(true);
            } else if args.keyword("acl") {
                list = Some(args.value("acl")?);
            } else if args.keyword("del") {
                del = true;
            } else if args.keyword("add") {
                del = false;
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        let is_output = direction.ok_or_else(|| args.error("expected input or output"))?;
        let list = list.ok_or_else(|| args.error("expected acl"))?;
        Ok(Self { interface, is_output, list, del })
    }
}

impl Print for Apply {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface).word(if self.is_output { "output" } else { "input" });
        line.keyword("acl", &self.list).flag("del", self.del);
    }
}

/// `set acl-plugin etype-whitelist INTERFACE [input TYPE …] [output TYPE …]`.
#[derive(Debug, PartialEq)]
pub(super) struct SetTypes {
    pub interface: InterfaceIndex,
    pub types: [Vec<u16>; 2],
}

impl Command for SetTypes {
    const PATHS: &'static [&'static str] = &["set acl-plugin etype-whitelist"];
    const ABOUT: &'static str = "Set the non-IP EtherTypes allowed on an interface";
    const USAGE: &'static str = "<interface> [input <hex-type> ...] [output <hex-type> ...]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let (mut types, mut direction) = ([Vec::new(), Vec::new()], None);
        while let Some(word) = args.peek() {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            match (word, direction, u16::from_str_radix(digits, 16)) {
                ("input", ..) => direction = Some(0),
                ("output", ..) => direction = Some(1),
                (_, Some(direction), Ok(kind)) => types[direction].push(kind),
                _ => return Err(args.unknown()),
            }
            args.word();
        }
        Ok(Self { interface, types })
    }
}

impl Print for SetTypes {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=set acl-plugin etype-whitelist {1}";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface);
        for (direction, types) in ["input", "output"].into_iter().zip(&self.types) {
            if !types.is_empty() {
                line.word(direction);
                types.iter().for_each(|kind| {
                    line.word(format_args!("{kind:04x}"));
                });
            }
        }
    }
}

/// `set acl-plugin counters enable|disable`, `use-hash-acl-matching 0|1`, and choices of the
/// original that lookups here do not leave.
#[derive(Debug, PartialEq)]
pub(super) enum SetOption {
    Counters(bool),
    HashLookup(bool),
    /// As it is anyway.
    Usual,
}

/// Takes a choice that must be as it is here.
fn usual(args: &mut Args<'_>, usual: u32, why: &str) -> Result<SetOption, Error> {
    let before = args.error(why);
    match args.value::<u32>("0 or 1")? == usual {
        true => Ok(SetOption::Usual),
        false => Err(before),
    }
}

impl Command for SetOption {
    const PATHS: &'static [&'static str] = &["set acl-plugin"];
    const ABOUT: &'static str = "Set global access list parameters";
    const USAGE: &'static str = "{counters {enable|disable} | use-hash-acl-matching {0|1} | \
        l4-match-nonfirst-fragment 1 | skip-ipv6-extension-header <header> 1}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("counters") {
            let on = args.keyword("enable");
            if !on && !args.keyword("disable") {
                return Err(args.error("expected enable or disable"));
            }
            return Ok(Self::Counters(on));
        }
        if args.keyword("use-hash-acl-matching") {
            return Ok(Self::HashLookup(args.value::<u8>("0 or 1")? != 0));
        }
        if args.keyword("l4-match-nonfirst-fragment") {
            let why = "rules with ports are about all fragments between their addresses";
            return usual(args, 1, why);
        }
        if args.keyword("skip-ipv6-extension-header") {
            args.value::<u8>("header")?;
            return usual(args, 1, "all extension headers are skipped");
        }
        Err(args.unknown())
    }
}

impl Print for SetOption {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=set acl-plugin {?counters} counters disable|\
        set acl-plugin use-hash-acl-matching 1";
    fn print(&self, line: &mut Line<'_>) {
        match self {
            Self::Counters(on) => line.keyword("counters", &if *on { "enable" } else { "disable" }),
            Self::HashLookup(on) => line.keyword("use-hash-acl-matching", &u8::from(*on)),
            Self::Usual => line,
        };
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, SetList(list): SetList| {
        let Named { index, create, rules, tag } = list;
        Ok(Box::new(Make(Making::begin(router, index, create, &tag, rules)?)) as _)
    });
    cli.command(|router: &mut Router, c: Delete| Ok(delete(router, c.index)?));
    cli.command(|router: &mut Router, c: Apply| {
        let direction = if c.is_output { Direction::Output } else { Direction::Input };
        Ok(apply_one(router, c.interface, direction, c.list, !c.del)?)
    });
    cli.command(|router: &mut Router, c: SetTypes| {
        Ok(super::set_types(router, c.interface, c.types)?)
    });
    cli.command(|router: &mut Router, c: SetOption| {
        super::set_options(router, |options| match c {
            SetOption::Counters(on) => options.counts = on,
            SetOption::HashLookup(on) => options.hash_lookup = on,
            SetOption::Usual => (),
        });
        Ok(())
    });
}
