//! `create bond`, `delete bond`, `bond add`, `bond del`, `set interface bond`.

use net::prelude::*;

use super::{Balance, Bonds, Config, Mode};

/// `create bond mode … [load-balance …] [numa-only] [hw-addr …] [id …] [gso]`.
#[derive(Debug, PartialEq)]
struct Create(Config);

/// One of some words.
fn one_of<T: Copy>(args: &mut Args<'_>, words: &[(T, &'static str)]) -> Option<T> {
    words.iter().find(|(_, word)| args.keyword(word)).map(|(value, _)| *value)
}

impl Command for Create {
    const PATHS: &'static [&'static str] = &["create bond"];
    const ABOUT: &'static str = "Create a bond interface";
    const USAGE: &'static str = "mode {round-robin | active-backup | broadcast | {lacp | xor} \
        [load-balance { l2 | l23 | l34 } [numa-only]]} [hw-addr <mac-address>] [id <if-id>] [gso]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut mode, mut balance, mut numa_only, mut gso) = (None, None, false, false);
        let (mut mac, mut id) = (None, None);
        while !args.is_empty() {
            if args.keyword("mode") {
                let found = one_of(args, &Mode::WORDS);
                mode = Some(found.ok_or_else(|| args.error("invalid mode"))?);
            } else if args.keyword("load-balance") {
                let found = one_of(args, &Balance::WORDS);
                balance = Some(found.ok_or_else(|| args.error("invalid load-balance"))?);
            } else if args.keyword("numa-only") {
                numa_only = true;
            } else if args.keyword("hw-addr") {
                mac = Some(args.value::<MacAddr>("hw-addr")?);
            } else if args.keyword("id") {
                id = Some(args.value("id")?);
            } else if args.keyword("gso") {
                gso = true;
            } else {
                return Err(args.unknown());
            }
        }
        let mode = mode.ok_or_else(|| args.error("expected mode"))?;
        if balance.is_some() && !mode.balances() {
            return Err(super::Error::Balance.into());
        }
        let balance = balance.unwrap_or_default();
        Ok(Self(Config { id, mode, balance, numa_only, gso, mac }))
    }
}

impl Print for Create {
    const STAGE: Stage = Stage::Interfaces;
    const UNDO: &'static str = "delete bond BondEthernet{id}";
    fn print(&self, line: &mut Line<'_>) {
        let Config { id, mode, balance, numa_only, gso, mac } = &self.0;
        line.word("mode").word(mode.word());
        if *balance != Balance::default() {
            line.word("load-balance").word(balance.word());
        }
        line.flag("numa-only", *numa_only).option("hw-addr", mac.as_ref());
        line.option("id", id.as_ref()).flag("gso", *gso);
    }
}

/// Delete a bond interface.
#[derive(Command)]
#[command("delete bond")]
struct Delete {
    /// interface, or `sw_if_index` and a number
    #[positional]
    interface: InterfaceIndex,
}

/// Add a member to a bond.
#[derive(Command, Print, Debug, PartialEq)]
#[command("bond add")]
#[undo("bond del {2}")]
#[stage(Settings)]
struct Add {
    /// bond interface
    #[positional]
    bond: InterfaceIndex,
    /// member interface
    #[positional]
    member: InterfaceIndex,
    /// passive LACP: answer, but do not initiate
    passive: bool,
    /// long LACP timeout: the peer sends every 30 seconds instead of every second
    long_timeout: bool,
}

/// Remove a member from a bond.
#[derive(Command)]
#[command("bond del")]
struct Del {
    /// member interface
    #[positional]
    member: InterfaceIndex,
}

/// Set the weight of a bond member.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface bond")]
#[undo("=set interface bond {1} weight 0")]
#[stage(Settings)]
struct SetWeight {
    /// member, or `sw_if_index` and a number
    #[positional]
    interface: InterfaceIndex,
    /// weight; the highest is preferred
    weight: u32,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = router.own::<Bonds>();
    for (made, bond) in &all.bonds {
        let config = Config { id: Some(bond.id), ..bond.config.clone() };
        lines.push_at(made.0, &Create(config));
        for member in &bond.members {
            let of = &all.members[member];
            let (passive, long_timeout) = (of.is_passive, of.is_long_timeout);
            lines.push(&Add { bond: *made, member: *member, passive, long_timeout });
            if of.weight > 0 {
                lines.push(&SetWeight { interface: *member, weight: of.weight });
            }
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| -> Result<Output, Error> {
        let made = super::create(router, c.0)?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Delete| Ok(super::delete(router, c.interface)?));
    cli.command(|router: &mut Router, c: Add| {
        let how = (c.passive, c.long_timeout);
        Ok(super::add_member(router, c.member, c.bond, how)?)
    });
    cli.command(|router: &mut Router, c: Del| Ok(super::detach(router, c.member)?));
    cli.command(|router: &mut Router, c: SetWeight| {
        Ok(super::set_weight(router, c.interface, c.weight)?)
    });
}
