//! `perfmon` and `show perfmon`.

use net::prelude::*;

use super::source::{SOURCE, SOURCE_DESCRIPTION};
use super::{BUNDLES, Bundle, Counted, State, active, counted, reset, start, stop};

/// Start measuring performance counters of the router's threads.
#[derive(Command)]
#[command("perfmon start")]
struct Start {
    /// bundle of counters: see `show perfmon bundle`
    #[values("perfmon-bundle")]
    bundle: String,
    /// by `thread`, the default
    #[keyword("type")]
    by: Option<String>,
}

/// Stop measuring; `show perfmon statistics` has the results.
#[derive(Command)]
#[command("perfmon stop")]
struct Stop;

/// Stop measuring and discard the results.
#[derive(Command)]
#[command("perfmon reset")]
struct Reset;

/// Show bundles of counters.
#[derive(Command)]
#[command("show perfmon bundle")]
struct ShowBundle {
    /// include their counters
    verbose: bool,
    /// only this one
    #[positional]
    #[values("perfmon-bundle")]
    name: Option<String>,
}

/// Show active measurements.
#[derive(Command)]
#[command("show perfmon active-bundle")]
struct ShowActive;

/// Show sources of counters.
#[derive(Command)]
#[command("show perfmon source")]
struct ShowSource {
    /// include descriptions
    verbose: bool,
    /// only this one
    #[positional]
    name: Option<String>,
}

/// Show measured counters.
#[derive(Command)]
#[command("show perfmon statistics")]
struct ShowStatistics {
    /// accepted: the kernel's values are shown
    #[keyword("raw")]
    _raw: bool,
}

#[derive(Serialize)]
struct Bundles {
    bundles: Vec<&'static Bundle>,
    #[serde(skip)]
    verbose: bool,
}

impl fmt::Display for Bundles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for bundle in &self.bundles {
            if !self.verbose {
                writeln!(f, "{:<20}{}", bundle.name, bundle.description)?;
                continue;
            }
            writeln!(f, "name: {}", bundle.name)?;
            writeln!(f, "  description: {}", bundle.description)?;
            writeln!(f, "  source: {}", bundle.source)?;
            writeln!(f, "  types: thread")?;
            writeln!(f, "  columns: {}", bundle.columns.join(", "))?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Source {
    name: &'static str,
    description: &'static str,
    bundles: Vec<&'static str>,
    #[serde(skip)]
    verbose: bool,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.verbose {
            return writeln!(f, "{:<20}{}", self.name, self.description);
        }
        writeln!(f, "name: {}", self.name)?;
        writeln!(f, "  description: {}", self.description)?;
        writeln!(f, "  bundles: {}", self.bundles.join(", "))
    }
}

#[derive(Serialize)]
struct Statistics {
    bundle: &'static str,
    #[serde(skip)]
    description: &'static str,
    seconds: f64,
    columns: &'static [&'static str],
    threads: Vec<Counted>,
}

/// The last measurement, if any.
#[derive(Serialize)]
struct Last {
    measured: Option<Statistics>,
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = &self.measured else { return writeln!(f, "nothing was measured") };
        writeln!(f, "{} in {:.3} s", last.description, last.seconds)?;
        write!(f, "{:<20}", "Thread")?;
        last.columns.iter().try_for_each(|column| write!(f, "{column:>14}"))?;
        writeln!(f)?;
        for Counted { thread, values } in &last.threads {
            write!(f, "{thread:<20}")?;
            values.iter().try_for_each(|value| write!(f, "{value:>14}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

fn statistics(router: &Router) -> Option<Statistics> {
    let m = router.own::<State>().0.as_ref()?;
    let seconds = m.ended.unwrap_or_else(|| router.engine.clock().now()) - m.began;
    let Bundle { name: bundle, description, columns, .. } = *m.bundle;
    Some(Statistics { bundle, description, seconds, columns, threads: counted(router) })
}

fn bundles(name: Option<&str>) -> Result<Vec<&'static Bundle>, Error> {
    let Some(name) = name else { return Ok(BUNDLES.iter().collect()) };
    let none = || Error::new(format!("no bundle `{name}'"));
    Ok(vec![Bundle::named(name).ok_or_else(none)?])
}

pub fn register(cli: &mut Cli<Router>) {
    cli.values("perfmon-bundle", |_| BUNDLES.iter().map(|bundle| bundle.name.to_owned()).collect());
    cli.command(|router: &mut Router, c: Start| {
        let by_node = match c.by.as_deref() {
            None | Some("thread") => false,
            Some("node") => true,
            Some(other) => return Err(Error::new(format!("unknown type `{other}'"))),
        };
        Ok(start(router, &c.bundle, by_node)?)
    });
    cli.command(|router: &mut Router, _: Stop| Ok(stop(router)?));
    cli.command(|router: &mut Router, _: Reset| {
        reset(router);
        Ok(())
    });
    cli.command(|_: &mut Router, c: ShowBundle| {
        let bundles = bundles(c.name.as_deref())?;
        Ok(Output::of(Bundles { bundles, verbose: c.verbose }))
    });
    cli.command(|router: &mut Router, _: ShowActive| {
        let bundles = active(router).into_iter().collect();
        Ok(Output::of(Bundles { bundles, verbose: true }))
    });
    cli.command(|_: &mut Router, c: ShowSource| {
        if let Some(other) = c.name.filter(|name| name != SOURCE) {
            return Err(Error::new(format!("no source `{other}'")));
        }
        let bundles = BUNDLES.iter().map(|bundle| bundle.name).collect();
        let (name, description) = (SOURCE, SOURCE_DESCRIPTION);
        Ok(Output::of(Source { name, description, bundles, verbose: c.verbose }))
    });
    cli.command(|router: &mut Router, _: ShowStatistics| {
        Ok(Output::of(Last { measured: statistics(router) }))
    });
}
