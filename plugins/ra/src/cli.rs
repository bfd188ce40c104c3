//! `ip6 nd`: how an interface advertises this router.

use control::cli::{Args, Cli, Command, Error};
use wire::Ip6Prefix;

use super::config::{Changes, DEFAULT_PREFERRED, DEFAULT_VALID, PrefixChange};
use net::{InterfaceIndex, Router};

/// For ever.
const INFINITE: u32 = u32::MAX;

/// `ip6 nd INTERFACE [no] WORDS...`.
#[derive(Debug)]
struct IpNd {
    interface: InterfaceIndex,
    changes: Changes,
    /// Prefixes, in the order they were given, and whether each is to go.
    prefixes: Vec<(PrefixChange, bool)>,
}

impl Command for IpNd {
    const PATHS: &'static [&'static str] = &["ip6 nd"];
    const ABOUT: &'static str = "Set how an interface advertises this router";
    const USAGE: &'static str = "<interface> [no] [ra-managed-config-flag] [ra-other-config-flag] \
         [ra-suppress] [ra-suppress-link-layer] [ra-send-unicast] [ra-lifetime <sec>] \
         [ra-initial <count> <sec>] [ra-interval <max-sec> [<min-sec>]] [ra-cease] \
         [prefix <prefix>/<length> [<valid-sec> <preferred-sec>] [infinite] [default] \
         [no-advertise] [off-link] [no-autoconfig] [no-onlink]]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_first_no = args.keyword("no");
        let interface = args.value("interface")?;
        let is_no = is_first_no | args.keyword("no");
        let mut new =
            Self { interface, changes: Changes { is_no, ..Changes::default() }, prefixes: vec![] };
        if args.is_empty() {
            return Err(Error::new("missing what to set"));
        }
        while !args.is_empty() {
            new.take(args)?;
        }
        Ok(new)
    }
}

impl IpNd {
    fn take(&mut self, args: &mut Args<'_>) -> Result<(), Error> {
        let c = &mut self.changes;
        if args.keyword("ra-managed-config-flag") {
            c.managed = true;
        } else if args.keyword("ra-other-config-flag") {
            c.other = true;
        } else if args.keyword("ra-suppress") {
            c.suppress = true;
        } else if args.keyword("ra-suppress-link-layer") {
            c.suppress_mac = true;
        } else if args.keyword("ra-send-unicast") {
            c.unicast = true;
        } else if args.keyword("ra-cease") {
            c.ceases = true;
        } else if args.keyword("ra-lifetime") {
            c.lifetime = Some(number(args, c.is_no, "lifetime")?);
        } else if args.keyword("ra-initial") {
            let count = number(args, c.is_no, "count")?;
            c.initial = Some((count, number(args, c.is_no, "seconds")?));
        } else if args.keyword("ra-interval") {
            let most = number(args, c.is_no, "longest interval")?;
            c.interval = Some((most, args.optional::<u32>()));
        } else if args.keyword("prefix") {
            let is_no = c.is_no;
            self.prefixes.push((prefix(args)?, is_no));
        } else {
            return Err(args.unknown());
        }
        Ok(())
    }
}

/// A number that need not be said to take it back.
fn number(args: &mut Args<'_>, is_no: bool, what: &str) -> Result<u32, Error> {
    if is_no { Ok(args.optional().unwrap_or(0)) } else { args.value(what) }
}

fn prefix(args: &mut Args<'_>) -> Result<PrefixChange, Error> {
    let mut c = PrefixChange {
        prefix: args.value::<Ip6Prefix>("prefix")?,
        is_default: false,
        no_advertise: false,
        off_link: false,
        no_autoconfig: false,
        no_onlink: false,
        valid: DEFAULT_VALID,
        preferred: DEFAULT_PREFERRED,
    };
    loop {
        if args.keyword("default") {
            c.is_default = true;
        } else if args.keyword("infinite") {
            (c.valid, c.preferred) = (INFINITE, INFINITE);
        } else if args.keyword("no-advertise") {
            c.no_advertise = true;
        } else if args.keyword("off-link") {
            c.off_link = true;
        } else if args.keyword("no-autoconfig") {
            c.no_autoconfig = true;
        } else if args.keyword("no-onlink") {
            c.no_onlink = true;
        } else if let Some(valid) = args.optional::<u32>() {
            (c.valid, c.preferred) = (valid, args.value("preferred lifetime")?);
        } else {
            return Ok(c);
        }
    }
}

fn apply(router: &mut Router, c: &IpNd) -> Result<(), super::Error> {
    if c.changes != (Changes { is_no: c.changes.is_no, ..Changes::default() }) {
        super::configure(router, c.interface, &c.changes)?;
    }
    c.prefixes.iter().try_for_each(|(change, is_gone)| match is_gone {
        true => super::remove_prefix(router, c.interface, change.prefix),
        false => super::set_prefix(router, c.interface, change),
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: IpNd| Ok(apply(router, &c)?));
}
