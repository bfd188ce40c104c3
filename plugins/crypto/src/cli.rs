//! Commands about algorithms and engines.
#![forbid(unsafe_code)]

use net::prelude::*;

use super::{CIPHERS, Dispatch, Engine};

/// Set the engine that computes algorithms.
#[derive(Command)]
#[command("set crypto handler")]
struct SetEngine {
    /// names of algorithms, or all, followed by an engine; simple, chained, both and async are
    /// accepted and ignored, as each algorithm has one engine
    #[rest]
    words: String,
}

/// Show crypto engines.
#[derive(Command)]
#[command("show crypto engines")]
struct ShowEngines;

/// Show the engine of each algorithm.
#[derive(Command)]
#[command("show crypto handlers")]
struct ShowHandlers;

/// Show crypto algorithms.
#[derive(Command)]
#[command("show crypto algorithm")]
struct ShowAlgorithm {
    /// name of an algorithm
    #[positional]
    algorithm: Option<String>,
}

/// Show the dispatch mode of asynchronous operations.
#[derive(Command)]
#[command("show crypto async status")]
struct ShowAsync;

/// Set the dispatch mode of asynchronous operations; recorded only, as operations are synchronous.
#[derive(Command)]
#[command("set crypto async dispatch mode")]
struct SetAsync {
    /// mode
    #[positional]
    #[values("polling|interrupt")]
    mode: Mode,
}

/// Whether the dispatch mode is `interrupt`.
struct Mode(bool);

impl std::str::FromStr for Mode {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "polling" => Ok(Self(false)),
            "interrupt" => Ok(Self(true)),
            _ => Err(()),
        }
    }
}

#[derive(Serialize)]
struct EngineRow {
    name: &'static str,
    priority: u32,
    description: &'static str,
}

#[derive(Serialize)]
struct Computed {
    algorithm: &'static str,
    engine: &'static str,
}

#[derive(Serialize)]
struct Status {
    mode: &'static str,
    waiting: u32,
}

fn write_engines(rows: &[EngineRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<20}{:<8}Description", "Name", "Prio")?;
    let mut rows = rows.iter();
    rows.try_for_each(|r| writeln!(f, "{:<20}{:<8}{}", r.name, r.priority, r.description))
}

fn write_table(rows: &[Computed], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<28}Engine", "Algo")?;
    rows.iter().try_for_each(|r| writeln!(f, "{:<28}{}", r.algorithm, r.engine))
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Crypto async dispatch mode: {}", self.mode)?;
        writeln!(f, "operations are synchronous: no packets are queued")
    }
}

fn set_handler(words: &str) -> Result<Output, Error> {
    // Each algorithm has one engine for all kinds of operations.
    const WAYS: [&str; 4] = ["simple", "chained", "both", "async"];
    let mut words: Vec<_> = words.split_whitespace().filter(|w| !WAYS.contains(w)).collect();
    let engine = words.pop().filter(|_| !words.is_empty());
    let engine = engine.ok_or_else(|| Error::new("expected algorithms and an engine"))?;
    let mut text = String::new();
    for algorithm in words {
        match super::choose(algorithm, engine) {
            // As in VPP, this is not an error: the current engine stays in use.
            Err(why @ super::Error::NotThere(..)) => text += &format!("{why}\n"),
            other => other?,
        }
    }
    Ok(Output::text(text))
}

fn handlers(wanted: Option<&str>) -> Vec<Computed> {
    let cipher = CIPHERS.iter().find(|c| wanted.is_some_and(|name| c.is_named(name)));
    let wanted = cipher.map(|c| c.name).or(wanted);
    super::algorithms()
        .filter(|(name, _)| wanted.is_none_or(|wanted| wanted == *name))
        .map(|(algorithm, engine)| Computed { algorithm, engine: engine.name() })
        .collect()
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|_: &mut Router, c: SetEngine| set_handler(&c.words));
    cli.command(|_: &mut Router, _: ShowEngines| {
        let row = |(at, engine): (usize, Engine)| EngineRow {
            name: engine.name(),
            priority: 100 - 50 * at as u32,
            description: engine.about(),
        };
        Ok(Output::rows(Engine::ALL.into_iter().enumerate().map(row), write_engines))
    });
    cli.command(|_: &mut Router, _: ShowHandlers| Ok(Output::rows(handlers(None), write_table)));
    cli.command(|_: &mut Router, c: ShowAlgorithm| {
        let found = handlers(c.algorithm.as_deref());
        match (found.is_empty(), c.algorithm) {
            (true, Some(name)) => Err(super::Error::NoAlgorithm(name).into()),
            _ => Ok(Output::rows(found, write_table)),
        }
    });
    cli.command(|router: &mut Router, set: SetAsync| {
        router.own_mut::<Dispatch>().is_interrupt = set.mode.0;
        Ok(())
    });
    cli.command(|router: &mut Router, _: ShowAsync| {
        let mode = if router.own::<Dispatch>().is_interrupt { "INTERRUPT" } else { "POLLING" };
        Ok(Output::of(Status { mode, waiting: 0 }))
    });
}
