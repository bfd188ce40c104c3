//! `soft-rss config`, `soft-rss enable`, `soft-rss disable`, `soft-rss clear`, `show soft-rss`.

use control::cli::hex;
use control::config::CpuList;
use net::prelude::*;

use super::{Fields, KEY, Key, Plan, SoftRss};

/// Packets that may wait on the way from one thread to another.
const QUEUE: u32 = 8192;

impl Fields {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Disabled, "disabled"),
        (Self::Src, "src-ip"),
        (Self::Dst, "dst-ip"),
        (Self::Addresses, "2-tuple"),
        (Self::AddressesAndPorts, "4-tuple"),
    ];
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(fields, _)| *fields == self).map_or("", |(_, word)| word)
    }
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(_, word)| args.keyword(word));
        let found = found.map(|(fields, _)| *fields);
        found.ok_or_else(|| args.error("expected 4-tuple, 2-tuple, src-ip, dst-ip or disabled"))
    }
}

/// `soft-rss config INTERFACE …`.
#[derive(Debug, PartialEq)]
struct Config {
    interface: InterfaceIndex,
    plan: Plan,
}

fn key(args: &mut Args<'_>) -> Result<Key, Error> {
    let text = args.word().unwrap_or_default();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..KEY.len()).map(byte).collect();
    let key = bytes.filter(|_| digits.len() == 2 * KEY.len()).and_then(|b| b.try_into().ok());
    key.ok_or_else(|| Error::new(format!("rss-key must be 40 bytes in hexadecimal, not `{text}'")))
}

impl Command for Config {
    const PATHS: &'static [&'static str] = &["soft-rss config"];
    const ABOUT: &'static str = "Set the distribution of an interface's packets over threads";
    const USAGE: &'static str = "<interface> [type <type>] [l2-offset <bytes>] [threads <list>] \
        [handoff-queue-size <packets>] [rss-key <hex>] [ipv4-type <type>] [ipv6-type <type>] \
        [with-main-thread]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let mut plan = Plan::default();
        while !args.is_empty() {
            if args.keyword("type") {
                plan.fields = [Fields::take(args)?; 2];
            } else if args.keyword("ipv4-type") {
                plan.fields[0] = Fields::take(args)?;
            } else if args.keyword("ipv6-type") {
                plan.fields[1] = Fields::take(args)?;
            } else if args.keyword("l2-offset") {
                plan.offset = args.value("number of bytes")?;
            } else if args.keyword("threads") {
                plan.threads = args.value::<CpuList>("list of threads, as 1,3-4")?.0;
            } else if args.keyword("rss-key") {
                plan.key = key(args)?;
            } else if args.keyword("handoff-queue-size") {
                let packets: u32 = args.value("number of packets")?;
                if packets == 0 || packets > QUEUE {
                    return Err(args.error(format_args!(
                        "handoff-queue-size must be 1 to {QUEUE}, not \
                            {packets}"
                    )));
                }
            } else if args.keyword("with-main-thread") {
                return Err(args.error("where there are workers, main receives no packets"));
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self { interface, plan })
    }
}

impl Print for Config {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "soft-rss clear {1}";
    fn print(&self, line: &mut Line<'_>) {
        let Plan { fields: [four, six], offset, threads, key } = &self.plan;
        line.value(&self.interface);
        line.keyword("ipv4-type", &four.word()).keyword("ipv6-type", &six.word());
        line.option("l2-offset", Some(offset).filter(|offset| **offset > 0));
        if !threads.is_empty() {
            let list: Vec<_> = threads.iter().map(ToString::to_string).collect();
            line.keyword("threads", &list.join(","));
        }
        if *key != KEY {
            line.keyword("rss-key", &hex(key));
        }
    }
}

/// Distribute an interface's received packets over threads.
#[derive(Command, Print, Debug, PartialEq)]
#[command("soft-rss enable")]
#[undo("soft-rss disable {interface}")]
#[stage(State)]
struct Enable {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Keep an interface's received packets on the receiving thread.
#[derive(Command)]
#[command("soft-rss disable")]
struct Disable {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Delete the packet distribution settings of an interface.
#[derive(Command)]
#[command("soft-rss clear")]
struct Clear {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Show the packet distribution of interfaces.
#[derive(Command)]
#[command("show soft-rss")]
struct Show {
    /// interface; default all
    #[positional]
    interface: Option<InterfaceIndex>,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    enabled: bool,
    ipv4_type: &'static str,
    ipv6_type: &'static str,
    l2_offset: usize,
    /// All workers when empty.
    threads: Vec<u32>,
    rss_key: String,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        let state = if row.enabled { "enabled" } else { "disabled" };
        writeln!(f, "{}: {state}", row.interface)?;
        writeln!(f, "  ipv4-type {} ipv6-type {}", row.ipv4_type, row.ipv6_type)?;
        let threads: Vec<_> = row.threads.iter().map(ToString::to_string).collect();
        let threads = if threads.is_empty() { "all workers".to_owned() } else { threads.join(",") };
        writeln!(f, "  l2-offset {} threads {threads}", row.l2_offset)?;
        writeln!(f, "  rss-key {}", row.rss_key)
    })
}

fn rows(router: &Router, only: Option<InterfaceIndex>) -> Vec<Row> {
    let is_shown = |index: InterfaceIndex| only.is_none_or(|only| only == index);
    let row = |(index, setting): (InterfaceIndex, &SoftRss)| {
        let plan = &setting.ready.as_ref().filter(|_| is_shown(index))?.plan;
        Some(Row {
            interface: router.interfaces.name(index.0).to_owned(),
            enabled: setting.is_on,
            ipv4_type: plan.fields[0].word(),
            ipv6_type: plan.fields[1].word(),
            l2_offset: plan.offset,
            threads: plan.threads.clone(),
            rss_key: hex(&plan.key),
        })
    };
    router.settings::<SoftRss>().filter_map(row).collect()
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, setting) in router.settings::<SoftRss>() {
        if let Some(ready) = &setting.ready {
            lines.push(&Config { interface, plan: ready.plan.clone() });
        }
        if setting.is_on {
            lines.push(&Enable { interface });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Config| {
        Ok(super::configure(router, c.interface, c.plan)?)
    });
    cli.command(|router: &mut Router, c: Enable| Ok(super::enable(router, c.interface, true)?));
    cli.command(|router: &mut Router, c: Disable| Ok(super::enable(router, c.interface, false)?));
    cli.command(|router: &mut Router, c: Clear| Ok(super::clear(router, c.interface)?));
    cli.command(|router: &mut Router, c: Show| {
        Ok(Output::rows(rows(router, c.interface), write_rows))
    });
}
