//! Commands that set where the frames of interfaces go, and their tags.

use net::interface::TagRewrite;
use net::prelude::*;

use super::domain;
use super::rewrite::pbb;
use super::state::Role;

/// Add an interface to a bridge domain.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface l2 bridge")]
#[undo("=set interface l3 {1}")]
#[stage(Attachments)]
pub(super) struct SetBridge {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// bridge domain; created if it does not exist
    #[positional]
    pub bridge_domain_id: u32,
    /// split horizon group
    #[positional]
    pub shg: Option<u8>,
    /// bridge virtual interface: the router's own port
    pub bvi: bool,
    /// unknown-unicast interface
    pub uu_fwd: bool,
}

/// Cross-connect an interface with another.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface l2 xconnect")]
#[undo("=set interface l3 {1}")]
#[stage(Attachments)]
pub(super) struct SetCrossConnect {
    /// receive interface
    #[positional]
    pub interface: InterfaceIndex,
    /// transmit interface
    #[positional]
    pub peer: InterfaceIndex,
}

/// Return an interface to layer 3.
#[derive(Command)]
#[command("set interface l3")]
struct SetRouted {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// `set interface l2 tag-rewrite INTERFACE {disable | pop N | push KIND TAG [TAG] | ...}`.
#[derive(Debug, PartialEq)]
pub(super) struct SetTags {
    pub interface: InterfaceIndex,
    pub wanted: TagRewrite,
}

impl Print for SetTags {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=set interface l2 tag-rewrite {1} disable";
    fn print(&self, line: &mut Line<'_>) {
        let TagRewrite { op, push_dot1q, tags: [first, second], .. } = self.wanted;
        line.value(&self.interface);
        let (words, tags) = match op {
            0 => ("disable", 0),
            1 => ("push", 1),
            2 => ("push", 2),
            3 => ("pop 1", 0),
            4 => ("pop 2", 0),
            5 => ("translate 1-1", 1),
            6 => ("translate 1-2", 2),
            7 => ("translate 2-1", 1),
            _ => ("translate 2-2", 2),
        };
        line.word(words);
        if tags > 0 {
            line.word(if push_dot1q == 0 { "dot1ad" } else { "dot1q" }).value(&first);
        }
        if tags > 1 {
            line.value(&second);
        }
    }
}

impl Command for SetTags {
    const PATHS: &'static [&'static str] = &["set interface l2 tag-rewrite"];
    const ABOUT: &'static str = "Set the VLAN tag rewrite of an interface";
    const USAGE: &'static str = "<interface> {disable | pop {1|2} | push {dot1q|dot1ad} <tag> \
        [<tag>] | translate {1-1|1-2|2-1|2-2} {dot1q|dot1ad} <tag> [<tag>]}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let mut wanted = TagRewrite::default();
        if args.keyword("disable") {
            return Ok(Self { interface, wanted });
        }
        if args.keyword("pop") {
            wanted.op = match args.value::<u32>("number of tags")? {
                count @ 1..=2 => 2 + count,
                _ => return Err(args.error("expected 1 or 2")),
            };
            return Ok(Self { interface, wanted });
        }
        let kinds = [("1-1", 5, 1), ("1-2", 6, 2), ("2-1", 7, 1), ("2-2", 8, 2)];
        let mut tags = if args.keyword("push") {
            0
        } else if args.keyword("translate") {
            let found = kinds.into_iter().find(|(word, ..)| args.keyword(word));
            let (_, op, tags) = found.ok_or_else(|| args.unknown())?;
            wanted.op = op;
            tags
        } else {
            return Err(args.unknown());
        };
        wanted.push_dot1q = u32::from(!args.keyword("dot1ad"));
        if wanted.push_dot1q == 1 && !args.keyword("dot1q") {
            return Err(args.error("expected dot1q or dot1ad"));
        }
        wanted.tags[0] = args.value("tag")?;
        if tags == 0 {
            tags = if args.is_empty() { 1 } else { 2 };
            wanted.op = tags;
        }
        if tags == 2 {
            wanted.tags[1] = args.value("tag")?;
        }
        Ok(Self { interface, wanted })
    }
}

/// `set interface l2 pbb-tag-rewrite INTERFACE {disable | pop | push ... | ...}`.
#[derive(Debug, PartialEq)]
pub(super) struct SetBackbone {
    pub interface: InterfaceIndex,
    pub wanted: TagRewrite,
}

impl Print for SetBackbone {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=set interface l2 pbb-tag-rewrite {1} disable";
    fn print(&self, line: &mut Line<'_>) {
        let wanted = &self.wanted;
        line.value(&self.interface);
        match wanted.op {
            0 => {
                line.word("disable");
                return;
            }
            pbb::POP => line.word("pop"),
            pbb::PUSH => line.word("push"),
            _ => line.keyword("translate_pbb_stag", &wanted.outer_tag),
        };
        line.keyword("dmac", &wanted.b_dmac).keyword("smac", &wanted.b_smac);
        line.keyword("s_id", &wanted.i_sid).keyword("b_vlanid", &wanted.b_vlanid);
    }
}

impl Command for SetBackbone {
    const PATHS: &'static [&'static str] = &["set interface l2 pbb-tag-rewrite"];
    const ABOUT: &'static str = "Set the provider backbone bridging rewrite of an interface";
    const USAGE: &'static str = "<interface> {disable | pop | push | translate_pbb_stag \
        <outer-tag>} [dmac <mac-addr>] [smac <mac-addr>] [s_id <n>] [b_vlanid <n>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut wanted = TagRewrite { is_backbone: true, ..TagRewrite::default() };
        let (mut interface, mut is_said) = (None, false);
        while !args.is_empty() {
            let ops = [("disable", 0), ("pop", pbb::POP), ("push", pbb::PUSH)];
            if let Some((_, op)) = ops.into_iter().find(|(word, _)| args.keyword(word)) {
                (wanted.op, is_said) = (op, true);
            } else if args.keyword("translate_pbb_stag") {
                (wanted.op, wanted.outer_tag) = (pbb::TRANSLATE, args.value("tag")?);
                is_said = true;
            } else if args.keyword("dmac") {
                wanted.b_dmac = args.value("address")?;
            } else if args.keyword("smac") {
                wanted.b_smac = args.value("address")?;
            } else if args.keyword("s_id") {
                wanted.i_sid = args.value("service")?;
            } else if args.keyword("b_vlanid") {
                wanted.b_vlanid = args.value("VLAN")?;
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        if !is_said {
            return Err(args.error("expected disable, pop, push or translate_pbb_stag"));
        }
        if wanted.op == 0 {
            wanted = TagRewrite { is_backbone: true, ..TagRewrite::default() };
        }
        Ok(Self { interface, wanted })
    }
}

/// Add or delete a patch: transmit all frames of an interface on another, without further
/// processing.
#[derive(Command, Print, Debug, PartialEq)]
#[command("test l2patch")]
#[stage(Attachments)]
pub(super) struct SetPatch {
    /// receive interface
    pub rx: InterfaceIndex,
    /// transmit interface
    pub tx: InterfaceIndex,
    /// delete
    pub del: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetBridge| {
        let role = match (c.bvi, c.uu_fwd) {
            (true, true) => return Err(Error::new("expected bvi or uu-fwd, not both")),
            (true, _) => Role::Bvi,
            (_, true) => Role::Unknown,
            _ => Role::Normal,
        };
        let group = c.shg.unwrap_or(0);
        Ok(domain::bridge(router, c.interface, c.bridge_domain_id, role, group)?)
    });
    cli.command(|router: &mut Router, c: SetCrossConnect| {
        Ok(domain::cross_connect(router, c.interface, c.peer)?)
    });
    cli.command(|router: &mut Router, c: SetRouted| Ok(domain::routed(router, c.interface)?));
    cli.command(|router: &mut Router, c: SetTags| {
        Ok(domain::set_rewrite(router, c.interface, c.wanted)?)
    });
    cli.command(|router: &mut Router, c: SetBackbone| {
        Ok(domain::set_rewrite(router, c.interface, c.wanted)?)
    });
    cli.command(|router: &mut Router, c: SetPatch| {
        Ok(domain::set_patch(router, c.rx, (!c.del).then_some(c.tx))?)
    });
}
