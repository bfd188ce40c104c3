//! `ip6 nd`: how an interface advertises this router.

use net::prelude::*;

use super::advertiser::Advertiser;
use super::config::{Changes, Config, DEFAULT_PREFERRED, DEFAULT_VALID, PrefixChange};

/// Forever.
const INFINITE: u32 = u32::MAX;

/// `ip6 nd INTERFACE [no] WORDS...`.
#[derive(Debug, PartialEq)]
struct IpNd {
    interface: InterfaceIndex,
    changes: Changes,
    /// Prefixes, in the order they were given, and whether each is to go.
    prefixes: Vec<(PrefixChange, bool)>,
}

/// Words that leave the own MAC address out, as it is spelt and as the original spells it.
const SUPPRESS_MAC: [&str; 2] = ["ra-suppress-link-layer", "ra-surpress-link-layer"];

impl Command for IpNd {
    const PATHS: &'static [&'static str] = &["ip6 nd"];
    const ABOUT: &'static str = "Set the router advertisement parameters of an interface";
    const USAGE: &'static str = "<interface> [no] [ra-managed-config-flag] [ra-other-config-flag] \
         [ra-suppress|ra-surpress] [ra-suppress-link-layer|ra-surpress-link-layer] \
         [ra-send-unicast] [ra-lifetime <sec>] \
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
            return Err(Error::new("missing setting"));
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
        } else if args.keyword("ra-suppress") || args.keyword("ra-surpress") {
            c.suppress = true;
        } else if SUPPRESS_MAC.iter().any(|word| args.keyword(word)) {
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

impl Print for IpNd {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        let c = &self.changes;
        line.value(&self.interface).flag("no", c.is_no);
        line.flag("ra-managed-config-flag", c.managed).flag("ra-other-config-flag", c.other);
        line.flag("ra-suppress", c.suppress).flag("ra-suppress-link-layer", c.suppress_mac);
        line.flag("ra-send-unicast", c.unicast).flag("ra-cease", c.ceases);
        if let Some((most, least)) = &c.interval {
            line.keyword("ra-interval", most).values(least);
        }
        line.option("ra-lifetime", c.lifetime.as_ref());
        if let Some((count, seconds)) = &c.initial {
            line.keyword("ra-initial", count).value(seconds);
        }
        for (p, _) in &self.prefixes {
            line.keyword("prefix", &p.prefix);
            if p.valid == INFINITE && p.preferred == INFINITE {
                line.word("infinite");
            } else if (p.valid, p.preferred) != (DEFAULT_VALID, DEFAULT_PREFERRED) {
                line.value(&p.valid).value(&p.preferred);
            }
            line.flag("default", p.is_default).flag("no-advertise", p.no_advertise);
            line.flag("off-link", p.off_link).flag("no-autoconfig", p.no_autoconfig);
            line.flag("no-onlink", p.no_onlink);
        }
    }
}

/// Advertising of interfaces.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let usual = Config::default();
    for (interface, Advertiser { config: c, prefixes, .. }) in super::advertisers(router) {
        let mut push = |changes, prefixes| lines.push(&IpNd { interface, changes, prefixes });
        let differs = |is: f64, usual: f64| (is != usual).then_some(is as u32);
        let interval = differs(c.max_interval, usual.max_interval);
        let interval = interval.or_else(|| differs(c.min_interval, usual.min_interval));
        let least = c.min_interval != (c.max_interval * 0.75).max(3.0);
        let least = least.then_some(c.min_interval as u32);
        let initial = (c.initial_count, c.initial_interval);
        let is_usual = initial == (usual.initial_count, usual.initial_interval);
        let changes = Changes {
            is_no: false,
            starts: false,
            suppress: false,
            managed: c.managed,
            other: c.other,
            suppress_mac: !c.tells_mac,
            unicast: c.unicast,
            ceases: c.ceases,
            lifetime: None,
            initial: (!is_usual).then_some((c.initial_count, c.initial_interval as u32)),
            interval: interval.map(|_| (c.max_interval as u32, least)),
        };
        // It is at least the longest interval that holds when it is set.
        let lifetime = (c.lifetime != usual.lifetime).then_some(c.lifetime.into());
        let lifetime = Changes { lifetime, ..Changes::default() };
        let is_long = c.lifetime == 0 || f64::from(c.lifetime) >= usual.max_interval;
        let both = if is_long { [lifetime, changes] } else { [changes, lifetime] };
        for changes in both.iter().filter(|c| **c != Changes::default()) {
            push(*changes, Vec::new());
        }
        if c.sends || both.iter().any(Changes::starts) {
            push(Changes { is_no: c.sends, suppress: true, ..Changes::default() }, Vec::new());
        }
        for p in prefixes {
            let change = PrefixChange {
                prefix: p.prefix,
                is_default: false,
                no_advertise: p.is_silent,
                off_link: false,
                no_autoconfig: !p.autonomous,
                no_onlink: !p.on_link,
                valid: p.valid,
                preferred: p.preferred,
            };
            push(Changes::default(), vec![(change, false)]);
        }
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
