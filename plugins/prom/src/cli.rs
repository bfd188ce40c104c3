//! `prom`, `prom patterns`.

use net::prelude::*;

use super::{Pattern, Settings, disable, enable, is_enabled, set, settings};

/// `prom [enable|disable] [min-scrape-interval N] [used-only] [all-stats] [stat-name-prefix P]
/// [stat-patterns { P… }]`.
#[derive(Debug, Default, PartialEq)]
struct Set {
    is_on: Option<bool>,
    interval: Option<f64>,
    used_only: bool,
    all: bool,
    prefix: Option<String>,
    patterns: Option<Vec<Pattern>>,
}

fn take_pattern(args: &mut Args<'_>) -> Result<Pattern, Error> {
    let word: String = args.value("pattern")?;
    word.parse().map_err(|why: String| Error::new(why))
}

/// Parses patterns in braces, or all remaining words.
fn take_patterns(args: &mut Args<'_>) -> Result<Vec<Pattern>, Error> {
    let mut found = Vec::new();
    if let Some(mut inside) = args.block()? {
        while !inside.is_empty() {
            found.push(take_pattern(&mut inside)?);
        }
        return Ok(found);
    }
    while !args.is_empty() {
        found.push(take_pattern(args)?);
    }
    Ok(found)
}

impl Command for Set {
    const PATHS: &'static [&'static str] = &["prom"];
    const ABOUT: &'static str = "Serve statistics for Prometheus at /stats.prom";
    const USAGE: &'static str = "[enable|disable] [min-scrape-interval <seconds>] [used-only] \
         [all-stats] [stat-name-prefix <prefix>] [stat-patterns <pattern>...]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut new = Self::default();
        if args.is_empty() {
            return Err(args.error("expected enable or a setting"));
        }
        while !args.is_empty() {
            if args.keyword("enable") {
                new.is_on = Some(true);
            } else if args.keyword("disable") {
                new.is_on = Some(false);
            } else if args.keyword("min-scrape-interval") {
                new.interval = Some(args.value("seconds")?);
            } else if args.keyword("used-only") {
                new.used_only = true;
            } else if args.keyword("all-stats") {
                new.all = true;
            } else if args.keyword("stat-name-prefix") {
                new.prefix = Some(args.value("prefix")?);
            } else if args.keyword("stat-patterns") {
                new.patterns = Some(take_patterns(args)?);
            } else {
                return Err(args.unknown());
            }
        }
        Ok(new)
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::State;
    const UNDO: &'static str = "prom disable";
    fn print(&self, line: &mut Line<'_>) {
        if let Some(is_on) = self.is_on {
            line.word(if is_on { "enable" } else { "disable" });
        }
        line.option("min-scrape-interval", self.interval.as_ref());
        line.flag("used-only", self.used_only).flag("all-stats", self.all);
        line.option("stat-name-prefix", self.prefix.as_ref());
        if let Some(patterns) = &self.patterns {
            line.word("stat-patterns").word("{").values(patterns).word("}");
        }
    }
}

/// `prom patterns [show] [clear] [add PATTERN…]`.
#[derive(Debug, Default, PartialEq)]
struct Patterns {
    shows: bool,
    clears: bool,
    adds: Vec<Pattern>,
}

impl Command for Patterns {
    const PATHS: &'static [&'static str] = &["prom patterns"];
    const ABOUT: &'static str = "Show or change the patterns of statistics served to Prometheus";
    const USAGE: &'static str = "[show] [clear] [add <pattern>...]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut new = Self { shows: args.is_empty(), ..Self::default() };
        while !args.is_empty() {
            if args.keyword("show") {
                new.shows = true;
            } else if args.keyword("clear") {
                new.clears = true;
            } else if args.keyword("add") {
                new.adds = take_patterns(args)?;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(new)
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let (now, start) = (settings(router), Settings::default());
    if !is_enabled(router) && *now == start {
        return;
    }
    lines.push(&Set {
        is_on: is_enabled(router).then_some(true),
        interval: Some(now.interval),
        used_only: now.used_only,
        all: now.all,
        prefix: (now.prefix != start.prefix).then(|| now.prefix.clone()),
        patterns: (!now.patterns.is_empty()).then(|| now.patterns.clone()),
    });
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| -> Result<(), Error> {
        if c.is_on == Some(false) {
            disable(router);
        }
        let old = settings(router).clone();
        let new = Settings {
            interval: c.interval.unwrap_or(old.interval),
            used_only: c.used_only || old.used_only,
            all: c.all || old.all,
            prefix: c.prefix.unwrap_or(old.prefix),
            patterns: c.patterns.unwrap_or(old.patterns),
        };
        // Disabling resets the settings to their defaults.
        set(router, if c.is_on == Some(false) { Settings::default() } else { new })?;
        if c.is_on == Some(true) {
            enable(router)?;
        }
        Ok(())
    });
    cli.command(|router: &mut Router, c: Patterns| -> Result<Output, Error> {
        let mut new = settings(router).clone();
        if c.clears {
            new.patterns.clear();
        }
        for pattern in c.adds {
            if !new.patterns.contains(&pattern) {
                new.patterns.push(pattern);
            }
        }
        let shown: String = new.patterns.iter().map(|pattern| format!("{pattern}\n")).collect();
        set(router, new)?;
        Ok(if c.shows { Output::text(shown) } else { Output::none() })
    });
}
